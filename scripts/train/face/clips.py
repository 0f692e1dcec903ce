"""Clips of several seconds: their frames judged together, as they are and as they are shared."""

import hashlib
from collections import defaultdict
from pathlib import Path

import numpy as np
from vision import film

from data import FRAMES, SMALLEST, row_of

LEAST = 3  # frames with a face; clips with fewer are left out


def together(items):
    """The rows of the items that are frames of one clip, by its file; only of clips with enough of them."""
    frames = defaultdict(list)
    for k, item in enumerate(items):
        if item.clip:
            frames[str(item.path)].append(k)
    return {path: rows for path, rows in frames.items() if len(rows) >= LEAST}


def shared_rows(path, finder, row):
    """What row makes of a frame and its largest face, of each frame of a clip after encoding, the face found anew as the service would."""
    found = [(frame, finder.faces(frame)[:1]) for frame in film.shared(path, FRAMES)]
    least = SMALLEST * film.LONGEST / 1280
    return np.array([row(frame, face) for frame, faces in found for face in faces if max(face[2:4]) >= least], np.uint8)


def file_of(path, work):
    """Where the rows of a clip after encoding are kept."""
    return Path(work, "face-base", f"clip-{hashlib.sha256(path.encode()).hexdigest()[:16]}.npy")


def keep_shared(items, work, finder):
    """Keeps the rows of every clip after encoding."""
    for path in together(items):
        if not file_of(path, work).exists():
            np.save(file_of(path, work), shared_rows(path, finder, row_of))
