"""Tests of calibrations by size."""

import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import reliability
from vision import figures, sizes

CALIBRATION = {"method": "platt", "scale": 1.5, "bias": 0.2}


def views(count, random):
    """Labels, sides and scores of views that score higher, and tell less, the smaller they are."""
    labels, sides = random.randint(0, 2, count), np.exp(random.uniform(*np.log((24, 640)), count))
    lost = 1 - np.log(sides / 24) / np.log(640 / 24)
    return labels, sides, (2 * labels - 1) * (1.5 - lost) + 2 * lost + random.randn(count)


class Sizes(unittest.TestCase):
    """What a view of any size says is right as often as it says."""

    def setUp(self):
        self.labels, self.sides, self.scores = views(6000, np.random.RandomState(0))
        self.repositories = np.arange(6000) % 97
        self.plain = figures.calibrate(*(x[self.sides > 500] for x in (self.labels, self.scores, self.repositories)))

    def test_views_of_any_size_are_calibrated(self):
        fitted = self.plain | {"sizes": sizes.fit(self.plain, self.labels, self.sides, self.scores, self.repositories)}
        levelled, small = sizes.levelled(fitted, self.sides, self.scores), self.sides < 100
        for name, scores, low, high in (("plain", self.scores, 0.3, 1), ("by size", levelled, 0, 0.06)):
            chances = figures.probability(self.plain, scores)[small]
            error = reliability.expected_calibration_error(self.labels[small], chances, np.ones(small.sum()))
            self.assertTrue(low <= error <= high, f"{name}: {error}")

    def test_between_knots_it_is_linear_in_the_logarithm(self):
        fitted = CALIBRATION | {"sizes": [{"side": s, "scale": 1.0 + k, "bias": 0.0} for k, s in enumerate((*sizes.KNOTS, sizes.TOP))]}
        for side, scale in ((1, 1.0), (32, 1.0), (np.sqrt(32 * 64), 1.5), (128, 3.0), (640, 5.0), (5000, 5.0)):
            says = CALIBRATION["scale"] * sizes.levelled(fitted, [side], np.array([2.0])) + CALIBRATION["bias"]
            self.assertAlmostEqual(says[0], scale * 2.0, places=6)

    def test_without_sizes_nothing_changes(self):
        np.testing.assert_array_equal(sizes.levelled(CALIBRATION, self.sides, self.scores), self.scores)

    def test_sizes_are_carried_over_with_the_calibration(self):
        fitted = CALIBRATION | {"sizes": [{"side": 640, "scale": 1.5, "bias": 0.2}]}
        unseen, known = np.random.RandomState(1).randn(500), np.random.RandomState(1).randn(500) * 2 + 1
        over = figures.carried_over(fitted, [unseen], [known])
        self.assertAlmostEqual(over["sizes"][0]["scale"], over["scale"])
        self.assertAlmostEqual(over["sizes"][0]["bias"], over["bias"])
        self.assertEqual(over["sizes"][0]["side"], 640)

    def test_bands_are_measured_apart(self):
        scored = [SimpleNamespace(fake=int(label), repository=str(r)) for label, r in zip(self.labels, self.repositories)]
        small = np.stack([np.arange(len(scored)), self.sides, self.scores], -1)
        rows = sizes.measured(scored, small, self.plain | {"sizes": sizes.fit(self.plain, self.labels, self.sides, self.scores, self.repositories)})
        areas = [row["auc"] for row in rows]
        self.assertEqual(sorted(areas), areas)  # what is smaller tells less
        self.assertEqual(sum(row["real"] + row["fake"] for row in rows), len(scored))


if __name__ == "__main__":
    unittest.main()
