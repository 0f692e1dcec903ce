"""Train, measure, export: the way from gathered items to a model folder.

A Study says what differs between the models; its data is the module data of
the model, with SIZE, view, score, seen and check_row.
"""

import copy
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import torch

from vision import card, crossval, export, figures, reduced, report, shortcuts
from vision.detector import Detector
from vision.folds import folds

SPLIT = "repositories and generators left out, {} of five folds"
CONDITIONS = ("clean", "JPEG q60 at no more than 768 pixels")


@dataclass
class Study:
    """One model: what is trained, how, and what the card says about it."""

    name: str
    version: str
    task: str
    description: str
    recipe: str
    data: ModuleType
    preprocessing: dict
    training: dict  # the options of fine_tune and of the probe
    seed: int  # of the features and of the final model
    fold_seed: int  # of the first fold; the others count on from it
    views: int  # random views of each item, for the probe
    folds: tuple  # those of the five that are run: each costs as much as the final model
    groups: Callable  # of items, to what the folds keep whole
    taps: tuple = ()  # layers of the backbone whose outputs the head sees besides the last

    def kept(self, work, suffix):
        """The file of an intermediate result."""
        return Path(work, f"{self.name}-{suffix}")


def cross_validate(study, plain, items, features, work):
    """Out-of-fold scores of the items of the folds that are run; returns those items too."""
    fold_of, total, rows, scores = folds(items, crossval.FOLDS, study.groups), 0.0, [], []
    for fold in study.folds:
        path = study.kept(work, f"fold{fold}.npz")
        result = card.keep(path, lambda: crossval.score_fold(plain, items, features, study, fold, work))
        rows, scores = [*rows, *result["rows"]], [*scores, *result["scores"]]
        total += float(result["minutes"])
    return [items[i] for i in rows], {"scores": np.array(scores), "folds": fold_of[rows], "minutes": total}


def final_model(study, plain, items, features, path):
    """The model trained on everything, and the CPU minutes that took; kept in path."""
    if not path.exists():
        begun = time.process_time()
        model = crossval.train(plain, items, features, study.data.view, study.training, study.seed)
        torch.save({"state": model.state_dict(), "minutes": (time.process_time() - begun) / 60}, path)
    kept = torch.load(path)
    model = copy.deepcopy(plain)
    model.load_state_dict(kept["state"])
    return model.eval().requires_grad_(False), kept["minutes"]


def shortcut_rows(study, items):
    """What format, size, JPEG table and sharpness alone give away, on the folds that are run."""
    own = np.array([i.judged and not i.made for i in items])
    fold_of, items = folds(items, crossval.FOLDS, study.groups)[own], [i for i, k in zip(items, own) if k]
    views = [study.data.seen(i) for i in items]
    note = "a classifier of {} alone, no look at the content: what the files give away; the model sees pixels only"
    notes = [note.format("file size, picture size, JPEG table and sharpness"), note.format("size and sharpness")]
    rows = []
    run = np.flatnonzero(np.isin(fold_of, study.folds))
    for k, condition in enumerate(CONDITIONS):
        scores = shortcuts.scores(items, [v[k] for v in views], fold_of, k == 0)[run]
        labels, names = [items[i].fake for i in run], [items[i].repository for i in run]
        rows.append(figures.measure(labels, scores, names, "shortcuts only, the same folds", condition, notes[k]))
    return rows


def made_row(items, scores):
    """How well fakes made from unseen genuine items are told from those; no difference in content or style."""
    rows = [k for k, i in enumerate(items) if i.made or not i.fake]
    labels, names = [items[k].fake for k in rows], [items[k].repository for k in rows]
    return figures.measure(labels, scores[rows, 0], names, "unseen genuine items and fakes made from them", CONDITIONS[0])


def measure(study, items, scored, result):
    """Calibration, operating points and measurements from the out-of-fold scores."""
    own = np.array([not i.made for i in scored])
    chosen = [i for i in scored if not i.made]
    labels, repositories = np.array([i.fake for i in chosen]), np.array([i.repository for i in chosen])
    twice, names = np.tile(labels, 2), np.tile(repositories, 2)
    pooled = result["scores"][own].T.ravel()
    calibration = figures.calibrate(twice, pooled, names)
    calibration["limits"] = figures.limits(labels, result["scores"][own], repositories, calibration)
    points = figures.operating_points(twice, figures.probability(calibration, pooled), names)
    rows = figures.by_condition(scored, result["scores"], calibration, SPLIT.format(len(study.folds)), CONDITIONS)
    if len(chosen) < len(scored):
        rows.append(made_row(scored, result["scores"]))
    rows += shortcut_rows(study, items)
    return calibration, points, rows


