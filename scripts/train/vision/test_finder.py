"""Tests of what finds faces."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from vision import finder


class Finding(unittest.TestCase):
    """Boxes as the service has them."""

    def test_boxes_are_those_of_the_picture(self):
        """Reduced by three, surer than the threshold, the weaker of two dropped, the largest first, whole pixels within reach."""
        found = finder.Finder()
        self.assertEqual((found.threshold, found.overlap, found.side), (0.4, 0.4, 640))
        rows = np.array([[2, 10, 10, 30, 30], [1, 11, 10, 32, 30], [0.5, 100, 50, 160.1, 90.2], [-0.5, 300, 50, 400, 90], [1, 600, 300, 9e9, 340]])
        shown = []
        found.run = lambda pixels: shown.append(pixels) or rows[None]
        boxes = found.faces(np.zeros((1080, 1920, 3), np.uint8))
        self.assertEqual(boxes, [[1800, 900, 2040, 120], [300, 150, 180, 121], [30, 30, 60, 60]])
        self.assertEqual(shown[0].shape, (1, 640, 640, 3))
        self.assertEqual((shown[0][0, 359].max(), shown[0][0, 360].min()), (0, finder.GREY))

    def test_the_built_in_detector_runs(self):
        """Where there is nothing it finds nothing."""
        self.assertEqual(finder.Finder().faces(np.full((300, 400, 3), 90, np.uint8)), [])

    def test_nearest_is_what_overlaps_most(self):
        """And none where nothing does, or too little."""
        faces = [[0, 0, 10, 10, 1], [4, 0, 10, 10, 2]]
        self.assertEqual(finder.nearest(faces, [5, 0, 10, 10]), faces[1])
        self.assertIsNone(finder.nearest(faces, [11, 0, 10, 10]))
        self.assertIsNone(finder.nearest([], [11, 0, 10, 10]))


if __name__ == "__main__":
    unittest.main()
