"""Tests of figures that do not reward what a picture shows."""

import unittest
from pathlib import Path

import numpy as np

from vision import content, figures, kinds, matched
from vision.gather import Item

PLAIN = {"scale": 1.0, "bias": 0.0}


def item(k, label, repository, pair="", kind=""):
    """A picture."""
    return Item(Path(f"{k}.png"), label, "g" if label == "fake" else "photos", repository, "", "", pair=pair, kind=kind)


class Matched(unittest.TestCase):
    """Sets of the same subjects."""

    def setUp(self):
        self.items = [item(k, label, "a/a", "a shoes") for label in ("real", "fake") for k in range(10)]
        self.items += [item(k, label, "b/b", "b cars") for label in ("real", "fake") for k in range(10)]
        self.items += [item(k, "fake", "c/c", "c few") for k in range(3)] + [item(k, "real", "c/c", "c few") for k in range(9)]
        good, none = np.repeat([0.0, 1.0], 10), np.zeros(20)
        scores = np.concatenate([good, none, np.ones(12)])
        self.scores = np.column_stack([scores, scores])

    def test_every_set_counts_alike_and_the_worst_is_named(self):
        rows = matched.measured(self.items, self.scores, PLAIN)
        self.assertEqual([row["auc"] for row in rows], [0.75, 0.75])
        self.assertIn("b cars, has 0.50", rows[0]["note"])
        self.assertEqual((rows[0]["real"], rows[0]["fake"]), (20, 20))

    def test_tables_name_sets_and_kinds(self):
        lines = {"image": {name: {"threshold": 0.6} for name in figures.POINTS}}
        items = self.items + [item(k, "real", "d/d", kind="film") for k in range(60)]
        text = matched.tables(items, np.vstack([self.scores, np.ones((60, 2))]), PLAIN, lines)
        self.assertIn("| a shoes | 10 | 10 | 1.00 / 1.00 | 0.00 / 0.00 | 1.00 / 1.00 |", text)
        self.assertNotIn("c few", text)
        self.assertIn("| film | 60 | 1.00 / 1.00 |", text)


class Kinds(unittest.TestCase):
    """No kind of genuine media is called fake far more often than a line promises."""

    def test_a_kind_that_scores_high_raises_the_line(self):
        """At the line of 5 % for all, 18 % of genuine product photographs were called fake."""
        chances = np.concatenate([np.linspace(0, 0.5, 1000), np.linspace(0.3, 0.7, 60)])
        names = np.array([""] * 1000 + ["products"] * 60)
        plain, _ = figures.line_of(0.05, chances, np.arange(1060), np.full(1060, ""))
        raised, by = figures.line_of(0.05, chances, np.arange(1060), names)
        self.assertGreater((chances[1000:] >= plain).mean(), 0.3)
        self.assertLessEqual((chances[1000:] >= raised).mean(), 3 * 0.05 + 1 / 60)
        self.assertEqual(by, "products")
        few, by = figures.line_of(0.05, chances, np.arange(1060), np.array([""] * 1011 + ["products"] * 49))
        self.assertEqual((few, by), (plain, ""))

    def test_names_of_sources_say_their_kind(self):
        self.assertEqual(kinds.kind(item(0, "real", "a/a")), "")
        for name, expected in (("Film scans, one photographer", "film"), ("phone snapshots", "phone"), ("paintings by people", "art")):
            one = item(0, "real", "a/a")
            one.generator = name
            self.assertEqual(kinds.kind(one), expected)
        self.assertEqual(kinds.kind(item(0, "real", "a/a", kind="night")), "night")


class Content(unittest.TestCase):
    """A classifier of what pictures show."""

    def test_it_finds_what_content_gives_away(self):
        random, items, features = np.random.RandomState(0), [], []
        for k in range(200):
            items.append(item(k, ("real", "fake")[k % 2], f"{k % 20}/r"))
            features.append({content.KEY: (random.randn(1, 8) + 2 * (k % 2)).astype(np.float16)})
        folds = np.array([int(i.repository.split("/")[0]) % 5 for i in items])
        for one in items:
            one.family = one.repository
        self.assertGreater(content.measured(items, features, folds)[0]["auc"], 0.9)
        self.assertEqual(content.measured(items, [{}] * 200, folds), [])


if __name__ == "__main__":
    unittest.main()
