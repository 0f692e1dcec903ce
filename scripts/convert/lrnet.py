"""LRNet: how the landmarks of a face move over the frames of a video.

After Sun et al., "Improving the efficiency and robustness of deepfakes detection
through precise geometric features" (CVPR 2021). One recurrent network reads the
landmarks, another how they change from frame to frame. The graph begins with
the frames' crops and finds the landmarks itself (landmarks.py).

Left out is the authors' calibration, which follows each landmark by optical
flow over the frames and weighs both by a Kalman filter.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

from convert import landmarks, weights

FRAMES = 30  # of a stretch
UNITS, HIDDEN = 32, 64
BOX = 1.2  # side of the box that landmarks are put into over their own extent
SUREST = 30.0  # log-odds, so that their logarithms exist
FILES = ("g1.pth", "g2.pth")
RENAMES = (("hidden_state", "begin"), ("dense.1.fn.net.0", "wide"), ("dense.1.fn.net.3", "narrow"), ("dense.3", "out"))


class Recurrent(nn.Module):
    """One of the two: N×T×136 to the log-odds of fake, N."""

    def __init__(self):
        super().__init__()
        self.begin = nn.Parameter(torch.zeros(2, 1, UNITS))
        self.gru = nn.GRU(2 * landmarks.COUNT, UNITS, batch_first=True, bidirectional=True)
        self.wide, self.narrow = nn.Linear(2 * UNITS, HIDDEN), nn.Linear(HIDDEN, 2 * UNITS)
        self.out = nn.Linear(2 * UNITS, 2)

    def forward(self, x):
        """Both directions begin with what was learned; of each the last state counts. The second class is fake."""
        _, last = self.gru(x, self.begin.expand(-1, x.shape[0], -1).contiguous())
        x = torch.cat([last[0], last[1]], 1)
        genuine, fake = self.out(x + self.narrow(F.relu(self.wide(x)))).unbind(1)
        return fake - genuine


def normalised(points):
    """Landmarks N×T×68×2 as the authors scale them, N×T×68×2: the edges of the box are at -1 and 1.

    Its middle is that of the landmarks' extent in each frame; its side is one
    for the whole stretch, after the mean of the longer side of that extent.
    """
    low, high = points.amin(2, keepdim=True), points.amax(2, keepdim=True)
    longer = (high - low).amax(3, keepdim=True).mean(1, keepdim=True)
    return (points - (low + high) / 2) / (longer * BOX / 2)


def together(one, other):
    """Log-odds of the mean of two chances that are given as log-odds."""
    both = torch.stack([one, other]).clamp(-SUREST, SUREST)
    return both.sigmoid().sum(0).log() - (-both).sigmoid().sum(0).log()


class Motion(nn.Module):
    """Stretches of crops, uint8 N×30×112×112×3 RGB, to the log-odds of fake, N."""

    def __init__(self):
        super().__init__()
        self.finder, self.places, self.changes = landmarks.Landmarks(), Recurrent(), Recurrent()

    def forward(self, pixels):
        """The frames of all stretches are one batch to the finder of landmarks."""
        points = self.finder(pixels.flatten(0, 1)).reshape(pixels.shape[0], FRAMES, landmarks.COUNT, 2)
        x = normalised(points).flatten(2)
        return together(self.places(x), self.changes(x[:, 1:] - x[:, :-1]))


def load(source):
    """The network of g1.pth, g2.pth and the files of the landmarks in source."""
    network = Motion()
    network.finder = landmarks.load(source)
    for part, file in zip((network.places, network.changes), FILES):
        weights.fill(part, weights.state(source / file), RENAMES)
    return network.eval()
