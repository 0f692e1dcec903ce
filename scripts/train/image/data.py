"""Pictures for image-synthesis: gathering, random views, scoring."""

import pickle
from pathlib import Path

import numpy as np

from vision import gather
from vision.augment import cut, tile_view
from vision.canonical import LONGEST, QUALITY, canonical, compress, pad, shrink, tiles_of
from vision.shortcuts import sharpness

SIZE = 224  # pixels, side of the tile the model takes
TRAINED = 160  # pixels, side of the training views: half the cost, and the network is the same at both
SHORTEST = 176  # pixels; smaller pictures are left out
TILES = 6
MOST = 40  # pictures of a repository's generator or source; more of the same teach little
JUDGED = 20  # of those, how many are scored
CUT = 448  # pixels, side of the parts that are kept for training
PARTS = 3  # parts kept of a large picture
PLAIN = 0.25  # share of the training views that are cut only
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


def load(data, work, more=None):
    """Returns the pictures and how many files were dropped as held out."""
    kept = Path(work, "image.pickle")
    if not kept.exists():
        gather.unpack(data, work, ("images", "images2"))
        items = [i for i in gather.listed(work, ("images", "images2"), more) if wanted(i)]
        items, dropped = gather.allowed(items, Path(data, "held-out.sha256"))
        items = [i for i in gather.ranked(items) if i.rank < MOST]
        kept.write_bytes(pickle.dumps((store(items, work), dropped)))
    stored, dropped = pickle.loads(kept.read_bytes())
    for item in stored:
        item.family = item.repository if item.generator in KINDS else FAMILY.get(item.generator, "")
    return stored, dropped + (gather.held_out(more) if more else 0)


def store(items, work):
    """Decodes once and keeps what training and scoring look at, as NumPy files."""
    target = Path(work, "image-base")
    target.mkdir(parents=True, exist_ok=True)
    stored = []
    for item in items:
        for one, pixels in gather.pictures(item):
            if min(pixels.shape[:2]) < SHORTEST:
                continue
            pixels, smaller = shrink(pixels, LONGEST)
            one.lossy = one.lossy and not smaller
            one.rank, one.judged = item.rank, item.rank < JUDGED
            one.base = str(target / f"{len(stored):05d}")
            keep(one, pixels)
            stored.append(one)
    print(f"{len(stored)} pictures, {sum(i.fake for i in stored)} of them fake, {sum(i.judged for i in stored)} to be scored")
    return stored


def keep(item, pixels):
    """Writes the parts that training views are cut from and, of a picture to be scored, its tiles under each condition."""
    random = np.random.RandomState(int(Path(item.base).name))
    height, width = (min(CUT, v) for v in pixels.shape[:2])
    count = 1 if max(pixels.shape[:2]) <= 1.25 * CUT else PARTS
    corners = [[random.randint(0, v + 1) for v in (pixels.shape[0] - height, pixels.shape[1] - width)] for _ in range(count)]
    np.save(item.base + ".npy", np.stack([pixels[y : y + height, x : x + width] for y, x in corners]))
    if item.judged:
        clean = canonical(pixels, item.lossy)
        shared = compress(shrink(clean, 768)[0], 60)
        item.traits = [sharpness(clean), sharpness(shared)]
        np.savez(item.base + ".npz", clean=tiles_of(clean, TILES), shared=tiles_of(shared, TILES))


def new_view(item, random):
    """A random training view; one in four is as plain as what is judged."""
    parts = np.load(item.base + ".npy", mmap_mode="r")
    part = parts[random.randint(len(parts))]
    if random.rand() >= PLAIN:
        return tile_view(part, item.lossy, random, TRAINED)
    part = part if item.lossy else compress(np.ascontiguousarray(part), QUALITY)
    part = cut(pad(part, TRAINED), TRAINED, random)
    return np.ascontiguousarray(part[:, ::-1]) if random.rand() < 0.5 else part


def make_views(items, work, count, seed):
    """Makes count views of every item once; drawing from them costs nothing, and epochs are many."""
    path = Path(work, "image-views.npy")
    if not path.exists():
        random = np.random.RandomState(seed)
        shape = (len(items), count, TRAINED, TRAINED, 3)
        rows = np.lib.format.open_memmap(str(path) + ".part", "w+", np.uint8, shape)
        for k, item in enumerate(items):
            rows[k] = [new_view(item, random) for _ in range(count)]
        rows.flush()
        Path(str(path) + ".part").rename(path)
    rows = np.load(path, mmap_mode="r")
    for item, own in zip(items, rows):
        item.views = own


def view(item, random):
    """One of the views that make_views made."""
    return np.asarray(item.views[random.randint(len(item.views))])


def score(run, item):
    """The mean tile logit under each condition."""
    with np.load(item.base + ".npz") as kept:
        return [float(run(kept[name]).mean()) for name in ("clean", "shared")]


def check_row(item):
    """One row of input, for the comparison with PyTorch."""
    with np.load(item.base + ".npz") as kept:
        return kept["clean"][0]


def seen(item):
    """What the classifier that sees no content is given, under each condition."""
    return item.traits
