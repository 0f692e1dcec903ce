"""Clips of several seconds: their frames judged together, as they are and as they are shared."""

import hashlib
from collections import defaultdict
from pathlib import Path

import numpy as np
from vision import film

from data import FRAMES, SIZE, SMALLEST, face_crop

LEAST = 3  # frames with a face; clips with fewer are left out


def together(items):
    """The rows of the items that are frames of one clip, by its file; only of clips with enough of them."""
    frames = defaultdict(list)
    for k, item in enumerate(items):
        if item.clip:
            frames[str(item.path)].append(k)
    return {path: rows for path, rows in frames.items() if len(rows) >= LEAST}


def shared_crops(path, detector, side=SIZE):
    """The largest face of each frame of a clip after encoding, found anew as the service would; N×side×side×3."""
    found = [(frame, detector.largest(frame)) for frame in film.shared(path, FRAMES)]
    least = SMALLEST * film.LONGEST / 1280
    return np.array([face_crop(frame, face, side) for frame, face in found if face and max(face[2:4]) >= least], np.uint8)


def file_of(path, work):
    """Where the crops of a clip after encoding are kept."""
    return Path(work, "face-base", f"clip-{hashlib.sha256(path.encode()).hexdigest()[:16]}.npy")


def keep_shared(items, work, detector):
    """Keeps the crops of every clip after encoding."""
    for path in together(items):
        if not file_of(path, work).exists():
            np.save(file_of(path, work), shared_crops(path, detector))
