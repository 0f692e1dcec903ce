"""RESULTS.md: what was measured, per condition, system and source."""
import collections

import numpy as np

import metrics


def measurements(clips, scores, shortcut, unseen):
    """The card's measurements, and each one's detection rates for RESULTS.md."""
    label = np.array([c["label"] for c in clips])
    group = np.array([c["repository"] for c in clips])
    name = "five folds by repository"
    todo = [(name, c, scores[c], np.ones(len(clips), bool), "") for c in scores]
    todo += [(f"{corpus} unseen", "clean", s, test,
              "Every repository with this corpus was left out of training.") for corpus, (test, s) in unseen.items()]
    todo += [(name, c, s, np.ones(len(clips), bool),
              "Shortcuts only: bandwidth, level, silence and noise floor of each window, same classifier. What the "
              "data gives away without any trace of synthesis.") for c, s in shortcut.items()]
    out = []
    for set_, condition, s, chosen, note in todo:
        r = metrics.report(label[chosen], s[chosen], group[chosen])
        m = dict(set=set_, condition=condition, auc=r["auc"], auc_interval=r["auc_interval"], eer=r["eer"],
                 real=r["real"], fake=r["fake"])
        out.append((dict(m, note=note) if note else m, r["rates"]))
    return out


def measurement_table(measured):
    """Markdown rows of all measurements."""
    lines = ["| set | condition | genuine / fake | AUC [95 %] | EER | detected at 1 / 5 / 15 % |", "|---|---|---|---|---|---|"]
    for m, rates in measured:
        kind = "shortcuts only, " if m.get("note", "").startswith("Shortcuts") else ""
        lines.append(f"| {kind}{m['set']} | {m['condition']} | {m['real']} / {m['fake']} | {m['auc']:.3f} "
                     f"[{m['auc_interval'][0]:.2f}, {m['auc_interval'][1]:.2f}] | {m['eer']:.2f} | "
                     + " / ".join(f"{v:.2f}" for v in rates.values()) + " |")
    return lines


def share_table(clips, hit, want, key, title, least):
    """Share of clips of one label called fake, per key, at the balanced threshold."""
    groups = collections.defaultdict(list)
    for c, h in zip(clips, hit):
        if c["label"] == want:
            groups[c[key]].append(bool(h))
    rows = sorted(((np.mean(v), len(v), k) for k, v in groups.items() if len(v) >= least))
    return [f"| {title} | clips | called fake |", "|---|---|---|"] + [f"| {k} | {n} | {m:.0%} |" for m, n, k in rows]


def write(path, clips, p_clean, facts, measured):
    """RESULTS.md."""
    points = facts["operating_points"]
    hit = p_clean >= points["balanced"]["threshold"]
    lines = ["# Results of `deepfaked-speech` " + facts["version"], "",
             "Written by run.py. Out-of-fold: every clip is judged by a model that saw no clip of its repository. "
             "Intervals resample repositories.", "", *measurement_table(measured), "",
             "## Operating points", "",
             "On all conditions pooled, labels, repositories and systems weighted equally; the plain rates above "
             "count clips. Thresholds are on P(fake).", "",
             "| level | false positives | threshold | detected [95 %] |", "|---|---|---|---|"]
    for name, p in points.items():
        low, high = p["detection_interval"]
        lines.append(f"| {name} | {p['false_positive_rate']:.0%} | {p['threshold']:.3f} | "
                     f"{p['detection_rate']:.2f} [{low:.2f}, {high:.2f}] |")
    lines += ["", "Score scale, models on 4/5 against 3/5 of the repositories on the same unseen clips: deviation "
              f"× {facts['drift']['deviation']:.2f}, mean {facts['drift']['shift']:+.2f}.", "",
              "## ONNX", "", f"Largest difference from PyTorch on 20 windows, batch 1 and 4: {facts['difference']:.1e}. "
              f"CPU time a window on one thread: {facts['cost'][1]:.0f} ms at batch 1, {facts['cost'][4]:.0f} ms at "
              "batch 4. Logits of degenerate windows: "
              + ", ".join(f"{k} {v:.2f}" for k, v in facts["robust"].items()) + ".", "",
              "## Fakes by system, at the balanced threshold", "", "Clean, systems with at least 3 clips.", "",
              *share_table(clips, hit, 1, "system", "system", 3), "",
              "## Genuine clips by source, at the balanced threshold", "",
              *share_table(clips, hit, 0, "repository", "source", 1), ""]
    with open(path, "w") as f:
        f.write("\n".join(lines))
