"""RESULTS.md: the figures, by source and by size."""

import numpy as np
from faces import SMALLEST, certain, longer
from measure import counts, ratios

SIZES = (SMALLEST, 64, 128, 256, 10**6)  # pixels, longer side
HEADER = """# {title}: what was measured

Written by `run.py`. Truth is what YuNet finds with a score of 0.7 or more in the same reduced picture (at half its size
too, for faces of 128 pixels and more); reduced pictures are kept as JPEG of quality 97. What it scores 0.3 to 0.7, and
faces below 36 pixels, count neither way. A face is found where two boxes overlap by half (intersection over union). No
repository or source measured here was trained on. Two figures in a cell: clean / after JPEG q60 of the reduced picture.
Intervals are 95 %, over pictures. The aim was a recall of 0.90 at a precision of 0.95.

- Trained on {used}.
- Threshold {threshold} chosen on {check}.
- Measured on {test}. No source is in two of the three.
- {size} bytes; {time:.1f} ms of CPU time a picture in ONNX Runtime on one thread, without decoding.
- PyTorch and ONNX Runtime, batch 1 and 4: logits within {logits:.0e}, corners within {corners:.0e} pixels, on 20 pictures.
"""


def amount(pictures):
    """How much there is, in words."""
    sure = sum(int(certain(p.boxes).sum()) for p in pictures)
    names = len({p.repository for p in pictures})
    return f"{len(pictures)} pictures with {sure} faces from {names} repositories"


def span(row, name):
    """A figure with its interval."""
    low, high = row[name + "_interval"]
    return f"{row[name]:.3f} [{low:.2f}, {high:.2f}]"


def measurements(rows):
    """The table of the card's rows."""
    lines = ["| set | condition | pictures | faces | precision | recall |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = [row["set"], row["condition"], row["pictures"], row["faces"], span(row, "precision"), span(row, "recall")]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    notes = sorted({f"{row['set']}: {row['note']}." for row in rows if "note" in row})
    return "\n".join(lines) + "\n\n" + "\n".join(f"- {note}" for note in notes) + "\n"


def by_size(pictures, results, threshold):
    """Recall by the longer side of the face."""
    sides = np.concatenate([longer(p.boxes[certain(p.boxes)]) for p in pictures])
    hits = [np.concatenate([best for _, best in part]) >= threshold for part in results]
    lines = ["| longer side, pixels | faces | recall |", "|---|---|---|"]
    for low, high in zip(SIZES, SIZES[1:]):
        own = (sides >= low) & (sides < high)
        name = f"{low} to {high - 1}" if high < SIZES[-1] else f"{low} and more"
        lines.append(f"| {name} | {own.sum()} | " + " / ".join(f"{hit[own].mean():.3f}" for hit in hits) + " |")
    return "\n".join(lines) + "\n"


def by_source(pictures, results, threshold):
    """Every source, what it holds and how well its faces are found; wrong are boxes that YuNet does not have."""
    rows = [counts(part, threshold) for part in results]
    keys = [(p.label, p.generator, p.repository) for p in pictures]
    lines = ["| label | generator or source | repository | pictures | faces | wrong | precision | recall |", "|---|" + "---|" * 7]
    for key in sorted(set(keys)):
        own = np.array([k == key for k in keys])
        pairs = [ratios(part[own]) for part in rows]
        total = rows[0][own].sum(0)
        show = lambda k, n: " / ".join(f"{float(p[k]):.2f}" for p in pairs) if n else "–"
        wrong = " / ".join(str(int(part[own][:, 1].sum())) for part in rows)
        found = total[0] + sum(part[own][:, 1].sum() for part in rows)
        cells = [*key, own.sum(), int(total[3]), wrong, show(0, found), show(1, total[3])]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def write(path, title, rows, tested, others, facts):
    """The whole file."""
    pictures, *results = tested
    text = HEADER.format(
        title=title, used=amount(others[0]), check=amount(others[1]), test=amount(pictures),
        logits=facts["apart"][0], corners=facts["apart"][1], **facts,
    )
    text += "\n" + measurements(rows)
    text += "\n## Size\n\n" + by_size(pictures, results, facts["threshold"])
    text += "\n## Sources\n\n" + by_source(pictures, results, facts["threshold"])
    path.write_text(text)
