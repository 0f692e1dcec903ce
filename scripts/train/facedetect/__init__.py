"""The face detector: run.py trains, measures and exports it."""
