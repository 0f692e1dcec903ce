"""Media out of the archives: unpacking, held-out files, duplicates, decoding.

A manifest row says label, generator and repository of each file of
images2.tar; the other archives are described by ARCHIVES.
"""

import csv
import hashlib
import tarfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageFile

from vision.canonical import coded_lossily, rgb

CLIPS = (".mp4", ".webm", ".mov", ".mkv", ".avi")

# archive, pattern: label, generator or source, repository, commit, licence.
ARCHIVES = {
    ("images", "real/imagenet-sample/**/*"): ("real", "ImageNet sample", "EliSchwartz/imagenet-sample-images", "bc69043e2862", "none stated"),
    ("images", "fake/gpt4o-a/**/*"): ("fake", "gpt-4o", "songguoxs/gpt4o-image-prompts", "27ee9f06bcf7", "none stated"),
    ("images", "fake/gpt4o-b/**/*"): ("fake", "gpt-4o", "jamez-bondos/awesome-gpt4o-images", "3ed4dbb0f1ae", "per case"),
    ("faces", "real/photographs/**/*"): ("face_real", "face photographs", "chandrikadeb7/Face-Mask-Detection", "7e500749401b", "MIT"),
    ("video", "real/ff_*"): ("face_real", "ff-original", "frederickszk/LRNet", "9a172a0ccebe", "MIT"),
    ("video", "real/dfo_*"): ("face_real", "DeeperForensics original", "frederickszk/LRNet", "9a172a0ccebe", "MIT"),
    ("video", "fake/ff_*"): ("face_fake", "ff-deepfakes/neuraltextures", "frederickszk/LRNet", "9a172a0ccebe", "MIT"),
    ("video", "fake/000_*"): ("face_fake", "ff-deepfakes/neuraltextures", "frederickszk/LRNet", "9a172a0ccebe", "MIT"),
    ("video", "fake/dfo_*"): ("face_fake", "DeeperForensics", "frederickszk/LRNet", "9a172a0ccebe", "MIT"),
}


@dataclass
class Item:
    """One file, or one frame of a clip, and where it is from."""

    path: Path
    label: str
    generator: str
    repository: str
    commit: str
    licence: str
    original: str = ""  # SHA-256 of the file it was cropped from
    lossy: bool = False  # whether its pixels come out of lossy compression at their size
    base: str = ""  # file of the decoded pixels
    facts: list = field(default_factory=list)  # what the shortcut classifier may see
    face: list = field(default_factory=list)  # box and landmarks, for the face model
    made: bool = False  # a fake that the training script makes from a genuine item
    whole: bool = False  # whether the file is as it was published, not saved anew by an archive
    medium: str = ""  # what classes are balanced in, where it is not all one
    family: str = ""  # name that generators too much alike to be split share; empty where the generator's own will do
    judged: bool = True  # whether its scores are wanted
    traits: list = field(default_factory=list)  # size and sharpness under each condition
    views: np.ndarray | None = field(default=None, compare=False)  # training views, where they are made beforehand
    pair: str = ""  # what files of both labels that show the same subjects share
    kind: str = ""  # of media, such as portraits or products
    rank: int = 0  # among those of its repository and generator, in an order that a hash decides

    @property
    def fake(self):
        """1 for generated or manipulated, else 0."""
        return int(self.label.endswith("fake"))

    @property
    def clip(self):
        """Whether the file is one of moving pictures."""
        return self.path.suffix.lower() in CLIPS


def unpack(data, work, names):
    """Unpacks the archives once, each into a folder of its own."""
    for name in names:
        target = Path(work, "raw", name)
        if not target.exists():
            with tarfile.open(Path(data, name + ".tar")) as archive:
                archive.extractall(target, filter="data")


