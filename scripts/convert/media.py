"""Real rows: windows of speech, crops of faces and stretches of clips, found, cut and re-encoded by the training scripts."""

import hashlib
import pickle
import sys
import tempfile
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from convert.mesonet import SIDE
from convert.published import MARGIN

TRAIN = Path(__file__).resolve().parents[1] / "train"
MOST = 8  # recordings or clips of one repository and label: more would cost hours and count for nothing, repositories being resampled
WINDOWS = 2  # of a clip, at most: the published detectors take up to a second for one
SPOKEN = ("clean", "MP3 64 kbit/s")
SEEN = ("clean", "JPEG q60 at no more than 768 pixels")
MOVED = ("clean", "H.264 CRF 32 at no more than 768 pixels")


@dataclass
class Item:
    """One recording, the largest face of a picture, or a clip with a face."""

    fake: int
    repository: str
    rows: list  # one array of rows for each condition
    medium: str  # image, audio or video


def trainer(*folders):
    """Makes the modules of the training scripts importable; speech and faces each have a module gather of their own."""
    for folder in folders:
        name = str((TRAIN / folder).resolve())
        if name in sys.path:
            sys.path.remove(name)
        sys.path.insert(0, name)
    if folders == ("speech",):
        sys.modules.pop("gather", None)