def write_report(study, path, scored, result, measured, bytewise):
    """RESULTS.md; bytewise holds what was measured in 8 bits, and the scores."""
    calibration, points, rows = measured
    chances = figures.probability(calibration, result["scores"])
    conditions = f"Two figures in a cell: {CONDITIONS[0]} / {CONDITIONS[1]}."
    text = report.HEADER.format(title=f"{study.name} {study.version}: what was measured", conditions=conditions)
    text += report.measurements(rows) + "\n" + report.points(points) + "\n" + report.claims(calibration)
    text += "\n## Fake\n\n" + report.per_source(scored, chances, points, 1)
    text += "\n## Genuine\n\n" + report.per_source(scored, chances, points, 0)
    text += "\n## Folds\n\n" + report.per_fold(scored, result["folds"], result["scores"])
    both = {"32 bits": (rows[: len(CONDITIONS)], result["scores"]), "8 bits": bytewise}
    text += reduced.table(scored, calibration, points["balanced"]["threshold"], both)
    path.write_text(text)


def write_model(study, folder, model, items, measured, bytewise, training):
    """model.onnx, checked on twenty real inputs, the same in 8 bits, and card.json."""
    folder.mkdir(parents=True, exist_ok=True)
    size = study.data.SIZE
    export.export(model, folder / "model.onnx", size)
    judged = [i for i in items if i.judged]
    rows = np.stack([study.data.check_row(judged[k]) for k in np.linspace(0, len(judged) - 1, 20).astype(int)])
    export.verify(model, folder / "model.onnx", rows)
    calibration, points, rows = measured
    variant = reduced.write(study, folder, items, bytewise)
    card.write(folder, size, {
        "name": study.name, "version": study.version, "task": study.task, "description": study.description,
        "variants": [variant],
        "preprocessing": study.preprocessing, "calibration": calibration, "operating_points": points, "measured": rows,
        "training": {"recipe": study.recipe, "seed": study.seed, **training},
    })


def untuned(study, options, items):
    """The network before training, and what it makes of random views of the items."""
    plain = Detector(options.weights / card.BACKBONE, study.data.SIZE, study.taps)
    features = card.keep(
        study.kept(options.work, "features.npz"),
        lambda: {"x": crossval.probe_set(plain, items, study.data.view, study.views, study.seed)},
    )["x"]
    return plain, features


def keep_scores(study, work, scored, result, calibration):
    """The out-of-fold log-odds of every file, for the fusion with other models."""
    odds = calibration["scale"] * result["scores"][:, 0] + calibration["bias"]
    study.kept(work, "scores.json").write_text(json.dumps([
        {"path": str(i.path), "repository": i.repository, "generator": i.generator, "fake": int(i.fake), "log_odds": round(float(o), 4)}
        for i, o in zip(scored, odds) if not i.made
    ]))


def run(study, options, items, dropped):
    """Everything after gathering; goes on where an earlier run in the same work folder stopped."""
    plain, features = untuned(study, options, items)
    model, minutes = final_model(study, plain, items, features, study.kept(options.work, "model.pt"))
    scored, result = cross_validate(study, plain, items, features, options.work)
    measured = measure(study, items, scored, result)
    keep_scores(study, options.work, scored, result, measured[0])
    own = reduced.scores(study, items, options.work)
    bytewise = figures.by_condition(scored, own, measured[0], SPLIT.format(len(study.folds)), CONDITIONS)
    training = {
        "cpu_minutes": round(minutes + float(result["minutes"]), 1), "started_from": card.START,
        "sources": study.data.gather.sources(items), "held_out_dropped": dropped,
    }
    write_model(study, options.out, model, items, measured, bytewise, training)
    path = options.report or Path(study.data.__file__).with_name("RESULTS.md")
    write_report(study, path, scored, result, measured, (bytewise, own))
    print(report.measurements(measured[2]), report.points(measured[1]), sep="\n")
