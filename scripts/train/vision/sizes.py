"""Calibration by size: what is reduced loses what tells, and scores otherwise for it."""

import numpy as np
from scipy.optimize import minimize

from vision import figures, report
from vision.folds import equal_weights

KNOTS = (32, 64, 128, 256)  # pixels, shorter sides that have a calibration of their own
TOP = 640  # pixels, from which on the calibration of all holds
BANDS = (24, 64, 128, 256, TOP)  # pixels, from and below which views are measured together
SET = "reduced views: "
CONDITION = "shorter side of {} to {} pixels, JPEG of quality 70 to 95"


def hats(sides, knots):
    """N×knots: the share that each has in the calibration at a side, linear in the logarithm."""
    return np.stack([np.interp(np.log(sides), np.log(knots), row) for row in np.eye(len(knots))], -1)


def fit(calibration, labels, sides, scores, repositories):
    """The sizes of a calibration: logistic regression on reduced views, classes and repositories counting equally."""
    weights, shares, signs = equal_weights(labels, repositories), hats(sides, [*KNOTS, TOP]), 2 * np.asarray(labels) - 1

    def loss(x):
        scale = shares @ [*np.exp(x[: len(KNOTS)]), calibration["scale"]]
        odds = scale * scores + shares @ [*x[len(KNOTS) :], calibration["bias"]]
        return float(weights @ np.logaddexp(0, -signs * odds))

    start = np.repeat([np.log(calibration["scale"]), calibration["bias"]], len(KNOTS))
    found = minimize(loss, start, method="L-BFGS-B").x
    table = zip([*KNOTS, TOP], [*np.exp(found[: len(KNOTS)]), calibration["scale"]], [*found[len(KNOTS) :], calibration["bias"]])
    return [{"side": side, "scale": float(scale), "bias": float(bias)} for side, scale, bias in table]


def levelled(calibration, sides, scores):
    """The scores that would say by the calibration alone what they say by that of their size; as they are without sizes."""
    if "sizes" not in calibration:
        return scores
    at = hats(sides, [s["side"] for s in calibration["sizes"]])
    scale, bias = (at @ [s[name] for s in calibration["sizes"]] for name in ("scale", "bias"))
    return (scale * scores + bias - calibration["bias"]) / calibration["scale"]


def measured(scored, small, calibration):
    """Measurements of the card, band by band; small has rows of (item, side, score)."""
    rows = []
    for low, high in zip(BANDS, BANDS[1:]) if len(small) else ():
        part = small[(small[:, 1] >= low) & (small[:, 1] < high)]
        items = [scored[int(k)] for k in part[:, 0]]
        scores = levelled(calibration, part[:, 1], part[:, 2])
        labels, repositories = [i.fake for i in items], [i.repository for i in items]
        rows.append(figures.measure(labels, scores, repositories, SET + "the same folds", CONDITION.format(low, high), calibration=calibration))
    return rows


HEADER = """
## Reduced views

{count} views of the same files, of sides of {low} to {high} pixels, any octave as likely as the next, reduced by area averaging or Lanczos and compressed as JPEG of quality 70 to
95 (films: H.264), judged by the same models. Called fake at the line of 5 % of the medium, by one calibration of all sizes / by that of their size / by that of their size on
the card, where the generators are known from other repositories:

| shorter side | views | AUC | genuine called fake | generated called fake |
|---|---|---|---|---|
"""


def table(scored, small, calibration, known, served, lines):
    """What becomes of views of each band at the balanced line of their medium; known are the same by models that served is of."""
    if not len(small):
        return ""
    text = HEADER.format(count=len(small), low=BANDS[0], high=BANDS[-1])
    fake = np.array([scored[int(k)].fake for k in small[:, 0]])
    limit = np.array([lines[report.medium(scored[int(k)])]["balanced"]["threshold"] for k in small[:, 0]])
    odds = (figures.probability(c, s) for c, s in (
        (calibration, small[:, 2]), (calibration, levelled(calibration, *small[:, 1:].T)), (served, levelled(served, *known[:, 1:].T)),
    ))
    above = np.stack([chances >= limit for chances in odds])
    for row, (low, high) in zip(measured(scored, small, calibration), zip(BANDS, BANDS[1:])):
        own = (small[:, 1] >= low) & (small[:, 1] < high)
        cells = [" / ".join(f"{share:.2f}" for share in above[:, own & (fake == label)].mean(1)) for label in (0, 1)]
        text += f"| {low} to {high} | {own.sum()} | {row['auc']:.3f} | {cells[0]} | {cells[1]} |\n"
    return text
