"""Random views for training: what happens to pictures on their way."""

import cv2
import numpy as np

from vision.canonical import TILE, compress, pad

FILTERS = (cv2.INTER_AREA, cv2.INTER_AREA, cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_LANCZOS4)
SMALLEST = 160  # pixels; the short side is not scaled below


def recompress(pixels, random, low, high):
    """One round of JPEG, now and then WebP, of random quality."""
    quality = random.randint(low, high + 1)
    if random.rand() < 0.2:
        return compress(pixels, quality, kind="WEBP")
    return compress(pixels, quality, random.choice([0, 2, 2]))


def scale(pixels, factor, random):
    """Resizes by the factor with a random filter."""
    if abs(factor - 1) < 0.02:
        return pixels
    size = [max(1, round(v * factor)) for v in (pixels.shape[1], pixels.shape[0])]
    return cv2.resize(pixels, size, interpolation=int(random.choice(FILTERS)))


def cut(pixels, side, random):
    """A random square part, or all of a side that is shorter."""
    height, width = pixels.shape[:2]
    y, x = random.randint(0, max(1, height - side + 1)), random.randint(0, max(1, width - side + 1))
    return np.ascontiguousarray(pixels[y : y + side, x : x + side])


def mirrored(pixels, random):
    """Half of the time the mirror image."""
    return np.ascontiguousarray(pixels[:, ::-1]) if random.rand() < 0.5 else pixels


def tone(pixels, random):
    """Contrast, white balance and brightness."""
    gain = random.uniform(0.8, 1.2) * random.uniform(0.93, 1.07, 3)
    return np.clip(pixels * gain.astype(np.float32) + random.uniform(-12, 12), 0, 255).astype(np.uint8)


def tile_view(pixels, lossy, random, side=TILE):
    """A random side×side view of a picture: compressed, scaled, cut off its grid, compressed, flipped.

    A lossless source first gets a lossy past, as nearly all photographs have
    one. Only the part that is needed is worked on.
    """
    factor = random.uniform(0.45, 1.0) if random.rand() < 0.7 else random.uniform(0.9, 1.25)
    factor = max(factor, min(1.0, SMALLEST / min(pixels.shape[:2])))
    part = cut(pixels, int(side / factor) + 10, random)
    if not lossy or random.rand() < 0.3:
        part = recompress(part, random, 75, 98)
    part = scale(part, factor, random)
    part = part[random.randint(0, 8) :, random.randint(0, 8) :]
    if random.rand() < 0.3:
        part = tone(part, random)
    if lossy is False or random.rand() < 0.85:
        part = recompress(np.ascontiguousarray(part), random, 55, 97)
    return mirrored(cut(pad(part, side), side, random), random)
