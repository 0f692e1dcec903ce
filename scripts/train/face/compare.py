"""Judges the same faces by published detectors, or by an earlier model, and keeps the scores.

python compare.py --work WORK --weights WEIGHTS FOLDER...

WORK is what run.py left; each FOLDER holds model.onnx and card.json (scripts/convert makes
those of the published ones). WORK/others.npz then holds for each the log-odds of every face
of the folders face_real and face_fake, N×conditions, and "base", the files that tell which
faces they are; run.py adds them to its tables.
"""

import argparse
import json
import pickle
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import data
import numpy as np
from detect import YuNet
from vision import card, export, gather
from vision.finder import Finder


class Other:
    """One detector of faces."""

    def __init__(self, folder):
        self.facts = json.loads((folder / "card.json").read_text())
        self.name = f"{self.facts['name']} {self.facts['version']}"
        self.session = export.session(folder / "model.onnx")

    def score(self, pictures):
        """The log-odds of the face of each (picture, face)."""
        rows = np.stack([data.row_for(self.facts, pixels, face) for pixels, face in pictures])
        return self.session.run(None, {self.session.get_inputs()[0].name: rows})[0].ravel().tolist()


def seen_again(items, detector, finder):
    """Yields each item with its picture under every condition; the items of a file follow one another."""
    for path in dict.fromkeys(i.path for i in items):
        own = [i for i in items if i.path == path]
        fresh = gather.Item(path, "", "", "", "", "", whole=own[0].whole)
        for one, pixels, faces in data.found([fresh], detector, finder):
            if faces:
                yield own.pop(0), data.conditions(pixels, one.lossy, faces[0], finder)


def main():
    """Writes the scores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--weights", required=True, type=Path)
    parser.add_argument("folders", nargs="+", type=Path)
    options = parser.parse_args()
    card.one_thread()
    stored, _ = pickle.loads(data.kept(options.work).read_bytes())
    judged = [i for i in stored if i.label.startswith("face")]
    others = [Other(folder) for folder in options.folders]
    scores, bases = {other.name: [] for other in others}, []
    for item, pictures in seen_again(judged, YuNet(options.weights / data.DETECTOR), Finder()):
        bases.append(item.base)
        for other in others:
            scores[other.name].append(other.score(pictures))
        if len(bases) % 100 == 0:
            print(len(bases), flush=True)
    np.savez(options.work / "others.npz", base=np.array(bases), **{k: np.array(v) for k, v in scores.items()})


if __name__ == "__main__":
    main()
