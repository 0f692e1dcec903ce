"""Tests of what is said of the picture itself."""

import unittest

import numpy as np
import torch

from vision.residuals import FILTERS, Residuals


class ResidualStatistics(unittest.TestCase):
    """What high-pass filters leave."""

    def test_a_plain_colour_leaves_nothing(self):
        """Filters add up to 0; with weights in 16 bits they do not, and bright pictures seem to hold more noise than dark ones."""
        bright, dark = (Residuals()(torch.full((1, 3, 32, 32), v)) for v in (0.9, -0.9))
        torch.testing.assert_close(bright, dark, atol=1e-3, rtol=0)
        np.testing.assert_allclose(bright[0, : 3 * len(FILTERS)].detach(), np.log(0.05), atol=1e-2)

    def test_nearly_plain_pictures_are_measured_exactly(self):
        """Rounding of colours that the filters cancel moved what ONNX Runtime said of a nearly plain picture by up to 8e-5."""
        pixels = torch.full((1, 3, 64, 64), 0.9) + torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(0)) * 2e-4
        net = Residuals()
        single, exact = net(pixels).detach(), net.double()(pixels.double()).detach()
        torch.testing.assert_close(single.double(), exact, atol=1e-6, rtol=0)

    def test_it_does_not_matter_where_pairs_of_pixels_begin(self):
        """Films give two pixels one colour: every second place held no difference at all, or every difference, by where a tile began."""
        colours = torch.rand(1, 3, 64, 64, generator=torch.Generator().manual_seed(1)) * 2 - 1
        pixels = colours.repeat_interleave(2, 2).repeat_interleave(2, 3)
        here, beside = Residuals()(pixels[..., :120, :120]), Residuals()(pixels[..., 1:121, 1:121])
        torch.testing.assert_close(here, beside, atol=0.3, rtol=0)

    def test_noise_is_measured_in_levels_of_255(self):
        """Of steps of one level between neighbours, the first filter leaves one level."""
        steps = (torch.arange(64) % 2).float().expand(1, 3, 64, 64) / 127.5
        found = Residuals()(steps)[0].detach().numpy().reshape(4, 3, len(FILTERS))
        np.testing.assert_allclose(found[:, 0, 0], [np.log(1.05), 0, 1, 1], atol=1e-2)


if __name__ == "__main__":
    unittest.main()
