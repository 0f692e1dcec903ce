"""Pictures for image-synthesis: gathering, rows, statistics, scoring."""

import multiprocessing
import os
import pickle
from pathlib import Path

import cv2
import numpy as np

from vision import card, export, gather, judge
from vision.augment import cut, recompress, scale, tile_view, tone
from vision.canonical import LONGEST, canonical, compress, overview, overview_factor, pad, shrink, tiles_of
from vision.shortcuts import sharpness

SIZE = 224  # pixels, side of the tile the model takes
CONDITIONS = (("clean", "overview"), ("shared_clean", "shared_overview"))  # names of the rows of each
SHORTEST = 176  # pixels; smaller pictures are left out
TILES = 6
MOST = 40  # pictures of a repository's generator or source; more of the same teach little
JUDGED = 20  # of those, how many are scored
VIEWS = 8  # random views of tiles, for training
WHOLES = 3  # random views of the picture as a whole
WHOLE_FACES = ("stylegan2", "stylegan2-finetuned", "gan-face-mixed")  # generated altogether
# Names of the same generator, or of versions too near to count as unseen.
FAMILIES = {
    "gpt-image-1": ("gpt-4o", "gpt-4o and successors"),
    "nano-banana": ("nano-banana-pro", "gemini-image"),
    "stable-diffusion-1": (
        "stable-diffusion-v1", "stable-diffusion-sd1", "stable-diffusion-1.x", "stable-diffusion-1.4-2.1", "animatediff-sd1",
        "stable-diffusion-sd2", "sd-turbo", "unnamed-diffusion",
    ),
    "sdxl": ("sdxl-turbo",),
    "sd3": ("sd3.5", "sd3.5-large", "stable-image-ultra"),
    "flux1": ("flux1-dev", "flux1-schnell", "flux1-kontext", "uno-flux", "mlx-flux-and-others"),
    "flux2": ("flux2-klein",),
    "dalle-2": ("dalle",),
    "dalle-mini": ("craiyon",),
    "midjourney": ("midjourney-2022", "midjourney-2023", "midjourney-2024", "midjourney-2025", "midjourney-cw"),
    "hidream": ("hidream-i1", "hidream-o1"),
    "sora": ("sora-frame", "sora-video"),
    "stylegan2": ("stylegan2-finetuned", "stylegan2-ada", "gan-face-mixed"),
    "kolors": ("instantid-kolors",),
    "vqgan-clip": ("simulacra-pixray-vqgan",),
    "Places": ("Places2", "Places365 photos"),
}
# Names that say what kind of genuine pictures a repository holds: each such repository is a source of its own.
KINDS = (
    "one photographer, edited", "instant film scans", "film scans", "stock photographs of website templates", "camera original",
    "library test pictures", "photo library test album", "web photographs of objects and people", "web photos",
    "paintings by people", "paintings and drawings by people", "illustrations by people", "digital art by people",
    "anime art by people", "3D renderings", "wallpapers by people",
)
FAMILY = {name: family for family, names in FAMILIES.items() for name in names}


def wanted(item):
    """Generated pictures and photographs; of the faces only those generated altogether."""
    return item.label != "face_fake" or item.generator in WHOLE_FACES


def load(data, work, more=None, weights=None):
    """Returns the pictures, their statistics, and how many files were dropped as held out."""
    kept = Path(work, "image.pickle")
    if not kept.exists():
        gather.unpack(data, work, ("images", "images2"))
        items = [i for i in gather.listed(work, ("images", "images2"), more) if wanted(i)]
        items, dropped = gather.allowed(items, Path(data, "held-out.sha256"))
        items = [i for i in gather.ranked(items) if i.rank < MOST]
        kept.write_bytes(pickle.dumps((store(items, work, weights), dropped)))
    stored, dropped = pickle.loads(kept.read_bytes())
    for item in stored:
        item.family = item.repository if item.generator in KINDS else FAMILY.get(item.generator, "")
    features = []
    for item in stored:
        with np.load(item.base + ".statistics.npz") as own:
            features.append(dict(own))
    return stored, features, dropped + (gather.held_out(more) if more else 0)


