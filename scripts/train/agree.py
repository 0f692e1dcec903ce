"""Compares the service with the training scripts: the log-odds of the same files, judged by either.

python agree.py --data DATA --work WORK [--program bin/deepfaked] [--files 30]

Real pictures, films, faces and sounds are judged as they are, pictures and
sounds saved in other formats too. A difference means that the service decodes, cuts or scales otherwise
than what its models were measured with. The areas under the curve are of files
that the models have seen: only their difference says something.
"""

import argparse
import contextlib
import hashlib
import json
import math
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "speech"), str(HERE / "face"), str(HERE)]  # gather is speech's, not the package

import needs

with needs.packages():
    import audio
    import cv2
    import data as faces
    import gather as sounds
    import numpy as np
    import onnxruntime
    import stretch
    from PIL import Image
    from sklearn.metrics import roc_auc_score
    from vision import gather as pictures
    from vision.canonical import canonical, coded_lossily, overview, overview_factor, rgb, tiles_of
    from vision.finder import Finder
    from vision.sizes import TOP, levelled

MODELS = HERE.parents[1] / "models" / "builtin"
MOST = 900  # windows that the service takes from a sound
FILM_TILES, FRAME_TILES = 48, 4  # that it takes from a film, and at least from a frame
SMALLEST = 80  # pixels of the smallest face that it judges
# name: ending of the file, longer side or None for its own, options of Pillow
PICTURES = {
    "PNG": (".png", None, {}),
    "PNG, transparent": (".png", None, {"alpha": True}),
    "WebP, lossy": (".webp", None, {"quality": 80}),
    "JPEG, 1,900 pixels": (".jpg", 1900, {"quality": 92}),
    "JPEG, 150 pixels": (".jpg", 150, {"quality": 85}),
    "JPEG, turned by EXIF": (".jpg", None, {"quality": 90, "turn": 6}),
}
SOUNDS = {
    "WAV": (".wav", []),
    "WAV, 44.1 kHz stereo": (".wav", ["-ar", "44100", "-ac", "2"]),
    "WAV, 48 kHz, 24 bits": (".wav", ["-ar", "48000", "-c:a", "pcm_s24le"]),
    "WAV, 8 kHz mu-law": (".wav", ["-ar", "8000", "-c:a", "pcm_mulaw"]),
    "MP3, 64 kbit/s": (".mp3", ["-ar", "44100", "-b:a", "64k"]),
    "AAC in MP4": (".m4a", ["-ar", "44100", "-b:a", "96k"]),
    "Opus": (".ogg", ["-ar", "48000", "-c:a", "libopus", "-b:a", "24k"]),
}


class Model:
    """A built-in model outside of the service."""

    def __init__(self, name):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.card = json.loads((MODELS / name / "card.json").read_text())
        self.session = onnxruntime.InferenceSession(str(MODELS / name / "model.onnx"), options)

    def log_odds(self, *scales, side=TOP):
        """Calibrated mean of the means of the rows of each scale of one piece, a frame of so many pixels on its shorter side."""
        name = self.card["input"]["name"]
        mean = np.mean([self.session.run(None, {name: rows})[0].mean() for rows in scales])
        calibration = self.card["calibration"]
        return calibration["scale"] * float(levelled(calibration, side, mean)) + calibration["bias"]


    def of_sound(self, windows):
        """Calibrated log-odds of a sound, in all windows of which somebody speaks."""
        calibration = self.card["calibration"]
        logits = np.concatenate([self.session.run(None, {self.card["input"]["name"]: windows[i:i + 16]})[0] for i in range(0, len(windows), 16)])
        return stretch.of_sound(self.card, calibration["scale"] * logits.reshape(-1) + calibration["bias"])


def service(program, paths, task):
    """What the service found for the task in each file, or None."""
    printed = subprocess.run([program, "detect", "--json", "--quality", "fast", "--precision", "full", *map(str, paths)], stdout=subprocess.PIPE, check=False).stdout
    for line in printed.decode().splitlines():
        found = json.loads(line).get("report", {}).get("findings", [])
        yield next((f for f in found if f["task"] == task), None)


