"""What becomes of files that show several faces, of which the mean of the odds is taken too."""

from collections import Counter

import numpy as np

JOINED = (1, 2, 3, 5)  # faces of a file, of which one may be manipulated
DRAWS = 20  # of the others of a file
NUMBERS = ("no face", "one", "two and more")


def faces(findings):
    """How many faces the frame with most of them shows, by what the service says."""
    frames = Counter(p["at_seconds"] for f in findings if f["task"] == "face-manipulation" for p in f["pieces"])
    return max(frames.values(), default=0)


def found(rows, labels, above):
    """The shares called fake by the number of faces; above is N×levels. Only of what the service was asked about is the number known."""
    number = np.array([-1 if r["faces"] is None else min(r["faces"], 2) for r in rows])
    text = "| faces in a frame, at most | genuine | called fake | fake | called fake |\n|---|---|---|---|---|\n"
    for k, name in enumerate(NUMBERS):
        parts = [above[(number == k) & (labels == fake)] for fake in (0, 1)]
        if all(map(len, parts)):
            text += f"| {name} | " + " | ".join(f"{len(part)} | {shares(part)}" for part in parts) + " |\n"
    return text


def joined(rows, labels, together, limits):
    """The same where faces of other genuine files are put beside the one of a file, which lowers the mean; limits are the lines of each row."""
    random, text = np.random.RandomState(0), "| faces | called fake of genuine files | of those with one manipulated face |\n|---|---|---|\n"
    own = np.array([r["from"] == "face" and r["image"] is not None for r in rows])
    genuine = np.array([r["face"] for r, mine, fake in zip(rows, own, labels) if mine and not fake])
    for count in JOINED:
        cells = []
        for fake in (0, 1):
            some = np.flatnonzero(own & (labels == fake))
            face, image = (np.array([rows[k][name] for k in some])[:, None] for name in ("face", "image"))
            others = random.choice(genuine, (len(some), DRAWS, count - 1))
            every = np.concatenate([np.broadcast_to(face[:, None], (len(some), DRAWS, 1)), others], 2)
            odds = together["scale"] * np.log((np.exp(every).mean(2) + np.exp(image)) / 2) + together["bias"]
            cells.append(shares((odds[:, :, None] >= limits[some][:, None]).reshape(-1, limits.shape[1])))
        text += f"| {count} | {cells[0]} | {cells[1]} |\n"
    return text


def shares(above):
    """The share of the rows above each line."""
    return ", ".join(f"{share:.3f}" for share in above.mean(0))
