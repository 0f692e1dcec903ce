"""How far what a picture shows gives its label away: a classifier of content alone, in the same folds."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vision import clip, export, external, figures
from vision.folds import inside

KEY = "content"  # among the statistics of an item: one row that says what it shows
SET = "content alone, the same folds"
NOTE = "a classifier of CLIP's final class token, which says what a picture shows and hardly how it was made: what a model gains by no more than that"


def graph(weights, path, shape, rows):
    """Writes the graph of what a row shows, CLIP's final class token, in 8 bits that rows scale."""
    export.export(clip.Clip(clip.weights(external.CLIP.file(weights)), (), content=True).eval(), path, shape)
    external.Encoder(external.CLIP.file, "blocks", {}).reduce(path, rows)


def scores(items, rows, fold_of):
    """Out-of-fold log-odds of each item by its row; a fold's classifier has seen what the model of that fold has."""
    labels, found = np.array([i.fake for i in items]), np.zeros(len(items))
    for fold in sorted(set(fold_of)):
        known, own = inside(items, fold_of, fold), fold_of == fold
        classifier = make_pipeline(StandardScaler(), LogisticRegression(C=1e-3, max_iter=1000, class_weight="balanced"))
        found[own] = classifier.fit(rows[known], labels[known]).decision_function(rows[own])
    return found


def measured(items, features, fold_of):
    """The measurement of the card, of pictures that have such a row; none where few have."""
    have = np.array([len(f.get(KEY, ())) > 0 and not i.clip for i, f in zip(items, features)])
    if not have.any():
        return []
    some = [i for i, k in zip(items, have) if k]
    rows = np.stack([f[KEY][0] for f, k in zip(features, have) if k]).astype(np.float32)
    own = scores(some, rows, fold_of[have])
    return [figures.measure([i.fake for i in some], own, [i.repository for i in some], SET, "clean", NOTE)]
