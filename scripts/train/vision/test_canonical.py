"""Tests of the canonical picture, where libraries decode otherwise than the service."""

import io
import unittest

import numpy as np
from PIL import Image

from vision.canonical import coded_lossily, rgb


def opened(image, kind, **options):
    """A picture as its file says it, and the file."""
    data = io.BytesIO()
    image.save(data, kind, **options)
    return Image.open(io.BytesIO(data.getvalue())), data.getvalue()


class AsTheServiceDoes(unittest.TestCase):
    """What the service decodes otherwise is judged otherwise than it was measured."""

    def test_grey_of_sixteen_bits_is_scaled(self):
        """Pillow takes all above 255 for white: log-odds of such pictures were off by up to 2.3."""
        deep, _ = opened(Image.fromarray(np.array([[0, 257, 32768, 65535]], np.uint16)), "PNG")
        self.assertEqual(rgb(deep)[0, :, 0].tolist(), [0, 1, 128, 255])

    def test_a_colour_key_is_transparent(self):
        """It was left as it is, where the service has white shine through."""
        image, _ = opened(Image.new("RGB", (4, 4), (10, 20, 30)), "PNG", transparency=(10, 20, 30))
        self.assertEqual(rgb(image)[0, 0].tolist(), [255, 255, 255])

    def test_what_is_lossless_is_compressed(self):
        """WebP without loss was taken for lossy and AVIF for lossless: by .4 in log-odds, and by up to .9."""
        noise = Image.fromarray(np.random.default_rng(1).integers(0, 255, (64, 64, 3), np.uint8))
        profile = bytes(1001)
        for kind, options, lossy in (
            ("WEBP", {"lossless": True}, False), ("WEBP", {"lossless": True, "icc_profile": profile}, False), ("WEBP", {"icc_profile": profile}, True),
            ("JPEG", {}, True), ("PNG", {}, False), ("AVIF", {}, True),
        ):
            with self.subTest(kind=kind, **{k: len(v) if isinstance(v, bytes) else v for k, v in options.items()}):
                self.assertEqual(coded_lossily(*opened(noise, kind, **options)), lossy)


if __name__ == "__main__":
    unittest.main()
