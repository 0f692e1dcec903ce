"""Trains, measures and exports deepfaked-face."""

import copy
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import clips
import data
import measure
import numpy as np
import tables
import torch
import training
from detect import YuNet
from vision import card, export
from vision.detector import Detector

NAME, VERSION = "deepfaked-face", "0.2.1"
DESCRIPTION = (
    "Judges one face: the first layers of MobileNetV2, trained on genuine faces and blended copies of them, and on no "
    "manipulated face. Experimental, and hardly better than chance over all methods: it finds the seams of some face swaps in video, "
    "not those of hand-made composites, reenactment, older swaps or faces generated altogether. Finding no seam is no evidence."
)
DEPTH = 48  # layers of the backbone that are kept: traces of blending are small and near one another
COUNTED = 0.2  # share of the genuine faces whose log-odds count; all below are raised to where these begin
OPTIONS = {"pairs": 16, "frozen": 6, "rate": 5e-4, "decay": 0.05, "dropout": 0.2, "average": 0.99, "probe": 1e-3, "ranking": 1.0}
# The second stage knows faces that fill their pictures too, as portraits and published crops do.
STAGES = (
    {"seed": 1, "steps": 700, "probed": 1200, "tight": 0.0},
    {"seed": 2, "steps": 500, "probed": 0, "tight": 0.25},
)


def trained(options, items):
    """The model and the CPU minutes it took; goes on with what an earlier run left."""
    plain = Detector(options.weights / card.BACKBONE, data.SIZE, depth=DEPTH)
    path = options.work / f"{NAME}-model.pt"
    if not path.exists():
        begun, model = time.process_time(), plain
        for stage in STAGES:
            model = training.train(model, items, OPTIONS | stage)
        torch.save({"state": model.state_dict(), "minutes": (time.process_time() - begun) / 60}, path)
    kept, model = torch.load(path), copy.deepcopy(plain)
    model.load_state_dict(kept["state"])
    return model.eval().requires_grad_(False), kept["minutes"]


def floor_of(run, judged):
    """The log-odds that COUNTED of the genuine faces exceed: most methods leave no seam, so less than that says nothing."""
    return round(float(np.quantile([data.score(run, i) for i in judged if not i.fake], 1 - COUNTED)), 3)


def judge(options, run, judged, made):
    """The logits of the judged faces and of the blended copies, and that of each clip after encoding."""
    found = clips.together(measure.headline(judged))
    files = clips.keep_shared(found, options.work / "face-base", YuNet(options.weights / data.DETECTOR))
    scores, blended = (np.array([data.score(run, i) for i in items]) for items in (judged, made))
    encoded = np.array([run(np.load(f)).mean() for f in files])
    return scores, blended, encoded


def keep_scores(options, judged, scores, calibration):
    """What the model says of every face of the folders of faces, for the fusion with other models."""
    odds = calibration["scale"] * scores[:, 0] + calibration["bias"]
    (options.work / f"{NAME}-scores.json").write_text(json.dumps([
        {"path": str(i.path), "sha256": data.digest(i), "repository": i.repository, "generator": i.generator, "fake": int(i.fake),
         "log_odds": round(float(o), 4), "logits": row.tolist()}
        for i, o, row in zip(judged, odds, scores) if i.label.startswith("face")
    ]))


def write_card(options, model, items, judged, dropped, minutes, figures):
    """card.json, beside the graph."""
    calibration, points, rows = figures
    card.write(options.out, data.SIZE, {
        "name": NAME, "version": VERSION, "task": "face-manipulation", "description": DESCRIPTION,
        "preprocessing": {"margin": data.MARGIN}, "calibration": calibration, "operating_points": points, "measured": rows,
        "training": {
            "recipe": "scripts/train/face", "seed": STAGES[0]["seed"], "cpu_minutes": round(minutes, 1), "started_from": card.START,
            "sources": data.gather.sources(items), "held_out_dropped": dropped,
        },
    })


def main():
    """Gathers, trains, exports, measures."""
    options = card.arguments(__doc__)
    card.one_thread()
    items, judged, dropped = data.load(options.data, options.work, options.weights, options.more)
    model, minutes = trained(options, items)
    options.out.mkdir(parents=True, exist_ok=True)
    export.export(export.rounded(model), options.work / f"{NAME}-unbounded.onnx", data.SIZE)
    model.floor = floor_of(export.runner(options.work / f"{NAME}-unbounded.onnx"), judged)
    print(f"log-odds below {model.floor} are raised to it")
    export.export(model, options.out / "model.onnx", data.SIZE)
    rows = np.stack([data.check_row(judged[k]) for k in np.linspace(0, len(judged) - 1, 20).astype(int)])
    export.verify(model, options.out / "model.onnx", rows)
    export.compact(options.out / "model.onnx")
    made = data.blended(judged)
    scores, blended, encoded = judge(options, export.runner(options.out / "model.onnx"), judged, made)
    figures = measure.measured(judged, scores, made, blended, encoded)
    write_card(options, model, items, judged, dropped, minutes, figures)
    keep_scores(options, judged, scores, figures[0])
    report = options.report or Path(__file__).with_name("RESULTS.md")
    tables.write(report, f"{NAME} {VERSION}", judged, scores, figures, options.work / "others.npz")


if __name__ == "__main__":
    main()
