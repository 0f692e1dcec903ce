"""Command line: python -m convert.measure --data DIR --weights DIR --work DIR [NAME ...], from scripts/.

Judges the recordings, faces or clips of the archives, but those that are held
out or from the detector's own repository, and keeps figures, calibration and
operating points in measured.json. The archives hold few faces and clips: --more
takes those that the training scripts gathered.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from convert import figures, folder, graph, media
from convert.published import ALL, FACES, MOTION, SPEECH

SET = "{} of {}the training archives, none of them held out"
GATHERED = "gathered repositories and of "
# Of each task what the items of a medium are, the conditions that they are judged under, and a note.
JUDGED = {
    SPEECH: {"audio": ("recordings", media.SPOKEN, "")},
    FACES: {"image": ("faces in pictures", media.SEEN, ""), "video": ("clips", media.MOVED, "the mean of up to four frames")},
    MOTION: {"video": ("clips", media.MOVED, "")},
}


def items(task, options):
    """The items of a task and how many files were dropped, kept in the work folder."""
    def make():
        if task == SPEECH:
            return media.spoken(options.data)
        if task == MOTION:
            return media.moved(options.data, options.work, options.weights, options.more)
        return media.seen(options.data, options.work, options.weights, options.more)

    return media.kept(options.work / f"{task}.pickle", make)


def scores(runtime, found):
    """The mean output over the rows of each item, N×conditions."""
    begun, result = time.monotonic(), []
    for k, item in enumerate(found):
        result.append([float(graph.run(runtime, rows).mean()) for rows in item.rows])
        if k % 100 == 0:
            print(f"  {k} of {len(found)}, {time.monotonic() - begun:.0f} s", flush=True)
    return np.array(result)


def upright(calibration):
    """A card's scale must be positive; where the fit says that more means less, next to nothing is believed."""
    if calibration["scale"] > 0:
        return calibration
    return {"method": "platt", "scale": 1e-3, "bias": 0.0}


def measured(found, values, calibration, task, more):
    """The rows of the card: each medium under each of its conditions."""
    from vision import figures as trainer

    rows = []
    for medium, (kind, conditions, note) in JUDGED[task].items():
        own = np.array([i.medium == medium for i in found])
        part = [i for i, k in zip(found, own) if k]
        name = SET.format(kind, GATHERED if task != SPEECH and more else "")
        for scores, condition in zip(values[own].T, conditions):
            rows.append(trainer.measure([i.fake for i in part], scores, [i.repository for i in part], name, condition, note, calibration))
    return rows


def lines(found, values, calibration, task):
    """The operating points of all items, and of each medium where there are several."""
    from vision import figures as trainer

    fake, repository = np.array([i.fake for i in found]), np.array([i.repository for i in found])
    parts = {trainer.ANY: np.full(len(found), True)}
    if len(JUDGED[task]) > 1:
        parts |= {medium: np.array([i.medium == medium for i in found]) for medium in JUDGED[task]}
    return {
        medium: trainer.lines_of_views(fake[own], repository[own], np.flatnonzero(own), values[own], calibration)
        for medium, own in parts.items()
    }


def facts(found, values, dropped, task, more=None):
    """Everything the card says about figures; values is N×conditions."""
    media.trainer(".")
    from vision import figures as trainer

    fake, repository = np.array([i.fake for i in found]), [i.repository for i in found]
    calibration = upright(trainer.calibrate(np.tile(fake, values.shape[1]), values.T.ravel(), repository * values.shape[1]))
    calibration["limits"] = trainer.limits(fake, values, repository, calibration)
    points = lines(found, values, calibration, task)
    return {
        "measured": measured(found, values, calibration, task, more),
        "genuine_called_fake": round(float((values[fake == 0, 0] >= 0).mean()), 3),
        "fakes_called_fake": round(float((values[fake == 1, 0] >= 0).mean()), 3),
        "calibration": calibration,
        **(trainer.on_card(points) if len(points) > 1 else {"operating_points": points[trainer.ANY]}),
        "held_out_dropped": dropped,
    }


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(prog="convert.measure", description="measures published detectors on real media")
    parser.add_argument("--data", required=True, type=Path, help="folder of the archives and held-out.sha256")
    parser.add_argument("--weights", required=True, type=Path, help="folder of the published weights")
    parser.add_argument("--work", required=True, type=Path, help="folder for what is made on the way, which is never committed")
    parser.add_argument("--more", type=Path, help="folder of the faces and clips that scripts/train/gather left")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="judge only every N-th item, where time is short")
    parser.add_argument("names", nargs="*", default=list(ALL), help="detectors; all of them if none is named")
    return parser.parse_args()


def main():
    """Measures one detector after the other."""
    options = arguments()
    torch.set_num_threads(1)
    for name in options.names:
        published = ALL[name]
        source = folder.gathered(published, options.weights, options.work)
        found, dropped = items(published.task, options)
        print(f"{name}: {len(found)} items, {sum(i.fake for i in found)} of them fake", flush=True)
        _, runtime = folder.to_graph(published, source, options.work / f"{name}.onnx")
        found = [item for item in found[:: options.every] if item.repository != published.origin.split()[0]]
        values = media.kept(options.work / f"{name}.scores", lambda: scores(runtime, found))
        own = {"files": figures.sums(published, source), **facts(found, values, dropped, published.task, options.more)}
        figures.FILE.write_text(json.dumps(figures.kept() | {name: own}, indent=2) + "\n")
        print(json.dumps(own["measured"] + [own["genuine_called_fake"], own["calibration"]]), flush=True)


if __name__ == "__main__":
    main()
