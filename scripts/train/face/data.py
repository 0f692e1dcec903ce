"""Faces for face-manipulation: gathering, crops, statistics, scoring."""

import copy
import hashlib
import pickle
from pathlib import Path

import cv2
import numpy as np

from blend import self_blend
from detect import YuNet
from vision import card, export, gather, judge, store
from vision.canonical import LONGEST, canonical, compress, shrink
from vision.finder import Finder, nearest
from vision.shortcuts import sharpness

NAME = "deepfaked-face"
SIZE = 224  # pixels, side of the crops the model takes
SHAPE = (2, SIZE, SIZE, 3)  # of a row: a face, and a wider crop of it
TAPS = (5, 7)  # blocks of the transformer
NARROW = (2, 4)  # dimensions of the weights that are kept in 8 bits: of matrices, and of the convolution that makes patches
MARGIN = 1.3  # side of the crop over the longer side of the face box
SURROUND = 2.6  # the same of the wider one
SMALLEST = 56  # pixels; smaller faces are left out
FRAMES = 4  # of a clip
MOST = 40  # pictures of a repository's method or source
CLIPS = 12  # clips of the same
GENERATED = 12  # pictures of a generator in a repository, to see what becomes of faces that are drawn altogether
ALIKE = 40  # bits of 256; faces that differ in no more are one
DETECTOR = "yunet/yunet_n_dynamic.onnx"
ARCHIVES = ("images2", "images", "faces", "video")
BLENDED = "self-blended"
WHOLE = (  # generated altogether
    "stylegan", "stylegan (by look)", "stylegan2", "stylegan2-finetuned", "stylegan2-ada-ffhq", "gan-face-mixed", "flux", "gram", "gram-hd", "gghead", "epigraf", "discofacegan", "next3d",
)
LEFT_OUT = (  # paintings, and small films that networks of 2018 to 2022 generated altogether, another model's task: with them other faces are told less well
    "paintings by people", "digan", "stylegan-v", "stylefacev", "mmvid (celebv-text)", "mocogan-hd", "mocogan-hd + eg3d", "mocogan-hd + stylenerf",
    "3dvidgen", "3dvidgen + eg3d", "3dvidgen (mead)", "pv3d", "pv3d (editing)", "pv3d (inversion, animation)",
)
OTHERS = "other photographs"
KINDS = (  # parts of the names of sources of genuine faces, each with its kind: the first that fits
    ("driving", "driving clips"), ("expressi", "driving clips"), ("paint", "art"), ("anime", "art"), ("comic", "art"), ("illustration", "art"), ("drawing", "art"),
    ("restoration", "old or degraded"), ("degraded", "old or degraded"), ("old photo", "old or degraded"), ("film scan", "old or degraded"),
    ("interview", "speech clips"), ("speech", "speech clips"), ("speaker", "speech clips"), ("talk", "speech clips"), ("lip", "speech clips"), ("lrs", "speech clips"),
    ("mead", "speech clips"), ("sign language", "speech clips"), ("voxceleb", "speech clips"), ("celebv", "speech clips"),
    ("tv", "television and film"), ("television", "television and film"), ("film", "television and film"), ("cinema", "television and film"), ("movie", "television and film"),
    ("stream", "television and film"), ("youtube", "television and film"), ("target clip", "television and film"), ("source video", "television and film"),
    ("webcam", "recordings"), ("liveness", "recordings"), ("recording", "recordings"), ("selfie", "recordings"), ("phone", "recordings"),
    ("celeb", "celebrities"), ("politician", "celebrities"), ("press", "celebrities"), ("ffhq", "FFHQ"), ("flickr", "FFHQ"), ("stock", "stock"), ("portrait", "portraits"),
    ("clip", "other clips"), ("video", "other clips"),
)
# Parts of names, each with the method that they are of: versions, settings and sets too near to count as unseen.
FAMILIES = {
    "ff-": "ff", "ff+": "ff", "gan-face": "stylegan", "first-order-model": "fomm", **{name: name for name in (
        "photoshop", "stylegan", "dfdc", "deepfacelab", "simswap", "wav2lip", "sadtalker", "liveportrait", "aniportrait", "edtalk",
        "hallo", "echomimic", "fomm", "inswapper", "portrait4d", "gram", "styleswap",
    )},
}


def load(data, work, weights, more=None):
    """Returns the faces and the blended copies, the statistics of each, and how many files were dropped as held out."""
    if not kept(work).exists():
        items, dropped = listed(data, work, more)
        kept(work).write_bytes(pickle.dumps((looked_at(items, work, weights), dropped)))
    stored, dropped = pickle.loads(kept(work).read_bytes())
    for medium in ("image", "face") if more else ():
        dropped += gather.held_out(more, medium)
    faces = distinct([i for i in stored if i.label != "fake"])
    for item in faces:
        item.family, item.medium, item.kind = family(item), "clip" if item.clip else "picture", kind(item)
    paired(faces)
    items = faces + blended(faces)
    return items, [features(i) for i in items], dropped


