"""Train, measure, export: the way from gathered items to a model folder.

A Study says what differs between the models; its data is the module data of
the model, with SIZE, view, score, seen and check_row.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import torch

from vision import card, crossval, export, figures, report, shortcuts
from vision.detector import Detector

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
    seed: int
    views: int  # random views of each item, for the probe

    def kept(self, work, suffix):
        """The file of an intermediate result."""
        return Path(work, f"{self.name}-{suffix}")


def cross_validate(study, plain, items, features):
    """Out-of-fold scores of every item, and the CPU minutes they took."""
    begun = time.process_time()
    scores, fold_of = crossval.out_of_fold(
        plain, items, features, study.data.view, study.data.score, study.training, study.seed
    )
    return {"scores": scores, "folds": fold_of, "minutes": (time.process_time() - begun) / 60}


def final_model(study, plain, items, features, path):
    """The model trained on everything, and the CPU minutes that took; kept in path."""
    if not path.exists():
        begun = time.process_time()
        model = crossval.train(plain, items, features, study.data.view, study.training, study.seed)
        torch.save({"state": model.state_dict(), "minutes": (time.process_time() - begun) / 60}, path)
    kept = torch.load(path)
    plain.load_state_dict(kept["state"])
    return plain.eval().requires_grad_(False), kept["minutes"]


def shortcut_rows(study, items, fold_of, labels, repositories):
    """What format, size, JPEG table and sharpness alone give away."""
    views = [study.data.seen(i) for i in items]
    note = "a classifier of {} alone, no look at the content: how much the data give away"
    found = shortcuts.scores(items, [v[0] for v in views], fold_of, True)
    again = shortcuts.scores(items, [v[1] for v in views], fold_of, False)
    return [
        figures.measure(labels, found, repositories, "shortcuts only", CONDITIONS[0],
                        note.format("file size, picture size, JPEG table and sharpness")),
        figures.measure(labels, again, repositories, "shortcuts only", CONDITIONS[1], note.format("size and sharpness")),
    ]


def made_row(items, scores):
    """How well fakes made from unseen genuine items are told from those; no difference in content or style."""
    rows = [k for k, i in enumerate(items) if i.made or not i.fake]
    labels, names = [items[k].fake for k in rows], [items[k].repository for k in rows]
    return figures.measure(labels, scores[rows, 0], names, "unseen genuine items and fakes made from them", CONDITIONS[0])


def measure(study, items, result):
    """Calibration, operating points and measurements from the out-of-fold scores."""
    own = np.array([not i.made for i in items])
    chosen = [i for i in items if not i.made]
    labels, repositories = np.array([i.fake for i in chosen]), np.array([i.repository for i in chosen])
    twice, names = np.tile(labels, 2), np.tile(repositories, 2)
    pooled = result["scores"][own].T.ravel()
    calibration = figures.calibrate(twice, pooled, names)
    points = figures.operating_points(twice, figures.probability(calibration, pooled), names)
    rows = [
        figures.measure(labels, result["scores"][own][:, k], repositories, "five folds by repository and generator", name)
        for k, name in enumerate(CONDITIONS)
    ]
    if len(chosen) < len(items):
        rows.append(made_row(items, result["scores"]))
    rows += shortcut_rows(study, chosen, result["folds"][own], labels, repositories)
    return calibration, points, rows


def write_report(study, path, items, result, measured):
    """RESULTS.md."""
    calibration, points, rows = measured
    chances = figures.probability(calibration, result["scores"])
    conditions = f"Two figures in a cell: {CONDITIONS[0]} / {CONDITIONS[1]}."
    text = report.HEADER.format(title=f"{study.name} {study.version}: what was measured", conditions=conditions)
    text += report.measurements(rows) + "\n" + report.points(points)
    text += "\n## Fake\n\n" + report.per_source(items, chances, points, 1)
    text += "\n## Genuine\n\n" + report.per_source(items, chances, points, 0)
    text += "\n## Folds\n\n" + report.per_fold(items, result["folds"], result["scores"][:, 0])
    path.write_text(text)


def write_model(study, folder, model, items, measured, training):
    """model.onnx, checked on twenty real inputs, and card.json."""
    folder.mkdir(parents=True, exist_ok=True)
    size = study.data.SIZE
    export.export(model, folder / "model.onnx", size)
    rows = np.stack([study.data.check_row(items[k]) for k in np.linspace(0, len(items) - 1, 20).astype(int)])
    export.verify(model, folder / "model.onnx", rows)
    calibration, points, rows = measured
    card.write(folder, size, {
        "name": study.name, "version": study.version, "task": study.task, "description": study.description,
        "preprocessing": study.preprocessing, "calibration": calibration, "operating_points": points, "measured": rows,
        "training": {"recipe": study.recipe, "seed": study.seed, **training},
    })


def run(study, options, items, dropped):
    """Everything after gathering; goes on where an earlier run in the same work folder stopped."""
    plain = Detector(options.weights / card.BACKBONE, study.data.SIZE)
    features = card.keep(
        study.kept(options.work, "features.npz"),
        lambda: {"x": crossval.probe_set(plain, items, study.data.view, study.views, study.seed)},
    )["x"]
    result = card.keep(study.kept(options.work, "scores.npz"), lambda: cross_validate(study, plain, items, features))
    model, minutes = final_model(study, plain, items, features, study.kept(options.work, "model.pt"))
    measured = measure(study, items, result)
    training = {
        "cpu_minutes": round(minutes + float(result["minutes"]), 1), "started_from": card.START,
        "sources": study.data.gather.sources(items), "held_out_dropped": dropped,
    }
    write_model(study, options.out, model, items, measured, training)
    path = options.report or Path(study.data.__file__).with_name("RESULTS.md")
    write_report(study, path, items, result, measured)
    print(report.measurements(measured[2]), report.points(measured[1]), sep="\n")
