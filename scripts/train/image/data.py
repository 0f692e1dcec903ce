"""Pictures and films for image-synthesis: gathering, rows, statistics, scoring."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from vision import card, content, export, film, gather, judge, kinds, store
from vision.augment import cut, mirrored, recompress, scale, tile_view, tone
from vision.canonical import LONGEST, canonical, compress, overview, overview_factor, pad, shrink, tiles_of
from vision.pipeline import CONDITIONS
from vision.residuals import Residuals
from vision.shortcuts import sharpness

SIZE = 224  # pixels, side of the tile the model takes
SHAPE = (SIZE, SIZE, 3)  # of a row
ROWS = (("clean", "overview"), ("shared_clean", "shared_overview"))  # names of the rows of each condition
SHORTEST = 176  # pixels; smaller pictures are left out
TAPS = (3, 7)  # blocks of the transformer
PAIRED = 120  # pictures of a generator or source that stand beside others of the same subjects
FILMED = 1  # view of a tile of it as a frame of a film
FILM_SEED = 1_000_000  # those are drawn by a stream of their own
FRAMES = 4  # of a film
CLIPS = 8  # films of a repository's generator or source, all of which are scored
SECONDS = 20  # of a film that are shared
NARROW = (2, 4)  # dimensions of the weights that are kept in 8 bits: of matrices, and of the convolution that makes patches
WHOLE_FACES = ("stylegan2", "stylegan2-finetuned", "gan-face-mixed")  # generated altogether
# Names of the same generator, or of versions too near to count as unseen.
FAMILIES = {
    "gpt-image-1": ("gpt-4o", "gpt-4o and successors", "gpt-image-1.5", "gpt-image-2"),
    "nano-banana": ("nano-banana-pro", "gemini-image"),
    "stable-diffusion-1": (
        "stable-diffusion-v1", "stable-diffusion-sd1", "stable-diffusion-1.x", "stable-diffusion-1.4-2.1", "animatediff-sd1",
        "stable-diffusion-sd2", "sd-turbo", "sdxs", "unnamed-diffusion",
    ),
    "sdxl": ("sdxl-turbo", "sdxl-lightning", "stable-image-core", "leonardo-kino-xl"),
    "sd3": ("sd3.5", "sd3.5-large", "stable-image-ultra"),
    "flux1": ("flux1-dev", "flux1-schnell", "flux1-kontext", "flux1-krea", "flex", "chroma", "uno-flux", "mlx-flux-and-others"),
    "flux2": ("flux2-klein",),
    "dalle-2": ("dalle",),
    "dalle-3": ("microsoft-image",),
    "leonardo-lucid-realism": ("leonardo-lucid-origin",),
    "seedream-5-pro": ("jimeng",),
    "dalle-mini": ("craiyon", "min-dalle"),
    "midjourney": ("midjourney-2022", "midjourney-2023", "midjourney-2024", "midjourney-2025", "midjourney-2026", "midjourney-cw"),
    "hidream": ("hidream-i1", "hidream-o1"),
    "sora": ("sora-frame", "sora-video"),
    "stylegan2": ("stylegan", "stylegan2-finetuned", "stylegan2-ada", "gan-face-mixed"),
    "kolors": ("instantid-kolors",),
    "pixart": ("pixart-alpha", "pixart-sigma"),
    "lumina": ("lumina2", "lumina-next"),
    "wuerstchen": ("stable-cascade",),
    "playground-v2": ("playground-v2.5",),
    "imagen-3": ("imagen-4", "imagen-3-imagefx", "whisk"),
    "cosmos": ("cosmos-predict2", "anima"),
    "wan": ("wan2.x-video",),
    "janus": ("janus-pro",),
    "vqgan-clip": ("simulacra-pixray-vqgan",),
    "latent-diffusion": ("glid-3-xl", "majesty-diffusion"),
    "clip-guided-diffusion": ("disco-diffusion",),
    "ideogram": ("ideogram-v3", "ideogram-v4", "ideogram4", "ideogram-2023"),
    "krea-2": ("krea2",),
    "boogu-image": ("boogu",),
    "longcat-image": ("longcat",),
    "hunyuan-image": ("hunyuan-image-3",),
    "omnigen": ("omnigen2",),
    "Places": ("Places2", "Places365 photos"),
}
# Parts of names of what makes films, each with the family of the network that it runs: the first that fits.
FILM_FAMILIES = {
    "wan2": "wan", "self-forcing": "wan", "causvid": "wan", "longlive": "wan", "fastvideo": "wan", "skyreels": "wan", "helios": "wan",
    "hunyuan": "hunyuanvideo", "cogvideox": "cogvideox", "phyt2v": "cogvideox", "vlipp": "cogvideox", "motionshop": "cogvideox", "open-sora": "open-sora", "opensora": "open-sora",
    "zeroscope": "modelscope", "modelscope": "modelscope", "instructvideo": "modelscope", "trailblazer": "modelscope", "lvd": "modelscope",
    "streamingt2v": "modelscope", "show1": "modelscope", "show-1": "modelscope", "motionctrl": "videocrafter", "videocomposer": "modelscope", "i2vgen-xl": "modelscope",
    "videocrafter": "videocrafter", "dynamicrafter": "videocrafter", "fifo-diffusion": "videocrafter", "svd": "svd", "stable-video-diffusion": "svd",
    "vista": "svd", "dragnuwa": "svd", "hotshot": "sdxl", "stylegan": "stylegan2",
    "cosmos": "cosmos", "ltx": "ltx", "sana": "sana", "magi-1": "magi-1", "kandinsky-5": "kandinsky-5", "veo-": "veo", "kling": "kling", "sora": "sora",
    "gen-1": "gen-1", "pixeldance": "pixeldance", "boximator": "pixeldance", "lavie": "stable-diffusion-1", "seine": "stable-diffusion-1",
    **{name: "stable-diffusion-1" for name in (
        "animatediff", "sparsectrl", "animatezero", "animatelcm", "tune-a-video", "fatezero", "pix2video", "vid2vid-zero", "controlvideo",
        "control-a-video", "text2video-zero", "rerender", "tokenflow", "flatten", "rave-", "vidtome", "ground-a-video", "videograin", "follow-your-pose",
        "gen-l-video", "videoelevator", "storydiffusion", "dreamoving", "fairy", "magic-me", "vlogger", "cinemo", "videobooth", "noise-rectification", "microcinema", "video-ldm",
    )},
}
# Names that say what kind of genuine pictures a repository holds: each such repository is a source of its own.
KINDS = (
    "one photographer, edited", "instant film scans", "film scans", "stock photographs of website templates", "camera original",
    "library test pictures", "photo library test album", "web photographs of objects and people", "web photos",
    "paintings by people", "paintings and drawings by people", "illustrations by people", "digital art by people",
    "anime art by people", "3D renderings", "wallpapers by people", "game art by people",
    "build log, phone snapshots", "electronics build log, phone snapshots", "school robotics club, snapshots", "phone snapshots", "film scans, one photographer",
    "one photographer, small pictures", "one photographer, travel, edited", "web photographs (small)",
)
UNKNOWN = "unknown generators"
FAMILY = {name: family for family, names in FAMILIES.items() for name in names}


def plain(weights):
    """The untouched network and the filters, with their weights as they are served."""
    return export.rounded(judge.Statistics(weights / card.BACKBONE, TAPS, Residuals()).eval(), NARROW)


def exported(weights, path, _):
    """Writes the graph of what plain() makes of a row."""
    export.export(plain(weights), path, SHAPE)


@dataclass(frozen=True)
class Recipe:
    """What a model is shown of a picture, and what makes statistics of it."""

    name: str = "image"  # of what is kept in the work folder
    graph: Callable = exported  # of the folder of weights, a path, and rows of some pictures, writes the graph of statistics; rows are None without content
    tiles: int = 4
    views: int = 4  # random views of tiles, for training
    wholes: int = 2  # random views of the picture as a whole
    most: int = 20  # pictures of a repository's generator or source, all of which are scored; more of the same teach little
    reduced: int = 3  # random views of the picture as small as pictures get shared
    every: int = 1  # one file of so many has them
    content: Callable | None = None  # as graph, of one that says what a picture shows


SMALL = Recipe()


def wanted(item):
    """Generated pictures and photographs; of the faces only those generated altogether."""
    return item.label != "face_fake" or item.generator in WHOLE_FACES


def load(data, work, more=None, weights=None, recipe=SMALL):
    """Returns the pictures, their statistics, and how many files were dropped as held out."""
    whole = Path(work, f"{recipe.name}.pickle")
    if not whole.exists():
        items, dropped = listed(data, work, more, recipe.most)
        whole.write_bytes(pickle.dumps((looked_at(items, work, weights, recipe), dropped)))
    stored, dropped = pickle.loads(whole.read_bytes())
    for medium in ("image", "film") if more else ():
        dropped += gather.held_out(more, medium)
    for item in stored:
        item.family, item.medium, item.kind = family(item), "film" if item.clip else "picture", kinds.kind(item)
    features = []
    for item in stored:
        with np.load(item.base + ".statistics.npz") as own:
            features.append(dict(own))
    return stored, features, dropped


def listed(data, work, more, most=SMALL.most):
    """The files that are looked at, and how many were dropped as held out; most is that of a generator or source that stands beside no pair."""
    gather.unpack(data, work, ("images", "images2"))
    items = gather.listed(work, ("images", "images2"), more) + (list(gather.collected(more, "film")) if more else [])
    items, dropped = gather.allowed([i for i in items if wanted(i)], Path(data, "held-out.sha256"))
    return [i for i in gather.ranked(items) if i.rank < (CLIPS if i.clip else PAIRED if i.pair else most)], dropped


def family(item):
    """What may not be trained on where it is judged: a generator's family; of genuine films, and of kinds of pictures, the repository."""
    if item.generator in KINDS or item.generator == UNKNOWN or not item.fake and (item.clip or item.pair):
        return item.repository
    name = item.generator.lower()
    films = (own for part, own in FILM_FAMILIES.items() if item.clip and part in name)
    return FAMILY.get(item.generator) or next(films, "")