def kind(item):
    """Of genuine faces the kind that the name of their source says, by which false alarms are counted; of others nothing."""
    name = item.generator.lower()
    return "" if item.fake else next((kind for part, kind in KINDS if part in name), OTHERS)


def paired(items):
    """Marks the faces of repositories that have both: mostly results of a method, and what went into it."""
    both = {i.repository for i in items if i.fake} & {i.repository for i in items if not i.fake}
    for item in items:
        item.pair = item.repository if item.repository in both else ""


def kept(work):
    """The file of what was found."""
    return Path(work, "face.pickle")


def drawn(work):
    """Faces in pictures that are generated as a whole, another model's task: they are neither trained on nor count in a figure."""
    return [i for i in pickle.loads(kept(work).read_bytes())[0] if i.label == "fake"]


def listed(data, work, more):
    """The files that are looked at, and how many were dropped as held out."""
    gather.unpack(data, work, ARCHIVES)
    items = (list(gather.collected(more, "face")) if more else []) + gather.listed(work, ARCHIVES, more)
    items, dropped = gather.allowed(relabelled(items, more), Path(data, "held-out.sha256"))
    items = [i for i in gather.ranked(items) if i.rank < most(i)]
    own = chosen(items)
    return [i for i in items if i.repository in own], dropped


def most(item):
    """How many files are taken of a repository's method or source."""
    return GENERATED if item.label == "fake" else CLIPS if item.clip else MOST


def relabelled(items, more):
    """Faces are face_real or face_fake, whole pictures real or fake."""
    for item in items:
        if more and Path(more, "face") in item.path.parents:
            item.label = "face_" + item.label
    return [i for i in items if i.generator not in LEFT_OUT]


def chosen(items):
    """The repositories that are used: all that hold fakes or were gathered for their faces, and a third of the others, which a hash decides and which suffices."""
    third = {i.repository for i in items if int(hashlib.sha256(i.repository.encode()).hexdigest()[:8], 16) % 3 == 0}
    return third | {i.repository for i in items if i.fake or i.label == "face_real"}


def family(item):
    """What may not be trained on where it is judged: a method in every repository; of genuine faces the repository alone.

    The same public sets of genuine faces are the inputs of most methods: to leave them out everywhere would leave little.
    """
    name = item.generator.lower()
    return next((method for part, method in FAMILIES.items() if part in name), name) if item.fake else item.repository


def found(items, detector, finder):
    """Yields every picture or frame as (item, pixels at canonical size, faces that are large enough).

    Faces are those that the service finds, the largest first. Landmarks, which blending
    needs, are YuNet's, and what that does not take for a face is none.
    """
    for item in items:
        for one, pixels in gather.pictures(item, FRAMES):
            pixels, smaller = shrink(pixels, LONGEST)
            one.lossy = one.lossy and not smaller
            marked = [(box, nearest(detector.faces(pixels), box)) for box in finder.faces(pixels) if max(box[2:]) >= SMALLEST]
            yield one, pixels, [box + face[4:] for box, face in marked if face]


def looked_at(items, work, weights):
    """Decodes once; keeps the row of the largest face of each picture or frame, and its statistics."""
    graph = Path(work, "face-statistics.onnx")
    export.export(plain(weights), graph, SHAPE)
    made = store.every(faces_of, items, Path(work, "face-base"), begin, (graph, weights / DETECTOR))
    stored = [face for faces in made for face in faces]
    print(f"{len(stored)} faces, {sum(i.fake for i in stored)} of them fake", flush=True)
    return stored


TOOLS = {}  # of a process of the pool: the graph of statistics, and the detectors of faces


def begin(graph, detector):
    """Readies a process of the pool."""
    card.one_thread()
    TOOLS.update(run=export.runner(graph), detector=YuNet(detector), finder=Finder())


def faces_of(item, base):
    """The face of a picture, or those of frames of a clip, kept."""
    frames = enumerate(found([item], TOOLS["detector"], TOOLS["finder"]))
    return [keep(one, pixels, faces[0], f"{base}-{k}", store.seed(base) + k) for k, (one, pixels, faces) in frames if faces]


def plain(weights):
    """The untouched network, with its weights as they are served, comparing a face with what is about it."""
    return judge.Compared(export.rounded(judge.Statistics(weights / card.BACKBONE, TAPS).eval(), NARROW))


