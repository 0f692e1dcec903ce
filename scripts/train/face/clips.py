"""Clips of several seconds: their frames judged together, as they are and as they are shared."""

import hashlib
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from vision import gather

from data import FRAMES, SIZE, SMALLEST, face_crop

SHARED = "H.264 CRF 32 at no more than 768 pixels"
LONGEST = 768  # pixels
LEAST = 3  # frames with a face; clips with fewer are left out


def together(items):
    """The rows of the items that are frames of one clip, by its file; only of clips with enough of them."""
    frames = defaultdict(list)
    for k, item in enumerate(items):
        if item.path.suffix.lower() in gather.CLIPS:
            frames[str(item.path)].append(k)
    return {path: rows for path, rows in frames.items() if len(rows) >= LEAST}


def encoded(path):
    """The frames of a clip after encoding, spread over it as those of the original are."""
    scale = f"scale=w='min({LONGEST},iw)':h='min({LONGEST},ih)':force_original_aspect_ratio=decrease:force_divisible_by=2"
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder, "clip.mp4"))
        command = ["ffmpeg", "-nostdin", "-v", "error", "-threads", "1", "-i", path, "-an", "-vf", scale]
        subprocess.run([*command, "-c:v", "libx264", "-preset", "fast", "-crf", "32", "-pix_fmt", "yuv420p", target], check=True)
        return gather.frames(gather.Item(Path(target), "", "", "", "", ""), FRAMES)


def shared_crops(path, detector):
    """The largest face of each frame of a clip after encoding, found anew as the service would."""
    found = [(frame, detector.largest(frame)) for frame in encoded(path)]
    least = SMALLEST * LONGEST / 1280
    return np.array([face_crop(frame, face, SIZE) for frame, face in found if face and max(face[2:4]) >= least], np.uint8)


def file_of(path, work):
    """Where the crops of a clip after encoding are kept."""
    return Path(work, "face-base", f"clip-{hashlib.sha256(path.encode()).hexdigest()[:16]}.npy")


def keep_shared(items, work, detector):
    """Keeps the crops of every clip after encoding."""
    for path in together(items):
        if not file_of(path, work).exists():
            np.save(file_of(path, work), shared_crops(path, detector))
