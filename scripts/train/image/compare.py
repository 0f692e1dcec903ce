"""Compares with an earlier model on pictures of repositories that neither has seen.

python compare.py --earlier FOLDER --work WORK [--folds 2 0 1]

FOLDER holds the earlier model.onnx and card.json; WORK is what run.py left.
Judged are the pictures of the folds that were run, less every repository that
the earlier card lists: the scores of this model are out of fold. The models of
the folds have not seen the generators either; the earlier model may have, in
other repositories, and is judged as it was shipped. Compared are logits, whatever calibrations their sizes have.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import data
import numpy as np
from run import STUDY
from sklearn.metrics import roc_auc_score
from vision import card, export, figures
from vision.pipeline import CONDITIONS


def common(items, earlier, folds, work):
    """The items that neither model has seen, this model's scores of them, and the fold of each."""
    known = {s["repository"] for s in json.loads((earlier / "card.json").read_text())["training"]["sources"]}
    chosen, scores, fold_of = [], [], []
    for fold in folds:
        with np.load(STUDY.kept(work, f"fold{fold}.npz")) as kept:
            for row, score in zip(kept["rows"], kept["scores"]):
                if items[row].repository not in known and not items[row].clip:
                    chosen.append(items[row])
                    scores.append(score)
                    fold_of.append(fold)
    return chosen, np.array(scores), np.array(fold_of)


def detected(labels, scores, rate=0.05):
    """Share of the fakes above the threshold that this share of the genuine ones reaches."""
    return float((scores[labels == 1] >= np.quantile(scores[labels == 0], 1 - rate)).mean())


def row(name, labels, repositories, earlier, later):
    """One row of the table; the last cell is the difference in AUC with its interval."""
    pairs = [(roc_auc_score(labels[i], earlier[i]), roc_auc_score(labels[i], later[i])) for i in figures.resamples(labels, repositories)]
    cells = [f"{roc_auc_score(labels, s):.3f} {figures.interval(p)}, {detected(labels, s):.2f}" for s, p in zip((earlier, later), zip(*pairs))]
    gain = figures.interval([b - a for a, b in pairs])
    print(f"| {name} | {(labels == 0).sum()} / {(labels == 1).sum()} | {cells[0]} | {cells[1]} | {gain} |", flush=True)


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--earlier", required=True, type=Path, help="folder of the earlier model")
    parser.add_argument("--work", required=True, type=Path, help="folder that run.py worked in")
    parser.add_argument("--folds", nargs="+", type=int, default=STUDY.folds, help="folds that were run")
    options = parser.parse_args()
    card.one_thread()
    items, _, _ = data.load(None, options.work)
    chosen, later, fold_of = common(items, options.earlier, options.folds, options.work)
    run = export.runner(options.earlier / "model.onnx")
    earlier = np.array([data.score(run, item) for item in chosen])
    labels, repositories = np.array([i.fake for i in chosen]), np.array([i.repository for i in chosen])
    print("| condition | real / fake | earlier: AUC [95 %], detected at 5 % | this one | gain in AUC |\n|---|---|---|---|---|")
    for k, condition in enumerate(CONDITIONS):
        row(condition, labels, repositories, earlier[:, k], later[:, k])
        for fold in options.folds:
            own = fold_of == fold
            if len(set(labels[own])) == 2:
                row(f"{condition}, fold {fold}", labels[own], repositories[own], earlier[own, k], later[own, k])


if __name__ == "__main__":
    main()
