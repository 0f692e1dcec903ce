"""The face model: its data, its blended faces, its training and its figures."""
