"""Tests of the blending and of what is chosen."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

import numpy as np
from PIL import Image

import blend
import clips
import data
import encoded
import masks
import measure
import tables
from vision import content
from vision.gather import Item

MARKS = np.array([[80, 90], [120, 90], [100, 115], [84, 134], [116, 134]], float)
FACE = [60.0, 60.0, 80.0, 100.0, *MARKS.ravel()]


def noise(seed=1):
    """A smooth picture of 200×200 that no two seeds share."""
    import cv2

    small = np.random.RandomState(seed).randint(0, 256, (25, 25, 3)).astype(np.uint8)
    return cv2.resize(small, (200, 200), interpolation=cv2.INTER_CUBIC)


def face(label="face_real", repository="a", path="one.jpg", generator="portraits"):
    """An item without a file."""
    return Item(Path(path), label, generator, repository, "", "")


class Blending(unittest.TestCase):
    """A twin differs where the mask is, and nowhere else."""

    def test_template_meets_the_landmarks(self):
        """The template's anchors fall near the landmarks they were fitted to."""
        found = np.column_stack([masks.ANCHORS, np.ones(5)]) @ masks.template(MARKS)
        self.assertLess(np.abs(found - MARKS).max(), 4)

    def test_masks_are_soft_and_on_the_face(self):
        """Masks reach from 0 to at most 1, and leave the corners of the picture alone."""
        for seed in range(30):
            mask = masks.blending_mask((200, 200), MARKS, np.random.RandomState(seed))
            self.assertGreaterEqual(mask.min(), 0)
            self.assertGreater(mask.max(), 0.4)
            self.assertLessEqual(mask.max(), 1.0001)
            self.assertLess(mask[:5, :5].max(), 0.05)

    def test_a_copy_shares_what_is_not_blended(self):
        """The corners of both are the same pixels; the face is not."""
        for seed in range(20):
            genuine, made = noise(), blend.self_blend(noise(), MARKS, np.random.RandomState(seed))
            self.assertLessEqual(int(np.abs(genuine[:5, :5].astype(int) - made[:5, :5]).max()), 12)
            self.assertTrue((genuine != made).any())


class Chosen(unittest.TestCase):
    """What is used, and what is kept apart."""

    def test_repositories_with_fakes_are_used(self):
        """Genuine faces beside manipulated ones always are, and what was gathered for its faces; those of other repositories where a hash says so."""
        items = [face("real"), face("face_fake"), face("real", "b"), face("real", "e"), face("fake", "c"), face(repository="g")]
        self.assertEqual({"a", "b", "c", "g"}, data.chosen(items))

    def test_families(self):
        """Versions of a method are one; genuine faces are of their repository."""
        names = {"FF++ (method not named)": "ff", "ff-deepfakes/neuraltextures": "ff", "hallo3": "hallo", "EMO": "emo", "emoportraits": "emoportraits",
                 "first-order-model": "fomm", "gram-hd": "gram"}
        for name, method in names.items():
            self.assertEqual(data.family(face("face_fake", generator=name)), method)
        self.assertEqual(data.family(face(generator="FFHQ")), "a")

    def test_kinds_of_genuine_faces(self):
        """False alarms are counted by them; no genuine face is without one, and manipulated ones have none."""
        names = {"driving clips, own webcam and web photos": "driving clips", "talk shows and presenters (inputs)": "speech clips", "TV stills": "television and film",
                 "celebrity photos (inputs)": "celebrities", "old and degraded photos (restoration input)": "old or degraded", "faces": data.OTHERS}
        for name, kind in names.items():
            self.assertEqual(data.kind(face(generator=name)), kind)
        self.assertEqual(data.kind(face("face_fake", generator="driving clips")), "")

    def test_pairs_are_repositories_with_both(self):
        """Results beside what went into them."""
        items = [face(), face("face_fake"), face(repository="b"), face("face_fake", "c")]
        data.paired(items)
        self.assertEqual([i.pair for i in items], ["a", "a", "", ""])

    def test_copies_of_another_repository_are_dropped(self):
        """Not those of the same, nor of a manipulated face those that are genuine."""
        with tempfile.TemporaryDirectory() as folder:
            def kept(name, seed, *of):
                item = face(*of)
                item.base = str(Path(folder, name))
                np.savez(item.base + ".npz", own=data.rows_of([(noise(seed), FACE)]))
                return item

            items = [
                kept("a", 1), kept("b", 1), kept("c", 1, "face_real", "b"), kept("d", 2, "face_real", "b"), kept("e", 1, "face_fake", "b"),
            ]
            self.assertEqual([Path(i.base).stem for i in data.distinct(items)], ["a", "b", "d", "e"])

    def test_a_row_is_a_face_and_what_is_about_it(self):
        """The wider crop is twice as wide about the same middle: reduced to half, its middle is the narrow one's."""
        narrow, wide = data.row_of(noise(), FACE)
        self.assertEqual(data.rows_of([(noise(), FACE)] * 2).shape, (2, *data.SHAPE))
        quarter = data.SIZE // 4
        facts = {"input": {"shape": [-1, *data.SHAPE]}, "preprocessing": {"margin": data.MARGIN, "surround": data.SURROUND}}
        self.assertTrue((data.row_for(facts, noise(), FACE) == [narrow, wide]).all())
        alone = {"input": {"shape": [-1, *narrow.shape]}, "preprocessing": {"margin": data.MARGIN}}
        self.assertTrue((data.row_for(alone, noise(), FACE) == narrow).all())
        half = narrow.reshape(2 * quarter, 2, 2 * quarter, 2, 3).mean((1, 3))
        self.assertLess(np.abs(half - wide[quarter:-quarter, quarter:-quarter]).mean(), 6)

    def test_crops_are_cut_where_the_service_finds_the_face(self):
        """In the boxes of the detector that labelled it faces in pictures were told .03 (AUC) better than the service tells them in those of its own."""
        class Finder:
            """Finds the face a little lower, the more so in smaller pictures, and not at all in very small ones."""

            def faces(self, pixels):
                side = pixels.shape[0]
                return [[0.3 * side, (0.3 + 8 / side) * side, 0.4 * side, 0.5 * side]] if side > 60 else []

        clean, shared = data.conditions(noise(), False, FACE, Finder())
        self.assertEqual(clean[1], [60, 68, 80, 100])
        self.assertEqual(shared[1], clean[1])  # the picture is no larger than what is shared
        ((_, box), _) = data.conditions(noise()[:50, :50], False, [10.0, 10, 20, 20], Finder())
        self.assertEqual(box, [10, 10, 20, 20])

    def test_landmarks_are_lent_to_the_faces_that_the_service_finds(self):
        """A face without landmarks, or that only the lender finds, is none."""
        class Found:
            """Finds the same in every picture."""

            def __init__(self, *faces):
                self.faces = lambda _: [list(face) for face in faces]

        marks = [1.0] * 10
        with tempfile.TemporaryDirectory() as folder:
            item = face(path=str(Path(folder, "one.png")))
            Image.fromarray(noise()).save(item.path)
            lender = Found([58, 60, 80, 100, *marks], [0, 0, 60, 60, *marks])
            ((_, _, faces),) = data.found([item], lender, Found([60, 60, 80, 100], [130, 130, 60, 60], [100, 0, 30, 30]))
        self.assertEqual(faces, [[60, 60, 80, 100, *marks]])

    def test_blended_copies_are_of_genuine_faces(self):
        """They are fakes that are trained on and not judged."""
        made = data.blended([face(), face("face_fake")])
        self.assertEqual([(i.fake, i.made, i.judged) for i in made], [(1, True, False)])

    def test_clips_need_frames(self):
        """Frames of one file are one clip; pictures, and clips with too few frames, are none."""
        items = [face(path="a.mp4")] * clips.LEAST + [face(path="b.jpg")] * 5 + [face(path="c.mp4")]
        self.assertEqual(clips.together(items), {"a.mp4": list(range(clips.LEAST))})


