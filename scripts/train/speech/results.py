"""RESULTS.md: what was measured, per condition, system and source."""
import collections

import numpy as np

import calibrate
import metrics

CONDITION = {"clean": "clean", "mp3-64": "MP3 64 kbit/s", "mp3-32": "MP3 32 kbit/s", "mp3-24": "MP3 24 kbit/s",
             "opus-24": "Opus 24 kbit/s", "coded-0": "MP3, Opus or AAC of 14 to 32 kbit/s",
             "telephone": "telephone band, 8 kHz mu-law",
             "degraded-0": "random degradations, half through a codec"}
# What a table says of a measurement whose note begins so.
KINDS = {"Shortcuts": "shortcuts only, ", "For comparison": "fewer clips to learn from, "}


def measurements(clips, scores, shortcut, unseen, fewer):
    """The card's measurements, and each one's detection rates for RESULTS.md. `fewer`:
    scores of the same clips by models that the bigger collection did not teach."""
    label = np.array([c["label"] for c in clips])
    group = np.array([c["repository"] for c in clips])
    name = "five folds by repository"
    todo = [(name, CONDITION[c], scores[c], np.ones(len(clips), bool), "") for c in scores]
    todo += [(name, CONDITION[c], s, np.ones(len(clips), bool),
              "For comparison: trained on the clips of the archives only, as 0.1.0 was.") for c, s in fewer.items()]
    todo += [(f"{corpus} unseen", "clean", s, test,
              "Every repository with this corpus, and every system that it is judged on, was left out of training.") for corpus, (test, s) in unseen.items()]
    todo += [(name, CONDITION[c], s, np.ones(len(clips), bool),
              "Shortcuts only: bandwidth, level, silence and noise floor of each window, same classifier. What the "
              "data gives away without any trace of synthesis.") for c, s in shortcut.items()]
    out = []
    for set_, condition, s, chosen, note in todo:
        chosen = chosen & ~np.isnan(s)
        r = metrics.report(label[chosen], s[chosen], group[chosen])
        m = dict(set=set_, condition=condition, auc=r["auc"], auc_interval=r["auc_interval"], eer=r["eer"],
                 real=r["real"], fake=r["fake"])
        out.append((dict(m, note=note) if note else m, r["rates"]))
    return out


def measurement_table(measured):
    """Markdown rows of all measurements."""
    lines = ["| set | condition | genuine / fake | AUC [95 %] | EER | detected at 1 / 5 / 15 % | ECE |",
             "|---|---|---|---|---|---|---|"]
    for m, rates in measured:
        kind = next((k for start, k in KINDS.items() if m.get("note", "").startswith(start)), "")
        lines.append(f"| {kind}{m['set']} | {m['condition']} | {m['real']} / {m['fake']} | {m['auc']:.3f} "
                     f"[{m['auc_interval'][0]:.2f}, {m['auc_interval'][1]:.2f}] | {m['eer']:.2f} | "
                     + " / ".join(f"{v:.2f}" for v in rates.values())
                     + (f" | {m['ece']:.3f} |" if "ece" in m else " | |"))
    return lines


def share_table(clips, hit, want, key, title):
    """Systems or sources of one label, grouped by the share of clips called fake."""
    groups = collections.defaultdict(list)
    for c, h in zip(clips, hit):
        if c["label"] == want:
            groups[c[key]].append(bool(h))
    rows = collections.defaultdict(list)
    for name in sorted(groups, key=str.lower):
        rows[np.mean(groups[name])].append(f"{name} ({len(groups[name])})")
    head = [f"| called fake | {title} (clips) |", "|---|---|"]
    return head + [f"| {k:.0%} | {', '.join(rows[k])} |" for k in sorted(rows)]


def by_source(clips, hit):
    """What becomes of the clean fakes of each system, and of the genuine clips of each
    repository, for the card: shares called fake at the balanced threshold."""
    groups = collections.defaultdict(list)
    for c, h in zip(clips, hit):
        groups[("real", c["repository"]) if c["label"] == 0 else ("fake", c["system"])].append(bool(h))
    return [dict(name=name, label=label, items=len(own), balanced=[round(float(np.mean(own)), 4)])
            for (label, name), own in sorted(groups.items())]


def point_table(clips, probability, points):
    """Thresholds, detection, and what they do in each condition."""
    lines = ["| level | threshold | aimed, measured [95 %] | detected [95 %] | " + " | ".join(CONDITION[c] for c in probability) + " |",
             "|---|---|---|---|" + "---|" * len(probability)]
    label = np.array([c["label"] for c in clips])
    for name, p in points.items():
        (low, high), alarms = p["detection_interval"], p["false_positive_interval"]
        cells = []
        for value in probability.values():
            plain, even = calibrate.false_positives(clips, value, points)[name]
            cells.append(f"{plain:.1%} ({even:.1%}) → {(value[label == 1] >= p['threshold']).mean():.0%}")
        lines.append(f"| {name} | {p['threshold']:.3f} | {p['false_positive_rate']:.0%} [{alarms[0]:.3f}, {alarms[1]:.3f}] | {p['detection_rate']:.2f} "
                     f"[{low:.2f}, {high:.2f}] | " + " | ".join(cells) + " |")
    return lines


def write(path, clips, probability, facts, measured):
    """RESULTS.md. `probability`: condition -> out-of-fold P(fake) of each clip."""
    points = facts["operating_points"]
    hit = probability["clean"] >= points["balanced"]["threshold"]
    lines = ["# Results of `deepfaked-speech` " + facts["version"], "",
             "Written by run.py. Out-of-fold: every clip is judged by a model that saw no clip of its repository, "
             "no fake of its system and no clip of a voice that its path names. Intervals resample repositories; "
             "those of shares called fake are no narrower than the exact binomial ones.", "", *measurement_table(measured), "",
             "## Operating points", "",
             "Set on all conditions pooled (a third clean, a third MP3, a sixth telephone band, a sixth degraded), "
             "with labels, repositories and systems balanced; thresholds are on P(fake). Per condition: genuine clips "
             "called fake, plain (balanced) → fakes caught, plain.", "", *point_table(clips, probability, points), "",
             "P(fake) is told no lower and no higher than the validation supports (calibrate.py): "
             + " to ".join(f"{1 / (1 + np.exp(-v)):.3f}" for v in facts["calibration"]["limits"])
             + ". ECE above is its expected calibration error out of fold, in 15 bins of equal weight, balanced as the "
             "calibration is.", "",
             "Score scale, the models above against models with one fold fewer, on the same unseen clips: deviation "
             f"× {facts['drift']['deviation']:.2f}, mean {facts['drift']['shift']:+.2f}. The final model, with more data "
             f"still, is divided by {facts['drift']['final']:.2f}, so that calibration and thresholds hold for it.", "",
             "## ONNX", "", f"Largest difference from PyTorch on 20 windows, batch 1 and 4: {facts['difference']:.1e}. "
             f"CPU time a window on one thread: {facts['cost'][1]:.0f} ms at batch 1, {facts['cost'][4]:.0f} ms at "
             "batch 4. Logits of degenerate windows: "
             + ", ".join(f"{k} {v:.2f}" for k, v in facts["robust"].items()) + ".", "",
             "## Fakes by system, clean, at the balanced threshold", "", *share_table(clips, hit, 1, "system", "systems"), "",
             "## Genuine clips by source, clean, at the balanced threshold", "",
             *share_table(clips, hit, 0, "repository", "sources"), ""]
    with open(path, "w") as f:
        f.write("\n".join(lines))
