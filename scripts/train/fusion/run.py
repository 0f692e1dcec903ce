"""Calibrates what the models that look at pictures and at frames of clips say together: the mean of their odds.

The scores of a model on its own files are out of fold (`deepfaked-MODEL-scores.json`, which the other scripts leave in
WORK); that of a clip is the mean of its frames. What the other model says of them is out of fold too where it is there;
else it is asked of the service itself, with its way of finding faces, and only for files of repositories which that model
was not trained on.
"""

import argparse
import csv
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import needs

with needs.packages():
    import numpy as np
    import reliability
    import several
    import sound
    from vision import figures
    from vision.folds import equal_weights
    from vision.gather import CLIPS

REPOSITORY = Path(__file__).resolve().parents[3]
BUILTIN = REPOSITORY / "models" / "builtin"
TABLE = "SOURCES-CLIP.tsv"  # beside a recipe: what a model with a short card was trained on
FAST = {"image": "image", "face": "face"}  # the folders of the models that judge with quality fast
TASKS = {"image": "image-synthesis", "face": "face-manipulation"}
FILES = (".jpg", ".jpeg", ".png", ".webp", *CLIPS)
BATCH = 100  # files of one call of the service
MOST = {"image": 2, "image-clip": 4, "face": 3, "face-clip": 3}  # files that a model's script scored of a generator or source in a repository that are taken; all unless named
CONDITION = "clean"
SETS = {figures.ANY: "", "image": "pictures: ", "video": "films and clips: "}
SET = "repositories that neither model has seen"
BESIDE = """
Every film and clip beside every clip of sound as it is, by the two models' own out-of-fold scores, each file alike: shares called fake
together, and by either task alone at its own line.

"""
JOINED = """
Hardly any file at hand has one manipulated face among genuine ones, so here is what the rule makes of it: faces of genuine files, drawn
at random, stand beside that of each file of the face model's, as if all were in every frame.

"""


def arguments():
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", required=True, type=Path, help="folder in which the models' scripts left their scores")
    parser.add_argument("--program", required=True, type=Path, help="deepfaked, built with the models that are fused")
    parser.add_argument("--out", required=True, type=Path, help="fusion.json")
    parser.add_argument("--report", type=Path, default=Path(__file__).with_name("RESULTS.md"))
    parser.add_argument("--picture", default="image", help="folder of the picture model among the built-in ones")
    parser.add_argument("--face", default="face", help="the same of the face model")
    options = parser.parse_args()
    options.folders = {"image": options.picture, "face": options.face}
    return options


def scored_in(options):
    """The models whose own scores are in WORK; the files of the other are left out, and the output says so."""
    found = [name for name in TASKS if scores_file(name, options).exists()]
    for name in TASKS:
        if name not in found:
            print(f"{scores_file(name, options)} is not there, which train-{options.folders[name]} writes: its files are left out", file=sys.stderr)
    if not found:
        sys.exit("there is nothing to fit: run train-image or train-face in this folder first")
    return found


def asked(program, paths, work, quality):
    """Path -> the findings of the service, with the picture model of a quality."""
    found = {}
    for at in range(0, len(paths), BATCH):
        command = [program, "detect", "--json", "--provider", "cpu", "--precision", "full", "--quality", quality, "--data", work / "fusion-data", "--", *paths[at : at + BATCH]]
        lines = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.splitlines()  # files that fail are left out
        for line in map(json.loads, lines):
            if "report" in line:
                found[line["file"]] = line["report"]["findings"]
    return found


def log_odds(findings, task):
    """What a task says; None where it had nothing to judge."""
    return next((f["log_odds"] for f in findings if f["task"] == task), None)


def scores_file(name, options):
    """Where the script of a model leaves its scores."""
    return Path(options.work, f"deepfaked-{options.folders[name]}-scores.json")


def scores_of(name, options):
    """Path -> what the model's script kept of a file, the mean of a clip's frames; nothing where it was not run."""
    kept, files = scores_file(name, options), {}
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


