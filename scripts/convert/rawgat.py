"""RawGAT-ST: a graph of bands times a graph of frames, judged by a third."""

import torch.nn as nn

from convert import weights
from convert.spectral import BANDS, FRAMES, Attention, Front, Pool, encoder

WIDTHS = (1, 32, 32, 64, 64, 64, 64)
KEPT_BANDS, KEPT_FRAMES, COMMON, KEPT = 14, 23, 12, 7  # nodes: 64 % of 23, 81 % of 29, fused, 64 % of 12
RENAMES = (
    ("first_bn.", "front.first_bn."), (".0.0.conv_1.", ".0.0.conv1."),
    ("encoder1", "band_encoder"), ("encoder2", "frame_encoder"),
    ("GAT_layer1", "bands"), ("GAT_layer2", "frames"), ("GAT_layer3", "fused"),
    ("pool1", "pool_bands"), ("pool2", "pool_frames"), ("pool3", "pool_fused"),
    ("proj1", "common_bands"), ("proj2", "common_frames"),
    ("proj_node.", "judge."),
)


class RawGAT(nn.Module):
    """Samples, N×samples, to the log-odds of fake, N."""

    def __init__(self, samples):
        super().__init__()
        assert (KEPT_BANDS, KEPT_FRAMES) == (int(BANDS * 0.64), int(FRAMES * 0.81))
        self.front = Front(samples)
        self.band_encoder, self.frame_encoder = (encoder(WIDTHS, project_first=False) for _ in range(2))
        self.bands, self.frames, self.fused = Attention(64, 32), Attention(64, 32), Attention(32, 16)
        self.pool_bands, self.pool_frames, self.pool_fused = Pool(32, KEPT_BANDS), Pool(32, KEPT_FRAMES), Pool(16, KEPT)
        self.common_bands, self.common_frames = nn.Linear(KEPT_BANDS, COMMON), nn.Linear(KEPT_FRAMES, COMMON)
        self.proj = nn.Linear(16, 1)
        self.judge = nn.Linear(KEPT, 2)

    def forward(self, samples):
        """samples at 16 kHz in [-1, 1]."""
        image = self.front(samples)
        bands = self.band_encoder(image).abs().amax(3).transpose(1, 2)
        frames = self.frame_encoder(image).abs().amax(2).transpose(1, 2)
        bands = self.common_bands(self.pool_bands(self.bands(bands)).transpose(1, 2))
        frames = self.common_frames(self.pool_frames(self.frames(frames)).transpose(1, 2))
        nodes = self.pool_fused(self.fused((bands * frames).transpose(1, 2)))
        fake, genuine = self.judge(self.proj(nodes).flatten(1)).unbind(1)
        return fake - genuine


def load(source, name, samples):
    """The network of source/NAME.pth for rows of so many samples."""
    # Every block has both first convolutions, only the first block uses conv_1.
    return weights.fill(RawGAT(samples), weights.state(source / f"{name}.pth"), RENAMES, unused=(".bn1.", ".conv_1."))
