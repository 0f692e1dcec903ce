"""Tests of what the networks become in ONNX."""

import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch

from vision.backbone import Backbone, Convolution
from vision.export import compact, rounded
from vision.judge import statistics


class Pooled(torch.nn.Module):
    """Two strides with SAME padding, and the statistics of both maps."""

    def __init__(self, size):
        super().__init__()
        random = np.random.RandomState(0)
        first = Convolution(random.randn(8, 3, 3, 3).astype("f"), random.randn(8).astype("f"), 2, False, True, size)
        second = Convolution(random.randn(1, 3, 3, 8).astype("f"), random.randn(8).astype("f"), 2, True, True, -(-size // 2))
        self.backbone = Backbone([first, second], [[0], [1]])

    def forward(self, x):
        return torch.cat([statistics(maps) for maps in self.backbone.outputs(x)[1:]], 1)


class Whole(torch.nn.Module):
    """The statistics of maps that are given, behind a convolution that leaves them as they are."""

    def __init__(self):
        super().__init__()
        self.same = torch.nn.Conv2d(32, 32, 1, bias=False)
        self.same.weight.data = torch.eye(32)[:, :, None, None]

    def forward(self, x):
        return statistics(self.same(x))


class ExportTest(unittest.TestCase):
    def test_maps_keep_the_layout_of_convolutions(self):
        """Padding by an operation of its own, and variances by subtraction, made ONNX Runtime rearrange maps: a fifth of a picture's time."""
        for size in (28, 27):  # padded on one side, and on both
            with self.subTest(size=size), tempfile.TemporaryDirectory() as folder:
                net, path = Pooled(size).eval(), str(Path(folder, "net.onnx"))
                rows = torch.randn(3, 3, size, size, generator=torch.Generator().manual_seed(0))
                torch.onnx.export(net, (rows,), path, opset_version=17, input_names=["x"], dynamo=False)
                self.assertFalse({n.op_type for n in onnx.load(path).graph.node} & {"Pad", "ReduceMean"})
                found = onnxruntime.InferenceSession(path).run(None, {"x": rows.numpy()})[0]
                with torch.no_grad():
                    np.testing.assert_allclose(found, net(rows).numpy(), atol=1e-4)

    def test_statistics(self):
        maps = torch.randn(2, 5, 7, 7, generator=torch.Generator().manual_seed(1)) + 3
        expected = torch.cat([maps.mean((2, 3)), (maps.var((2, 3), unbiased=False) + 1e-4).sqrt()], 1)
        torch.testing.assert_close(statistics(maps), expected, atol=1e-5, rtol=0)
        flat = torch.full((1, 2, 7, 7), 5.9)
        self.assertFalse(statistics(flat).isnan().any(), "rounding made the variance of a flat map negative")

    def test_plain_maps_have_no_deviation(self):
        """ONNX Runtime added up 12,544 equal squares one by one, which rounded all to one side: deviations of .01 became .04."""
        maps = torch.linspace(0.1, 6, 32)[None, :, None, None].expand(2, 32, 112, 112).contiguous()
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "net.onnx"))
            torch.onnx.export(Whole(), (maps,), path, opset_version=17, input_names=["x"], dynamo=False)
            found = onnxruntime.InferenceSession(path).run(None, {"x": maps.numpy()})[0]
        np.testing.assert_allclose(found[:, 32:], 0.01, atol=5e-3)

    def test_compact_weights_are_what_is_run(self):
        """The file is half as large, and gives what the weights rounded to 16 bits give."""
        net, rows = torch.nn.Linear(64, 48), torch.randn(5, 64, generator=torch.Generator().manual_seed(2))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "net.onnx")
            torch.onnx.export(net, (rows,), str(path), opset_version=17, input_names=["x"], dynamo=False)
            before = path.stat().st_size
            compact(path)
            self.assertLess(path.stat().st_size, 0.6 * before)
            found = onnxruntime.InferenceSession(str(path)).run(None, {"x": rows.numpy()})[0]
        net.weight.data = net.weight.data.half().float()
        with torch.no_grad():
            np.testing.assert_allclose(found, net(rows).numpy(), atol=1e-5)

    def test_compact_bytes_are_what_is_run(self):
        """Matrices and 1×1 convolutions in 8 bits run as they were rounded, others in 16, and nothing is left to do for a row."""
        torch.manual_seed(3)
        net = torch.nn.Sequential(torch.nn.Conv2d(8, 16, 3), torch.nn.Conv2d(16, 80, 1), torch.nn.Flatten(), torch.nn.Linear(720, 4)).eval()
        rows = torch.randn(2, 8, 5, 5, generator=torch.Generator().manual_seed(4))
        net[1].weight.data[5] = 0
        plain = [layer.weight.data.clone() for layer in (net[0], net[1], net[3])]
        with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
            expected = rounded(net, (2, 4))(rows).numpy()
            path = Path(folder, "net.onnx")
            torch.onnx.export(net, (rows,), str(path), opset_version=17, input_names=["x"], dynamo=False)
            compact(path, (2, 4))
            kinds = {i.name: i.data_type for i in onnx.load(path).graph.initializer if i.name.endswith(("_byte", "_half"))}
            options = onnxruntime.SessionOptions()
            options.optimized_model_filepath = str(Path(folder, "optimised.onnx"))
            found = onnxruntime.InferenceSession(str(path), options).run(None, {"x": rows.numpy()})[0]
            left = {n.op_type for n in onnx.load(options.optimized_model_filepath).graph.node}
        self.assertEqual(kinds, {"0.weight_half": onnx.TensorProto.FLOAT16, "1.weight_byte": onnx.TensorProto.INT8, "3.weight_byte": onnx.TensorProto.INT8})
        self.assertFalse(left & {"Cast", "Mul"})
        np.testing.assert_allclose(found, expected, atol=1e-5)
        for layer, before in zip((net[0], net[1], net[3]), plain):
            step = before.abs().amax(tuple(range(1, before.ndim)), keepdim=True) / 254
            self.assertTrue(((layer.weight - before).abs() <= step + 1e-6).all())


if __name__ == "__main__":
    unittest.main()
