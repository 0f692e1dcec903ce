"""Says in one sentence which package a script lacks, and how to install it."""

import contextlib
import sys
from pathlib import Path


@contextlib.contextmanager
def packages():
    """Ends the script where an import in the block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        sys.exit(f"The Python package {error.name} is missing: pip install -r {Path(__file__).with_name('requirements.txt')}")
