"""Tests of likeness.py, and of the weights of kinds."""

import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import needs

with needs.packages():
    import numpy as np
    import torch
    from vision import figures, folds, heads, judge, likeness


class LikenessTest(unittest.TestCase):
    """What lies outside of the directions of the training media is unlike them."""

    def setUp(self):
        random = np.random.RandomState(0)
        self.basis = np.linalg.qr(random.randn(40, 5))[0].T
        self.rows = lambda count: (random.randn(count, 5) @ self.basis + 0.05 * random.randn(count, 40)).astype(np.float32)
        self.known = self.rows(600)
        with mock.patch.object(likeness, "DIRECTIONS", 5):
            self.fitted = likeness.fitted(self.known, [f"r{k % 30}" for k in range(600)], random)

    def test_media_as_in_training_are_like_them(self):
        """One in twenty of unseen media begins to count for less, by the levels."""
        said = self.fitted(torch.from_numpy(self.rows(1000)))
        self.assertGreater((said == 1).float().mean().item(), 0.9)

    def test_other_media_are_not(self):
        """A chart lay where the head had never been taught anything, and was called fake."""
        other = torch.randn(100, 40, generator=torch.Generator().manual_seed(1)) * 3
        self.assertEqual(self.fitted(other).max().item(), 0)

    def test_log_odds_count_as_much(self):
        """heads.judged multiplies the two, as the service does."""
        mean, deviation = torch.zeros(40), torch.ones(40)
        whole = likeness.Weighed(judge.Head(mean, deviation, 3).eval(), self.fitted, ((0, 40),)).eval().requires_grad_(False)
        rows = np.concatenate([self.rows(3), 3 * np.random.RandomState(2).randn(3, 40)]).astype(np.float32)
        told = whole(torch.from_numpy(rows)).numpy()
        np.testing.assert_allclose(heads.judged(whole, rows), told[:, 0] * told[:, 1])
        self.assertTrue((heads.judged(whole, rows)[3:] == 0).all())


class KindsTest(unittest.TestCase):
    """Calibration is of all kinds alike, however many items each has."""

    def test_weights(self):
        """A hundred portraits of two repositories weigh as much as fifty drawings of one."""
        labels, kinds = [0] * 150 + [1] * 10, ["portraits"] * 100 + ["drawings"] * 50 + [""] * 10
        names = ["a"] * 90 + ["b"] * 10 + ["c"] * 50 + ["d"] * 10
        weights = folds.equal_weights(labels, names, kinds)
        sums = [weights[:90].sum(), weights[90:100].sum(), weights[100:150].sum(), weights[150:].sum()]
        np.testing.assert_allclose(sums, [0.25, 0.25, 0.5, 1])

    def test_few_are_no_kind(self):
        """A handful of night pictures would have had a ninth of all weight."""
        labels, kinds = [0] * 60 + [1] * 60, ["night"] * 9 + ["scans"] * 51 + ["scans"] * 9 + ["night"] * 51
        self.assertEqual(sorted(set(zip(labels, figures.counted(labels, kinds)))), [(0, ""), (0, "scans"), (1, ""), (1, "night")])


if __name__ == "__main__":
    unittest.main()
