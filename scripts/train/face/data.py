"""Faces for face-manipulation: gathering, what is reserved, crops, scoring."""

import copy
import hashlib
import pickle
from pathlib import Path

import cv2
import numpy as np

from blend import self_blend
from detect import YuNet
from vision import gather
from vision.canonical import LONGEST, canonical, compress, shrink
from vision.shortcuts import sharpness

SIZE = 160  # pixels, side of the crop the model takes
MARGIN = 1.3  # side of the crop over the longer side of the face box
SMALLEST = 56  # pixels; smaller faces are left out
LARGEST = 220  # pixels; larger ones are kept reduced to this for training
REACH = 1.0  # what is kept around a face for training, from its centre, in longer sides of its box
FRAMES = 16  # of a clip
FACES = 3  # of a picture, for training
MOST = 120  # pictures of a repository's source
GENERATED = 12  # pictures of a generator in a repository, to see what becomes of faces that are drawn altogether
ALIKE = 40  # bits of 256; faces that differ in no more are one
DETECTOR = "yunet/yunet_n_dynamic.onnx"
ARCHIVES = ("images2", "images", "faces", "video")
BLENDED = "self-blended"
WHOLE = ("stylegan2", "stylegan2-finetuned", "gan-face-mixed")  # generated altogether
JUDGED = 40  # pictures of a method in a repository that are judged
PAINTED = ("paintings by people",)


def load(data, work, weights, more=None):
    """Returns the faces to train on, those to be judged, and how many files were dropped as held out."""
    kept = Path(work, "face.pickle")
    if not kept.exists():
        gather.unpack(data, work, ARCHIVES)
        items = (list(gather.collected(more, "face")) if more else []) + gather.listed(work, ARCHIVES, more)
        items, dropped = gather.allowed(relabelled(items, more), Path(data, "held-out.sha256"))
        items = [i for i in gather.ranked(items) if i.rank < (GENERATED if i.label == "fake" else MOST)]
        kept.write_bytes(pickle.dumps((*store(items, Path(work, "face-base"), YuNet(weights / DETECTOR)), dropped)))
    trained, judged, dropped = pickle.loads(kept.read_bytes())
    for medium in ("image", "face") if more else ():
        dropped += gather.held_out(more, medium)
    return distinct(trained, judged), [i for i in judged if i.rank < JUDGED], dropped


def relabelled(items, more):
    """Faces are face_real or face_fake, whole pictures real or fake; paintings are left out."""
    for item in items:
        if more and Path(more, "face") in item.path.parents:
            item.label = "face_" + item.label
    return [i for i in items if i.generator not in PAINTED]


def reserved(items):
    """The repositories that nothing is trained on: all that hold fakes, and a third of the others, which a hash decides."""
    third = {i.repository for i in items if int(hashlib.sha256(i.repository.encode()).hexdigest()[:8], 16) % 3 == 0}
    return third | {i.repository for i in items if i.fake}


def found(items, detector):
    """Yields every picture or frame as (item, pixels at canonical size, faces that are large enough)."""
    for item in items:
        for one, pixels in gather.pictures(item, FRAMES):
            pixels, smaller = shrink(pixels, LONGEST)
            one.lossy = one.lossy and not smaller
            yield one, pixels, [f for f in detector.faces(pixels) if max(f[2:4]) >= SMALLEST]


def store(items, target, detector):
    """Decodes once; keeps the surroundings of the faces to train on, and of those to be judged the crops."""
    target.mkdir(parents=True, exist_ok=True)
    held, trained, judged = reserved(items), [], []
    for item, pixels, faces in found(items, detector):
        if item.repository not in held:
            for face in faces[:FACES]:
                trained.append(keep_patch(copy.copy(item), pixels, face, str(target / f"trained{len(trained):05d}.npy")))
        elif faces:
            judged.append(keep_crops(item, pixels, faces[0], str(target / f"judged{len(judged):05d}.npz")))
    print(f"{len(trained)} faces to train on, {len(judged)} to be judged, {sum(i.fake for i in judged)} of them fake", flush=True)
    return trained, judged