def odds(finding):
    """Log-odds of a finding, without limits, or of a piece, within the model's."""
    p = finding["probability_fake"]
    return finding.get("log_odds", math.log(p / (1 - p)))


def spread(items, count):
    """At most count items, evenly over the list."""
    return [items[i * len(items) // count] for i in range(count)] if len(items) > count else items


def row(name, pairs, labels=()):
    """Prints one row of the table from (service, training) pairs of log-odds."""
    if not pairs:
        print(f"| {name} | 0 | | | |")
        return
    # Rounded, as what the limits make equal is to count as equal.
    ours, theirs = np.array(pairs).round(9).T
    off, auc = np.abs(ours - theirs), ""
    if len(set(labels)) == 2:
        auc = f"{roc_auc_score(labels, ours):.4f} / {roc_auc_score(labels, theirs):.4f}"
    print(f"| {name} | {len(pairs)} | {np.median(off):.1e} | {off.max():.1e} | {auc} |", flush=True)


def listed(options, names, suffixes=(".jpg", ".jpeg", ".png")):
    """What may be looked at of the archives: files with one of the suffixes."""
    with contextlib.redirect_stdout(sys.stderr):
        pictures.unpack(options.data, options.work, names)
        items, _ = pictures.allowed(pictures.listed(options.work, names), options.data / "held-out.sha256")
    return [i for i in items if i.path.suffix.lower() in suffixes]


def seen(path):
    """The canonical picture of a file."""
    image = Image.open(path)
    return canonical(rgb(image), coded_lossily(image, path.read_bytes()))


def scales(pixels, tiles):
    """The rows of a canonical picture: its tiles and, where it is large enough, its overview."""
    return [tiles_of(pixels, tiles)] + ([overview(pixels)[None]] if overview_factor(pixels) > 1 else [])


def saved(path, folder, kind):
    """The picture of path saved as another kind of file."""
    suffix, longer, options = PICTURES[kind]
    image, options = Image.fromarray(rgb(Image.open(path))), dict(options)
    if longer:
        image = image.resize([max(1, round(v * longer / max(image.size))) for v in image.size], Image.Resampling.BICUBIC)
    if options.pop("alpha", False):
        image.putalpha(Image.linear_gradient("L").resize(image.size))
    if turn := options.pop("turn", 0):
        options["exif"] = Image.Exif()
        options["exif"][0x0112] = turn
    target = folder / (hashlib.sha256((kind + str(path)).encode()).hexdigest()[:16] + suffix)
    image.save(target, **options)
    return target


def compare_pictures(options, folder):
    """Rows of image-synthesis."""
    model = Model("image")
    items = [i for i in listed(options, ("images", "images2")) if not i.label.startswith("face")]

    def judged(name, paths, labels=()):
        """Prints the row of one format."""
        found = service(options.program, paths, "image-synthesis")
        row(name, [(odds(f), model.log_odds(*scales(shown := seen(p), model.card["preprocessing"]["tiles"]), side=min(shown.shape[:2])))
                   for p, f in zip(paths, found, strict=True)], labels)

    chosen = spread(items, 10 * options.files)
    judged("picture as it is", [i.path for i in chosen], [i.fake for i in chosen])
    for kind in PICTURES:
        judged(kind, [saved(i.path, folder, kind) for i in spread(items, options.files)])


def frames_at(path, seconds):
    """The canonical frame of a film at each of the times, decoded as in training."""
    clip, times, frames = cv2.VideoCapture(str(path)), [], []
    while (read := clip.read())[0]:
        times.append(clip.get(cv2.CAP_PROP_POS_MSEC) / 1000)
        frames.append(read[1])
    clip.release()
    nearest = [int(np.abs(np.array(times) - at).argmin()) for at in seconds]
    return [canonical(cv2.cvtColor(frames[k], cv2.COLOR_BGR2RGB), True) for k in nearest]


def compare_films(options):
    """Rows of image-synthesis in films: the frames that the service takes, within the model's limits as its pieces are."""
    model, single, whole, labels = Model("image"), [], [], []
    items = spread(listed(options, ("images2", "video"), pictures.CLIPS), 2 * options.files)
    for item, finding in zip(items, service(options.program, [i.path for i in items], "image-synthesis"), strict=True):
        if not finding:
            continue
        found = frames_at(item.path, [p["at_seconds"] for p in finding["pieces"]])
        tiles = max(1, min(model.card["preprocessing"]["tiles"], max(FRAME_TILES, FILM_TILES // len(found))))
        own = [model.log_odds(*scales(pixels, tiles), side=min(pixels.shape[:2])) for pixels in found]
        single += zip(map(odds, finding["pieces"]), np.clip(own, *model.card["calibration"]["limits"]))
        whole.append((odds(finding), np.mean(own)))
        labels.append(item.fake)
    row("film, a frame by itself", single)
    row("film", whole, labels)


def compare_faces(options):
    """Rows of face-manipulation: the same boxes, then each side's own of the largest face."""
    model, finder = Model("face"), Finder()
    items = [i for i in listed(options, ("images2", "faces")) if i.label.startswith("face")]
    items = spread(items, 10 * options.files)
    same, own, labels, there = [], [], [], 0

    def judge(pixels, box):
        """The model's log-odds of one face, within its limits as those of the service's pieces are."""
        return np.clip(model.log_odds(faces.row_for(model.card, pixels, box)[None]), *model.card["calibration"]["limits"])

    for item, finding in zip(items, service(options.program, [i.path for i in items], "face-manipulation"), strict=True):
        pixels = seen(item.path)
        boxes = [b for b in finder.faces(pixels) if max(b[2:]) >= SMALLEST]
        pieces = finding["pieces"] if finding else []
        same += [(odds(p), judge(pixels, p["box"])) for p in pieces]
        there += bool(boxes)
        if boxes and pieces:
            own.append((odds(pieces[0]), judge(pixels, boxes[0])))
            labels.append(item.fake)
    row("face, the service's box", same)
    row(f"face, own boxes of the largest ({there} found by the training's scripts)", own, labels)


def compare_sounds(options, folder):
    """Rows of speech-synthesis."""
    model, held, clips = Model("speech"), sounds.held_out_sums(options.data), []
    for source in (sounds.from_folders(options.data / "speech.tar"), sounds.from_manifest(options.data / "speech2.tar")):
        clips += [c for c in source if not {hashlib.sha256(c["data"]).hexdigest(), *c["sums"]} & held]
    chosen, paths = spread(clips, 5 * options.files), []
    for k, clip in enumerate(chosen):
        paths.append(folder / f"{k}.flac")
        paths[-1].write_bytes(clip["data"])

    def judged(name, paths, labels=()):
        """Prints the row of one format."""
        pairs = []
        for path, finding in zip(paths, service(options.program, paths, "speech-synthesis"), strict=True):
            raw = audio.pipe(["-i", str(path), "-vn", *audio.PCM, "pipe:1"], b"")
            pairs.append((odds(finding), model.of_sound(audio.windows(np.frombuffer(raw, "<i2"), MOST))))
        row(name, pairs, labels)

    judged("sound as it is (FLAC)", paths, [c["label"] for c in chosen])
    for kind, (suffix, coding) in SOUNDS.items():
        coded = []
        for path in spread(paths, options.files):
            coded.append(path.with_name(path.stem + "-" + kind.replace("/", " ") + suffix))
            audio.pipe(["-y", "-i", str(path), *coding, str(coded[-1])], b"")
        judged(kind, coded)


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path, help="folder of the archives and held-out.sha256")
    parser.add_argument("--work", required=True, type=Path, help="folder for what is made on the way")
    parser.add_argument("--program", default="bin/deepfaked", help="the built service")
    parser.add_argument("--files", default=30, type=int, help="files of each format")
    options = parser.parse_args()
    folder = options.work / "agree"
    folder.mkdir(parents=True, exist_ok=True)
    print("| files | number | median difference | largest | AUC of service / training |\n|---|---|---|---|---|")
    compare_pictures(options, folder)
    compare_films(options)
    compare_faces(options)
    compare_sounds(options, folder)


if __name__ == "__main__":
    main()
