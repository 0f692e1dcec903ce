"""Tests of what 8 bits make of the graph."""

import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from vision import quantise


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