def looked_at(items, work, weights, recipe=SMALL):
    """Decodes once; keeps the statistics of each picture and film, and the rows that pictures are scored by."""
    graph = Path(work, f"{recipe.name}-statistics.onnx")
    rows = some_rows(items) if recipe.content else None
    recipe.graph(weights, graph, rows)
    if recipe.content:
        recipe.content(weights, content_graph(graph), rows)
    stored = [item for item in store.every(kept, items, Path(work, f"{recipe.name}-base"), begin, (graph, recipe)) if item]
    print(f"{len(stored)} pictures and films, {sum(i.fake for i in stored)} of them fake")
    return stored


def some_rows(items, count=96):
    """Overviews of some pictures, spread over all."""
    pictures = [i for i in items if not i.clip]
    found = (pixels for k in np.linspace(0, len(pictures) - 1, 2 * count).astype(int) for _, pixels in gather.pictures(pictures[k]))
    rows = [overview(shrink(pixels, LONGEST)[0]) for pixels in found if min(pixels.shape[:2]) >= SHORTEST]
    return np.stack(rows[:count])


RUN = []  # of a process of the pool: the graph of statistics, the recipe, and the graph of content or None


def begin(graph, recipe):
    """Readies a process of the pool."""
    card.one_thread()
    RUN[:] = export.runner(graph), recipe, export.runner(content_graph(graph)) if recipe.content else None