def manifest_items(root):
    """The items of images2.tar."""
    with open(root / "MANIFEST.tsv", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            yield Item(
                root / row["path"], row["label"], row["generator or source"], row["repository"],
                row["commit"], row["licence of the repository"], row["sha256 of the original"],
            )


def folder_items(root, archive):
    """The items of an archive that has no manifest."""
    for (name, pattern), description in ARCHIVES.items():
        if name == archive:
            for path in sorted(root.glob(pattern)):
                if path.is_file():
                    yield Item(path, *description)


def collected(root, medium="image"):
    """The items of one medium that scripts/train/gather left in root."""
    with open(root / "manifest.tsv", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["medium"] == medium:
                yield Item(
                    root / row["path"], row["label"], row["system"], row["repository"],
                    row["commit"], row["licence"], row["sha256"], whole=True, pair=row["pair"], kind=row["kind"],
                )


def held_out(root, medium="image"):
    """How many files of one medium scripts/train/gather dropped as held out."""
    with open(root / "counts.tsv", newline="") as file:
        return sum(int(row["held out"]) for row in csv.DictReader(file, delimiter="\t") if row["medium"] == medium)


def listed(work, names, more=None):
    """Every item, in a fixed order: whole files first, so that the archives' excerpts of them count as duplicates."""
    found = list(collected(more)) if more else []
    for name in names:
        root = Path(work, "raw", name)
        found += manifest_items(root) if (root / "MANIFEST.tsv").exists() else folder_items(root, name)
    return found


def allowed(items, held_out):
    """Drops held-out files, then duplicates; returns the rest and how many were held out."""
    with open(held_out) as file:
        forbidden = {line.split()[0] for line in file if line.strip()}
    kept, seen, dropped, twice = [], set(), 0, 0
    for item in items:
        own = hashlib.sha256(item.path.read_bytes()).hexdigest()
        sums = {own, item.original} - {""}
        if sums & forbidden:
            dropped += 1
        elif sums & seen:
            twice += 1
        else:
            kept.append(item)
            seen |= sums
    print(f"{len(items)} files; dropped as held out: {dropped}; as duplicates: {twice}; kept {len(kept)}")
    return kept, dropped


def resaved(image):
    """Whether the file is what the archive makes of a lossless original: JPEG 4:4:4, quality 95."""
    tables = getattr(image, "quantization", None)
    if image.format != "JPEG" or not tables:
        return False
    plain = image.layer if hasattr(image, "layer") else []
    full = all(part[1] == 1 and part[2] == 1 for part in plain)
    return full and abs(float(np.mean(tables[0])) - 6.0) < 0.75 and max(tables[0]) <= 14


def still(item):
    """The decoded pixels of a picture file, or None for what cannot be read or has a palette."""
    before = ImageFile.LOAD_TRUNCATED_IMAGES  # of the whole process, in which others look for damage
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        image = Image.open(item.path)
        if image.format == "GIF":
            return None
        item.lossy = coded_lossily(image, item.path.read_bytes()) and (item.whole or not resaved(image))
        table = float(np.mean(image.quantization[0])) if getattr(image, "quantization", None) else 0.0
        item.facts = [*image.size, table, item.path.stat().st_size, float(image.format == "PNG")]
        return rgb(image)
    except (OSError, ValueError, SyntaxError):
        return None
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before


def frames(path, count):
    """Up to count frames of a clip, spread evenly over its middle part."""
    clip = cv2.VideoCapture(str(path))
    total = int(clip.get(cv2.CAP_PROP_FRAME_COUNT))
    found = []
    for k in range(count):
        clip.set(cv2.CAP_PROP_POS_FRAMES, total * (2 * k + 1) // (2 * count))
        ok, frame = clip.read()
        if ok:
            found.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
    clip.release()
    return found


def ranked(items):
    """Sets the rank of each item: neighbours in a folder are alike, so a hash decides, not the name."""
    count = Counter()
    for item in sorted(items, key=lambda i: i.original or hashlib.sha256(i.path.name.encode()).hexdigest()):
        item.rank = count[item.repository, item.generator]
        count[item.repository, item.generator] += 1
    return items


def pictures(item, count=1):
    """Yields (item, pixels) of a file: itself, or count frames of a clip."""
    if item.clip:
        for pixels in frames(item.path, count):
            one = Item(item.path, item.label, item.generator, item.repository, item.commit, item.licence, item.original, True)
            height, width = pixels.shape[:2]
            one.facts = [width, height, 0.0, item.path.stat().st_size, 0.0]
            yield one, pixels
        return
    pixels = still(item)
    if pixels is not None:
        yield item, pixels


def sources(items):
    """What the card says about training data: one entry a repository."""
    items, entries = [i for i in items if not i.made], []
    for repository in sorted({i.repository for i in items}):
        own = [i for i in items if i.repository == repository]
        names = Counter(i.generator for i in own)
        entries.append({
            "name": ", ".join(sorted(names)), "repository": repository, "commit": own[0].commit,
            "licence": own[0].licence, "real": sum(1 - i.fake for i in own), "fake": sum(i.fake for i in own),
        })
    return entries