def keep(item, pixels, face, base, seed):
    """Keeps the row under each condition, and of a genuine picture that of a self-blended copy, and the statistics of all."""
    item.base, item.face = base, face
    rows = {"own": rows_of(conditions(pixels, item.lossy, face, TOOLS["finder"]))}
    if not item.fake:
        random = np.random.RandomState(seed)
        copied = self_blend(pixels, np.array(face[4:]).reshape(5, 2), random)
        rows["made"] = rows_of(conditions(copied, item.lossy, face, TOOLS["finder"]))
    item.traits = [sharpness(crop) for crop, _ in rows["own"]]
    np.savez(f"{base}.npz", **rows)
    np.savez(f"{base}.statistics.npz", **{name: TOOLS["run"](part).astype(np.float16) for name, part in rows.items()})
    return item


def conditions(pixels, lossy, face, finder):
    """The canonical picture as it is, and after JPEG q60 at no more than 768 pixels, each with the face where the service finds it."""
    clean = canonical(pixels, lossy)
    small, _ = shrink(clean, 768)
    factor = small.shape[1] / clean.shape[1]
    both = (clean, face), (compress(small, 60), [v * factor for v in face])
    return [(picture, nearest(finder.faces(picture), box) or box) for picture, box in both]


def rows_of(pictures):
    """The row of each (picture, face), N×2×224×224×3."""
    return np.stack([row_of(pixels, face) for pixels, face in pictures])


def row_of(pixels, face):
    """The crop of a face and a wider one."""
    return np.stack([face_crop(pixels, face, SIZE, margin) for margin in (MARGIN, SURROUND)])


def row_for(facts, pixels, face):
    """The row of a face that a card asks for."""
    shape, given = facts["input"]["shape"][1:], facts["preprocessing"]
    margins = [given[name] for name in ("margin", "surround") if name in given]
    return np.stack([face_crop(pixels, face, shape[-2], margin) for margin in margins]).reshape(shape)


def face_crop(pixels, face, size, margin=MARGIN):
    """The square about the face, edge pixels repeated outside the picture, scaled to size×size.

    Its side is margin times the longer side of the box, rounded; its corner
    the rounded centre of the box less half of that.
    """
    x, y, width, height = face[:4]
    longer = max(width, height)
    side = max(2, round(margin * longer))
    left = round(x + width / 2 - side / 2)
    top = round(y + height / 2 - side / 2)
    across, down = (np.clip(np.arange(o, o + side), 0, n - 1) for o, n in ((left, pixels.shape[1]), (top, pixels.shape[0])))
    square = np.ascontiguousarray(pixels[down[0] : down[-1] + 1, across[0] : across[-1] + 1])
    square = square[down - down[0]][:, across - across[0]]
    return cv2.resize(square, (size, size), interpolation=cv2.INTER_AREA if side > size else cv2.INTER_LINEAR)


def fingerprint(crop):
    """256 bits of a crop that stay the same when it is compressed."""
    small = cv2.resize(cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY), (17, 17), interpolation=cv2.INTER_AREA).astype(int)
    return (small[:16, 1:] > small[:16, :-1]).ravel()


def distinct(items):
    """The faces less copies of genuine or of manipulated ones of another repository, which no fold would keep apart."""
    left, prints, owners = [], np.zeros((0, 256), bool), np.zeros((0, 2), object)
    for item in items:
        own, owner = fingerprint(rows(item)[0][0]), [item.fake, item.repository]
        near = ((prints != own).sum(1) <= ALIKE) & (owners[:, 0] == item.fake) & (owners[:, 1] != item.repository)
        if not near.any():
            left.append(item)
            prints, owners = np.vstack([prints, own]), np.vstack([owners, np.array(owner, object)])
    print(f"{len(left)} of {len(items)} faces are no copies of another repository's", flush=True)
    return left


def blended(items):
    """Twins of the genuine faces: self-blended copies of them, to train on."""
    made = []
    for item in items:
        if not item.fake:
            twin = copy.copy(item)
            twin.label, twin.generator, twin.family, twin.made, twin.judged = "face_fake", BLENDED, BLENDED, True, False
            made.append(twin)
    return made


def rows(item):
    """The row under each condition."""
    with np.load(item.base + ".npz") as archive:
        return archive["made" if item.made else "own"]


def features(item):
    """The statistics of a face by the kind of row: as it is, as shared; there is no overview."""
    with np.load(item.base + ".statistics.npz") as archive:
        return by_condition(archive["made" if item.made else "own"])


def by_condition(own):
    """The statistics of a face under each condition as heads are trained on them."""
    return {"clean": own[:1], "tiles": own[1:], "overview": own[:0], "overviews": own[:0]}


def score_rows(run, parts):
    """The logit of a face under each condition, from its statistics."""
    return [float(run(parts[name])[0]) for name in ("clean", "tiles")]


def score(run, item):
    """The same by a graph, from the rows that were kept."""
    return run(rows(item)).tolist()


def check_row(item):
    """One row of input, for the comparison with PyTorch."""
    return rows(item)[0]


def seen(item):
    """What the classifier that sees no content is given, under each condition."""
    return item.traits
