"""Statistics of what high-pass filters leave of a picture: noise, interpolation, the traces of compression.

The filters are of the kind that Fridrich and Kodovský, "Rich models for steganalysis of digital images" (IEEE TIFS 2012),
use. They are laid on brightness and on two differences of colours.
"""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

CHANNELS = ((0.299, 0.587, 0.114), (0.5, -0.5, 0), (0, -0.5, 0.5))  # of red, green and blue
FILTERS = (
    [[0, -1, 1]], [[0], [-1], [1]], [[0, 0, 0], [0, -1, 0], [0, 0, 1]],
    [[1, -2, 1]], [[1], [-2], [1]], [[1, 0, 0], [0, -2, 0], [0, 0, 1]],
    [[0, 1, -3, 3, -1]], [[0], [1], [-3], [3], [-1]],
    [[-0.5, 1, -0.5], [1, -2, 1], [-0.5, 1, -0.5]],
    [[v / 6 for v in row] for row in ((-1, 2, -2, 2, -1), (2, -6, 8, -6, 2), (-2, 8, -12, 8, -2), (2, -6, 8, -6, 2), (-1, 2, -2, 2, -1))],
)
SIDE = 5  # of the largest filter
# Pixels from one place that is looked at to the next. An odd step meets every place of JPEG's blocks of 8 and of the pairs of pixels that share a
# colour, which an even one does not; 5 takes a sixth of the time of 2.
STEP = 5
BLOCK = 16  # maps, to a multiple of which empty ones are added: ONNX Runtime has a quicker way for those
LEVELS = (1, 4)  # of 255, from which on a residual counts as no larger


def centred(values):
    """A filter in the middle of SIDE×SIDE."""
    values = np.array(values, float)
    above, left = ((SIDE - side) // 2 for side in values.shape)
    return np.pad(values, ((above, SIDE - above - values.shape[0]), (left, SIDE - left - values.shape[1])))


class Residuals(nn.Module):
    """N×3×S×S in [-1, 1] to the statistics of each residual, N×D: of its size, in the mean, squared, and up to each of LEVELS."""

    def __init__(self):
        super().__init__()
        weights = np.einsum("oc,fyx->ofcyx", np.array(CHANNELS), [centred(f) for f in FILTERS]).reshape(-1, 3, SIDE, SIDE)
        self.count = len(weights)
        weights = np.pad(weights, ((0, -self.count % BLOCK), (0, 0), (0, 0), (0, 0)))
        self.conv = nn.Conv2d(3, len(weights), SIDE, STEP, bias=False)
        self.conv.weight.data = torch.tensor(127.5 * weights, dtype=torch.float32)

    def forward(self, x):
        """The means over the picture, those without a bound as logarithms."""
        residual = self.conv(x - F.adaptive_avg_pool2d(x, 1))  # filters add up to 0: of a nearly plain picture little is left to round
        size = residual.abs()
        bounded = [self.pooled(size.clamp(max=level)) for level in LEVELS]
        unbounded = [torch.log(self.pooled(size) + 0.05), 0.5 * torch.log(self.pooled(residual * residual) + 1e-3)]
        return torch.cat([*unbounded, *bounded], 1)

    def pooled(self, maps):
        """The mean of each map that a filter left, N×C."""
        return F.adaptive_avg_pool2d(maps, 1).flatten(1)[:, : self.count]
