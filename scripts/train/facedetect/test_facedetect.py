"""Tests of the training views, of what is learned from the teacher, and of what the served graph leaves out."""

import os
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Other models have modules of the same names: their tests keep theirs, and these get ours.
OWN = {p.stem for p in HERE.glob("*.py")} | {"data"}
others, path = {name: sys.modules.pop(name) for name in OWN & set(sys.modules)}, sys.path.copy()
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "image"), str(HERE.parent / "face")]

import graph
import network
import numpy as np
import teacher
import torch
import training
import views

sys.path[:] = path
for name in OWN & set(sys.modules):
    del sys.modules[name]
sys.modules.update(others)

YUNET = Path(os.environ.get("WEIGHTS", ""), "yunet", "yunet_n_dynamic.onnx")


def noise(height, width, seed=0):
    """A picture of random pixels."""
    return np.random.RandomState(seed).randint(0, 256, (height, width, 3)).astype(np.uint8)


class Placing(unittest.TestCase):
    """Pictures lie where they are put, and what they leave over is known."""

    def test_parts_outside_are_cut_off(self):
        """A picture that begins before the view, or ends after it, is cut at its edges."""
        for x, y in ((-5, 3), (20, -7), (0, 0), (25, 30)):
            canvas, picture = np.zeros((40, 40, 3), np.uint8), np.full((20, 30, 3), 9, np.uint8)
            views.put(canvas, picture, x, y)
            wanted = np.zeros((60, 80))
            wanted[y + 10 : y + 30, x + 10 : x + 40] = 9
            np.testing.assert_array_equal(canvas[..., 0], wanted[10:50, 10:50])
            self.assertAlmostEqual(views.uncovered(picture, x, y, 40), (canvas[..., 0] == 0).mean())

    def test_a_face_gets_a_size_that_counts(self):
        """Every scaled picture shows a part of itself in the view."""
        boxes = np.array([[100, 100, 180, 200, 0.9]], np.float32)
        for seed in range(200):
            pixels, x, y = views.placed(noise(400, 300), boxes, np.random.RandomState(seed), 320)
            self.assertLess(views.uncovered(pixels, x, y, 320), 1)


class Served(unittest.TestCase):
    """The graph that is served gives one face one row of each stride."""

    def test_neighbours_are_lowered(self):
        """Of neighbouring cells the surest keeps its logit; one further away does too."""
        logits = torch.zeros(1, 5, 6, 6)
        logits[0, 0, 2, 2], logits[0, 0, 2, 3], logits[0, 0, 5, 5] = 4, 3, 2
        (found,) = network.peaks([logits])
        self.assertEqual(4, found[0, 0, 2, 2])
        self.assertEqual(2, found[0, 0, 5, 5])
        self.assertLess(found[0, 0, 2, 3], -20)

    def test_grey_is_not_searched(self):
        """What the picture leaves over of the input is cut off, whatever else is in the batch."""
        for sizes, wanted in ((((224, 224),), (256, 256)), (((360, 640),), (384, 640)), (((100, 300), (400, 90)), (512, 384)), (((20, 9),), (128, 128)),
                              (((128, 128),), (128, 128)), (((129, 128),), (256, 128)), (((128, 129),), (128, 256)), (((513, 1),), (640, 128))):
            rows = np.full((len(sizes), 640, 640, 3), network.GREY, np.uint8)
            for row, (height, width) in zip(rows, sizes):
                row[:height, :width] = noise(height, width)
            self.assertEqual(wanted, tuple(network.filled(torch.from_numpy(rows)).shape[1:3]))
        empty = torch.full((1, 640, 640, 3), network.GREY, dtype=torch.uint8)
        self.assertEqual((1, network.ROWS, 5), tuple(network.Served(network.Network().eval())(empty).shape))

    def test_rows_fall_by_logit(self):
        """There are as many rows as the service expects, the surest first."""
        torch.manual_seed(1)
        rows = network.Served(network.Network().eval())(torch.from_numpy(noise(320, 320)[None]))
        self.assertEqual((1, network.ROWS, 5), tuple(rows.shape))
        self.assertTrue((rows[0, 1:, 0] <= rows[0, :-1, 0]).all())


@unittest.skipUnless(YUNET.is_file(), "needs WEIGHTS/yunet")
class Comparing(unittest.TestCase):
    """What of two answers has to agree."""

    def test_only_what_may_be_a_face_is_compared(self):
        """Of two neighbours alike to the last digits ONNX Runtime kept both and PyTorch one, at a chance of .001: a model of half an hour was not written for it."""
        rows = np.array([[[1, 10, 10, 50, 50], [-2, 60, 60, 90, 90], [-6.6867, 200, 500, 260, 600], [-6.6913, 130, 530, 200, 610]]], np.float32)
        others = rows[:, [0, 1, 2, 2]] + np.float32([[[0], [0], [0], [-1e-6]]]) * [1, 0, 0, 0, 0]
        self.assertEqual(graph.apart(rows, others), (0, 0))
        for row in (0, 1):
            others = rows.copy()
            others[0, row] += [0.01, 0, 3, 0, 0]
            logits, corners = graph.apart(rows, others)
            self.assertAlmostEqual(logits, 0.01, places=5)
            self.assertEqual(corners, 3)


class Learning(unittest.TestCase):
    """What is learned from is what YuNet says, and training begins with its weights."""

    def test_warm_beginning_repeats_the_teacher(self):
        """Up to stride 4, where nothing was changed, the untrained network gives YuNet's features."""
        pixels = noise(64, 96)[None]
        graph = teacher.onnx.utils.Extractor(teacher.onnx.load(YUNET)).extract_model(["input"], ["224"])
        session = teacher.onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        (wanted,) = session.run(None, {"input": pixels[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32)})
        warmed = network.Network()
        teacher.warm(warmed, YUNET)
        with torch.no_grad():
            found = warmed.begin(torch.from_numpy(pixels)).numpy()
        np.testing.assert_allclose(found, wanted, atol=1e-2, rtol=1e-4)

    def test_warm_network_repeats_the_teacher(self):
        """On YuNet's own features at stride 8 the untrained network finds its boxes."""
        pixels = noise(128, 192)[None]
        _, corners, features = teacher.Teacher(YUNET, True).judge(pixels)
        warmed = network.Network().eval()
        teacher.warm(warmed, YUNET)
        warmed.features = lambda _: torch.from_numpy(features)
        with torch.no_grad():
            rows = network.boxes(warmed(torch.from_numpy(pixels)))
        np.testing.assert_allclose(rows[..., 1:].numpy(), corners, atol=1e-2, rtol=1e-4)

    def test_loss_is_least_for_the_teachers_answer(self):
        """Rows that repeat the teacher lose less than rows moved away from it."""
        scores = torch.tensor([[0.9, 0.02, 0.5]])
        corners = torch.tensor([[[0.0, 0, 50, 60], [0, 0, 10, 10], [20, 20, 70, 80]]])
        right = torch.cat([torch.logit(scores)[..., None], corners], 2)
        least = training.loss(right, scores, corners)
        for moved in (torch.tensor([2.0, 0, 0, 0, 0]), torch.tensor([0.0, 9, 9, 9, 9])):
            self.assertLess(least, training.loss(right + moved, scores, corners))


if __name__ == "__main__":
    unittest.main()
