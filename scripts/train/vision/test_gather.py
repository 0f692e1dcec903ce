"""Tests of reading what was gathered."""

import io
import tempfile
import unittest
from pathlib import Path

import numpy as np
from PIL import Image, ImageFile

from vision.gather import Item, still


class Damaged(unittest.TestCase):
    """Of a picture that is cut off, what is there is used."""

    def test_others_go_on_finding_damage(self):
        # To allow it for one picture allowed it for the process, and gathering took damaged files.
        whole = io.BytesIO()
        Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)).save(whole, "PNG")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cut.png"
            path.write_bytes(whole.getvalue()[:9000])
            self.assertEqual(still(Item(path, "real", "camera", "me/photos", "HEAD", "MIT", "cut.png")).shape, (64, 64, 3))
        self.assertFalse(ImageFile.LOAD_TRUNCATED_IMAGES)


if __name__ == "__main__":
    unittest.main()