def content_graph(graph):
    """The path of the graph of content, beside that of statistics."""
    return graph.with_name(graph.name.replace("statistics", "content"))


def kept(item, base):
    """Writes the rows and statistics of one picture or film; None for what is none, or too small."""
    found = [(one, pixels) for one, pixels in gather.pictures(item, FRAMES) if min(pixels.shape[:2]) >= SHORTEST]
    if not found:
        return None
    one, frames = found[0][0], [pixels for _, pixels in found]
    one.rank, one.base = item.rank, str(base)
    seed = store.seed(base)
    pictures, views, shared = film_parts(frames, item) if item.clip else picture_parts(frames[0], one, seed)
    if not shared:
        return None
    rows, filmed = rows_of(pictures), film_views(frames, np.random.RandomState(FILM_SEED + seed))
    views = {name: views[name] + filmed[name] for name in filmed}
    one.traits = [sharpness(pictures[0]), sharpness(shared[0])]
    rows |= {"shared_" + name: part for name, part in rows_of(shared).items()}
    if not item.clip:
        np.savez(f"{base}.npz", **rows)
    made = {name: statistics(part) for name, part in (rows | views).items()}
    if RUN[1].content:
        made[content.KEY] = RUN[2]((rows["overview"] if len(rows["overview"]) else rows["clean"])[:1]).astype(np.float16)
    np.savez(f"{base}.statistics.npz", **made)
    return one


