"""Tests of what 8 bits make of the graph."""

import unittest

import onnx

from vision import quantise


class Quantised(unittest.TestCase):
    """What is left in full precision."""

    def test_products_that_add_to_the_ends_of_tokens_are_not_in_bytes(self):
        """Statistics were off by a third of their deviation: a few channels there are hundreds of times as large as the others."""
        layers = [f"blocks.{k}/{layer}" for k in range(3) for layer in ("qkv", "proj", "fc1", "fc2")]
        names = [f"/detector/transformer/{layer}/Gemm" for layer in layers] + ["/detector/head/hidden/Gemm", "/detector/head/last/Gemm"]
        nodes = [onnx.helper.make_node("MatMul", ["x", "y"], ["z"], name="/detector/transformer/blocks.0/MatMul")]
        nodes += [onnx.helper.make_node("Gemm", ["x", "w"], ["y"], name=name) for name in names]
        ends = [f"/detector/transformer/blocks.{k}/{layer}/Gemm" for k in (0, 2) for layer in ("proj", "fc2")]
        self.assertEqual(quantise.as_they_are(nodes), [*ends, *names[-2:]])
        every = quantise.as_they_are(nodes, (*quantise.ENDS, 1))
        self.assertEqual(every, [name for name in names if "proj" in name or "fc2" in name] + names[-2:], "where a difference is judged")


if __name__ == "__main__":
    unittest.main()
