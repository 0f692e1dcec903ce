"""Tests of the picture model's heads and rows."""

import contextlib
import importlib.util
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

import cv2
import numpy as np
import torch

from vision import gather, heads, judge, store
from vision.canonical import overview, overview_factor
from vision.test_film import picture, write

SPEC = importlib.util.spec_from_file_location("image_data", Path(__file__).with_name("data.py"))  # data is the face model's in other tests
data = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(data)
with mock.patch.dict(sys.modules, {"data": data}):
    import small
OPTIONS = {"heads": 2, "hidden": 128, "steps": 60, "batch": 64, "rate": 1e-2, "decay": 0.1, "dropout": (0.1, 0.1), "overviews": 0.4}


def pictures(count, random):
    """Items whose statistics say what they are in one column, and their statistics."""
    items = [SimpleNamespace(fake=k % 2, repository=str(k % 7), generator="g", made=False, medium="") for k in range(count)]
    features = []
    for item in items:
        rows = random.randn(4, 6).astype(np.float16) + np.array([4 * item.fake, 0, 0, 0, 0, 100], np.float16)
        features.append({"clean": rows[:1], "tiles": rows[1:2], "overview": rows[2:3], "overviews": rows[3:4]})
    return items, features


class Heads(unittest.TestCase):
    """Heads learn, and several say the mean of what each says."""

    def test_a_head_learns(self):
        items, features = pictures(80, np.random.RandomState(0))
        head = heads.train(items, features, OPTIONS, 0)
        says = np.array([heads.judged(head, f["clean"])[0] for f in features])
        labels = np.array([i.fake for i in items])
        self.assertGreater(says[labels == 1].mean() - says[labels == 0].mean(), 2)

    def test_reduced_views_have_their_share_of_the_draws(self):
        items, features = pictures(8, np.random.RandomState(0))
        features = [{**f, "small": [np.full(6, 9, np.float16)]} for f in features[:4]] + features[4:]
        rows = heads.Rows(items, features, OPTIONS | {"small": 0.3})
        for k, share in ((0, 0.3), (7, 0)):
            random = np.random.RandomState(1)
            drawn = np.mean([rows.row(k, random)[0] == 9 for _ in range(2000)])
            self.assertAlmostEqual(drawn, share, delta=0.04)

    def test_several_say_their_mean(self):
        torch.manual_seed(0)
        several = [judge.Head(torch.zeros(6), torch.ones(6), 5).eval() for _ in range(3)]
        x = torch.randn(4, 6)
        with torch.no_grad():
            expected = sum(h(x) for h in several) / 3
            torch.testing.assert_close(judge.together(several)(x), expected)


class Overviews(unittest.TestCase):
    """The picture as a whole, reduced."""

    def test_factors(self):
        for shorter, factor in ((224, 1), (335, 1), (336, 2), (559, 2), (560, 3), (720, 3)):
            self.assertEqual(overview_factor(np.zeros((shorter, 1280, 3))), factor)

    def test_blocks_are_averaged_and_short_sides_reflected(self):
        pixels = np.arange(24 * 50 * 3).reshape(24, 50, 3).astype(np.uint8)
        found = overview(pixels, 16)
        blocks = pixels[:24, :50].reshape(12, 2, 25, 2, 3).astype(int).sum((1, 3))
        expected = (blocks + 2) // 4
        np.testing.assert_array_equal(found[:12], expected[:, 4:20])
        np.testing.assert_array_equal(found[12:], expected[10:6:-1, 4:20])


