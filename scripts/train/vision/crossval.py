"""Out-of-fold scores, and the final model trained in the same way on everything."""

import time

import numpy as np
from sklearn.metrics import roc_auc_score

from vision import detector as network
from vision import export
from vision.folds import folds, inside, sampling_weights

FOLDS = 5


def probe_set(plain, items, view, count, seed):
    """Pooled features of count random views of every item, by the untrained backbone."""
    random = np.random.RandomState(seed)
    rounds = []
    for _ in range(count):
        rows = np.stack([view(item, random) for item in items])
        parts = [network.pooled_features(plain, rows[i : i + 16]) for i in range(0, len(rows), 16)]
        rounds.append(np.concatenate(parts))
    return np.stack(rounds)


def train(plain, items, features, view, options, seed):
    """Probes, then tunes, on the items."""
    weights = sampling_weights(items)
    labels = np.array([i.fake for i in items])
    count = len(features)
    network.probe(
        plain, np.concatenate(features), np.tile(labels, count), np.tile(weights / count, count), options["probe"]
    )

    def draw(random):
        k = random.choice(len(items), p=weights)
        return view(items[k], random), labels[k]

    return network.fine_tune(plain, draw, options, seed)


def score(plain, items, features, study, known, left, seed, path):
    """The scores of the items left by a model trained on the known ones; its graph is kept in path."""
    model = train(plain, [items[i] for i in known], features[:, known], study.data.view, study.training, seed)
    export.export(model, path, study.data.SIZE)  # several times as fast as PyTorch, and what is served
    run = export.runner(path)
    return np.array([study.data.score(run, items[i]) for i in left])


def score_fold(plain, items, features, study, fold, work):
    """The scores of one fold by a model trained on the others, and the CPU minutes that took.

    The model saw neither the repository nor the generator of what it scores.
    """
    begun, fold_of = time.process_time(), folds(items, FOLDS, study.groups)
    left = np.array([k for k in np.flatnonzero(fold_of == fold) if items[k].judged])
    known = inside(items, fold_of, fold)
    scores = score(plain, items, features, study, known, left, study.fold_seed + fold, study.kept(work, f"fold{fold}.onnx"))
    print_fold(fold, [items[i] for i in left], scores)
    return {"rows": left, "scores": scores, "minutes": (time.process_time() - begun) / 60}


def print_fold(fold, items, scores):
    """One line about a fold: AUC under each condition, and the spread of the scores."""
    labels = [i.fake for i in items]
    areas = np.round([roc_auc_score(labels, column) for column in scores.T], 3)
    print(f"fold {fold}: {len(labels) - sum(labels)} real, {sum(labels)} fake; AUC {areas}; "
          f"mean {scores[:, 0].mean():+.2f}, deviation {scores[:, 0].std():.2f}", flush=True)
