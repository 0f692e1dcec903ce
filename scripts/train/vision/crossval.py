"""Out-of-fold scores."""

import time

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from vision import export
from vision.folds import folds, inside

FOLDS = 5
HEAD = "fold{}.head"  # file of the head of a fold


def score_fold(study, plain, items, features, fold, unseen, work):
    """The scores of one fold by a model trained on the others, those of reduced views, and the CPU minutes that took.

    The model saw no repository of what it scores and, with unseen, nothing that shares
    a generator or source with it either; then its graph is kept in work, or its head alone where the rest is an encoder's.
    """
    begun, fold_of = time.process_time(), folds(items, FOLDS, study.groups)
    left = np.array([k for k in np.flatnonzero(fold_of == fold) if items[k].judged])
    known = inside(items, fold_of, fold) if unseen else np.flatnonzero(fold_of != fold)
    head = export.rounded(study.train([items[k] for k in known], [features[k] for k in known], study.training, study.seed + 1 + fold), study.narrow)
    judged = lambda rows: study.judged(head, rows)
    scores = np.array([study.data.score_rows(judged, features[k]) for k in left])
    small = [(k, side, score) for k in left for side, score in study.small(judged, features[k])]
    if unseen and study.encoder:
        torch.save(head, study.kept(work, HEAD.format(fold)))
    elif unseen:
        export.export(study.model(plain, head), study.kept(work, f"fold{fold}.onnx"), study.data.SHAPE)
    print_fold(fold, unseen, [items[i] for i in left], scores)
    return {"rows": left, "scores": scores, "small": np.array(small, float).reshape(-1, 3), "minutes": (time.process_time() - begun) / 60}


def print_fold(fold, unseen, items, scores):
    """One line about a fold: AUC under each condition, and the spread of the scores."""
    labels = [i.fake for i in items]
    areas = np.round([roc_auc_score(labels, column) for column in scores.T], 3)
    what = "repositories and generators" if unseen else "repositories"
    print(f"fold {fold}, unseen {what}: {len(labels) - sum(labels)} real, {sum(labels)} fake; AUC {areas}; "
          f"mean {scores[:, 0].mean():+.2f}, deviation {scores[:, 0].std():.2f}", flush=True)
