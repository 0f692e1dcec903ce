"""Tests of the calibration error, of the limits of claims and of the intervals of shares."""

import unittest

import numpy as np

import reliability


class CalibrationError(unittest.TestCase):
    """What is as often fake as it is said to be has none."""

    def test_by_hand(self):
        """Two bins: .2 said and nothing fake, .6 said and everything fake."""
        error = reliability.expected_calibration_error([0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6], [1, 1, 1, 1], bins=2)
        self.assertAlmostEqual(error, 0.5 * 0.2 + 0.5 * 0.4)

    def test_equal_chances_have_no_order(self):
        """Where the same is said of all, it does not matter in which order they come."""
        self.assertAlmostEqual(reliability.expected_calibration_error([0] * 20 + [1] * 20, [0.5] * 40, np.ones(40)), 0)

    def test_weights(self):
        """An item of twice the weight counts like two."""
        twice = reliability.expected_calibration_error([0, 1, 1], [0.1, 0.7, 0.9], [2, 1, 1], bins=4)
        both = reliability.expected_calibration_error([0, 0, 1, 1], [0.1, 0.1, 0.7, 0.9], [1, 1, 1, 1], bins=4)
        self.assertAlmostEqual(twice, both)

    def test_calibrated(self):
        """Labels drawn with the probability said leave noise only; said twice as sure, they don't."""
        random = np.random.RandomState(0)
        logits = random.randn(20_000) * 2
        chances = 1 / (1 + np.exp(-logits))
        labels = (random.rand(20_000) < chances).astype(int)
        bold = 1 / (1 + np.exp(-2 * logits))
        self.assertLess(reliability.expected_calibration_error(labels, chances, np.ones(20_000)), 0.02)
        self.assertGreater(reliability.expected_calibration_error(labels, bold, np.ones(20_000)), 0.05)

    def test_weights_and_noise(self):
        """By hand with one bin, and with labels that are drawn."""
        label, p = np.array([0, 1] * 50), np.full(100, 0.8)
        cases = (("as often as told", label, np.where(label, 4.0, 1.0), 0.0), ("too sure", label, np.ones(100), 0.3),
                 ("always wrong", 0 * label, np.ones(100), 0.8))
        for name, labels, weight, want in cases:
            self.assertAlmostEqual(reliability.expected_calibration_error(labels, p, weight, bins=1), want, 6, name)
        r = np.random.RandomState(0)
        p = r.rand(60000)
        honest = reliability.expected_calibration_error((r.rand(60000) < p).astype(int), p, np.ones(60000))
        self.assertLess(honest, 0.01)
        self.assertGreater(reliability.expected_calibration_error((r.rand(60000) < 0.5).astype(int), p, np.ones(60000)), 0.2)


