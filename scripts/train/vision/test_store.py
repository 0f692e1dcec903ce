"""Tests of what is kept of each file."""

import tempfile
import unittest
from pathlib import Path

from vision import store
from vision.gather import Item


class Kept(unittest.TestCase):
    """What is made of an item is made once."""

    def test_an_interrupted_run_goes_on(self):
        """It began again with the first picture, an hour lost, though what had been made of the others lay there."""
        asked = []

        def make(item, base):
            asked.append((item, base))
            if len(asked) == 2:
                raise KeyboardInterrupt
            return {"of": item}

        with tempfile.TemporaryDirectory() as folder:
            one, other = ((make, name, Path(folder, name)) for name in ("one", "other"))
            self.assertEqual(store.kept(one), {"of": "one"})
            self.assertRaises(KeyboardInterrupt, store.kept, other)
            self.assertEqual([store.kept(task) for task in (one, other)], [{"of": "one"}, {"of": "other"}])
        self.assertEqual([item for item, _ in asked], ["one", "other", "other"])

    def test_an_item_is_known_by_what_it_is(self):
        """Neither by its folder nor by its place in a list."""
        item = Item(Path("a/0001.png"), "fake", "g", "me/films", "", "")
        moved = Item(Path("elsewhere/0001.png"), "fake", "g", "me/films", "", "", rank=7)
        other = Item(Path("a/0001.png"), "fake", "h", "me/films", "", "")
        self.assertEqual(store.identity(item), store.identity(moved))
        self.assertNotEqual(store.identity(item), store.identity(other))
        self.assertEqual(store.seed(Path("x", "0000007f00000000")), 7)


if __name__ == "__main__":
    unittest.main()
