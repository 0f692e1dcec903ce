"""ClassNSeg's encoder, which is all that its classification needs.

After Nguyen et al., "Multi-task learning for detecting and segmenting
manipulated facial images and videos" (BTAS 2019): half of the latent map wakes
up for manipulated faces, the other half for genuine ones.
"""

import torch
import torch.nn as nn

from convert import weights

WIDTHS = (3, 8, 8, 16, 16, 32, 32, 64, 64, 128)
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class ClassNSeg(nn.Module):
    """Crops, uint8 N×256×256×3 RGB, to the log-odds of fake, N."""

    def __init__(self):
        super().__init__()
        layers = []
        for k, (before, after) in enumerate(zip(WIDTHS, WIDTHS[1:])):
            layers += [nn.Conv2d(before, after, 3, stride=1 + k % 2, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        self.encoder = nn.Sequential(*layers)
        self.register_buffer("mean", torch.tensor(MEAN).view(3, 1, 1), persistent=False)
        self.register_buffer("deviation", torch.tensor(DEVIATION).view(3, 1, 1), persistent=False)

    def forward(self, pixels):
        """The first half's mean activation less the second's: its folders sort altered before original."""
        x = (pixels.permute(0, 3, 1, 2).float() / 255 - self.mean) / self.deviation
        altered, original = self.encoder(x).abs().flatten(2).mean(2).unflatten(1, (2, 64)).mean(2).unbind(1)
        return altered - original


def load(source, name):
    """The network of source/NAME.pt."""
    return weights.fill(ClassNSeg(), weights.state(source / f"{name}.pt"))
