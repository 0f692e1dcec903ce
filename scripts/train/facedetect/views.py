"""Random training views: cut, scaled, with pasted faces, lit and compressed anew."""

import cv2
import numpy as np
from faces import SMALLEST, certain, longer
from vision.augment import recompress, scale, tone
from vision.finder import GREY

WHOLE = 0.25  # share of the views that show a picture as it is judged, at the top left
FREE, FILLED = 0.25, 0.7  # a picture that leaves more than this share of the view lies on another one this often
LEAST = 0.75  # of SMALLEST: how small a face is drawn, as those that just count must be learned well
MARGIN = 0.35  # of the longer side of a face, kept about it when it is pasted
CROWD, CROWDED = 0.25, 96  # share of the views with pasted faces that have many, and how large those are at most


class Views:
    """Draws views; a source counts by the root of its number of pictures."""

    def __init__(self, pictures, full, pasted):
        self.shares = full, pasted
        has = np.array([certain(p.boxes).any() for p in pictures])
        self.full, self.empty = ([p for p, h in zip(pictures, has) if h == wanted] for wanted in (True, False))
        self.chances = [chances(part) for part in (self.full, self.empty)]

    def draw(self, random, which):
        """A picture with a face (0) or without one (1)."""
        pool = (self.full, self.empty)[which]
        return pool[random.choice(len(pool), p=self.chances[which])]

    def view(self, random, side):
        """Pixels, side×side×3."""
        pixels = np.full((side, side, 3), GREY, np.uint8)
        over = self.placed(random, side)
        if uncovered(*over, side) > FREE and random.rand() < FILLED:
            put(pixels, *self.placed(random, side))
        put(pixels, *over)
        if random.rand() < self.shares[1]:
            crowd = random.rand() < CROWD
            for _ in range(random.randint(4, 11) if crowd else random.randint(1, 4)):
                self.paste(pixels, random, CROWDED if crowd else 0.6 * side)
        if random.rand() < 0.5:
            pixels = np.ascontiguousarray(pixels[:, ::-1])
        return worn(pixels, random)

    def placed(self, random, side):
        """A picture and where it begins in the view."""
        picture = self.draw(random, int(random.rand() >= self.shares[0]))
        return placed(picture.pixels, picture.boxes, random, side)

    def paste(self, pixels, random, largest):
        """Puts a face of another picture at a random place, in a random size up to the largest."""
        other, side = self.draw(random, 0), pixels.shape[0]
        face = other.boxes[random.choice(np.flatnonzero(certain(other.boxes)))]
        size = longer(face[None])[0]
        grow = MARGIN * size * random.uniform(0.2, 1.2)
        left, top = np.maximum(0, face[:2] - grow).astype(int)
        right, bottom = np.minimum(other.pixels.shape[1::-1], face[2:4] + grow).astype(int)
        target = between(random, LEAST * SMALLEST, min(largest, 1.5 * size))
        part = scale(np.ascontiguousarray(other.pixels[top:bottom, left:right]), target / size, random)[:side, :side]
        if random.rand() < 0.5:
            part = tone(part, random)
        y, x = (random.randint(0, side - v + 1) for v in part.shape[:2])
        put(pixels, part, x, y)


def between(random, low, high):
    """A number that is as likely in each factor of the range."""
    return np.exp(random.uniform(np.log(low), np.log(high)))


def chances(pictures):
    """The chance of each picture."""
    names = [(p.repository, p.generator) for p in pictures]
    size = {n: names.count(n) for n in set(names)}
    weights = np.array([size[n] ** -0.5 for n in names])
    return weights / weights.sum()


def placed(pixels, boxes, random, side):
    """The picture scaled and cut, so that one of its faces, if any, has a random size and place."""
    height, width = pixels.shape[:2]
    fit = side / max(height, width)
    sure = np.flatnonzero(certain(boxes))
    if random.rand() < WHOLE and (fit >= 1 or side < 640):
        factor, x, y = min(1.0, fit), 0, 0
    elif len(sure) and random.rand() < 0.85:
        face = boxes[random.choice(sure)]
        target = between(random, LEAST * SMALLEST, 0.95 * side)
        factor = np.clip(target / longer(face[None])[0], 0.12, 1.8)
        x, y = (face[:2] + face[2:4]) / 2 * factor - random.uniform(0.1, 0.9, 2) * side
    else:
        factor = np.clip(random.uniform(0.5, 1.5) * random.choice([1.0, fit]), 0.12, 1.8)
        x, y = (random.uniform(min(0, v * factor - side), max(0, v * factor - side)) for v in (width, height))
    small = scale(pixels, factor, random)
    # Mostly the picture fills the view, or lies at its top left as in what is judged.
    if random.rand() < 0.8:
        x, y = (np.clip(v, 0, max(0, n - side)) for v, n in ((x, small.shape[1]), (y, small.shape[0])))
    return small, -int(x), -int(y)


def uncovered(pixels, x, y, side):
    """The share of the view that a picture beginning at x, y leaves over."""
    width, height = (max(0, min(v + n, side) - max(v, 0)) for v, n in ((x, pixels.shape[1]), (y, pixels.shape[0])))
    return 1 - width * height / side**2


def put(canvas, pixels, x, y):
    """Draws a picture that begins at x, y, which may lie outside, over the canvas."""
    part = pixels[max(0, -y) : canvas.shape[0] - y, max(0, -x) : canvas.shape[1] - x]
    x, y = max(0, x), max(0, y)
    canvas[y : y + part.shape[0], x : x + part.shape[1]] = part


def worn(pixels, random):
    """Lit otherwise, blurred, grey, noisy, compressed, each now and then."""
    if random.rand() < 0.6:
        pixels = tone(pixels, random)
    if random.rand() < 0.2:
        pixels = np.clip(255 * (pixels / 255.0) ** random.uniform(0.5, 1.8), 0, 255).astype(np.uint8)
    if random.rand() < 0.12:
        pixels = np.repeat(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)[:, :, None], 3, 2)
    if random.rand() < 0.2:
        pixels = cv2.GaussianBlur(pixels, (0, 0), random.uniform(0.5, 2.0))
    if random.rand() < 0.15:
        noise = random.normal(0, random.uniform(2, 12), pixels.shape[:2])[:, :, None]
        pixels = np.clip(pixels + noise, 0, 255).astype(np.uint8)
    return recompress(pixels, random, 40, 95) if random.rand() < 0.4 else pixels
