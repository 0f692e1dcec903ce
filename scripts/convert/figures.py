"""Figures that were measured by this project, kept by model and by the sums of its files."""

import json
from pathlib import Path

from convert import weights
from convert.errors import ConversionError

FILE = Path(__file__).with_name("measured.json")


def kept():
    """Model name -> what was measured."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def sums(published, source):
    """File name -> SHA-256 of what conversion reads."""
    missing = [name for name in published.files if not (source / name).is_file()]
    if missing:
        raise ConversionError(f"{source} has no {missing[0]}, which {published.name} is converted from.")
    return {name: weights.digest(source / name) for name in published.files}


def of(published, source):
    """What was measured with exactly these files."""
    own = kept().get(published.name)
    if own is None:
        raise ConversionError(f"{published.name} was never measured, so no honest card can be written; measure it with convert.measure.")
    for name, found in sums(published, source).items():
        expected = own["files"][name]
        if found != expected:
            raise ConversionError(f"{source / name} is not the file that was measured: its SHA-256 is {found}, not {expected}.")
    return own
