"""What can go wrong in one sentence."""


class ConversionError(Exception):
    """Its text is a sentence for the operator."""
