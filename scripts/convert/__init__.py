"""Converts published detectors' weights into model folders of this service."""
