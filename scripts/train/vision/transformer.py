"""The first blocks of ViT-Tiny/16 with ImageNet weights, and statistics of what they make of a picture.

The weights are those of Steiner et al., "How to train your ViT?" (TMLR 2022), trained on ImageNet-21k, then on ImageNet,
as timm has them (vit_tiny_patch16_224.augreg_in21k_ft_in1k, Apache-2.0); card.START says which copy is read.
"""

from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SIDE = 224  # pixels, of what it was trained on
PATCH = 16
WIDTH = 192
HEADS = 3
EPSILON = 1e-6  # of its normalisations


def tensor(folder, name, *shape):
    """One tensor of the weights, each in a file of its own: its shape as whole numbers of 32 bits, then its values."""
    raw = Path(folder, f"{name}.bin").read_bytes()
    values = np.frombuffer(raw, np.float32)[-int(np.prod(shape)):]
    return torch.from_numpy(values.reshape(shape).copy())


def linear(folder, name, inputs, outputs):
    """A linear layer with its weights."""
    layer = nn.Linear(inputs, outputs)
    layer.weight.data, layer.bias.data = tensor(folder, name + "_weight", outputs, inputs), tensor(folder, name + "_bias", outputs)
    return layer


def norm(folder, name):
    """A layer normalisation with its weights."""
    layer = nn.LayerNorm(WIDTH, EPSILON)
    layer.weight.data, layer.bias.data = tensor(folder, name + "_weight", WIDTH), tensor(folder, name + "_bias", WIDTH)
    return layer


class Block(nn.Module):
    """Attention and a perceptron, each on what is normalised and added to what it was given; NT×WIDTH to NT×WIDTH, of T tokens a row.

    Tokens of all rows are one matrix between attentions, so that every product with weights is one product of matrices.
    """

    def __init__(self, folder, number, tokens):
        super().__init__()
        name, self.tokens = f"blocks_{number}_", tokens
        self.norm1, self.norm2 = norm(folder, name + "norm1"), norm(folder, name + "norm2")
        self.qkv, self.proj = linear(folder, name + "attn_qkv", WIDTH, 3 * WIDTH), linear(folder, name + "attn_proj", WIDTH, WIDTH)
        self.fc1, self.fc2 = linear(folder, name + "mlp_fc1", WIDTH, 4 * WIDTH), linear(folder, name + "mlp_fc2", 4 * WIDTH, WIDTH)

    def forward(self, x):
        """What the block makes of the tokens."""
        x = x + self.proj(self.attention(self.qkv(self.norm1(x))))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))

    def attention(self, mixed):
        """NT×3·WIDTH queries, keys and values to the NT×WIDTH values that queries find."""
        own = WIDTH // HEADS
        query, key, value = mixed.view(-1, self.tokens, 3, HEADS, own).permute(2, 0, 3, 1, 4).unbind(0)
        found = torch.softmax(query @ (key.transpose(-2, -1) * own**-0.5), -1) @ value
        return found.transpose(1, 2).reshape(-1, WIDTH)


class Transformer(nn.Module):
    """N×3×224×224 in [-1, 1] to what is said of the outputs of some blocks, N×D."""

    def __init__(self, folder, taps):
        """taps are the numbers of those blocks, from 0; what comes after the last is left out."""
        super().__init__()
        self.taps, side = taps, SIDE // PATCH
        self.tokens = side * side + 1
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.patches.weight.data = tensor(folder, "patch_embed_proj_weight", WIDTH, 3, PATCH, PATCH)
        self.patches.bias.data = tensor(folder, "patch_embed_proj_bias", WIDTH)
        self.register_buffer("first", tensor(folder, "cls_token", 1, 1, WIDTH))
        self.register_buffer("places", tensor(folder, "pos_embed", 1, self.tokens, WIDTH))
        self.blocks = nn.ModuleList(Block(folder, k, self.tokens) for k in range(max(taps) + 1))

    def forward(self, x):
        """The class token, and mean and deviation of the others, of each tap."""
        patches = self.patches(x).flatten(2).transpose(1, 2)
        # The class token comes last, so that statistics are of leading tokens; attention does not know their order.
        x = torch.cat([patches + self.places[:, 1:], (self.first + self.places[:, :1]).expand(patches.shape[0], -1, -1)], 1).reshape(-1, WIDTH)
        said = []
        for number, block in enumerate(self.blocks):
            x = block(x)
            if number in self.taps:
                said.append(self.statistics(x.view(-1, self.tokens, WIDTH)))
        return torch.cat(said, 1)

    def statistics(self, x):
        """N×T×WIDTH tokens, of which the class token is the last, to N×3·WIDTH."""
        mean = x[:, :-1].mean(1)
        variance = (x[:, :-1] - mean.unsqueeze(1)).square().mean(1)
        return torch.cat([x[:, -1], mean, torch.sqrt(variance + 1e-4)], 1)
