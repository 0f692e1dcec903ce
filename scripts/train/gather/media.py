"""Looking at media: what decodes, what is a picture's hash, cutting sheets into tiles."""

import io
import subprocess
import tempfile
import warnings
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

CLIPS = (".mp4", ".webm", ".mov", ".mkv", ".avi")
POINTER = b"version https://git-lfs.github.com/spec/"
SMALLEST = {"image": 160, "face": 64, "film": 160}  # shorter side in pixels
SHORTEST = 8000  # samples of speech at 16 kHz
NEAR = 4  # bits in which the hashes of two near-duplicates differ at most
Image.MAX_IMAGE_PIXELS = 150_000_000
warnings.simplefilter("ignore")


class Unfit(Exception):
    """Media that is not to be kept; the message is one of a few words to count by."""


def difference_hash(picture):
    """64 bits: whether each of 8×8 cells is brighter than its right neighbour."""
    grey = np.asarray(picture.convert("L").resize((9, 8), Image.Resampling.BOX), np.int16)
    return int(np.packbits(grey[:, 1:] > grey[:, :-1]).view(">u8")[0])


class Hashes:
    """The hashes of one label's pictures."""

    def __init__(self):
        self.known, self.count = np.zeros(1024, np.uint64), 0

    def near(self, value):
        """Whether a picture was added whose hash is close to this one."""
        distance = np.bitwise_count(self.known[: self.count] ^ np.uint64(value))
        return bool((distance <= NEAR).any())

    def add(self, value):
        """Adds one hash."""
        if self.count == len(self.known):
            self.known = np.concatenate([self.known, np.zeros_like(self.known)])
        self.known[self.count] = value
        self.count += 1


def decoded(body, enough=None):
    """The whole picture in a file's bytes as RGB, and its size; a broken one is unfit.

    A JPEG is read to its end but may come out smaller, yet no smaller than enough.
    """
    try:
        picture = Image.open(io.BytesIO(body))
        size = picture.size
        if enough:
            picture.draft("RGB", (enough, enough))
        picture.load()
        return picture.convert("RGB"), size
    except Exception as problem:  # a damaged file makes decoders raise nearly anything
        raise Unfit("undecodable") from problem


def first_frame(body, suffix):
    """The first frame of a clip, as a picture, and its size."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "clip" + suffix)
        path.write_bytes(body)
        clip = cv2.VideoCapture(str(path))
        ok, frame = clip.read()
        clip.release()
    if not ok:
        raise Unfit("undecodable")
    picture = Image.fromarray(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
    return picture, picture.size


def looked_at(body, suffix, medium):
    """The picture that a file shows; too small a one, or one of a single colour, is unfit."""
    picture, size = first_frame(body, suffix) if suffix in CLIPS else decoded(body, 64)
    if min(size) < SMALLEST[medium]:
        raise Unfit("small")
    low, high = picture.convert("L").getextrema()
    if high - low < 16:
        raise Unfit("blank")
    return picture


def cells(grid):
    """Columns, rows, and the (row, column) of those that are wanted, of COLUMNSxROWS or COLUMNSxROWS:NUMBER,NUMBER."""
    shape, _, wanted = grid.partition(":")
    columns, rows = (int(part) for part in shape.split("x"))
    numbers = [int(n) - 1 for n in wanted.split(",")] if wanted else range(columns * rows)
    return columns, rows, [divmod(n, columns) for n in numbers]


def tiles(body, suffix, grid):
    """Yields (row, column, suffix, bytes) of the tiles of a sheet, or of a clip of panels, which have equal sizes."""
    columns, rows, wanted = cells(grid)
    if suffix in CLIPS:
        for row, column in wanted:
            yield row, column, ".mkv", panel(body, suffix, f"iw/{columns}:ih/{rows}:iw/{columns}*{column}:ih/{rows}*{row}")
        return
    sheet, _ = decoded(body)
    width, height = sheet.width // columns, sheet.height // rows
    for row, column in wanted:
        tile = sheet.crop((column * width, row * height, (column + 1) * width, (row + 1) * height))
        out = io.BytesIO()
        tile.save(out, "PNG")
        yield row, column, ".png", out.getvalue()


def panel(body, suffix, area):
    """Frames of a part of a clip, two a second of its first ten, without further loss."""
    with tempfile.TemporaryDirectory() as folder:
        whole, part = Path(folder, "clip" + suffix), Path(folder, "panel.mkv")
        whole.write_bytes(body)
        run = subprocess.run(
            ["ffmpeg", "-nostdin", "-v", "error", "-threads", "1", "-t", "10", "-i", str(whole), "-an",
             "-vf", f"fps=2,crop={area}", "-c:v", "ffv1", "-fflags", "+bitexact", "-flags", "+bitexact", str(part)], check=False,
        )
        if run.returncode or not part.exists():
            raise Unfit("undecodable")
        return part.read_bytes()


def check_sound(body, suffix):
    """Fails for what ffmpeg does not decode, for short sounds and for silence."""
    with tempfile.NamedTemporaryFile(suffix=suffix) as file:
        file.write(body)
        file.flush()
        run = subprocess.run(
            ["ffmpeg", "-nostdin", "-v", "error", "-threads", "1", "-i", file.name, "-vn", "-t", "4",
             "-f", "s16le", "-ar", "16000", "-ac", "1", "pipe:1"], capture_output=True,
        )
    sound = np.frombuffer(run.stdout[: len(run.stdout) // 2 * 2], "<i2")
    if run.returncode and not len(sound):
        raise Unfit("undecodable")
    if len(sound) < SHORTEST:
        raise Unfit("small")
    if np.abs(sound.astype(np.int32)).max() < 100:
        raise Unfit("blank")
