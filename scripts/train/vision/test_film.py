"""Tests of views as frames of films, and of films as they are shared."""

import tempfile
import unittest
from pathlib import Path

import av
import cv2
import numpy as np

from vision import film, gather


def picture(height, width):
    """Smooth random colours."""
    small = np.random.RandomState(0).randint(0, 255, (3, 4, 3)).astype(np.uint8)
    return cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)


def write(path, frames):
    """A film of the frames, 25 a second."""
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=25)
        stream.height, stream.width, stream.pix_fmt = *frames[0].shape[:2], "yuv420p"
        for pixels in frames:
            out.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, "rgb24")))
        out.mux(stream.encode(None))


class Films(unittest.TestCase):
    """What becomes of pictures and films."""

    def test_a_view_shows_the_picture_and_is_compressed(self):
        pixels, random = picture(501, 702), np.random.RandomState(1)
        for _ in range(8):
            view = film.filmed(pixels, random)
            self.assertIn(min(view.shape[:2]), [*film.SIDES, 500])
            wanted = cv2.resize(pixels, view.shape[1::-1], interpolation=cv2.INTER_AREA).astype(int)
            alike = np.corrcoef(view.ravel(), wanted.ravel())[0, 1]
            self.assertGreater(alike, 0.8)  # it has moved by up to 20 pixels
            self.assertFalse((view == wanted).all())

    def test_small_pictures_are_not_enlarged(self):
        self.assertEqual(film.to_side(picture(181, 203), 240).shape, (180, 202, 3))

    def test_lower_quality_loses_more(self):
        """So the quality reaches the encoder, and the frame that comes back is the one that was asked for."""
        noise = np.random.RandomState(0).randint(0, 255, (film.FRAMES, 64, 64, 3)).astype(np.uint8)
        frames = [cv2.GaussianBlur(f, (0, 0), 2) for f in noise]
        for k in (0, film.FRAMES - 1):
            loss = {q: [np.abs(film.coded(frames, q, k).astype(int) - f).mean() for f in frames] for q in (10, 35)}
            self.assertEqual(int(np.argmin(loss[10])), k)
            self.assertLess(loss[10][k], loss[35][k])

    def test_shared_films_are_smaller_and_their_frames_spread(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "film.mp4")
            write(path, [np.full((600, 1000, 3), 5 * k, np.uint8) for k in range(50)])
            found = film.shared(path, 4)
            self.assertEqual([f.shape for f in found], [(460, 768, 3)] * 4)
            plain = [f.mean() for f in gather.frames(path, 4)]
            np.testing.assert_allclose([f.mean() for f in found], plain, atol=6)
            first = [f.mean() for f in film.shared(path, 4, 1)]
            np.testing.assert_allclose(first, np.array(plain) / 2, atol=6)


if __name__ == "__main__":
    unittest.main()