def learned_from(folder):
    """The repositories that a built-in model was trained on: as its card says, or where that is short the table beside the recipe."""
    training = json.loads((BUILTIN / folder / "card.json").read_text())["training"]
    listed = [s["repository"] for s in training["sources"]]
    if any(listed):
        return set(listed)
    with open(REPOSITORY / training["recipe"] / TABLE, newline="") as file:
        return {row["repository"] for row in csv.DictReader(file, delimiter="\t")}


def rows_of(own, other, options):
    """One dict a file: what both models say of it, both unseen; and how many the service could not judge."""
    known = learned_from(options.folders[other])
    scored, apart = few(scores_of(own, options), MOST.get(options.folders[own])), scores_of(other, options)
    unseen = [path for path, r in scored.items() if path not in apart and r["repository"] not in known]
    findings = asked(options.program, unseen, options.work, "fast" if options.folders == FAST else "best")
    said = {path: log_odds(found, TASKS[other]) for path, found in findings.items()}
    said |= {path: r["log_odds"] for path, r in apart.items() if path in scored}
    faces = {path: several.faces(found) for path, found in findings.items()} if own == "image" else {}
    rows = [{**r, "from": own, own: r["log_odds"], other: said[path], "both": path in apart, "faces": faces.get(path)} for path, r in scored.items() if path in said]
    return rows, sum(path not in said for path in unseen)


def pooled(rows):
    """The logarithm of the mean of the odds of the tasks that had something to judge."""
    parts = [np.array([r[name] for name in TASKS if r[name] is not None]) for r in rows]
    return np.array([np.log(np.exp(p).mean()) for p in parts])


def fit(rows):
    """Calibrations of files in which one of the tasks had something to judge and of those in which several had, and what they make of the rows.

    Classes are balanced in each: whether there is a face says nothing of whether a file is fake, though it does in these sets.
    """
    labels, repositories = np.array([r["fake"] for r in rows]), np.array([r["repository"] for r in rows])
    two = np.array([sum(r[name] is not None for name in TASKS) > 1 for r in rows])
    said, odds, found = pooled(rows), np.zeros(len(rows)), {}
    for name, own in (("alone", ~two), ("together", two)):
        found[name] = figures.calibrate(labels[own], said[own], repositories[own])
        odds[own] = found[name]["scale"] * said[own] + found[name]["bias"]
        found[name]["limits"] = reliability.limits(labels[own], odds[own], equal_weights(labels[own], repositories[own]))
    return found, odds, labels, repositories


def videos(rows):
    """Which of the files are films or clips."""
    return np.array([r["path"].lower().endswith(CLIPS) for r in rows])


def media(rows):
    """Masks of all files and of those of each medium."""
    video = videos(rows)
    return {figures.ANY: np.ones(len(rows), bool), "image": ~video, "video": video}


def compared(rows, odds, labels, repositories):
    """AUC of each way, on all files, on what has a face, on the films of the picture model's files and on the clips of the face model's."""
    ways = {"image model alone": np.array([r["image"] or 0.0 for r in rows]), "mean of the odds": pooled(rows), "calibrated": odds}
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
    kinds = np.array([r.get("kind", "") for r in rows])
    return {medium: figures.operating_points(labels[own], chances[own], names[own], kinds=kinds[own]) for medium, own in media(rows).items()}


def measured(rows, odds, labels, repositories):
    """The measurements of all files, of pictures and of videos."""
    names, plain = np.array(repositories), {"scale": 1.0, "bias": 0.0}
    return [
        figures.measure(labels[own], odds[own], names[own], SETS[medium] + SET, CONDITION, calibration=plain)
        for medium, own in media(rows).items()
    ]


def limits_of(rows, lines):
    """N×levels: the lines of each file's medium, as log-odds."""
    chances = np.array([[p["threshold"] for p in lines["video" if video else "image"].values()] for video in videos(rows)])
    return np.log(chances / (1 - chances))