def picture_parts(pixels, item, seed):
    """A picture as it is judged, random views to train on, and the picture as it is shared."""
    pixels, smaller = shrink(pixels, LONGEST)
    item.lossy = item.lossy and not smaller
    clean, random = canonical(pixels, item.lossy), np.random.RandomState(seed)
    views = {
        "tiles": [tile_view(pixels, item.lossy, random) for _ in range(RUN[1].views)],
        "overviews": [whole_view(pixels, item.lossy, random) for _ in range(RUN[1].wholes if overview_factor(clean) > 1 else 0)],
    }
    return [clean], views, [compress(shrink(clean, 768)[0], 60)]


def film_parts(frames, item):
    """The frames of a film as they are judged, no further views, and the frames as they are shared."""
    shared = film.shared(item.path, FRAMES, SECONDS)
    return [canonical(pixels, True) for pixels in frames], {"tiles": [], "overviews": []}, [canonical(pixels, True) for pixels in shared]


def film_views(pictures, random):
    """Views of each as a frame of a film, which compresses frames of films once more: some tiles, and an overview."""
    views = {"tiles": [], "overviews": []}
    for pixels in pictures:
        frame = canonical(film.filmed(shrink(pixels, LONGEST)[0], random), True)
        views["tiles"] += [mirrored(cut(pad(frame), SIZE, random), random) for _ in range(FILMED)]
        views["overviews"] += [mirrored(overview(frame), random)] if overview_factor(frame) > 1 else []
    return views


def statistics(rows):
    """Those of each row, in 16 bits; there may be none."""
    some = np.array(rows) if len(rows) else np.zeros((1, SIZE, SIZE, 3), np.uint8)  # for the number of statistics
    return RUN[0](some).astype(np.float16)[: len(rows)]


def rows_of(pictures):
    """What canonical pictures of one size are judged by: their tiles, and an overview of each or none."""
    wholes = [overview(pixels) for pixels in pictures if overview_factor(pixels) > 1]
    return {
        "clean": np.concatenate([tiles_of(pixels, RUN[1].tiles) for pixels in pictures]),
        "overview": np.array(wholes) if wholes else np.zeros((0, SIZE, SIZE, 3), np.uint8),
    }


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
    return mirrored(cut(pad(part), SIZE, random), random)


def pooled(run, tiles, whole):
    """The logit of a picture from its rows, of which the overview counts as much as the tiles together."""
    logit = run(tiles).mean()
    return float((logit + run(whole).mean()) / 2 if len(whole) else logit)


def score_rows(run, rows):
    """The logit of a picture under each condition, from what run takes: pixels, or statistics."""
    return [pooled(run, rows[tiles], rows[whole]) for tiles, whole in ROWS]


def score_views(run, rows):
    """The sides and logits of a picture's reduced views."""
    return [(side, pooled(run, tiles, whole)) for side, tiles, whole in rows["views"]]


def parts(items):
    """Pictures, whose rows are kept, and films are measured each by itself."""
    films = np.array([i.clip for i in items])
    return [("", ~films, CONDITIONS), ("films: ", films, (CONDITIONS[0], film.SHARED))]


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
