"""The work of one request, as deepfaked does it: decode, cut, run, fuse.

All Python peers use this one module, so that what differs between them is how they
serve. It takes JPEG pictures without a face and WAV files of 16 kHz, mono, 16 bits
of 2 to 64 seconds; anything else is an error, so that no peer does less than it should
without being noticed.
"""

import json
import math
import os
import statistics
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
import onnxruntime

ROWS = {"image-synthesis": 8, "face-detection": 1, "speech-synthesis": 8}  # of one run at most
SIDE = 1280  # of a picture's longer side
RATE = 16000
# Where models run, with the settings of inference/ort: on a GPU in TF32.
PROVIDERS = {
    "cpu": ["CPUExecutionProvider"],
    "cuda": [("CUDAExecutionProvider", {"cudnn_conv_algo_search": "HEURISTIC", "arena_extend_strategy": "kSameAsRequested", "use_tf32": "1"})],
}
OVERFLOWS = "_vnni" not in Path("/proc/cpuinfo").read_text()  # sums of bytes; see inference/ort/bytesums.go
BACKDROP = 128
SMALLEST_FACE = 80

cv2.setNumThreads(1)  # as deepfaked's decoders: there are as many workers as files at a time


@dataclass
class Prepared:
    """One file: the rows for each model by its task."""

    kind: str
    rows: dict
    shares: list = field(default_factory=list)  # of each row of the picture model in its log-odds
    side: float = math.inf  # pixels, the shorter one of a picture