def called(rows, above, labels):
    """A table of the shares called fake at the line of the medium; above is N×levels."""
    video, of_faces = videos(rows), np.array([r["from"] == "face" for r in rows])
    text = "| files | called fake of genuine ones | of fake ones |\n|---|---|---|\n"
    for name, own in (("pictures", ~video), ("films", video & ~of_faces), ("clips of faces", video & of_faces)):
        if len(set(labels[own])) == 2:  # else only one model's files were scored
            text += f"| {name} | {several.shares(above[own & (labels == 0)])} | {several.shares(above[own & (labels == 1)])} |\n"
    return text


def with_sound(work, rows, labels, odds, points):
    """The table of videos with sound, where the speech model's script left its scores."""
    voices, video = sound.scores(work), videos(rows)
    if voices is None:
        return ""
    heard = json.loads((BUILTIN / "speech" / "card.json").read_text())["operating_points"]
    limits = [(sound.logit(points[level]["threshold"]), sound.logit(heard[level]["threshold"])) for level in points]
    return BESIDE + sound.beside((labels[video], odds[video]), voices, limits)


def told(calibrations, measured):
    """The calibrations in words."""
    lines = (f"- {name}: log-odds = {c['scale']:.3f} · log of the mean of the odds {c['bias']:+.3f}, told from {c['limits'][0]} to {c['limits'][1]}" for name, c in calibrations.items())
    return "\n".join(lines) + f"\n- expected calibration error of all together: {measured[0]['ece']:.2f}\n"


def main():
    """Asks, fits, measures, writes."""
    options = arguments()
    found = [rows_of(own, next(n for n in TASKS if n != own), options) for own in scored_in(options)]
    rows = list({row["path"]: row for part, _ in found for row in part}.values())
    calibrations, odds, labels, repositories = fit(rows)
    cards = {name: json.loads((BUILTIN / folder / "card.json").read_text()) for name, folder in options.folders.items()}
    lines = lines_of(rows, odds, labels, repositories)
    fusion = {
        "schema": 1,
        "models": [{"task": TASKS[n], "name": cards[n]["name"], "version": cards[n]["version"]} for n in TASKS],
        **calibrations,
        **figures.on_card(lines),
        "measured": measured(rows, odds, labels, repositories),
        "note": "scripts/train/fusion: calibrations and thresholds are fitted on what is measured, so the figures are a little too good.",
    }
    options.out.write_text(json.dumps(fusion, indent=2) + "\n")
    text = "# Fusion of the picture models: what was measured\n\nWritten by `run.py`.\n\n"
    text += "| pictures and clips | AUC [95 %] | genuine | fake |\n|---|---|---|---|\n"
    for m in compared(rows, odds, labels, repositories):
        text += f"| {m['set']} | {m['auc']:.3f} [{m['auc_interval'][0]:.2f}, {m['auc_interval'][1]:.2f}] | {m['real']} | {m['fake']} |\n"
    limits = limits_of(rows, lines)
    above = odds[:, None] >= limits
    text += f"\nAt the line of its medium, {', '.join(figures.POINTS)}:\n\n" + called(rows, above, labels)
    text += "\n" + several.found(rows, labels, above)
    if any(r["from"] == "face" for r in rows):
        text += JOINED + several.joined(rows, labels, calibrations["together"], limits)
    text += with_sound(options.work, rows, labels, odds, lines["video"])
    text += f"\n{sum(r['both'] for r in rows)} files are among those that both models were measured on: what either says is out of fold. "
    text += "What one of them says of the others was asked of the service, as it was trained on nothing of their repositories. "
    text += f"{sum(left for _, left in found)} files that the service does not read are left out, "
    text += "most of them panels cut from clips. A model's own script judges a film by four frames, the service by up to 16.\n"
    text += "\n" + told(calibrations, fusion["measured"])
    options.report.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
