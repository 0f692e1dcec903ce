"""Stretches of video: consecutive frames, cut to one face that is found in three of them, as the service does."""

import cv2
import numpy as np

from convert.landmarks import MARGIN, SIDE
from convert.lrnet import FRAMES

MOST = 4  # of a clip
LONGEST = 640  # pixels of a frame
OVERLAP = 0.3  # intersection over union from which two boxes are of one face


def length(path):
    """How many frames of a clip can be decoded."""
    clip, count = cv2.VideoCapture(str(path)), 0
    while clip.grab():
        count += 1
    clip.release()
    return count


def starts(total):
    """The first frames of the stretches of so many, each in the middle of its part."""
    most = min(MOST, total // FRAMES)
    return [(2 * k + 1) * total // (2 * most) - FRAMES // 2 for k in range(most)]


def reduced(frame):
    """RGB of a decoded frame, its longer side at most LONGEST."""
    factor = LONGEST / max(frame.shape[:2])
    if factor < 1:
        size = [max(1, round(v * factor)) for v in frame.shape[1::-1]]
        frame = cv2.resize(frame, size, interpolation=cv2.INTER_AREA)
    return cv2.cvtColor(frame, cv2.COLOR_BGR2RGB)


def stretches(path):
    """Yields the stretches of a clip, each a list of frames."""
    first = starts(length(path))
    clip, at = cv2.VideoCapture(str(path)), 0
    for start in first:
        frames = []
        while len(frames) < FRAMES and clip.grab():
            if at >= start:
                frames.append(reduced(clip.retrieve()[1]))
            at += 1
        if len(frames) == FRAMES:
            yield frames
    clip.release()


def edges(face):
    """Left, upper, right and lower edge of x, y, width and height."""
    return np.array([face[0], face[1], face[0] + face[2], face[1] + face[3]])


def overlap(one, other):
    """Intersection over union of two boxes, given by their edges."""
    shared = np.clip(np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2]), 0, None).prod()
    return shared / ((one[2:] - one[:2]).prod() + (other[2:] - other[:2]).prod() - shared)


def nearest(box, found):
    """Of the faces the one that overlaps the box most, or None where none does enough."""
    boxes = [edges(face) for face in found]
    best = max(boxes, key=lambda other: overlap(box, other), default=None)
    return best if best is not None and overlap(box, best) >= OVERLAP else None


def followed(frames, detector):
    """The largest face of the middle frame as a box of each frame, FRAMES×4, or None where the first or the last has it not."""
    middle = detector.largest(frames[FRAMES // 2])
    if middle is None:
        return None
    box = edges(middle)
    first, last = (nearest(box, detector.faces(frames[k])) for k in (0, -1))
    if first is None or last is None:
        return None
    known = (0, FRAMES // 2, FRAMES - 1)
    return np.stack([np.interp(np.arange(FRAMES), known, edge) for edge in zip(first, box, last)], 1)


def row(frames, boxes, cut):
    """The crops of a stretch, uint8 FRAMES×SIDE×SIDE×3; cut is the training scripts' face_crop."""
    faces = [(left, top, right - left, bottom - top) for left, top, right, bottom in boxes]
    return np.stack([cut(frame, face, SIDE, MARGIN) for frame, face in zip(frames, faces)])


def rows(path, detector, cut):
    """The rows of a clip, uint8 N×FRAMES×SIDE×SIDE×3, N at most MOST."""
    found = [(frames, followed(frames, detector)) for frames in stretches(path)]
    made = [row(frames, boxes, cut) for frames, boxes in found if boxes is not None]
    return np.stack(made) if made else np.zeros((0, FRAMES, SIDE, SIDE, 3), np.uint8)
