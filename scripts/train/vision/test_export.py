"""Tests of what the networks become in ONNX."""

import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch

from vision import judge, transformer
from vision.export import compact, export, rounded, runner
from vision.tensorflow_lite import Convolution
from vision.transformer import Transformer


def padded(size):
    """Two strides with SAME padding."""
    random = np.random.RandomState(0)
    first = Convolution(random.randn(8, 3, 3, 3).astype("f"), random.randn(8).astype("f"), 2, False, True, size)
    second = Convolution(random.randn(1, 3, 3, 8).astype("f"), random.randn(8).astype("f"), 2, True, True, -(-size // 2))
    return torch.nn.Sequential(first, second).eval()


def made_up(folder):
    """Weights of the shapes of ViT-Tiny's first two blocks, each behind the shape of its tensor, as files."""
    random, width = np.random.RandomState(5), transformer.WIDTH
    shapes = {"patch_embed_proj_weight": (width, 3, 16, 16), "patch_embed_proj_bias": (width,), "cls_token": (1, 1, width), "pos_embed": (1, 197, width)}
    for block in ("blocks_0_", "blocks_1_"):
        for layer, (inputs, outputs) in {"attn_qkv": (1, 3), "attn_proj": (1, 1), "mlp_fc1": (1, 4), "mlp_fc2": (4, 1)}.items():
            shapes |= {f"{block}{layer}_weight": (outputs * width, inputs * width), f"{block}{layer}_bias": (outputs * width,)}
        shapes |= {f"{block}{name}": (width,) for name in ("norm1_weight", "norm1_bias", "norm2_weight", "norm2_bias")}
    for name, shape in shapes.items():
        values = (random.randn(*shape) * 0.1).astype("f")
        Path(folder, f"{name}.bin").write_bytes(np.array(shape, np.int32).tobytes() + values.tobytes())


def plain_block(block, tokens):
    """What a block makes of the tokens, by PyTorch's own attention."""
    width, heads = transformer.WIDTH, transformer.HEADS
    attention = torch.nn.MultiheadAttention(width, heads, batch_first=True).eval()
    attention.in_proj_weight.data, attention.in_proj_bias.data = block.qkv.weight, block.qkv.bias
    attention.out_proj.weight.data, attention.out_proj.bias.data = block.proj.weight, block.proj.bias
    normal = block.norm1(tokens)
    tokens = tokens + attention(normal, normal, normal, need_weights=False)[0]
    return tokens + block.fc2(torch.nn.functional.gelu(block.fc1(block.norm2(tokens))))


class ExportTest(unittest.TestCase):
    def test_maps_keep_the_layout_of_convolutions(self):
        """Padding by an operation of its own made ONNX Runtime rearrange maps: a fifth of a picture's time."""
        for size in (28, 27):  # padded on one side, and on both
            with self.subTest(size=size), tempfile.TemporaryDirectory() as folder:
                net, path = padded(size), str(Path(folder, "net.onnx"))
                rows = torch.randn(3, 3, size, size, generator=torch.Generator().manual_seed(0))
                torch.onnx.export(net, (rows,), path, opset_version=17, input_names=["x"], dynamo=False)
                self.assertNotIn("Pad", {n.op_type for n in onnx.load(path).graph.node})
                found = onnxruntime.InferenceSession(path).run(None, {"x": rows.numpy()})[0]
                with torch.no_grad():
                    np.testing.assert_allclose(found, net(rows).numpy(), atol=1e-4)

    def test_transformer_is_the_one_of_the_paper(self):
        """Beside PyTorch's own attention and perceptron, of rows at once and of one, one of them plain, in the graph too; the class token comes first in what is said of a tap."""
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            made_up(folder)
            net = Transformer(folder, (0, 1)).eval()
            x = torch.rand(2, 3, 224, 224, generator=torch.Generator().manual_seed(6)) * 2 - 1
            x[1] = 0.3
            tokens = torch.cat([net.first.expand(2, -1, -1), net.patches(x).flatten(2).transpose(1, 2)], 1) + net.places
            said = []
            for block in net.blocks:
                tokens = plain_block(block, tokens)
                rest = tokens[:, 1:]
                said += [tokens[:, 0], rest.mean(1), (rest.var(1, unbiased=False) + 1e-4).sqrt()]
            expected = torch.cat(said, 1).numpy()
            np.testing.assert_allclose(net(x).numpy(), expected, atol=1e-4)
            path = Path(folder, "net.onnx")
            export(net, path, (224, 224, 3))
            pixels = ((x.permute(0, 2, 3, 1) + 1) * 127.5).round().byte()
            wanted = net(pixels.permute(0, 3, 1, 2).float() / 127.5 - 1).numpy()
            run = runner(path, 1)
            np.testing.assert_allclose(run(pixels.numpy()), wanted, atol=1e-4)

    def test_what_is_about_a_face_cancels_out(self):
        """A row is a face and a wider crop: statistics of the first, then how they differ, in the graph too, whatever the batch."""
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            made_up(folder)
            each = judge.Statistics(folder, (0,)).eval()
            net, path = judge.Compared(each), Path(folder, "net.onnx")
            pixels = np.random.RandomState(7).randint(0, 256, (3, 2, 224, 224, 3)).astype(np.uint8)
            pixels[2, 1] = pixels[2, 0]
            face, wide = (each(torch.from_numpy(pixels[:, k]).permute(0, 3, 1, 2).float() / 127.5 - 1).numpy() for k in (0, 1))
            export(net, path, pixels.shape[1:])
            for batch in (1, 3):
                found = runner(path, batch)(pixels)
                np.testing.assert_allclose(found, np.concatenate([face, face - wide], 1), atol=1e-4)
            self.assertLess(np.abs(found[2, face.shape[1] :]).max(), 1e-4)

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
        """Matrices and convolutions in 8 bits run as they were rounded, and nothing is left to do for a row."""
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
            graph = onnx.load(path).graph
            self.assertFalse([n.name for n in graph.node if n.name] or [o for n in graph.node for o in n.output if "/" in o])
            kinds = {i.name: i.data_type for i in graph.initializer if i.name.endswith(("_byte", "_half"))}
            options = onnxruntime.SessionOptions()
            options.optimized_model_filepath = str(Path(folder, "optimised.onnx"))
            found = onnxruntime.InferenceSession(str(path), options).run(None, {"x": rows.numpy()})[0]
            left = {n.op_type for n in onnx.load(options.optimized_model_filepath).graph.node}
        self.assertEqual(kinds, {f"{k}.weight_byte": onnx.TensorProto.INT8 for k in (0, 1, 3)})
        self.assertFalse(left & {"Cast", "Mul"})
        np.testing.assert_allclose(found, expected, atol=1e-5)
        for layer, before in zip((net[0], net[1], net[3]), plain):
            step = before.abs().amax(tuple(range(1, before.ndim)), keepdim=True) / 254
            self.assertTrue(((layer.weight - before).abs() <= step + 1e-6).all())


if __name__ == "__main__":
    unittest.main()
