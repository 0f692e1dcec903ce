"""Random training views: cut, scaled, with pasted faces, lit and compressed anew."""

import cv2
import numpy as np
from faces import GREY, SMALLEST, SURE, certain, longer
from vision.augment import recompress, scale, tone

WHOLE = 0.25  # share of the views that show a picture as it is judged, at the top left
SEEN, GONE = 0.6, 0.1  # share of a face that must be seen for it to count, and below which it is no face
UNSURE = 0.5  # the score of what is neither right nor wrong
MARGIN = 0.35  # of the longer side of a face, kept about it when it is pasted


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
        """Pixels side×side×3 and boxes, rows of x0, y0, x1, y1, score."""
        picture = self.draw(random, int(random.rand() >= self.shares[0]))
        pixels, boxes = placed(picture.pixels, picture.boxes, random, side)
        if random.rand() < self.shares[1]:
            for _ in range(random.randint(1, 4)):
                pixels, boxes = self.pasted(pixels, boxes, random, side)
        if random.rand() < 0.5:
            pixels = np.ascontiguousarray(pixels[:, ::-1])
            boxes = np.stack([side - boxes[:, 2], boxes[:, 1], side - boxes[:, 0], boxes[:, 3], boxes[:, 4]], 1)
        return worn(pixels, random), boxes

    def pasted(self, pixels, boxes, random, side):
        """With a face of another picture at a random place and size."""
        other = self.draw(random, 0)
        found = other.boxes
        face = found[random.choice(np.flatnonzero(certain(found)))]
        source = other.pixels
        grow = MARGIN * longer(face[None])[0] * random.uniform(0.2, 1.2)
        left, top = np.maximum(0, face[:2] - grow).astype(int)
        right, bottom = np.minimum(source.shape[1::-1], face[2:4] + grow).astype(int)
        target = np.exp(random.uniform(np.log(SMALLEST), np.log(min(0.6 * side, 1.5 * longer(face[None])[0]))))
        factor = target / longer(face[None])[0]
        part = scale(np.ascontiguousarray(source[top:bottom, left:right]), factor, random)[:side, :side]
        if random.rand() < 0.5:
            part = tone(part, random)
        y, x = (random.randint(0, side - v + 1) for v in part.shape[:2])
        moved = np.concatenate([(found[:, :4] - [left, top, left, top]) * factor, found[:, 4:]], 1)
        area = np.array([[0, 0, part.shape[1], part.shape[0]]])
        moved = seen(moved, area[0, :4])
        moved[:, :4] += [x, y, x, y]
        # What the part hides of other faces makes them doubtful, or takes them away.
        kept = boxes.copy()
        hidden = covered(kept, np.array([x, y, x + part.shape[1], y + part.shape[0]]))
        kept[hidden > 1 - SEEN, 4] = UNSURE
        pixels = pixels.copy()
        pixels[y : y + part.shape[0], x : x + part.shape[1]] = part
        return pixels, np.concatenate([kept[hidden < 1 - GONE], moved])


def chances(pictures):
    """The chance of each picture."""
    names = [(p.repository, p.generator) for p in pictures]
    size = {n: names.count(n) for n in set(names)}
    weights = np.array([size[n] ** -0.5 for n in names])
    return weights / weights.sum()


def covered(boxes, window):
    """The share of each box inside the window."""
    corner, end = np.maximum(boxes[:, :2], window[:2]), np.minimum(boxes[:, 2:4], window[2:])
    area = (boxes[:, 2:4] - boxes[:, :2]).prod(1)
    return np.clip(end - corner, 0, None).prod(1) / np.maximum(area, 1e-6)


def seen(boxes, window):
    """The boxes less those outside the window; those half outside are doubtful."""
    inside = covered(boxes, window)
    boxes = boxes.copy()
    boxes[inside < SEEN, 4] = np.minimum(boxes[inside < SEEN, 4], UNSURE)
    return boxes[inside >= GONE]


def placed(pixels, boxes, random, side):
    """The picture scaled and cut, so that one of its faces, if any, has a random size and place."""
    height, width = pixels.shape[:2]
    fit = side / max(height, width)
    sure = np.flatnonzero(certain(boxes))
    if random.rand() < WHOLE and (fit >= 1 or side < 640):
        factor, x, y = min(1.0, fit), 0, 0
    elif len(sure) and random.rand() < 0.85:
        face = boxes[random.choice(sure)]
        size = longer(face[None])[0]
        target = np.exp(random.uniform(np.log(SMALLEST), np.log(0.95 * side)))
        factor = np.clip(target / size, 0.12, 1.8)
        centre = (face[:2] + face[2:4]) / 2 * factor
        x, y = centre - random.uniform(0.1, 0.9, 2) * side
    else:
        factor = np.clip(random.uniform(0.5, 1.5) * random.choice([1.0, fit]), 0.12, 1.8)
        x, y = (random.uniform(min(0, v * factor - side), max(0, v * factor - side)) for v in (width, height))
    small = scale(pixels, factor, random)
    factors = np.array([small.shape[1] / width, small.shape[0] / height] * 2)
    # Mostly the picture fills the view, or lies at its top left as in what is judged.
    if random.rand() < 0.8:
        x, y = (np.clip(v, 0, max(0, n - side)) for v, n in ((x, small.shape[1]), (y, small.shape[0])))
    x, y = int(x), int(y)
    canvas = np.full((side, side, 3), GREY, np.uint8)
    left, top, right, bottom = max(0, x), max(0, y), min(small.shape[1], x + side), min(small.shape[0], y + side)
    if right > left and bottom > top:
        canvas[top - y : bottom - y, left - x : right - x] = small[top:bottom, left:right]
    moved = np.concatenate([boxes[:, :4] * factors, boxes[:, 4:]], 1)
    moved = seen(moved, np.array([left, top, right, bottom]))
    moved[:, :4] -= [x, y, x, y]
    return canvas, moved


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
    return recompress(pixels, random, 45, 97) if random.rand() < 0.4 else pixels


def doubtful(boxes):
    """Which boxes are neither right nor wrong: doubtful or small ones."""
    return (boxes[:, 4] < SURE) | (longer(boxes) < SMALLEST)
