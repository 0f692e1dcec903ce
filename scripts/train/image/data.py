"""Pictures for image-synthesis: gathering, random views, scoring."""

from pathlib import Path

import numpy as np

from vision import detector as network
from vision import gather
from vision.augment import tile_view
from vision.canonical import canonical, compress, shrink, tiles_of

SIZE = 224  # pixels, side of the tile the model takes
SHORTEST = 176  # pixels; smaller pictures are left out
TILES = 6
WHOLE_FACES = ("stylegan2", "stylegan2-finetuned", "gan-face-mixed")  # generated altogether


def wanted(item):
    """Generated pictures and photographs; of the faces only those generated altogether."""
    return item.label != "face_fake" or item.generator in WHOLE_FACES


def load(data, work):
    """Returns the pictures and how many files were dropped as held out."""
    gather.unpack(data, work, ("images", "images2"))
    items = [i for i in gather.listed(work, ("images", "images2")) if wanted(i)]
    items, dropped = gather.allowed(items, Path(data, "held-out.sha256"))
    return gather.store(items, work, "image-base", SHORTEST), dropped


def view(item, random):
    """A random training tile."""
    return tile_view(np.load(item.base, mmap_mode="r"), item.lossy, random)


def conditions(item):
    """The canonical picture as it is, and after JPEG q60 at no more than 768 pixels."""
    pixels = np.load(item.base)
    clean = canonical(pixels, item.lossy)
    return clean, compress(shrink(clean, 768)[0], 60)


def score(model, item):
    """The mean tile logit under each condition."""
    return [float(network.logits(model, tiles_of(p, TILES)).mean()) for p in conditions(item)]


def check_row(item):
    """One row of input, for the comparison with PyTorch."""
    return tiles_of(conditions(item)[0], 1)[0]


def seen(item):
    """The pixels under each condition, for the classifier that sees no content."""
    return conditions(item)
