"""Other servers around the same models: what they share, and each of them."""
