"""Tests of operating points and of what a card and RESULTS.md say of them."""

import unittest
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from vision import figures, pipeline, report
from vision.gather import Item

PLAIN = {"scale": 1.0, "bias": 0.0}


def item(k, fake, suffix):
    """A file of one of seven repositories."""
    return Item(Path(f"{k}{suffix}"), "fake" if fake else "real", "g", f"r{k % 7}", "", "")


def scored():
    """Pictures, and films that score two lower: genuine ones evenly, fakes one higher. Both conditions are alike."""
    items, scores = [], []
    for suffix, level in ((".png", 0.0), (".mp4", -2.0)):
        for fake in (0, 1):
            items += [item(k, fake, suffix) for k in range(101)]
            scores += list(np.linspace(0, 2, 101) + level + fake)
    return items, np.column_stack([scores, scores])


class Lines(unittest.TestCase):
    """Thresholds of a medium are drawn by its own genuine files."""

    def setUp(self):
        items, scores = scored()
        self.lines = pipeline.lines_of(SimpleNamespace(media=pipeline.media), items, {"scores": scores}, PLAIN, None)

    def test_films_have_their_own(self):
        """Genuine films lie below genuine pictures: at the line of both no film is found."""
        for medium, expected in (("image", 1.7), ("video", -0.3)):
            point = self.lines[medium]["sensitive"]
            self.assertAlmostEqual(point["threshold"], 1 / (1 + np.exp(-expected)), places=3)
            self.assertAlmostEqual(point["detection_rate"], 66 / 101, delta=0.02)
        chances = figures.probability(PLAIN, scored()[1])
        shared = chances[303:, 0] >= self.lines[figures.ANY]["sensitive"]["threshold"]
        self.assertEqual(shared.sum(), 0)

    def test_intervals_hold_what_was_measured(self):
        for point in self.lines["video"].values():
            for kind in ("detection", "false_positive"):
                low, high = point[kind + "_interval"]
                self.assertTrue(low <= point[kind + "_rate"] + 0.005 and point[kind + "_rate"] <= high + 0.005, (kind, point))
                self.assertGreater(high, low)

    def test_few_events_are_not_surer_than_independent_ones(self):
        """Of 147 genuine clips one or two were above the strict line, and a bootstrap gave [.000, .027] for it."""
        items = [item(k, fake, ".mp4") for fake in (0, 1) for k in range(147)]
        scores = np.tile(np.arange(147) / 147, 2)
        point = pipeline.line(items, np.column_stack([scores, scores + 1e-4]), PLAIN)["strict"]
        low, high = point["false_positive_interval"]
        self.assertLessEqual(low, 0.002)
        self.assertAlmostEqual(high, 0.048, delta=0.0006, msg="of 147 files, not of 294 views")
        self.assertAlmostEqual(point["detection_interval"][1], 0.048, delta=0.0006)

    def test_frames_of_a_clip_are_one_item(self):
        items = [Item(Path(f"{k // 4}.mp4"), label, "g", f"r{k % 7}", "", "") for label in ("real", "fake") for k in range(400)]
        scores = np.tile(np.repeat(np.arange(100) / 100, 4), 2)[:, None]
        high = pipeline.line(items, scores, PLAIN)["strict"]["false_positive_interval"][1]
        self.assertGreaterEqual(high, 0.054, "one clip of a hundred")

    def test_chances_that_hardly_differ(self):
        """A model without skill is hardly believed: with thresholds of four digits 3 % were above the line of 5 %."""
        labels = np.repeat([0, 1], 200)
        chances = 0.5 + np.concatenate([np.arange(200), np.arange(200)]) * 1e-6
        points = figures.operating_points(labels, chances, [f"r{k % 7}" for k in range(400)])
        for name, rate in figures.POINTS.items():
            self.assertAlmostEqual((chances[:200] >= points[name]["threshold"]).mean(), rate, delta=0.006)

    def test_errors_are_equal_amid_a_straight_part(self):
        """Of a curve without the points on its straight parts, .25 was told here, and .03 too much or too little of small sets."""
        labels = np.repeat([1, 0, 1], [5, 10, 5])
        self.assertAlmostEqual(figures.equal_error_rate(labels, np.arange(20, 0, -1)), 0.5)

    def test_what_has_no_score_is_left_out(self):
        """In a clip that was encoded again there may be no face any more."""
        items, scores = scored()
        hole = pipeline.line([*items, item(0, 0, ".png")], np.vstack([scores, [[0.5, np.nan]]]), PLAIN)
        whole = pipeline.line([*items, item(0, 0, ".png")], np.vstack([scores, [[0.5, 0.5]]]), PLAIN)
        self.assertAlmostEqual(hole["balanced"]["threshold"], whole["balanced"]["threshold"], delta=0.01)

    def test_the_final_model_is_no_quicker_to_accuse(self):
        """It knows the generators that the measured ones lack, and scores genuine files higher too: of pictures 7 and 22 % were above the lines of 5 and 15 %."""
        random = np.random.RandomState(0)
        unseen = [random.randn(2000) - 1, random.randn(300) - 1.4]
        known = [scores * 0.9 + 0.2 for scores in unseen]
        calibration = {"method": "platt", "scale": 1.2, "bias": -0.1, "limits": [-3, 3]}
        served = figures.carried_over(calibration, unseen, known)
        self.assertEqual((served["method"], served["limits"]), ("platt", [-3, 3]))
        for before, after in zip(unseen, known):
            np.testing.assert_allclose(figures.probability(served, after), figures.probability(calibration, before), atol=1e-6)
        self.assertEqual(calibration["scale"], 1.2)

    def test_cards_hold_them_apart(self):
        card = figures.on_card(self.lines)
        self.assertEqual(card["operating_points"], self.lines["any"])
        self.assertEqual(card["operating_points_by_medium"], {m: self.lines[m] for m in ("image", "video")})

    def test_sources_are_called_fake_at_the_line_of_their_medium(self):
        items, scores = scored()
        films = [k for k, i in enumerate(items) if i.clip]
        sources = report.by_source([items[k] for k in films], figures.probability(PLAIN, scores[films]), self.lines)
        self.assertIn({"name": "g", "repository": "r1", "label": "fake", "items": 15, "balanced": [0.5333] * 2, "sensitive": [0.6667] * 2}, sources)
        self.assertIn("| g | r1 | 15 | 0.53 / 0.53 | 0.67 / 0.67 |", report.per_source(sources, "fake"))
        self.assertEqual({row["label"] for row in sources}, {"real", "fake"})


if __name__ == "__main__":
    unittest.main()
