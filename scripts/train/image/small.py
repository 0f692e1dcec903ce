"""Pictures and films as small as they get shared, and what the untouched network makes of them."""

import io
from dataclasses import replace
from pathlib import Path

import cv2
import data
import numpy as np
from PIL import Image

from vision import film, gather, store
from vision.canonical import LONGEST, canonical, shrink

SEED = 2_000_000  # these are drawn by a stream of their own
SIDES = {False: (24, 640), True: (64, 640)}  # pixels, shorter sides of pictures and of films
FILM_VIEWS = 1
QUALITY = (70, 95)  # of JPEG


def kept(items, work, recipe=data.SMALL):
    """Of each item, (side, statistics of tiles, statistics of the overview or of none) of some reduced views."""
    graph = Path(work, f"{recipe.name}-statistics.onnx")
    return store.every(looked_at, items, Path(work, f"{recipe.name}-small"), data.begin, (graph, replace(recipe, content=None)))


def looked_at(item, base):
    """The views of an item: of those of its drawn sides that are smaller than it; none where its turn is not."""
    if store.seed(base) % data.RUN[1].every:
        return []
    random = np.random.RandomState(SEED + store.seed(base))
    frames = [shrink(pixels, LONGEST)[0] for _, pixels in gather.pictures(item, data.FRAMES) if min(pixels.shape[:2]) >= data.SHORTEST]
    own = min(frames[0].shape[:2])
    sides = [int(np.exp(random.uniform(*np.log(SIDES[item.clip])))) for _ in range(FILM_VIEWS if item.clip else data.RUN[1].reduced)]
    return [view(frames, item.clip, side, random) for side in sides if side < own]


def view(frames, clip, side, random):
    """A side, and the statistics of what the frames are judged by when they are reduced to it."""
    small = [filmed(pixels, side, random) if clip else reduced(pixels, side, random) for pixels in frames[: None if clip else 1]]
    rows = data.rows_of([canonical(pixels, True) for pixels in small])
    return side, data.statistics(rows["clean"]), data.statistics(rows["overview"])


def reduced(pixels, side, random):
    """A picture as web sites reduce it: by area averaging or Lanczos, then JPEG."""
    factor = side / min(pixels.shape[:2])
    size = [max(1, round(v * factor)) for v in (pixels.shape[1], pixels.shape[0])]
    if random.rand() < 0.5:
        small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    else:
        small = np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS))
    buffer = io.BytesIO()
    quality = int(random.randint(QUALITY[0], QUALITY[1] + 1))
    Image.fromarray(small).save(buffer, "JPEG", quality=quality, subsampling=int(random.choice([0, 2, 2])))
    return np.asarray(Image.open(buffer).convert("RGB"))


def filmed(pixels, side, random):
    """A frame of a film of that size, as H.264 leaves it."""
    frames = film.moved(film.to_side(pixels, side), random.uniform(-4, 4, 2), random.uniform(-0.01, 0.01))
    return film.coded(frames, random.randint(*film.QUALITIES), random.randint(film.FRAMES))


def sides_of(items):
    """N×2: the shorter side of each as it is judged, and as it is shared."""
    size = np.array([i.facts[:2] for i in items], float)
    return np.stack([size.min(1) * np.minimum(1, longest / size.max(1)) for longest in (LONGEST, film.LONGEST)], -1)
