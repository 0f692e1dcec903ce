"""Fits how the log-odds of the models that look at pictures and at frames of clips come together.

The scores of a model on its own files are out of fold (`deepfaked-MODEL-scores.json`, which the other scripts leave in
WORK); that of a clip is the mean of its frames. What the other model says of them is out of fold too where it is there;
else it is asked of the service itself, with its way of finding faces, and only for files of repositories which that model
was not trained on.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import reliability
from vision import figures
from vision.folds import equal_weights
from vision.gather import CLIPS

BUILTIN = Path(__file__).resolve().parents[3] / "models" / "builtin"
TASKS = {"image": "image-synthesis", "face": "face-manipulation"}
FILES = (".jpg", ".jpeg", ".png", ".webp", *CLIPS)
BATCH = 100  # files of one call of the service
MOST = {"image": 4}  # files that a model's script scored of a generator or source in a repository that are taken; all unless named
CONDITION = "clean"
SETS = {figures.ANY: "", "image": "pictures: ", "video": "films and clips: "}
SET = "repositories that neither model has seen"


def arguments():
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", required=True, type=Path, help="folder in which the models' scripts left their scores")
    parser.add_argument("--program", required=True, type=Path, help="deepfaked, built with the models that are fused")
    parser.add_argument("--out", required=True, type=Path, help="fusion.json")
    parser.add_argument("--report", type=Path, default=Path(__file__).with_name("RESULTS.md"))
    return parser.parse_args()


def scored_in(work):
    """The models whose own scores are in WORK; the files of the other are left out, and the output says so."""
    found = [name for name in TASKS if Path(work, f"deepfaked-{name}-scores.json").exists()]
    for name in TASKS:
        if name not in found:
            print(f"{work} has no deepfaked-{name}-scores.json, which train-{name} leaves there: its files are left out", file=sys.stderr)
    if not found:
        sys.exit("there is nothing to fit: run train-image or train-face in this folder first")
    return found


def asked(program, paths, work):
    """Path -> task -> log-odds, by the service."""
    found = {}
    for at in range(0, len(paths), BATCH):
        command = [program, "detect", "--json", "--provider", "cpu", "--precision", "full", "--data", work / "fusion-data", "--", *paths[at : at + BATCH]]
        lines = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.splitlines()  # files that fail are left out
        for line in map(json.loads, lines):
            if "report" in line:
                found[line["file"]] = {f["task"]: f["log_odds"] for f in line["report"]["findings"]}
    return found


def scores_of(name, work):
    """Path -> what the model's script kept of a file, the mean of a clip's frames; nothing where it was not run."""
    kept, files = Path(work, f"deepfaked-{name}-scores.json"), {}
    for r in json.loads(kept.read_text()) if kept.exists() else []:
        if r["path"].lower().endswith(FILES):
            files.setdefault(r["path"], []).append(r)
    return {path: {**rows[0], "log_odds": float(np.mean([r["log_odds"] for r in rows]))} for path, rows in files.items()}


def few(scored, most):
    """The first files of each generator or source in a repository, of which repositories weigh the same, however many there are."""
    count, taken = Counter(), {}
    for path, r in scored.items():
        key = r["repository"], r["generator"]
        count[key] += 1
        if most is None or count[key] <= most:
            taken[path] = r
    return taken


def rows_of(own, other, options):
    """One dict a file: what both models say of it, both unseen; and how many the service could not judge."""
    card = json.loads((BUILTIN / other / "card.json").read_text())
    known = {s["repository"] for s in card["training"]["sources"]}
    scored, apart = few(scores_of(own, options.work), MOST.get(own)), scores_of(other, options.work)
    unseen = [path for path, r in scored.items() if path not in apart and r["repository"] not in known]
    said = {path: found.get(TASKS[other]) for path, found in asked(options.program, unseen, options.work).items()}
    said |= {path: r["log_odds"] for path, r in apart.items() if path in scored}
    rows = [{**r, own: r["log_odds"], other: said[path], "both": path in apart, "from": own} for path, r in scored.items() if path in said]
    return rows, sum(path not in said for path in unseen)


def fit(rows):
    """Weights and bias. A weight is never negative: then the model knows nothing that helps, and has none."""
    labels, repositories = np.array([r["fake"] for r in rows]), [r["repository"] for r in rows]
    weights = equal_weights(labels, repositories) * len(rows)
    x = np.array([[r[name] or 0.0 for name in TASKS] for r in rows])
    kept = list(range(len(TASKS)))
    while True:
        model = LogisticRegression(C=1e6, max_iter=1000).fit(x[:, kept], labels, sample_weight=weights)
        if (model.coef_[0] >= 0).all():
            break
        kept.pop(int(model.coef_[0].argmin()))
    found = np.zeros(len(TASKS))
    found[kept] = model.coef_[0]
    return found, float(model.intercept_[0]), x @ found + float(model.intercept_[0]), labels, repositories


def exclusive(rows):
    """The rule that holds without a fusion: the mean of the odds of the tasks that had something to judge."""
    parts = [np.array([r[name] for name in TASKS if r[name] is not None]) for r in rows]
    return np.array([np.log(np.exp(p).mean()) for p in parts])


def videos(rows):
    """Which of the files are films or clips."""
    return np.array([r["path"].lower().endswith(CLIPS) for r in rows])


def media(rows):
    """Masks of all files and of those of each medium."""
    video = videos(rows)
    return {figures.ANY: np.ones(len(rows), bool), "image": ~video, "video": video}


def compared(rows, odds, labels, repositories):
    """AUC of each way, on all files, on what has a face, on the films of the picture model's files and on the clips of the face model's."""
    ways = {"image model alone": np.array([r["image"] or 0.0 for r in rows]), "mean of the odds": exclusive(rows), "fused": odds}
    face = np.array([r["face"] is not None for r in rows])
    clip = videos(rows)
    of_faces = np.array([r["from"] == "face" for r in rows])
    out = []
    for name, part in (("all", np.ones(len(rows), bool)), ("with a face", face), ("films", clip & ~of_faces), ("clips of faces", clip & of_faces)):
        names = [r for r, p in zip(repositories, part) if p]
        for way, scores in ways.items() if part.any() else ():
            out.append(figures.measure(labels[part], scores[part], names, f"{name}: {way}", CONDITION))
    return out


def lines_of(rows, odds, labels, repositories):
    """The operating points by medium."""
    chances, names = 1 / (1 + np.exp(-odds)), np.array(repositories)
    return {medium: figures.operating_points(labels[own], chances[own], names[own]) for medium, own in media(rows).items()}


def measured(rows, odds, labels, repositories):
    """The measurements of all files, of pictures and of videos."""
    names, plain = np.array(repositories), {"scale": 1.0, "bias": 0.0}
    return [
        figures.measure(labels[own], odds[own], names[own], SETS[medium] + SET, CONDITION, calibration=plain)
        for medium, own in media(rows).items()
    ]


def called(rows, lines, odds, labels):
    """A table of the shares called fake at the line of the medium."""
    video, of_faces = videos(rows), np.array([r["from"] == "face" for r in rows])
    text = "| files | called fake of genuine ones | of fake ones |\n|---|---|---|\n"
    for name, medium, own in (("pictures", "image", ~video), ("films", "video", video & ~of_faces), ("clips of faces", "video", video & of_faces)):
        if len(set(labels[own])) < 2:
            continue  # only one model's files were scored
        limits = [np.log(p["threshold"] / (1 - p["threshold"])) for p in lines[medium].values()]
        shares = [", ".join(f"{(odds[own & (labels == fake)] >= limit).mean():.3f}" for limit in limits) for fake in (0, 1)]
        text += f"| {name} | {shares[0]} | {shares[1]} |\n"
    return text


def main():
    """Asks, fits, measures, writes."""
    options = arguments()
    found = [rows_of(own, next(n for n in TASKS if n != own), options) for own in scored_in(options.work)]
    rows = list({row["path"]: row for part, _ in found for row in part}.values())
    weights, bias, odds, labels, repositories = fit(rows)
    cards = {name: json.loads((BUILTIN / name / "card.json").read_text()) for name in TASKS}
    lines = lines_of(rows, odds, labels, repositories)
    fusion = {
        "schema": 1,
        "models": [
            {"task": TASKS[n], "name": cards[n]["name"], "version": cards[n]["version"], "weight": round(float(w), 4)}
            for n, w in zip(TASKS, weights)
        ],
        "bias": round(bias, 4),
        "limits": reliability.limits(labels, odds, equal_weights(labels, repositories)),
        **figures.on_card(lines),
        "measured": measured(rows, odds, labels, repositories),
        "note": "scripts/train/fusion: weights and thresholds are fitted on what is measured, so the figures are a little too good.",
    }
    options.out.write_text(json.dumps(fusion, indent=2) + "\n")
    text = "# Fusion of the picture models: what was measured\n\nWritten by `run.py`.\n\n"
    text += "| pictures and clips | AUC [95 %] | genuine | fake |\n|---|---|---|---|\n"
    for m in compared(rows, odds, labels, repositories):
        text += f"| {m['set']} | {m['auc']:.3f} [{m['auc_interval'][0]:.2f}, {m['auc_interval'][1]:.2f}] | {m['real']} | {m['fake']} |\n"
    text += f"\nAt the line of its medium, {', '.join(figures.POINTS)}:\n\n" + called(rows, lines, odds, labels)
    text += f"\n{sum(r['both'] for r in rows)} files are among those that both models were measured on: what either says is out of fold. "
    text += "What one of them says of the others was asked of the service, as it was trained on nothing of their repositories. "
    text += f"{sum(left for _, left in found)} files that the service does not read are left out, "
    text += "most of them panels cut from clips. A model's own script judges a film by four frames, the service by up to 16.\n"
    parts = " + ".join(f"{w:.3f} · {TASKS[n]}" for n, w in zip(TASKS, weights))
    text += f"\nLog-odds = {bias:+.3f} + {parts}; expected calibration error {fusion['measured'][0]['ece']:.2f}.\n"
    options.report.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
