"""The tables of RESULTS.md."""

import numpy as np
from sklearn.metrics import roc_auc_score

HEADER = """# {title}

Written by `run.py`. Every score is out of fold: the model that gave it had seen neither the repository
nor {apart}. {conditions}
A file is called fake at the line of its medium, a frame of a clip at that of whole clips.

"""

LABELS = ("real", "fake")


def measurements(rows):
    """The measurements of a card as a table."""
    lines = ["| set | condition | AUC [95 %] | EER | ECE | real | fake |", "|---|---|---|---|---|---|---|"]
    for m in rows:
        low, high = m["auc_interval"]
        error = f"{m['ece']:.2f}" if "ece" in m else "–"
        lines.append(
            f"| {m['set']} | {m['condition']} | {m['auc']:.3f} [{low:.2f}, {high:.2f}] | {m['eer']:.2f} | {error} | {m['real']} | {m['fake']} |"
        )
    return "\n".join(lines) + "\n"


def claims(calibration):
    """What the set supports at most, as a sentence."""
    low, high = (1 / (1 + np.exp(-v)) for v in calibration["limits"])
    return f"The sets support a P(fake) between {low:.3f} and {high:.3f} and nothing beyond.\n"


def medium(item):
    """What the service would call the file."""
    return "video" if item.clip else "image"


def points(lines):
    """The operating points of each medium as a table."""
    text = "| medium | level | false positives aimed at, measured [95 %] | threshold on P(fake) | detected [95 %] |\n|---|---|---|---|---|\n"
    for name, level, p in ((name, level, p) for name, table in lines.items() for level, p in table.items()):
        alarms, found = ("[{:.3f}, {:.3f}]".format(*p[kind + "_interval"]) for kind in ("false_positive", "detection"))
        text += f"| {name} | {level} | {p['false_positive_rate']:.0%} {alarms} | {p['threshold']:.3f} | {p['detection_rate']:.3f} {found} |\n"
    return text


def by_source(items, chances, lines):
    """What becomes of the files of each generator or source in a repository, for the card.

    Shares called fake at the balanced and the sensitive threshold of its medium; chances is N×conditions, and shares are
    of these in turn.
    """
    limits = {level: np.array([[lines[medium(i)][level]["threshold"]] for i in items]) for level in ("balanced", "sensitive")}
    table = []
    for label, generator, repository in sorted({(LABELS[i.fake], i.generator, i.repository) for i in items}):
        rows = [k for k, i in enumerate(items) if (LABELS[i.fake], i.generator, i.repository) == (label, generator, repository)]
        table.append({
            "name": generator, "repository": repository, "label": label, "items": len(rows),
            **{level: (chances[rows] >= limit[rows]).mean(0).round(4).tolist() for level, limit in limits.items()},
        })
    return table


def per_source(table, label):
    """The rows of by_source that have a label."""
    text = [
        "| generator or source | repository | n | called fake, balanced | called fake, sensitive |",
        "|---|---|---|---|---|",
    ]
    for row in (r for r in table if r["label"] == label):
        cells = [" / ".join(f"{share:.2f}" for share in row[level]) for level in ("balanced", "sensitive")]
        text.append(f"| {row['name']} | {row['repository']} | {row['items']} | {cells[0]} | {cells[1]} |")
    return "\n".join(text) + "\n"


def per_fold(items, fold_of, scores):
    """AUC of every condition fold by fold, and the spread of the first one's logits: to be pooled they must be on one scale."""
    fake, logits = np.array([i.fake for i in items]), scores[:, 0]
    lines = ["| fold | real | fake | AUC | mean logit of real | of fake | deviation |", "|---|---|---|---|---|---|---|"]
    for fold in sorted(set(fold_of)):
        own = fold_of == fold
        real, other = logits[own & (fake == 0)], logits[own & (fake == 1)]
        areas = " / ".join(f"{roc_auc_score(fake[own], column):.2f}" for column in scores[own].T)
        lines.append(
            f"| {fold} | {len(real)} | {len(other)} | {areas} | {real.mean():+.2f} | {other.mean():+.2f} | {logits[own].std():.2f} |"
        )
    return "\n".join(lines) + "\n"
