"""Faces for face-manipulation: gathering, crops, random views, scoring."""

import copy
from pathlib import Path

import cv2
import numpy as np

from blend import self_blend
from detect import YuNet
from vision import gather
from vision.augment import recompress, scale, tone
from vision.canonical import canonical, compress, shrink
from vision.shortcuts import sharpness

SIZE = 160  # pixels, side of the crop the model takes
MARGIN = 1.3  # side of the crop over the longer side of the face box
SMALLEST = 56  # pixels; smaller faces are left out
FRAMES = 8  # of a clip
PORTRAITS = 150  # at most so many of the one large folder of small photographs
DETECTOR = "yunet/yunet_n_dynamic.onnx"
BLENDED = "self-blended"


def load(data, work, weights):
    """Returns the faces and how many files were dropped as held out."""
    gather.unpack(data, work, ("images2", "faces", "video"))
    items = [i for i in gather.listed(work, ("images2", "faces", "video")) if i.label.startswith("face")]
    items, dropped = gather.allowed(items, Path(data, "held-out.sha256"))
    stored = gather.store(items, work, "face-base", SMALLEST, FRAMES)
    return thin(with_faces(stored, YuNet(weights / DETECTOR))), dropped


def with_faces(items, detector):
    """Those with a face that is large enough, with its box and landmarks."""
    found = []
    for item in items:
        item.face = detector.largest(np.load(item.base)) or []
        if item.face and max(item.face[2:4]) >= SMALLEST:
            found.append(item)
    print(f"{len(found)} with a face of at least {SMALLEST} pixels, {sum(i.fake for i in found)} of them manipulated")
    return found


def fingerprint(item):
    """256 bits that stay the same when the face is scaled, compressed or turned by a quarter."""
    crop = cv2.cvtColor(face_crop(np.load(item.base), item.face, 17), cv2.COLOR_RGB2GRAY).astype(int)
    turns = [np.rot90(crop, k) for k in range(4)]
    return np.stack([(t[:16, 1:] > t[:16, :-1]).ravel() for t in turns])


def thin(items):
    """Drops near-duplicates, turned ones too, among the small photographs, and keeps at most PORTRAITS of them."""
    small = [i for i in items if i.generator == "face photographs"]
    small.sort(key=lambda i: -max(i.face[2:4]))
    kept, prints = [], np.zeros((0, 256), bool)
    for item in small:
        if len(kept) == PORTRAITS:
            break
        turns = fingerprint(item)
        if all((prints != t).sum(1).min(initial=256) > 40 for t in turns):
            kept.append(item)
            prints = np.vstack([prints, turns[:1]])
    print(f"{len(kept)} of {len(small)} small photographs kept")
    return [i for i in items if i.generator != "face photographs"] + kept


def face_crop(pixels, face, size, margin=MARGIN, move=(0.0, 0.0)):
    """The square about the face, edge pixels repeated outside the picture, scaled to size×size.

    Its side is margin times the longer side of the box, rounded; its corner
    the rounded centre of the box less half of that. move is in box sides.
    """
    x, y, width, height = face[:4]
    longer = max(width, height)
    side = max(2, round(margin * longer))
    left = round(x + width / 2 + move[0] * longer - side / 2)
    top = round(y + height / 2 + move[1] * longer - side / 2)
    across, down = (np.clip(np.arange(o, o + side), 0, n - 1) for o, n in ((left, pixels.shape[1]), (top, pixels.shape[0])))
    square = np.ascontiguousarray(pixels[down[0] : down[-1] + 1, across[0] : across[-1] + 1])
    square = square[down - down[0]][:, across - across[0]]
    return cv2.resize(square, (size, size), interpolation=cv2.INTER_AREA if side > size else cv2.INTER_LINEAR)


def surroundings(item):
    """The part of the picture a training crop can reach, and the face in its coordinates."""
    pixels = np.load(item.base, mmap_mode="r")
    x, y, width, height = item.face[:4]
    reach = 1.2 * MARGIN * max(width, height)
    left, top = (int(max(0, v)) for v in (x + width / 2 - reach, y + height / 2 - reach))
    right, bottom = int(x + width / 2 + reach), int(y + height / 2 + reach)
    face = np.array(item.face) - np.tile([left, top], 7)
    face[2:4] = item.face[2:4]
    return np.ascontiguousarray(pixels[top:bottom, left:right]), face


def view(item, random):
    """A random training crop: blended if asked for, compressed, scaled, moved, flipped."""
    pixels, face = surroundings(item)
    if item.made:
        pixels = self_blend(pixels, face[4:].reshape(5, 2), random)
    if not item.lossy or random.rand() < 0.3:
        pixels = recompress(pixels, random, 75, 98)
    if random.rand() < 0.6:
        factor = max(random.uniform(0.4, 1.0), min(1.0, SMALLEST / max(face[2:4])))
        pixels, face = scale(pixels, factor, random), face * factor
    if random.rand() < 0.4:
        pixels = tone(pixels, random)
    if random.rand() < 0.85:
        pixels = recompress(pixels, random, 50, 97)
    crop = face_crop(pixels, face, SIZE, MARGIN * random.uniform(0.85, 1.15), random.uniform(-0.15, 0.15, 2))
    return np.ascontiguousarray(crop[:, ::-1]) if random.rand() < 0.5 else crop


def blended(items):
    """Twins of the genuine faces that view turns into self-blended ones."""
    twins = []
    for item in items:
        if not item.fake:
            twin = copy.copy(item)
            twin.label, twin.generator, twin.made = "face_fake", BLENDED, True
            twins.append(twin)
    return twins


def conditions(item):
    """The canonical picture as it is, and after JPEG q60 at no more than 768 pixels, with the face in each."""
    pixels = np.load(item.base)
    if item.made:
        pixels = self_blend(pixels, np.array(item.face[4:]).reshape(5, 2), np.random.RandomState(int(Path(item.base).stem)))
    clean = canonical(pixels, item.lossy)
    small, _ = shrink(clean, 768)
    factor = small.shape[1] / clean.shape[1]
    return [(clean, item.face), (compress(small, 60), [v * factor for v in item.face])]


def crops(item):
    """The crop of the face under each condition."""
    return np.stack([face_crop(pixels, face, SIZE) for pixels, face in conditions(item)])


def score(run, item):
    """The logit under each condition."""
    return list(map(float, run(crops(item))))


def check_row(item):
    """One row of input, for the comparison with PyTorch."""
    return crops(item)[0]


def seen(item):
    """What the classifier that sees no content is given, under each condition."""
    return [sharpness(crop) for crop in crops(item)]
