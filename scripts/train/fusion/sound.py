"""What becomes of videos with sound: every video beside every sound, as if they were one file.

The two are judged by models that share nothing, so what one says of a file does not depend on what the other says, given what the
file is; of real videos with generated speech and of generated ones with genuine speech hardly any are at hand.
"""

import json

import numpy as np

SCORES = "speech/deepfaked-speech-scores.json"  # in WORK, by the speech model's script
NAMES = ("genuine", "fake")


def logit(chance):
    """Log-odds of a probability."""
    return float(np.log(chance / (1 - chance)))


def scores(work):
    """Labels and out-of-fold log-odds of clips of sound; None where the speech model's script did not leave them."""
    path = work / SCORES
    if not path.exists():
        return None
    rows = json.loads(path.read_text())
    return np.array([r["fake"] for r in rows]), np.array([r["log_odds"] for r in rows])


def beside(video, sound, limits):
    """Shares called fake; video and sound are labels and log-odds each, limits the lines of the two, level by level, as log-odds."""
    text = "| video | sound | called fake | by the video alone | by the sound alone |\n|---|---|---|---|---|\n"
    for fakes in ((0, 0), (1, 0), (0, 1), (1, 1)):
        odds = [np.exp(own[labels == fake]) for (labels, own), fake in zip((video, sound), fakes)]
        cells = []
        for pair in map(np.exp, limits):
            cells.append([pairs(odds, sum(pair)), *((own >= line).mean() for own, line in zip(odds, pair))])
        text += f"| {NAMES[fakes[0]]} | {NAMES[fakes[1]]} | " + " | ".join(", ".join(f"{share:.3f}" for share in column) for column in zip(*cells)) + " |\n"
    return text


def pairs(odds, line):
    """The share of all pairs whose odds add up to the line and more: both means are halves of sums."""
    ordered = np.sort(odds[1])
    return float(1 - np.searchsorted(ordered, line - odds[0]).mean() / len(ordered))