class Measured(unittest.TestCase):
    """What is measured of faces alone."""

    def test_families_are_set_against_genuine_faces_of_their_medium(self):
        """A method in clips stood in one row with the genuine portraits that it is told from most easily."""
        items = [face(path="a.jpg"), face(path="b.mp4"), face("face_fake", path="c.mp4", generator="emo")]
        for item in items:
            item.family, item.medium = data.family(item), "clip" if item.clip else "picture"
        last = tables.families(items, np.array([[9.0, 9.0], [0.0, 2.0], [1.0, 1.0]])).splitlines()[-1]
        self.assertEqual(last, "| emo | clip | 1 | 1 | 1.00 / 0.00 |")

    def test_clips_after_encoding_are_judged_by_the_model_of_their_fold(self):
        """Their score is the mean of their frames, and none where no face is found any more."""
        said = {0: {"a.mp4": [1.0, 2.0]}, 1: {"b.mp4": [3.0], "c.mp4": []}}
        found = measure.encoded({"a.mp4": [0], "b.mp4": [1], "c.mp4": [2]}, np.array([0, 1, 1]), "work", lambda fold, _: said[fold].__getitem__)
        np.testing.assert_array_equal(found, [1.5, 3.0, np.nan])


class Encoded(unittest.TestCase):
    """What a larger encoder makes of rows."""

    def test_frames_of_a_clip_and_blended_copies_have_their_own(self):
        """All frames of a clip are one item by their file's name, and a copy has the base of what it was made from."""
        with tempfile.TemporaryDirectory() as folder:
            items = [face(path="a.mp4"), face(path="a.mp4"), face(path="b.jpg"), face("face_fake", path="c.jpg")]
            for k, item in enumerate(items):
                item.base = str(Path(folder, "face-base", f"same-{k}"))
                Path(item.base).parent.mkdir(exist_ok=True)
                rows = {"own": np.full((2, *data.SHAPE), k, np.uint8)} | ({} if item.fake else {"made": np.full((2, *data.SHAPE), 100 + k, np.uint8)})
                np.savez(item.base + ".npz", **rows)
            items += data.blended(items)
            found = encoded.features(items, folder, "some", graphs)
        self.assertEqual([float(f["clean"][0, 0]) for f in found], [0, 1, 2, 3, 100, 101, 102])
        self.assertEqual([f["tiles"].shape for f in found], [(1, 1)] * 7)
        self.assertEqual([len(f.get(content.KEY, ())) for f in found], [0, 0, 1, 1, 0, 0, 0])


def graphs(rows, *paths):
    """Graphs of the mean over each row, of what goes in as pixels of that shape."""
    from torch import nn
    from vision import export

    class Mean(nn.Module):
        """The mean of what is in [-1, 1], as a number from 0 to 255."""

        def forward(self, x):
            return ((x.flatten(1).mean(1, keepdim=True) + 1) * 127.5).round()

    for path, shape in zip(paths, (rows.shape[1:], rows.shape[2:])):
        export.export(Mean().eval(), path, shape)


if __name__ == "__main__":
    unittest.main()