class Limits(unittest.TestCase):
    """A set of n items supports odds of about n and no more."""

    def test_told_apart(self):
        """Without a single error the bounds are the logarithms of the sizes, nearly."""
        labels = np.repeat([0, 1], [300, 50])
        low, high = reliability.limits(labels, np.where(labels == 1, 20.0, -20.0), np.ones(350))
        self.assertAlmostEqual(high, np.log(300), delta=0.05)
        self.assertAlmostEqual(low, -np.log(50), delta=0.05)

    def test_few_repositories(self):
        """A class that rests on one heavy item is as good as one item."""
        labels = np.repeat([0, 1], [300, 50])
        weights = np.where(np.arange(350) == 0, 1e6, 1.0)
        _, high = reliability.limits(labels, np.where(labels == 1, 20.0, -20.0), weights)
        self.assertLess(high, 1)

    def test_overconfident(self):
        """Who is wrong one time in twenty cannot claim a thousand to one."""
        labels = np.repeat([0, 1], 1000)
        log_odds = np.where(labels == 1, 7.0, -7.0)
        log_odds[::20] *= -1
        low, high = reliability.limits(labels, log_odds, np.ones(2000))
        self.assertTrue(2.5 < high < 3.1 and -3.1 < low < -2.5, (low, high))

    def test_chance(self):
        """Who knows nothing can claim nothing."""
        random = np.random.RandomState(1)
        labels, log_odds = random.randint(0, 2, 500), random.randn(500) * 3
        low, high = reliability.limits(labels, log_odds, np.ones(500))
        self.assertTrue(-1 < low <= 0 <= high < 1, (low, high))

    def test_counts(self):
        """As far as the counts go; fewer that weigh, or an error, draw it in; conditions of an item add nothing."""
        label = np.repeat([0, 1], [99, 19])
        odds, ones = np.where(label, 9.0, -9.0), np.ones(118)
        item = np.arange(118)
        heavy = ones.copy()
        heavy[:9] = 1e6  # nine items carry the class: Kish counts nine
        wrong = odds.copy()
        wrong[0] = 9.0
        cases = (("as far as the counts go", odds, ones, np.log(20), np.log(100)),
                 ("few that weigh", odds, heavy, np.log(20), np.log(10)),
                 ("one sure and wrong", wrong, ones, np.log(20), np.log(50)))
        for name, told, weight, low, high in cases:
            found = reliability.limits(label, told, weight, item)
            self.assertLessEqual(np.abs(np.array(found) - (-low, high)).max(), 0.03, (name, found))
        twice = reliability.limits(*(np.tile(v, 2) for v in (label, odds, ones, item)))
        self.assertEqual(twice, reliability.limits(label, odds, ones, item), "conditions of a clip are one item")

    def test_tells_nothing(self):
        """Scores without meaning support next to nothing."""
        r = np.random.RandomState(0)
        label, odds = np.arange(400) % 2, r.normal(0, 3, 400)
        low, high = reliability.limits(label, odds, np.ones(400), np.arange(400))
        self.assertTrue(-0.5 < low <= 0 <= high < 0.5, (low, high))


class Shares(unittest.TestCase):
    """No interval is narrower than that of independent items."""

    def test_exact(self):
        """By the rule of Clopper and Pearson, of published tables; and without events or with nothing else, in closed form."""
        for count, n, want in ((0, 147, [0, 1 - 0.025 ** (1 / 147)]), (147, 147, [0.025 ** (1 / 147), 1]), (10, 100, [0.0490, 0.1762]),
                               (2, 147, [0.0017, 0.0483])):
            found = reliability.exact_interval(count, n)
            self.assertLess(np.abs(np.array(found) - want).max(), 1e-4, (count, n, found))

    def test_counts_that_are_not_whole_are_rounded_outwards(self):
        self.assertEqual(reliability.exact_interval(1.5, 147), [reliability.exact_interval(1, 147)[0], reliability.exact_interval(2, 147)[1]])
        self.assertEqual(reliability.exact_interval(4 - 1e-12, 390), reliability.exact_interval(4, 390), "a sum of shares is not exact")

    def test_envelope(self):
        """Each end by itself: what the bootstrap has wider stays."""
        hit, ones, item = np.arange(147) < 2, np.ones(147), np.arange(147)
        exact = reliability.exact_interval(2, 147)
        for told, want in (([0.01, 0.02], exact), ([0.0, 0.027], [0.0, exact[1]]), ([0.01, 0.9], [exact[0], 0.9]), ([0.0, 0.9], [0.0, 0.9])):
            self.assertEqual(reliability.widened(told, hit, ones, item), want)

    def test_views_of_a_file_are_one_item(self):
        hit, item = np.arange(147) < 2, np.arange(147)
        once = reliability.widened([0.5, 0.5], hit, np.ones(147), item)
        twice = reliability.widened([0.5, 0.5], np.tile(hit, 2), np.ones(294), np.tile(item, 2))
        self.assertTrue(np.allclose([min(once), max(once)], [min(twice), max(twice)]))

    def test_weights_leave_fewer(self):
        """Nine of a hundred that carry all weight are nine."""
        weights = np.where(np.arange(100) < 9, 1.0, 0.0)
        found = reliability.widened([0.3, 0.3], np.arange(100) < 3, weights, np.arange(100))
        self.assertTrue(np.allclose(found, reliability.exact_interval(3, 9)))


if __name__ == "__main__":
    unittest.main()
