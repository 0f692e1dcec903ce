"""Command line: python -m convert NAME --source DIR --out DIR, from scripts/."""

import argparse
import sys
from pathlib import Path

try:
    import torch

    from convert import folder, yunet
    from convert.errors import ConversionError
    from convert.published import ALL
except ModuleNotFoundError as error:
    sys.exit(f"The Python package {error.name} is missing: pip install -r {Path(__file__).with_name('requirements.txt')}")


FINDERS = {"yunet": yunet.to_folder}  # of faces: they judge nothing, so nothing is measured of them


def converter(name):
    """The function that makes a folder of the detector of that name."""
    if name in FINDERS:
        return FINDERS[name]
    return lambda source, out: folder.to_folder(chosen(name), source, out)


def chosen(name):
    """The judge of that name."""
    if name not in ALL:
        raise ConversionError(f"There is no detector called {name}; there are {', '.join([*ALL, *FINDERS])}.")
    return ALL[name]


def main():
    """Converts one detector; says why not in one sentence."""
    parser = argparse.ArgumentParser(prog="convert", description="converts a published detector into a model folder")
    parser.add_argument("name", help=", ".join([*ALL, *FINDERS]))
    parser.add_argument("--source", required=True, type=Path, help="folder of the published files")
    parser.add_argument("--out", required=True, type=Path, help="folder for model.onnx and card.json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    try:
        converter(options.name)(options.source, options.out)
    except (ConversionError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
