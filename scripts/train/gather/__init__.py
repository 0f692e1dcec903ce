"""Gathers the bigger sources of pictures, faces and speech for training."""
