"""What is measured of faces beside what is measured of pictures: parts of them alone, and clips."""

from pathlib import Path

import numpy as np
from vision import export, figures, film
from vision.pipeline import CONDITIONS

import clips
import data

ALONE = "{} alone, repositories and methods left out, five folds"
CLIP = "clips, repositories and methods left out, five folds, the mean of up to {} frames"


def arrays(items):
    """Labels and repositories."""
    return np.array([i.fake for i in items]), np.array([i.repository for i in items])


def manipulated(items):
    """A mask of the genuine faces and the manipulated ones."""
    return np.array([i.generator not in data.WHOLE or not i.fake for i in items])


def parts(items):
    """Masks of what is measured by itself: most clips are fake and most pictures genuine, so together they say what a medium gives away."""
    frames = np.array([i.medium == "clip" for i in items])
    return {"pictures": ~frames, "frames of clips": frames, "genuine and manipulated, not generated, faces": manipulated(items)}


def by_graph(fold, work):
    """What judges the clips of a fold after encoding, by their files: the graph that is kept of the model of that fold."""
    run = export.runner(Path(work, f"{data.NAME}-fold{fold}.onnx"))
    return lambda path: run(rows) if len(rows := np.load(clips.file_of(path, work))) else []


def further(items, result, calibration, work, judge=by_graph):
    """More rows of the card, from what cross_validate says of the items."""
    rows = []
    for name, own in parts(items).items():
        part = [i for i, k in zip(items, own) if k]
        rows += figures.by_condition(part, result["scores"][own], calibration, ALONE.format(name), CONDITIONS)
    return rows + clip_rows(items, result, calibration, work, judge)


def media(items, result, work, judge=by_graph):
    """Pictures, and clips by the mean of their frames; both with their scores, clips as they are and as they are shared."""
    found = clips.together(items)
    first = np.array([rows[0] for rows in found.values()])
    plain = [result["scores"][rows, 0].mean() for rows in found.values()]
    whole = np.column_stack([plain, encoded(found, result["folds"][first], work, judge)])
    pictures = np.flatnonzero(parts(items)["pictures"])
    return {"image": ([items[k] for k in pictures], result["scores"][pictures]), "video": ([items[k] for k in first], whole)}


def clip_rows(items, result, calibration, work, judge):
    """Clips as they are and as they are shared, which the model of their fold judges."""
    found, scores = media(items, result, work, judge)["video"]
    return [row_of(found, scores[:, k], condition, calibration) for k, condition in enumerate((CONDITIONS[0], film.SHARED))]


def row_of(items, scores, condition, calibration):
    """One row, of the clips that have a score."""
    known = ~np.isnan(scores)
    labels, repositories = arrays(items)
    name = CLIP.format(data.FRAMES)
    return figures.measure(labels[known], scores[known], repositories[known], name, condition, calibration=calibration)


def encoded(found, fold_of, work, judge):
    """The logit of each clip after encoding by the model of its fold; none where no face is found any more."""
    logits = np.full(len(found), np.nan)
    for fold in sorted(set(fold_of)):
        logits_of = judge(fold, work)
        for k, path in enumerate(found):
            if fold_of[k] == fold and len(said := logits_of(path)):
                logits[k] = np.mean(said)
    return logits
