"""Tests of the blending, of what is reserved, and of the training pairs."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

import numpy as np

import blend
import clips
import data
import masks
import views
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

    def test_twins_share_what_is_not_blended(self):
        """The corners of both are the same pixels, restyled or not; the face is not."""
        for seed in range(20):
            genuine, made = blend.twins(noise(), MARKS, np.random.RandomState(seed))
            self.assertLessEqual(int(np.abs(genuine[:5, :5].astype(int) - made[:5, :5]).max()), 12)
            self.assertTrue((genuine != made).any())

    def test_another_face_is_laid_over_by_its_landmarks(self):
        """A face moved by some pixels comes back to where the target's landmarks are."""
        other = np.roll(noise(), (7, -9), (0, 1))
        moved = blend.laid_over(other, MARKS + [-9, 7], noise(), MARKS, np.random.RandomState(1))
        self.assertLess(np.abs(moved[70:150, 70:130].astype(int) - noise()[70:150, 70:130]).mean(), 2)


class Pairs(unittest.TestCase):
    """What follows the blend is the same for both."""

    def test_both_are_finished_alike(self):
        """Where there is nothing to tell, the two crops are one."""
        crops = [views.finished(noise(), np.array(FACE), np.random.RandomState(5)) for _ in range(2)]
        self.assertTrue(np.array_equal(*crops))

    def test_a_pair_is_two_crops_that_differ(self):
        """A pair has the size the model takes and repeats with its seed."""
        with tempfile.TemporaryDirectory() as folder:
            item = face()
            item.base, item.face = str(Path(folder, "one.npy")), FACE
            np.save(item.base, noise())
            for seed in range(5):
                first, again = (views.pair([item], item, np.random.RandomState(seed)) for _ in range(2))
                self.assertEqual([c.shape for c in first], [(data.SIZE, data.SIZE, 3)] * 2)
                self.assertTrue(np.array_equal(first, again))
                self.assertFalse(np.array_equal(*first))


class Reserved(unittest.TestCase):
    """What is judged is not trained on."""

    def test_repositories_with_fakes_are_reserved(self):
        """Genuine faces beside manipulated ones are never trained on."""
        items = [face(), face("face_fake"), face(repository="b"), face(repository="e"), face("fake", "c")]
        self.assertTrue({"a", "c"} <= data.reserved(items))
        self.assertFalse({"b", "e"} <= data.reserved(items))

    def test_copies_are_dropped(self):
        """A face that is judged, or there already, is not trained on; frames of one clip stay."""
        with tempfile.TemporaryDirectory() as folder:
            def kept(name, path, seed):
                item = face(path=path)
                item.face, item.base = FACE, str(Path(folder, name))
                np.save(item.base, noise(seed))
                return item

            judged = face(path="judged.jpg")
            judged.base = str(Path(folder, "judged.npz"))
            np.savez(judged.base, own=data.crops([(noise(1), FACE)]))
            found = data.distinct([kept("a.npy", "a", 1), kept("b.npy", "b", 2), kept("c.npy", "c", 2), kept("d.npy", "b", 2)], [judged])
            self.assertEqual([Path(i.base).stem for i in found], ["b", "d"])

    def test_clips_need_frames(self):
        """Frames of one file are one clip; pictures, and clips with too few frames, are none."""
        items = [face(path="a.mp4")] * clips.LEAST + [face(path="b.jpg")] * 5 + [face(path="c.mp4")]
        self.assertEqual(clips.together(items), {"a.mp4": list(range(clips.LEAST))})


if __name__ == "__main__":
    unittest.main()
