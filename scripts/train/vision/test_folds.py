"""Tests of the folds."""

import unittest
from pathlib import Path

import numpy as np

from vision.folds import folds, groups, inside, repositories, sampling_weights
from vision.gather import Item


def picture(label, generator, repository, family="", made=False):
    """An item without a file."""
    return Item(Path("none"), label, generator, repository, "", "", family=family, made=made)


ITEMS = [
    picture("fake", "flux1-dev", "a", "flux1"), picture("fake", "sdxl", "a"), picture("fake", "flux1-schnell", "b", "flux1"),
    picture("fake", "kolors", "b"), picture("real", "camera", "c", "c"), picture("real", "camera", "d", "d"),
    picture("real", "COCO", "d"), picture("real", "COCO", "e"),
]


class Folds(unittest.TestCase):
    """What may stand on both sides of a split, and what may not."""

    def test_groups_join_repositories_that_share_a_family(self):
        """The stricter grouping makes one group of a chain of repositories."""
        found = groups(ITEMS)
        self.assertEqual(found[0], found[3])
        self.assertEqual(found[5], found[7])
        self.assertNotEqual(found[4], found[5])

    def test_a_repository_is_in_one_fold(self):
        """By repository alone, each repository is in one fold."""
        for group in (groups, repositories):
            fold_of = folds(ITEMS, 2, group)
            for name in "abcde":
                self.assertEqual(len({int(k) for k, i in zip(fold_of, ITEMS) if i.repository == name}), 1)

    def test_nothing_judged_is_trained_on(self):
        """Neither a repository nor a family of the fold is among what is trained on; the rest is."""
        fold_of = np.array([0, 0, 1, 1, 0, 1, 1, 0])
        self.assertEqual(list(inside(ITEMS, fold_of, 0)), [3, 5])
        self.assertEqual(list(inside(ITEMS, fold_of, 1)), [1, 4])

    def test_faces_of_a_generator_are_of_that_generator(self):
        """29 faces and landscapes by StyleGAN 2 were judged by models that had learned from the others of them, as archives label faces apart."""
        items = [picture("fake", "stylegan2-ada", "a", "stylegan2"), picture("real", "FFHQ", "b"), picture("fake", "sdxl", "c"),
                 picture("face_fake", "stylegan2", "c"), picture("face_real", "FFHQ", "d")]
        self.assertEqual(list(inside(items, np.array([0, 0, 1, 1, 1]), 0)), [2])
        found = groups(items)
        self.assertEqual(found[0], found[3])
        self.assertEqual(found[1], found[4])

    def test_made_fakes_follow_their_repository(self):
        """Fakes that the script made are no generator that could leak."""
        made = [*ITEMS, picture("fake", "blended", "c", made=True), picture("fake", "blended", "d", made=True)]
        self.assertEqual(list(inside(made, np.array([0, 0, 1, 1, 0, 1, 1, 0, 0, 1]), 0)), [3, 5, 9])

    def test_a_medium_says_nothing_of_the_class(self):
        """Most manipulated faces were frames of clips and most genuine ones pictures, and the model learned to tell those apart."""
        items = [picture(*k) for k in [("real", "x", "a")] * 6 + [("fake", "y", "a")] * 2 + [("real", "z", "b")] + [("fake", "y", "b")] * 9]
        for item in items:
            item.medium = {"a": "picture", "b": "clip"}[item.repository]
        weights = sampling_weights(items)
        for medium in ("picture", "clip"):
            sums = [sum(w for w, i in zip(weights, items) if (i.medium, i.fake) == (medium, fake)) for fake in (0, 1)]
            np.testing.assert_allclose(sums, 0.25)


if __name__ == "__main__":
    unittest.main()
