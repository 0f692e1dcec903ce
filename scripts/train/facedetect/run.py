"""Trains, measures and exports the face detector."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# faces.py takes "data" from the picture model and "detect" from the face model.
sys.path[1:1] = [str(HERE.parent), str(HERE.parent / "image"), str(HERE.parent / "face")]

import needs

with needs.packages():
    import faces
    import graph
    import measure
    import numpy as np
    import report
    import torch
    import training
    from network import Network
    from vision import card, export, finder, gather
    from vision.folds import folds, inside, repositories

NAME, VERSION, TASK = "deepfaked-face-detection", "0.2.1", "face-detection"
DESCRIPTION = "Finds faces: YuNet with its costliest stage at half the side and without its finest stride, trained to answer " \
    "as YuNet does in every cell of photographs, portraits and generated pictures. Judges nothing."
START = "YuNet, yunet_n of ShiqiYu/libfacedetection.train at 0047ac24afb1 (Apache-2.0, Copyright 2022 Shiqi Yu and 2018-2022 " \
    "OpenMMLab); its layers up to stride 4 are kept as they are"
WEIGHTS = "Apache-2.0, begun from YuNet (Apache-2.0)"
SEED = 0
FOLDS = 10
TEST, CHECK = (7, 9), 3  # folds that are measured on, and the one the threshold is chosen on


def split(pictures):
    """Pictures to train on, to choose the threshold on, to measure on; no repository or source is in two of them."""
    fold_of = folds(pictures, FOLDS, repositories)
    joined = np.where(np.isin(fold_of, TEST), TEST[0], fold_of)
    rest = set(inside(pictures, joined, TEST[0]))
    used = sorted(rest & set(inside(pictures, joined, CHECK)))
    parts = used, sorted(k for k in rest if joined[k] == CHECK), np.flatnonzero(joined == TEST[0])
    return [[pictures[k] for k in part] for part in parts]


def trained(pictures, work, teacher):
    """The network and the CPU minutes its training took; every stage is kept in work."""
    state, total = None, 0.0
    for k, stage in enumerate(training.STAGES):
        path = work / f"facedetect-{k}.pt"
        if not path.exists():
            network, minutes = training.train(pictures, teacher, SEED + k, stage, state)
            torch.save({"state": network.state_dict(), "minutes": minutes}, path)
        kept = torch.load(path)
        state, total = kept["state"], total + kept["minutes"]
    network = Network()
    network.load_state_dict(state)
    return network.eval().requires_grad_(False), total


def portrait(picture):
    """Whether a face takes a third of the picture's longer side."""
    sides = faces.longer(picture.boxes[faces.certain(picture.boxes)])
    return sides.max(initial=0) >= max(picture.pixels.shape) / 3


def conditions(run, test, threshold):
    """The rows of the card, and the results of the test pictures clean and compressed."""
    clean, worn = (measure.judge(run, test, c) for c in measure.CONDITIONS)
    alone = {"photographs": lambda p: not p.fake, "generated and manipulated": lambda p: p.fake, "portraits": portrait}
    notes = {"portraits": "a face takes a third of the picture's longer side or more"}
    empty = [r for r, p in zip(clean, test) if not len(p.boxes)]
    wrong = int(measure.counts(empty, threshold)[:, 1].sum())
    rows = []
    for condition, results in zip(measure.CONDITIONS, (clean, worn)):
        rows.append(measure.figures(results, threshold, "unseen sources", condition))
        for name, wanted in alone.items():
            part = [r for r, p in zip(results, test) if wanted(p)]
            rows.append(measure.figures(part, threshold, f"unseen sources, {name} alone", condition, notes.get(name, "")))
    rows[0]["note"] = (
        f"truth is YuNet at {faces.SURE} or more; its faces below that or below {faces.SMALLEST} pixels count neither way; "
        f"{wrong} boxes in the {len(empty)} pictures where it finds nothing"
    )
    return clean, worn, rows


def write_card(folder, threshold, rows, sources, minutes, dropped):
    """card.json."""
    path = folder / "model.onnx"
    fields = {
        "schema": 1, "name": NAME, "version": VERSION, "task": TASK, "description": DESCRIPTION,
        "file": path.name, "sha256": export.digest(path),
        "input": {"name": "pixels", "type": "uint8", "shape": [-1, faces.SIZE, faces.SIZE, 3]},
        "output": {"name": "faces", "type": "float32", "shape": [-1, 64, 5]},
        "preprocessing": {},
        "detection": {"threshold": threshold, "overlap": faces.OVERLAP, "measured": rows},
        "training": {
            "recipe": "scripts/train/facedetect", "seed": SEED, "cpu_minutes": round(minutes, 1),
            "started_from": START, "sources": gather.sources(sources), "held_out_dropped": dropped,
        },
        "licences": card.LICENCES | {"weights": WEIGHTS},
        "golden": graph.golden(path),
    }
    (folder / "card.json").write_text(json.dumps(fields, indent=2, ensure_ascii=False) + "\n")


def main():
    """Gathers, labels, trains, measures, exports."""
    options = card.arguments(__doc__)
    card.one_thread()
    pictures, dropped = faces.load(options.data, options.work, options.weights, options.more)
    used, check, test = split(pictures)
    for name, part in (("trained on", used), ("threshold", check), ("measured on", test)):
        print(f"{name}: {len(part)} pictures, {sum(int(faces.certain(p.boxes).sum()) for p in part)} faces")
    network, minutes = trained(used, options.work, options.weights / faces.DETECTOR)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "model.onnx"
    graph.write(network, path)
    apart = graph.verify(network, path, np.stack([finder.framed(p.pixels, faces.SIZE) for p in test[:: len(test) // 20][:20]]))
    run = graph.runner(path)
    threshold = measure.choose([r for c in measure.CONDITIONS for r in measure.judge(run, check, c)])
    clean, worn, rows = conditions(run, test, threshold)
    write_card(options.out, threshold, rows, used + check, minutes, dropped)
    facts = {"threshold": threshold, "apart": apart, "time": measure.milliseconds(run, test), "size": path.stat().st_size}
    report.write(options.report or HERE / "RESULTS.md", f"{NAME} {VERSION}", rows, (test, clean, worn), (used, check), facts)


if __name__ == "__main__":
    main()