class Kept(unittest.TestCase):
    """What is kept of pictures and of films."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.top = Path(temporary.name)
        patch = mock.patch.object(data, "RUN", [lambda rows: rows.reshape(len(rows), -1)[:, :5].astype(np.float32), data.SMALL])
        patch.start()
        self.addCleanup(patch.stop)

    def keep(self, path, generator="g", label="fake"):
        """What kept() says of a file, and the numbers of rows that it wrote."""
        one = data.kept(gather.Item(path, label, generator, "me/films", "", "", whole=True), self.top / "0000007f00000000")
        with np.load(one.base + ".statistics.npz") as kept:
            return one, {name: len(kept[name]) for name in kept}

    def test_of_a_film_every_frame_is_judged(self):
        """As it is, as it is shared, and compressed once more for training; its pixels aren't kept."""
        path = self.top / "film.mp4"
        write(path, [picture(360, 640)] * 10)
        one, rows = self.keep(path)
        tiles = data.FRAMES * data.SMALL.tiles
        self.assertEqual((rows["clean"], rows["overview"], rows["shared_clean"]), (tiles, data.FRAMES, tiles))
        self.assertEqual(rows["tiles"], data.FRAMES * data.FILMED)
        self.assertTrue(one.judged and not Path(one.base + ".npz").exists())

    def test_of_a_picture_some_views_are_frames_of_films(self):
        path = self.top / "picture.png"
        cv2.imwrite(str(path), picture(720, 960))
        one, rows = self.keep(path)
        self.assertEqual((rows["clean"], rows["overview"]), (data.SMALL.tiles, 1))
        self.assertEqual(rows["tiles"], data.SMALL.views + data.FILMED)
        self.assertTrue(Path(one.base + ".npz").exists())

    def test_reduced_views_are_smaller_and_no_larger_than_the_picture(self):
        """Pictures that were reduced were called fake the oftener the smaller they were, and none was trained on."""
        path = self.top / "picture.png"
        cv2.imwrite(str(path), picture(600, 800))
        item = gather.Item(path, "real", "g", "me/pictures", "", "")
        views = [view for seed in range(4) for view in small.looked_at(item, self.top / f"{seed:07x}000000000")]
        self.assertTrue(any(side < 336 for side, _, _ in views) and any(336 <= side < 600 for side, _, _ in views))
        for side, tiles, whole in views:
            self.assertEqual(len(whole), int(side >= 336))
            self.assertGreaterEqual(len(tiles), 1)
        self.assertEqual(small.reduced(picture(300, 400), 50, np.random.RandomState(0)).shape, (50, 67, 3))
        np.testing.assert_allclose(small.sides_of([SimpleNamespace(facts=[1920, 1080]), SimpleNamespace(facts=[200, 300])]), [[720, 432], [200, 200]])

    def test_of_films_reduced_views_are_frames(self):
        path = self.top / "film.mp4"
        write(path, [picture(360, 640)] * 10)
        item = gather.Item(path, "real", "g", "me/films", "", "", whole=True)
        views = [view for seed in range(8) for view in small.looked_at(item, self.top / f"{seed:07x}000000000")]
        self.assertTrue(views and all(side < 360 and len(tiles) >= data.FRAMES for side, tiles, _ in views))

    def stored(self, name, items):
        """The statistics that store() makes of each, in this process and without a graph."""
        pool = SimpleNamespace(imap=lambda work, tasks, _: map(work, tasks))
        context = SimpleNamespace(Pool=lambda *_: contextlib.nullcontext(pool))
        with mock.patch.object(store.multiprocessing, "get_context", return_value=context), \
                mock.patch.object(data.export, "export"), mock.patch.object(data, "plain"):
            kept = data.looked_at(items, self.top / name, None)
        return {item.path.name: dict(np.load(item.base + ".statistics.npz")) for item in kept}

    def test_views_are_those_of_the_file(self):
        """They were seeded by its place in the list, so one new repository changed what was made of every file behind it."""
        item = gather.Item(self.top / "0001.png", "fake", "g", "me/films", "", "")
        self.assertLess(data.FILM_SEED + int("f" * store.SEED_DIGITS, 16), 2**32)
        for path in (item.path, self.top / "0000.png"):
            cv2.imwrite(str(path), picture(480, 640))
        before = gather.Item(self.top / "0000.png", "real", "g", "me/new", "", "")
        alone, behind = self.stored("alone", [item])["0001.png"], self.stored("behind", [before, item])["0001.png"]
        for rows in alone:
            np.testing.assert_array_equal(alone[rows], behind[rows])

    def test_a_generator_has_one_family_however_it_is_spelt(self):
        """What one repository calls ideogram4 and another ideogram-v4 was unseen to neither's judge."""
        card = json.loads((Path(data.__file__).parents[3] / "models" / "builtin" / "image" / "card.json").read_text())
        families = {}
        for name in {source["name"] for source in card["by_source"] if source["label"] == "fake"}:
            films = (own for part, own in data.FILM_FAMILIES.items() if part in name)
            families.setdefault(re.sub("image|[-v]", "", name), set()).add(data.FAMILY.get(name) or next(films, name))
        self.assertGreater(len(families), 100)
        self.assertEqual({key: names for key, names in families.items() if len(names) > 1}, {})

    def test_families(self):
        """Films of one network are kept apart from each other; genuine ones by repository alone."""
        def family(name, label="fake", path="a.mp4"):
            return data.family(gather.Item(Path(path), label, name, "me/films", "", ""))

        self.assertEqual(family("stand-in-wan2.1-14b"), family("wan2.2-5b"))
        self.assertEqual(family("tune-a-video"), family("stable-diffusion-v1", path="a.png"))
        self.assertEqual(family("sora"), family("sora-frame", path="a.jpg"))
        self.assertEqual(family("street traffic", "real"), "me/films")
        self.assertEqual(family("wan2.2-5b", path="a.png"), "")


if __name__ == "__main__":
    unittest.main()