class Work:
    """The models, ready to run. It is safe for concurrent use."""

    def __init__(self, models=None, threads=None):
        models = Path(models or os.environ["PEER_MODELS"])
        self.threads = int(threads or os.environ["PEER_THREADS"])
        self.provider = os.environ.get("PEER_PROVIDER", "cpu")
        self.most = ROWS | json.loads(os.environ.get("PEER_ROWS", "{}"))
        self.cards, self.sessions = {}, {}
        for card in sorted(models.glob("*/card.json")):
            told = json.loads(card.read_text())
            self.cards[told["task"]] = told
            file = (told.get("variants", [told])[0] if self.provider == "cpu" else told)["file"]  # on a processor in 8 bits, as the service runs it
            self.sessions[told["task"]] = self._session(str(card.parent / file))
        self.fusion = json.loads((models / "fusion.json").read_text())
        for task, size in self.most.items():
            for n in range(1, size + 1):
                self._run(task, self._pattern(task, n))

    def _pattern(self, task, n):
        card = self.cards[task]
        some = np.random.default_rng(1).random([n, *card["input"]["shape"][1:]], np.float32)
        return (some * 255).astype(np.uint8) if card["input"]["type"] == "uint8" else some * 0.1

    def _session(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.inter_op.allow_spinning", "0")
        options.enable_mem_pattern = False
        if OVERFLOWS:
            options.add_session_config_entry("session.x64quantprecision", "1")
        session = onnxruntime.InferenceSession(path, options, providers=PROVIDERS[self.provider])
        if self.provider != "cpu" and session.get_providers()[0] == "CPUExecutionProvider":
            raise RuntimeError(f"ONNX Runtime does not run on {self.provider} here, and would run on the processor instead")
        return session

    def _run(self, task, rows):
        card = self.cards[task]
        return self.sessions[task].run([card["output"]["name"]], {card["input"]["name"]: rows})[0]

    def prepare(self, content):
        """Decodes a file and cuts it into the rows that the models take."""
        content = bytes(content)
        if content[:4] == b"RIFF":
            card = self.cards["speech-synthesis"]
            return Prepared("audio", {"speech-synthesis": windows(samples(content), card["preprocessing"]["window_samples"])})
        image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
        if image is None or max(image.shape[:2]) > SIDE:
            raise ValueError(f"not a picture of at most {SIDE} pixels")
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        card = self.cards["image-synthesis"]
        side = self.cards["face-detection"]["input"]["shape"][1]
        rows = tiles(image, card["input"]["shape"][1], card["preprocessing"]["tiles"])
        shares = [1 / len(rows)] * len(rows)
        if card["preprocessing"].get("overview") and (whole := overview(image, card["input"]["shape"][1])) is not None:
            rows, shares = [*rows, whole], [*(share / 2 for share in shares), 0.5]
        return Prepared("image", {"image-synthesis": rows, "face-detection": [view(image, side)]}, shares, min(image.shape[:2]))

    def judge(self, files):
        """Judges files together: rows of all go into the same runs."""
        outputs = {}
        for task in sorted({task for f in files for task in f.rows}):
            rows, most = [row for f in files for row in f.rows.get(task, ())], self.most[task]
            outputs[task] = np.concatenate(
                [self._run(task, np.stack(rows[i : i + most])) for i in range(0, len(rows), most)]
            )
        at = dict.fromkeys(outputs, 0)
        answers = []
        for f in files:
            own = {}
            for task, rows in f.rows.items():
                own[task] = outputs[task][at[task] : at[task] + len(rows)]
                at[task] += len(rows)
            answers.append(self._conclude(f, own))
        return answers

    def answer(self, content):
        """Judges one file alone."""
        return self.judge([self.prepare(content)])[0]

    def cheapest(self, sizes=(1, 2, 4, 8), times=7):
        """The rows of a run for each model at which a row takes least processor time."""
        return {
            task: min(sizes, key=lambda n: self._cost(task, n, times)) if most > 1 else 1 for task, most in self.most.items()
        }

    def _cost(self, task, n, times):
        rows, took = self._pattern(task, n), []
        for _ in range(times):
            start = time.process_time()
            self._run(task, rows)
            took.append(time.process_time() - start)
        return statistics.median(took) / n

    def _conclude(self, f, outputs):
        if f.kind == "audio":
            card = self.cards["speech-synthesis"]
            log_odds = calibrated(card, np.mean(outputs["speech-synthesis"], dtype=np.float64))
            return told(f.kind, log_odds, card["calibration"]["limits"], card)
        self._refuse_faces(outputs["face-detection"])
        pooled = np.dot(np.ravel(outputs["image-synthesis"]).astype(np.float64), f.shares)
        alone = self.fusion["alone"]
        log_odds = alone["scale"] * calibrated(self.cards["image-synthesis"], pooled, f.side) + alone["bias"]
        return told(f.kind, log_odds, alone["limits"], self.fusion)

    def _refuse_faces(self, boxes):
        threshold = self.cards["face-detection"]["detection"]["threshold"]
        sure = boxes[..., 0] >= math.log(threshold / (1 - threshold))
        longer = np.maximum(boxes[..., 3] - boxes[..., 1], boxes[..., 4] - boxes[..., 2])
        if np.any(sure & (longer * 2 >= SMALLEST_FACE)):
            raise ValueError("the picture shows a face, which only deepfaked judges")


def calibrated(card, pooled, side=math.inf):
    """Log-odds of fake from what the rows come to together; side is the shorter one of a picture, in pixels."""
    c = card["calibration"]
    if sizes := c.get("sizes"):
        at = [math.log(s["side"]) for s in sizes]
        c = {name: np.interp(math.log(side), at, [s[name] for s in sizes]) for name in ("scale", "bias")}
    return float(c["scale"] * float(pooled) + c["bias"])


def told(kind, log_odds, limits, card):
    """The answer to a client, at equal priors."""
    points = card.get("operating_points_by_medium", {}).get(kind, card["operating_points"])
    threshold = points["balanced"]["threshold"]
    line = math.log(threshold / (1 - threshold))
    fake = log_odds >= line
    bounded, bounded_line = (min(max(x, limits[0]), limits[1]) for x in (log_odds, line))
    beyond = max(bounded - bounded_line if fake else bounded_line - bounded, 0)
    return {"verdict": "fake" if fake else "real", "confidence": min(round(1 / (1 + math.exp(-beyond)), 4), 0.9999),
            "probability_fake": 1 / (1 + math.exp(-bounded)), "media_type": kind}


def samples(content):
    """Those of a plain WAV file, as floats."""
    at, form = 12, None
    while at + 8 <= len(content):
        name, size = struct.unpack_from("<4sI", content, at)
        if name == b"fmt ":
            form = struct.unpack_from("<HHIIHH", content, at + 8)
        if name == b"data":
            if form is None or form[:3] != (1, 1, RATE) or form[5] != 16:
                raise ValueError("not a WAV file of 16 kHz, one channel and 16 bits")
            size = min(size, len(content) - at - 8) // 2 * 2
            return np.frombuffer(content, "<i2", size // 2, at + 8).astype(np.float32) / 32768
        at += 8 + size + size % 2
    raise ValueError("a WAV file without samples")


def windows(sound, size):
    """Spread over the sound, the first at its start and the last at its end."""
    count = min(16, (len(sound) + size // 2) // size)
    if count < 2:
        raise ValueError("a sound that is shorter than two windows")
    starts = [i * (len(sound) - size) // (count - 1) for i in range(count)]
    return [sound[s : s + size] for s in starts]


def tile_grid(width, height, side, most):
    """Columns and rows of tiles: that of scripts/train/vision."""
    columns = rows = 1
    while True:
        wider = columns < -(-width // side) and (columns + 1) * rows <= most
        taller = rows < -(-height // side) and columns * (rows + 1) <= most
        if wider and (width * rows >= height * columns or not taller):
            columns += 1
        elif taller:
            rows += 1
        else:
            return columns, rows


def tiles(image, side, most):
    """Of side by side pixels, spread evenly from edge to edge."""
    height, width = image.shape[:2]
    if min(height, width) < side:
        raise ValueError(f"a picture below {side} pixels")
    columns, rows = tile_grid(width, height, side, most)

    def start(room, i, n):
        return room // 2 if n == 1 else room * i // (n - 1)

    return [
        image[y : y + side, x : x + side]
        for y in (start(height - side, r, rows) for r in range(rows))
        for x in (start(width - side, c, columns) for c in range(columns))
    ]


def overview(image, side):
    """The middle of the picture, reduced by the factor that brings its shorter side nearest to side; None for a small one."""
    by = (2 * min(image.shape[:2]) + side) // (2 * side)
    if by < 2:
        return None
    small = reduced(image, by)
    if min(small.shape[:2]) < side:
        raise ValueError("a picture whose overview has to be reflected")
    y, x = ((v - side) // 2 for v in small.shape[:2])
    return small[y : y + side, x : x + side]


def view(image, side):
    """The whole picture, reduced by a whole factor, on a backdrop."""
    small = reduced(image, max(1, -(-max(image.shape[:2]) // side)))
    out = np.full((side, side, 3), BACKDROP, np.uint8)
    out[: small.shape[0], : small.shape[1]] = small
    return out


def reduced(image, by):
    """Each pixel the mean of a block."""
    if by == 1:
        return image
    height, width = (v // by for v in image.shape[:2])
    return cv2.resize(image[: height * by, : width * by], (width, height), interpolation=cv2.INTER_AREA)


if __name__ == "__main__":
    print(json.dumps(Work(threads=1).cheapest()))
