"""What the trained model is worth on faces of repositories it never saw."""

import numpy as np
from vision import figures, shortcuts
from vision.folds import folds
from vision.pipeline import CONDITIONS

import clips
import data

MANIPULATED = "swaps, composites and reenactment, none of them trained on"
GENERATED = "faces generated altogether, none of them trained on"
EVERYTHING = "manipulated and generated faces, none of them trained on"
MADE = "unseen genuine faces and self-blended copies of them"
CLIP = "clips of unseen repositories, the mean of {} frames"
SHORTCUTS = "shortcuts only, five folds of the same faces"
NOTE = "a classifier of {} alone, no look at the content: what the files give away; the model sees pixels only"
FOLDS = 5


def kinds(items):
    """Masks of the genuine faces, the manipulated ones and those generated altogether."""
    genuine = np.array([not i.fake for i in items])
    whole = np.array([bool(i.fake) and (i.generator in data.WHOLE or i.label == "fake") for i in items])
    return genuine, ~genuine & ~whole, whole


def arrays(items):
    """Labels and repositories."""
    return np.array([i.fake for i in items]), np.array([i.repository for i in items])


def rows_of(items, scores, name, calibration):
    """A row for each condition."""
    labels, repositories = arrays(items)
    return [figures.measure(labels, scores[:, k], repositories, name, c, calibration=calibration) for k, c in enumerate(CONDITIONS)]


def part(items, scores, chosen):
    """The items and scores of a mask."""
    return [i for i, c in zip(items, chosen) if c], scores[chosen]


def headline(items):
    """The genuine faces and the manipulated ones: what calibration, operating points and clips are about."""
    genuine, manipulated, _ = kinds(items)
    return part(items, np.zeros(len(items)), genuine | manipulated)[0]


def calibrated(items, scores):
    """Calibration and operating points, from both conditions together."""
    labels, repositories = arrays(items)
    both = np.tile(labels, len(CONDITIONS)), scores.T.ravel(), np.tile(repositories, len(CONDITIONS))
    calibration = figures.calibrate(*both)
    calibration["limits"] = figures.limits(labels, scores, repositories, calibration)
    return calibration, figures.operating_points(both[0], figures.probability(calibration, both[1]), both[2])


def clip_rows(items, scores, encoded, calibration):
    """Clips as they are and as they are shared; encoded holds the logit of each clip after encoding."""
    found = clips.together(items)
    first = [items[rows[0]] for rows in found.values()]
    plain = np.array([scores[rows, 0].mean() for rows in found.values()])
    labels, repositories = arrays(first)
    name = CLIP.format(data.FRAMES)
    both = (plain, CONDITIONS[0]), (encoded, clips.SHARED)
    return [figures.measure(labels, values, repositories, name, c, calibration=calibration) for values, c in both]


def shortcut_rows(items):
    """What format, size, JPEG table and sharpness alone give away."""
    labels, repositories = arrays(items)
    fold_of, result = folds(items, FOLDS), []
    for k, (condition, what) in enumerate(zip(CONDITIONS, ("file size, picture size, JPEG table and sharpness", "sharpness"))):
        values = shortcuts.scores(items, [i.traits[k] for i in items], fold_of, k == 0)
        result.append(figures.measure(labels, values, repositories, SHORTCUTS, condition, NOTE.format(what)))
    return result


def measured(items, scores, made, made_scores, encoded):
    """Calibration, operating points and the rows of the card.

    Faces in pictures that are generated as a whole (label "fake") are another
    model's task and count for nothing here.
    """
    genuine, manipulated, whole = kinds(items)
    named = np.array([i.label != "fake" for i in items])
    first = part(items, scores, genuine | manipulated)
    calibration, points = calibrated(*first)
    rows = rows_of(*first, MANIPULATED, calibration)
    rows += clip_rows(*first, encoded, calibration)
    rows += rows_of(*part(items, scores, named & (genuine | whole)), GENERATED, calibration)
    rows += rows_of(*part(items, scores, named), EVERYTHING, calibration)
    own = [i for i in items if not i.fake]
    rows += rows_of(own + made, np.concatenate([scores[genuine], made_scores]), MADE, calibration)
    return calibration, points, rows + shortcut_rows(first[0])
