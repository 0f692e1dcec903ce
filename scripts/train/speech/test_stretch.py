"""Tests: python -m unittest speech.test_stretch, from scripts/train."""

import sys
import unittest
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent))  # last: `gather` stays the package beside this folder

import audio  # noqa: E402
import stretch  # noqa: E402
from frontend import RATE, WINDOW  # noqa: E402


class Windows(unittest.TestCase):
    """What is cut and joined."""

    def test_starts(self):
        """As the service has them: TestWindowStarts in preprocess/decode."""
        for (length, most), want in {
            (287_999, 900): [0, 74_666, 149_332, 223_999],
            (288_000, 900): [0, 32_768, 65_536, 98_304, 131_072, 163_840, 196_608, 224_000],
            (960_000, 8): [0, 129_024, 258_048, 387_072, 516_096, 645_120, 774_144, 896_000],
        }.items():
            self.assertEqual(audio.window_starts(length, most), want)

    def test_spliced(self):
        """What is put in is as loud as what was there, and nothing else is another sound."""
        r = np.random.RandomState(0)
        host, fake = (r.randn(60 * RATE) * 3000).astype(np.int16), (r.randn(3 * RATE) * 300).astype(np.int16)
        begin, cut, part = stretch.spliced(host, fake, np.random.RandomState(1))
        own = slice(cut - begin, cut - begin + len(fake))
        self.assertAlmostEqual(part[own].std() / 3000, 1, delta=0.05)
        rest = np.delete(part != host[begin:begin + len(part)], np.r_[own])
        self.assertFalse(rest.any())
        self.assertTrue(np.corrcoef(part[own], fake)[0, 1] > 0.99)

    def test_joined(self):
        """Clips go over into each other."""
        sound = stretch.joined([np.full(RATE, 1000, np.int16), np.full(RATE, -1000, np.int16)], 10 * RATE)
        self.assertEqual(len(sound), 2 * RATE - stretch.FADE)
        self.assertLess(np.abs(np.diff(sound.astype(int))).max(), 30)

    def test_highest(self):
        """A pause ends a stretch."""
        self.assertEqual(stretch.highest(np.array([1, np.nan, 3, 5, 1.]), 2), 4)
        self.assertTrue(np.isnan(stretch.highest(np.array([1, np.nan, 3.]), 2)))


class Rule(unittest.TestCase):
    """What is fitted."""

    def test_fit(self):
        """Of splices that the whole drowns most are found, and no more genuine recordings are called fake than the lines promise."""
        r, sources = np.random.RandomState(0), []
        n = (600 * RATE - WINDOW) // audio.HOP + 1
        for _ in range(60):
            values = r.normal(-3, 0.7) + r.randn(n)
            cuts = [dict(seconds=3, first=int(at), values={c: 3 + r.randn(3) for c in stretch.SPLICED}) for at in r.randint(30, n - 30, 4)]
            sources.append(dict(genuine={c: values + 0.1 * r.randn(n) for c in stretch.CONDITIONS}, splices=cuts))
        at = np.array([2.5, 1.0, 0.0])
        table = stretch.items(sources, 2)
        _, rule = stretch.fit(table, at, stretch.growth(sources, 2))
        called = [(table["x"][:, 1] >= t) | (stretch.log_odds(rule, *table["x"].T) >= t) for t in at]
        for seconds in stretch.LENGTHS:
            genuine, spliced = ((table["seconds"] == seconds) & (table["fake"] == q) for q in (0, 1))
            for mask, (_, target) in zip(called, stretch.LEVELS):
                self.assertLessEqual(stretch.share(mask, genuine, table["weight"]), target)
            self.assertGreater(stretch.share(called[1], spliced, table["weight"]), 0.8)
            self.assertLess(stretch.share(table["x"][:, 1] >= at[1], spliced, table["weight"]), 0.05)
        self.assertGreater(rule["growth"], 0)


if __name__ == "__main__":
    unittest.main()