def store(items, work, weights):
    """Decodes once; keeps the statistics of each picture, and of those to be scored what they are scored by."""
    target, graph = Path(work, "image-base"), Path(work, "image-statistics.onnx")
    target.mkdir(parents=True, exist_ok=True)
    export.export(judge.Statistics(weights / card.BACKBONE, SIZE).eval(), graph, SIZE)
    tasks = [(item, target / f"{k:05d}") for k, item in enumerate(items)]
    with multiprocessing.get_context("spawn").Pool(os.cpu_count(), begin, (graph,)) as pool:
        stored = [item for item in pool.imap(keep, tasks, 4) if item]
    print(f"{len(stored)} pictures, {sum(i.fake for i in stored)} of them fake, {sum(i.judged for i in stored)} to be scored")
    return stored


RUN = []  # of a process of the pool: the graph of statistics


def begin(graph):
    """Readies a process of the pool."""
    card.one_thread()
    RUN.append(export.runner(graph))


def keep(task):
    """Writes one picture's rows and statistics; None for what is no picture or too small."""
    item, base = task
    one, pixels = next(gather.pictures(item), (None, None))
    if one is None or min(pixels.shape[:2]) < SHORTEST:
        return None
    pixels, smaller = shrink(pixels, LONGEST)
    one.lossy = one.lossy and not smaller
    one.rank, one.judged, one.base = item.rank, item.rank < JUDGED, str(base)
    clean, random = canonical(pixels, one.lossy), np.random.RandomState(int(base.name))
    rows = rows_of(clean)
    views = {
        "tiles": [tile_view(pixels, one.lossy, random) for _ in range(VIEWS)],
        "overviews": [whole_view(pixels, one.lossy, random) for _ in range(WHOLES if len(rows["overview"]) else 0)],
    }
    if one.judged:
        shared = compress(shrink(clean, 768)[0], 60)
        one.traits = [sharpness(clean), sharpness(shared)]
        rows |= {"shared_" + name: part for name, part in rows_of(shared).items()}
        np.savez(f"{base}.npz", **rows)
    np.savez(f"{base}.statistics.npz", **{name: statistics(part) for name, part in (rows | views).items()})
    return one


def statistics(rows):
    """Those of each row, in 16 bits; there may be none."""
    return RUN[0](np.array(rows)).astype(np.float16) if len(rows) else np.zeros((0, judge.WIDTH), np.float16)


def rows_of(pixels):
    """What a canonical picture is judged by: its tiles, and one overview or none."""
    whole = [overview(pixels)] if overview_factor(pixels) > 1 else np.zeros((0, SIZE, SIZE, 3), np.uint8)
    return {"clean": tiles_of(pixels, TILES), "overview": np.array(whole)}


def whole_view(pixels, lossy, random):
    """A random view of a picture as a whole: reduced, compressed, cut, flipped."""
    factor = SIZE / min(pixels.shape[:2]) * random.uniform(1.0, 1.45)
    if factor < 0.5:  # first as the service reduces, which is as fast as it gets
        by = int(1 / factor)
        pixels = cv2.resize(pixels, [v // by for v in (pixels.shape[1], pixels.shape[0])], interpolation=cv2.INTER_AREA)
        factor *= by
    part = scale(pixels, factor, random)
    if random.rand() < 0.3:
        part = tone(part, random)
    if not lossy or random.rand() < 0.7:
        part = recompress(np.ascontiguousarray(part), random, 60, 97)
    part = cut(pad(part), SIZE, random)
    return np.ascontiguousarray(part[:, ::-1]) if random.rand() < 0.5 else part


def pooled(run, tiles, whole):
    """The logit of a picture from its rows, of which the overview counts as much as the tiles together."""
    logit = run(tiles).mean()
    return float((logit + run(whole).mean()) / 2 if len(whole) else logit)


def score_rows(run, rows):
    """The logit of a picture under each condition, from what run takes: pixels, or statistics."""
    return [pooled(run, rows[tiles], rows[whole]) for tiles, whole in CONDITIONS]


def score(run, item):
    """The same by a graph, from the rows that were kept."""
    with np.load(item.base + ".npz") as kept:
        return score_rows(run, kept)


def check_row(item):
    """One row of input, for the comparison with PyTorch."""
    with np.load(item.base + ".npz") as kept:
        return kept["clean"][0]


def seen(item):
    """What the classifier that sees no content is given, under each condition."""
    return item.traits