def keep_patch(item, pixels, face, path):
    """Keeps what a training crop can reach, reduced where the face is large; the face is moved along."""
    x, y, width, height = face[:4]
    longer = max(width, height)
    left, top = (int(max(0, v - REACH * longer)) for v in (x + width / 2, y + height / 2))
    right, bottom = (int(v + REACH * longer) for v in (x + width / 2, y + height / 2))
    patch = np.ascontiguousarray(pixels[top:bottom, left:right])
    face = np.array(face) - np.tile([left, top], 7)
    face[2:4] = width, height
    if longer > LARGEST:
        size = [max(1, round(v * LARGEST / longer)) for v in (patch.shape[1], patch.shape[0])]
        face = face * np.tile([size[0] / patch.shape[1], size[1] / patch.shape[0]], 7)
        patch, item.lossy = cv2.resize(patch, size, interpolation=cv2.INTER_AREA), False
    np.save(path, patch)
    item.base, item.face = path, face.tolist()
    return item


def keep_crops(item, pixels, face, path):
    """Keeps the crop under each condition, and of a genuine picture that of a self-blended copy."""
    item.base, item.face = path, face
    rows = {"own": crops(conditions(pixels, item.lossy, face))}
    if not item.fake:
        random = np.random.RandomState(int(hashlib.sha256(path[-16:].encode()).hexdigest()[:8], 16))
        rows["made"] = crops(conditions(self_blend(pixels, np.array(face[4:]).reshape(5, 2), random), item.lossy, face))
    item.traits = [sharpness(crop) for crop in rows["own"]]
    np.savez(path, **rows)
    return item


def conditions(pixels, lossy, face):
    """The canonical picture as it is, and after JPEG q60 at no more than 768 pixels, with the face in each."""
    clean = canonical(pixels, lossy)
    small, _ = shrink(clean, 768)
    factor = small.shape[1] / clean.shape[1]
    return [(clean, face), (compress(small, 60), [v * factor for v in face])]


def crops(pictures):
    """The crop of each (picture, face)."""
    return np.stack([face_crop(pixels, face, SIZE) for pixels, face in pictures])


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


def fingerprint(crop):
    """256 bits of a crop of SIZE pixels that stay the same when it is compressed, and of its quarter turns, 4×256."""
    small = cv2.resize(cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY), (17, 17), interpolation=cv2.INTER_AREA).astype(int)
    turns = [np.rot90(small, k) for k in range(4)]
    return np.stack([(t[:16, 1:] > t[:16, :-1]).ravel() for t in turns])


def distinct(trained, judged):
    """The faces to train on, less those that are judged too and less copies of one another; frames of a clip are no copies."""
    seen = [fingerprint(np.load(i.base)["own"][0])[0] for i in judged]
    prints, owners = np.array(seen).reshape(-1, 256), np.array([""] * len(seen), dtype=object)
    kept = []
    for item in sorted(trained, key=lambda i: -max(i.face[2:4])):
        turns = fingerprint(face_crop(np.load(item.base), item.face, SIZE))
        near = np.any([(prints != t).sum(1) <= ALIKE for t in turns], 0)
        if not np.any(near & (owners != str(item.path))):
            kept.append(item)
            prints, owners = np.vstack([prints, turns[:1]]), np.append(owners, str(item.path))
    print(f"{len(kept)} of {len(trained)} faces to train on are neither judged nor copies", flush=True)
    return kept


def blended(items):
    """Twins of the genuine faces: self-blended copies of them."""
    made = []
    for item in items:
        if not item.fake:
            twin = copy.copy(item)
            twin.label, twin.generator, twin.made = "face_fake", BLENDED, True
            made.append(twin)
    return made


def rows(item):
    """The crop under each condition."""
    with np.load(item.base) as kept:
        return kept["made" if item.made else "own"]


def score(run, item):
    """The logit under each condition."""
    return list(map(float, run(rows(item))))


def digest(item):
    """SHA-256 of the file."""
    return hashlib.sha256(item.path.read_bytes()).hexdigest()


def check_row(item):
    """One row of input, for the comparison with PyTorch."""
    return rows(item)[0]
