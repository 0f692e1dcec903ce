"""Reading published weights into our networks, and refusing others."""

import hashlib

import torch

from convert.errors import ConversionError


def digest(path):
    """SHA-256 of a file, lower-case hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def state(path):
    """The tensors of a PyTorch file by name; code in the file is not run."""
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ConversionError(f"{path} can't be read as PyTorch weights: {error}.") from error


def fill(network, tensors, renames=(), unused=()):
    """Puts tensors into the network, which is then in eval mode.

    renames are (old, new) pairs of parts of names, in order; names that then
    hold a part listed in unused are left out. All others must fit exactly.
    """
    named = {}
    for name, value in tensors.items():
        for old, new in renames:
            name = name.replace(old, new)
        if not any(part in name for part in unused):
            named[name] = value
    try:
        network.load_state_dict(named)
    except RuntimeError as error:
        raise ConversionError(f"The weights do not fit the network: {' '.join(str(error).split())}.") from error
    return network.eval()