def kept(path, make):
    """What make() returns, kept in a file, so that another run goes on."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(make()))
    return pickle.loads(path.read_bytes())


def thin(clips):
    """At most MOST of each repository and label, spread evenly over those there are."""
    groups = {}
    for clip in clips:
        groups.setdefault((clip["repository"], clip["label"]), []).append(clip)
    return [g[k * len(g) // min(MOST, len(g))] for g in groups.values() for k in range(min(MOST, len(g)))]


def spoken(data):
    """The recordings of the archives, -> items, files dropped as held out."""
    trainer("speech")
    import audio
    import gather

    clips, dropped = gather.gather(data)
    clips = thin(clips)
    sounds = [clip["sound"] for clip in clips]
    coded = [sound for i in range(0, len(sounds), 50) for sound in audio.through_codec(sounds[i : i + 50], "mp3-64")]
    rows = [[audio.windows(sound, WINDOWS) for sound in pair] for pair in zip(sounds, coded)]
    return [Item(c["label"], c["repository"], r, "audio") for c, r in zip(clips, rows)], dropped


def faces_of(data, work):
    """The files of the archives that show a face to be judged, -> items, files dropped as held out."""
    from vision import gather

    archives = ("images2", "faces", "video")
    gather.unpack(data, work, archives)
    files, dropped = gather.allowed(
        [i for i in gather.listed(work, archives) if i.label.startswith("face")], Path(data, "held-out.sha256")
    )
    return gather.ranked(files), dropped


def seen(data, work, weights, more=None):
    """The faces of pictures and of clips, those gathered included, -> items, files dropped as held out."""
    trainer(".", "face")
    import data as faces
    from vision import gather

    files, dropped = faces.listed(data, work, more)
    finder = faces.Finder()
    found = faces.found([i for i in files if i.label.startswith("face")], faces.YuNet(weights / faces.DETECTOR), finder)
    items = [item_of([f for f in frames if f[2]], finder) for _, frames in groupby(found, lambda f: f[0].path)]
    return [i for i in items if i], dropped + sum(gather.held_out(more, medium) for medium in ("image", "face") if more)


def item_of(frames, finder):
    """A picture, or a clip by its frames, each with its faces, as an item; None where too few faces are found."""
    import clips
    import data as faces

    crop = lambda pixels, face: faces.face_crop(pixels, face, SIDE, MARGIN)
    one, pixels, own = frames[0] if frames else (None, None, None)
    if one and not one.clip:
        rows = [crop(*c)[None] for c in faces.conditions(pixels, one.lossy, own[0], finder)]
        return Item(one.fake, one.repository, rows, "image")
    if len(frames) < clips.LEAST:
        return None
    rows = [np.stack([crop(pixels, own[0]) for _, pixels, own in frames]), clips.shared_rows(one.path, finder, crop)]
    return Item(one.fake, one.repository, rows, "video") if len(rows[1]) else None


def clips_of(data, work, more=None):
    """The clips that show a face to be judged, those gathered included, -> items, files dropped as held out."""
    from vision import gather

    gather.unpack(data, work, ("images2", "video"))
    found = [i for i in gather.listed(work, ("images2", "video")) if i.label.startswith("face")]
    for item in gather.collected(more, "face") if more else ():
        item.label = "face_" + item.label
        found.append(item)
    files, dropped = gather.allowed([i for i in found if i.clip], Path(data, "held-out.sha256"))
    return gather.ranked(files), dropped + (gather.held_out(more, "face") if more else 0)


def few(files):
    """At most MOST of each repository and label, of as many methods as there are."""
    groups = {}
    for item in sorted(files, key=lambda i: i.rank):
        groups.setdefault((item.repository, item.fake), []).append(item)
    return [item for own in groups.values() for item in own[:MOST]]


def stretches_of(path, detector, cut):
    """The rows of a clip under each condition."""
    from convert import stretches
    from vision import film

    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch, "clip.mp4")
        film.share(path, target)
        return [stretches.rows(one, detector, cut) for one in (path, target)]


def moved(data, work, weights, more=None):
    """The clips with a face to be followed under each condition, -> items, files dropped as held out."""
    trainer(".", "face")
    import data as faces

    files, dropped = clips_of(data, work, more)
    detector = faces.YuNet(weights / faces.DETECTOR)
    found = [(i, stretches_of(i.path, detector, faces.face_crop)) for i in few(files)]
    return [Item(i.fake, i.repository, rows, "video") for i, rows in found if all(len(part) for part in rows)], dropped


def spread(items, count):
    """Half genuine, half fake, of as many repositories as there are; items are (fake, repository, anything)."""
    taken = []
    for fake in (0, 1):
        own = [i for i in items if i[0] == fake]
        firsts = list({i[1]: i for i in reversed(own)}.values())[::-1]
        chosen = {id(i) for i in firsts}
        taken += (firsts + [i for i in own if id(i) not in chosen])[: count // 2]
    return [i[2] for i in taken]


def spoken_rows(data, count):
    """Windows of real speech, for comparing frameworks: float32 count×samples."""
    trainer("speech")
    import audio
    import gather

    held, found = gather.held_out_sums(data), []
    for clip in gather.from_manifest(Path(data, "speech2.tar")):
        sums = {hashlib.sha256(clip["data"]).hexdigest(), *clip["sums"]}
        if not sums & held:
            found.append((clip["label"], clip["repository"], clip["data"]))
    return np.concatenate([audio.windows(audio.decode(body), 1) for body in spread(found, count)])


def seen_rows(data, work, weights, count, side=SIDE, margin=MARGIN):
    """Crops of real faces, for comparing frameworks: uint8 count×side×side×3."""
    trainer(".", "face")
    import data as faces
    from vision import gather

    files = [i for i in faces_of(data, work)[0] if i.path.suffix not in gather.CLIPS]
    some = spread([(i.fake, i.repository, i) for i in files], 3 * count)
    found = faces.found(some, faces.YuNet(weights / faces.DETECTOR), faces.Finder())
    crops = [(i.fake, i.repository, faces.face_crop(pixels, own[0], side, margin)) for i, pixels, own in found if own]
    return np.stack(spread(crops, count))


def moved_rows(data, work, weights, count):
    """Stretches of real clips, for comparing frameworks: uint8 count×frames×side×side×3."""
    trainer(".", "face")
    import data as faces
    from convert import stretches

    detector = faces.YuNet(weights / faces.DETECTOR)
    clips = [(i, stretches.rows(i.path, detector, faces.face_crop)) for i in few(clips_of(data, work)[0])]
    return np.stack(spread([(i.fake, i.repository, row) for i, rows in clips for row in rows], count))
