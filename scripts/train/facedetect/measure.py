"""What the detector finds of what YuNet finds: precision, recall, intervals, threshold, time."""

import time

import numpy as np
from faces import OVERLAP, SIZE, SMALLEST, certain, longer
from vision.canonical import compress
from vision.figures import interval
from vision.finder import framed, overlaps, suppress

CONDITIONS = ("clean", "JPEG q60")
AGREE = 0.5  # intersection over union from which two boxes are the same face
ROUNDS = 1000
AIMED = 0.96  # precision on the pictures the threshold is chosen on
LOWEST = 0.05  # probability below which nothing is a face


def found(run, picture, condition):
    """Boxes and probabilities in one picture, after suppression."""
    pixels = picture.pixels
    if condition != CONDITIONS[0]:
        pixels = compress(np.ascontiguousarray(pixels), 60)
    rows = run(framed(pixels, SIZE)[None])[0].astype(np.float64)
    chance = 1 / (1 + np.exp(-rows[:, :1]))
    rows = np.concatenate([rows[:, 1:], chance], 1)
    return suppress(rows[rows[:, 4] >= LOWEST], OVERLAP)


def matched(rows, truth):
    """(probability, right) of each row that counts, and the probability with which each face was found, or 0.

    Each face is found by one row at most. A row on a doubtful or small face
    counts neither way, nor does a small one on nothing.
    """
    must = truth[certain(truth)]
    other = truth[~certain(truth)]
    shared = overlaps(rows, must)
    best, judged = np.zeros(len(must)), []
    for k, row in enumerate(rows):
        free = np.where(best == 0, shared[k], 0)
        if len(must) and free.max() >= AGREE:
            best[free.argmax()] = row[4]
            judged.append((row[4], 1))
        elif not (len(other) and overlaps(row[None], other).max() >= AGREE) and longer(row[None])[0] >= SMALLEST:
            judged.append((row[4], 0))
    return np.array(judged).reshape(-1, 2), best


def judge(run, pictures, condition):
    """The result of each picture."""
    return [matched(found(run, p, condition), p.boxes) for p in pictures]


def counts(results, threshold):
    """Rows of right, wrong, faces found, faces."""
    rows = []
    for judged, best in results:
        kept = judged[judged[:, 0] >= threshold, 1]
        rows.append((kept.sum(), (1 - kept).sum(), (best >= threshold).sum(), len(best)))
    return np.array(rows).reshape(-1, 4)


def ratios(rows):
    """Precision and recall; 1 where there was nothing to be wrong about."""
    right, wrong, hit, faces = rows.sum(-2).T
    return np.where(right + wrong > 0, right / np.maximum(right + wrong, 1), 1), np.where(faces > 0, hit / np.maximum(faces, 1), 1)


def choose(results):
    """The lowest threshold at which precision is what is aimed at, or else the most precise one."""
    steps = [round(0.01 * k, 2) for k in range(10, 96)]
    precise = [float(ratios(counts(results, t))[0]) for t in steps]
    return next((t for t, p in zip(steps, precise) if p >= AIMED), steps[int(np.argmax(precise))])


def figures(results, threshold, name, condition, note=""):
    """One row of the card; the intervals are over pictures."""
    rows = counts(results, threshold)
    precision, recall = ratios(rows)
    random = np.random.RandomState(0)
    again = np.array([ratios(rows[random.randint(0, len(rows), len(rows))]) for _ in range(ROUNDS)])
    result = {
        "set": name, "condition": condition, "pictures": len(rows), "faces": int(rows[:, 3].sum()),
        "precision": round(float(precision), 3), "precision_interval": interval(again[:, 0]),
        "recall": round(float(recall), 3), "recall_interval": interval(again[:, 1]),
    }
    return result | ({"note": note} if note else {})


def milliseconds(run, pictures, count=200):
    """The median CPU time of one picture, less its loading."""
    times = []
    for picture in pictures[:count]:
        pixels = framed(picture.pixels, SIZE)[None]
        begun = time.process_time()
        run(pixels)
        times.append(time.process_time() - begun)
    return 1e3 * float(np.median(times))
