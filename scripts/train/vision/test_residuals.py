"""Tests of what is said of the picture itself, and of what 8 bits make of the graph."""

import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch

from vision import quantise
from vision.residuals import FILTERS, Residuals


class ResidualStatistics(unittest.TestCase):
    """What high-pass filters leave."""

    def test_a_plain_colour_leaves_nothing(self):
        """Filters add up to 0; with weights in 16 bits they do not, and bright pictures seem to hold more noise than dark ones."""
        bright, dark = (Residuals()(torch.full((1, 3, 32, 32), v)) for v in (0.9, -0.9))
        torch.testing.assert_close(bright, dark, atol=1e-3, rtol=0)
        np.testing.assert_allclose(bright[0, : 3 * len(FILTERS)].detach(), np.log(0.05), atol=1e-2)

    def test_nearly_plain_pictures_are_measured_exactly(self):
        """Rounding of colours that the filters cancel moved what ONNX Runtime said of a nearly plain picture by up to 8e-5."""
        pixels = torch.full((1, 3, 64, 64), 0.9) + torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(0)) * 2e-4
        net = Residuals()
        single, exact = net(pixels).detach(), net.double()(pixels.double()).detach()
        torch.testing.assert_close(single.double(), exact, atol=1e-6, rtol=0)

    def test_it_does_not_matter_where_pairs_of_pixels_begin(self):
        """Films give two pixels one colour: every second place held no difference at all, or every difference, by where a tile began."""
        colours = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(1)) * 2 - 1
        pixels = colours.repeat_interleave(2, 2).repeat_interleave(2, 3)
        here, beside = Residuals()(pixels[..., :120, :120]), Residuals()(pixels[..., 1:121, 1:121])
        torch.testing.assert_close(here, beside, atol=0.3, rtol=0)

    def test_noise_is_measured_in_levels_of_255(self):
        """Of steps of one level between neighbours, the first filter leaves one level."""
        steps = (torch.arange(64) % 2).float().expand(1, 3, 64, 64) / 127.5
        found = Residuals()(steps)[0].detach().numpy().reshape(4, 3, len(FILTERS))
        np.testing.assert_allclose(found[:, 0, 0], [np.log(1.05), 0, 1, 1], atol=1e-2)


class Quantised(unittest.TestCase):
    """What is left in full precision, and what is put in another way."""

    def test_means_are_taken_at_once(self):
        """Means of means are for the layout of convolutions in floats; among bytes they had every map rearranged, a tenth of a row's time."""
        node, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
        nodes = [
            node("Mul", ["x", "x"], ["squares"]), node("AveragePool", ["squares"], ["parts"], kernel_shape=[7, 7], strides=[7, 7]),
            node("GlobalAveragePool", ["parts"], ["y"]),
        ]
        values = info("x", onnx.TensorProto.FLOAT, [2, 3, 28, 28]), info("y", onnx.TensorProto.FLOAT, [2, 3, 1, 1])
        model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "means", values[:1], values[1:]), opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        maps = np.random.RandomState(0).rand(2, 3, 28, 28).astype("f")
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "means.onnx"))
            onnx.save(model, path)
            quantise.at_once(path)
            self.assertEqual([n.op_type for n in onnx.load(path).graph.node], ["Mul", "ReduceMean"])
            found = onnxruntime.InferenceSession(path).run(None, {"x": maps})[0]
        np.testing.assert_allclose(found[..., 0, 0], (maps**2).mean((2, 3)), atol=1e-6)

    def test_residuals_are_not_rounded_to_bytes(self):
        """A residual is a few levels of 255, and the range of all would be shared out over 255 steps."""
        node = onnx.helper.make_node
        nodes = [
            node("Conv", ["x", "f"], ["r"], name="/detector/residuals/conv/Conv"), node("Abs", ["r"], ["a"], name="/detector/residuals/Abs"),
            node("Conv", ["x", "w"], ["y"], name="/detector/backbone/Conv"), node("Conv", ["y", "v"], ["z"], name="/detector/backbone/Conv_1"),
        ]
        left = ["/detector/backbone/Conv", "/detector/residuals/conv/Conv", "/detector/residuals/Abs"]
        self.assertEqual(quantise.as_they_are(nodes), left)


if __name__ == "__main__":
    unittest.main()
