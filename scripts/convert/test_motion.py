"""Tests of the detector of motion: python -m unittest convert.test_motion, from scripts/."""

import json
import os
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import torch
import torch.nn as nn

from convert import folder, landmarks, lrnet, media, published, stretches
from convert.errors import ConversionError
from convert.test_convert import random_weights

SHARED = Path(__file__).resolve().parents[3] / "shared"
WEIGHTS, MEDIA = (Path(os.environ.get(name, SHARED / folder)) for name, folder in (("WEIGHTS", "weights"), ("MEDIA", "data")))
STEP = 1 / 128  # of the scale that the tests keep tensors at


def as_published():
    """Names and shapes of the published tensors, in no particular order."""
    for block, (before, after) in enumerate(zip(landmarks.WIDTHS, landmarks.WIDTHS[1:])):
        for layer in range(4):
            name, own = f"dense{block}/conv{layer}", before if layer == 0 else after
            yield f"{name}/bias", [after]
            if block == layer == 0:
                yield f"{name}/filters", [3, 3, own, after]
            else:
                yield f"{name}/depthwise_filter", [3, 3, own, 1]
                yield f"{name}/pointwise_filter", [1, 1, own, after]
    yield "fc/weights", [256, 136]
    yield "fc/bias", [136]


def write_shard(path, scale=STEP):
    """Writes a manifest and a shard of random tensors into the folder path; returns them by name, as TensorFlow keeps them."""
    random, entries, body, arrays = np.random.default_rng(0), [], b"", {}
    for name, shape in as_published():
        codes = random.integers(0, 256, shape, np.uint8)
        entries.append({"name": name, "shape": shape, "dtype": "float32", "quantization": {"dtype": "uint8", "scale": scale, "min": -1.0}})
        body += codes.tobytes()
        arrays[name] = codes * np.float32(scale) - 1
    (path / landmarks.MANIFEST).write_text(json.dumps([{"weights": entries, "paths": [landmarks.SHARD]}]))
    (path / landmarks.SHARD).write_bytes(body)
    return arrays


def convolved(x, kernel, stride):
    """A 3×3 convolution of H×W×C by a kernel of TensorFlow's layout, 3×3×C×D, the way TensorFlow pads at that stride."""
    before = 0 if stride == 2 else 1
    height, width = x.shape[0] // stride, x.shape[1] // stride
    wide = np.pad(x, ((before, 1), (before, 1), (0, 0)))
    result = np.zeros((height, width, kernel.shape[3]))
    for i in range(height):
        for j in range(width):
            result[i, j] = np.tensordot(wide[i * stride : i * stride + 3, j * stride : j * stride + 3], kernel, 3)
    return result


def of_tensorflow(x, arrays):
    """What the published network makes of a crop H×W×3, by plain NumPy."""

    def layer(x, block, number):
        get = lambda kind: arrays[f"dense{block}/conv{number}/{kind}"]
        stride = 2 if number == 0 else 1
        if block == number == 0:
            return convolved(x, get("filters"), stride) + get("bias")
        each = [convolved(x[..., [c]], get("depthwise_filter")[:, :, [c]], stride) for c in range(x.shape[2])]
        return np.concatenate(each, 2) @ get("pointwise_filter")[0, 0] + get("bias")

    x = (x - np.array(landmarks.MEAN)) / 255
    for block in range(4):
        parts = [np.maximum(layer(x, block, 0), 0)]
        for number in (1, 2, 3):
            parts.append(layer(np.maximum(sum(parts), 0), block, number))
        x = np.maximum(sum(parts), 0)
    return (x.mean((0, 1)) @ arrays["fc/weights"] + arrays["fc/bias"]).reshape(68, 2)


class Landmarks(unittest.TestCase):
    """The network of face-api.js out of its published files."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.source = Path(scratch.name)

    def test_codes(self):
        entry = {"name": "x", "dtype": "float32", "shape": [3, 1], "quantization": {"dtype": "uint8", "scale": 0.5, "min": -2.0}}
        got = landmarks.dequantised(entry, np.array([0, 4, 255], np.uint8))
        np.testing.assert_array_equal(got, np.array([[-2.0], [0.0], [125.5]], np.float32))

    def test_against_numpy(self):
        """A small crop shows every layer: the convolutions do not mind its size."""
        arrays = write_shard(self.source, STEP / 8)
        crop = np.random.default_rng(1).integers(0, 256, (16, 16, 3), np.uint8)
        with torch.no_grad():
            got = landmarks.load(self.source)(torch.from_numpy(crop[None]))[0].numpy()
        expected = of_tensorflow(crop, arrays)
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())

    def test_other_files(self):
        def manifest(change):
            def apply():
                path = self.source / landmarks.MANIFEST
                groups = json.loads(path.read_text())
                change(groups[0]["weights"])
                path.write_text(json.dumps(groups))
            return apply

        shard = lambda change: lambda: (self.source / landmarks.SHARD).write_bytes(change((self.source / landmarks.SHARD).read_bytes()))
        cases = {
            "too short": (shard(lambda b: b[:-1]), "ends within fc/bias"),
            "too long": (shard(lambda b: b + b"x"), "goes on after its last tensor"),
            "not in 8 bits": (manifest(lambda w: w[0].pop("quantization")), "not kept in 8 bits"),
            "in 16 bits": (manifest(lambda w: w[0]["quantization"].update(dtype="uint16")), "not kept in 8 bits"),
            "another network": (manifest(lambda w: w[0].update(name="dense0/conv9/bias")), "do not fit the network"),
            "no manifest": (lambda: (self.source / landmarks.MANIFEST).write_text("no manifest"), "can't be read as the manifest"),
        }
        for name, (spoil, sentence) in cases.items():
            with self.subTest(name):
                write_shard(self.source)
                spoil()
                with self.assertRaisesRegex(ConversionError, sentence):
                    landmarks.load(self.source)


class Finder(nn.Module):
    """Stands for the network of the landmarks: gives those that it was made with."""

    def __init__(self, points):
        super().__init__()
        self.points = points

    def forward(self, pixels):
        """As many as there are crops."""
        assert pixels.shape[0] == self.points.shape[0], "every frame of every stretch is a crop of its own"
        return self.points


class Reader(nn.Module):
    """Stands for a recurrent network: remembers what it is given."""

    def forward(self, x):
        """Zeros."""
        self.given = x.numpy()
        return torch.zeros(x.shape[0])


class Motion(unittest.TestCase):
    """From landmarks to the log-odds."""

    def setUp(self):
        self.points = np.random.default_rng(2).uniform(0.1, 0.9, (2, lrnet.FRAMES, 68, 2)).astype(np.float32)

    def reference(self):
        """What the authors make of landmarks, by plain NumPy."""
        result = np.zeros_like(self.points)
        for stretch, own in zip(self.points, result):
            longer = np.mean([max(frame[:, 0].max() - frame[:, 0].min(), frame[:, 1].max() - frame[:, 1].min()) for frame in stretch])
            for frame, out in zip(stretch, own):
                for axis in (0, 1):
                    middle = (frame[:, axis].max() + frame[:, axis].min()) / 2
                    out[:, axis] = (frame[:, axis] - middle) / (0.6 * longer)
        return result

    def test_normalised(self):
        got = lrnet.normalised(torch.from_numpy(self.points)).numpy()
        np.testing.assert_allclose(got, self.reference(), atol=1e-5)

    def test_a_moving_or_larger_crop_changes_nothing(self):
        moved = self.points * 1.7 + np.random.default_rng(3).uniform(-1, 1, (2, lrnet.FRAMES, 1, 2)).astype(np.float32)
        np.testing.assert_allclose(lrnet.normalised(torch.from_numpy(moved)), self.reference(), atol=1e-5)

    def test_what_each_network_reads(self):
        network = lrnet.Motion().eval()
        network.finder, network.places, network.changes = Finder(torch.from_numpy(self.points).flatten(0, 1)), Reader(), Reader()
        network(torch.zeros(2, lrnet.FRAMES, 4, 4, 3, dtype=torch.uint8))
        expected = self.reference().reshape(2, lrnet.FRAMES, 136)
        np.testing.assert_allclose(network.places.given, expected, atol=1e-5)
        np.testing.assert_allclose(network.changes.given, np.diff(expected, axis=1), atol=1e-5)

    def test_together(self):
        chance = lambda x: 1 / (1 + np.exp(-np.array(x, np.float64)))
        one, other = np.array([-3.0, 0, 2, 8]), np.array([1.0, 0, -2, 9])
        mean = (chance(one) + chance(other)) / 2
        got = lrnet.together(torch.tensor(one), torch.tensor(other)).numpy()
        np.testing.assert_allclose(got, np.log(mean / (1 - mean)), atol=1e-6)
        far = lrnet.together(torch.tensor([-500.0, 500.0]), torch.tensor([-500.0, 500.0])).numpy()
        np.testing.assert_allclose(far, [-lrnet.SUREST, lrnet.SUREST], atol=1e-3)

    def test_recurrent(self):
        """Both directions by NumPy: fake is the second class, and each begins with its own learned state."""
        network, x = random_weights(lrnet.Recurrent()), np.random.default_rng(4).normal(size=(3, 5, 136))
        own = {name: value.double().numpy() for name, value in network.state_dict().items()}
        sigmoid, linear = lambda v: 1 / (1 + np.exp(-v)), lambda v, name: v @ own[f"{name}.weight"].T + own[f"{name}.bias"]
        last = []
        for number, end in enumerate(("l0", "l0_reverse")):
            state = np.repeat(own["begin"][number], 3, 0)
            for frame in range(5)[:: 1 - 2 * number]:
                given = (x[:, frame] @ own[f"gru.weight_ih_{end}"].T + own[f"gru.bias_ih_{end}"]).reshape(3, 3, -1)
                kept = (state @ own[f"gru.weight_hh_{end}"].T + own[f"gru.bias_hh_{end}"]).reshape(3, 3, -1)
                reset, update = sigmoid(given[:, 0] + kept[:, 0]), sigmoid(given[:, 1] + kept[:, 1])
                state = (1 - update) * np.tanh(given[:, 2] + reset * kept[:, 2]) + update * state
            last.append(state)
        both = np.concatenate(last, 1)
        logits = linear(both + linear(np.maximum(linear(both, "wide"), 0), "narrow"), "out")
        with torch.no_grad():
            got = network(torch.from_numpy(x.astype(np.float32))).numpy()
        np.testing.assert_allclose(got, logits[:, 1] - logits[:, 0], atol=1e-4)

    def test_rows_of_the_card(self):
        own = published.ALL["lrnet"]
        self.assertEqual(own.input, {"name": "pixels", "type": "uint8", "shape": [-1, 30, 112, 112, 3]})
        self.assertEqual(own.preprocessing, {"margin": landmarks.MARGIN, "frames": 30})


class Gathered(unittest.TestCase):
    """Files that are published in several places are read from one folder."""

    def test_copies(self):
        with tempfile.TemporaryDirectory() as scratch:
            mirror, work = Path(scratch, "mirror"), Path(scratch, "work")
            for name in ("one/a", "two/b"):
                (mirror / name).parent.mkdir(parents=True)
                (mirror / name).write_text(name)
            several = SimpleNamespace(name="both", folders=("one", "two"), files=("a", "b"))
            single = SimpleNamespace(name="first", folders=("one",), files=("a",))
            for _ in range(2):
                source = folder.gathered(several, mirror, work)
                self.assertEqual({p.name: p.read_text() for p in source.iterdir()}, {"a": "one/a", "b": "two/b"})
            self.assertEqual(folder.gathered(single, mirror, work), mirror / "one")
            (mirror / "two/b").unlink()
            self.assertFalse((folder.gathered(several, mirror, work) / "b").exists(), "what is published no longer is not kept")


class Detector:
    """Stands for YuNet: finds what it was told to in the frames of that brightness."""

    def __init__(self, found):
        self.found = found

    def faces(self, frame):
        """The largest first."""
        return self.found.get(int(frame[0, 0, 0]), [])

    def largest(self, frame):
        """The first of them."""
        return next(iter(self.faces(frame)), None)


class Stretches(unittest.TestCase):
    """Which frames of a clip are judged, and where the face is in them."""

    def test_starts(self):
        self.assertEqual([stretches.starts(n) for n in (0, 29, 30, 59, 60)], [[], [], [0], [14], [0, 30]])
        for total in range(30, 400):
            found = stretches.starts(total)
            self.assertEqual(len(found), min(stretches.MOST, total // 30))
            self.assertGreaterEqual(found[0], 0)
            self.assertLessEqual(found[-1] + 30, total)
            self.assertTrue(all(b - a >= 30 for a, b in zip(found, found[1:])))

    def test_frames_follow_one_another(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = str(Path(scratch, "clip.avi"))
            out = cv2.VideoWriter(path, cv2.VideoWriter_fourcc(*"FFV1"), 25, (1280, 96))
            for k in range(70):
                out.write(np.full((96, 1280, 3), (0, 0, 3 * k), np.uint8))
            out.release()
            found = list(stretches.stretches(path))
        self.assertEqual([len(s) for s in found], [30, 30])
        self.assertEqual({f.shape for s in found for f in s}, {(48, 640, 3)})
        for stretch, first in zip(found, stretches.starts(70)):
            red = np.array([frame[..., 0].mean() for frame in stretch])
            np.testing.assert_allclose(red, 3 * np.arange(first, first + 30), atol=2)

    def test_small_frames_are_not_enlarged(self):
        self.assertEqual(stretches.reduced(np.zeros((100, 200, 3), np.uint8)).shape, (100, 200, 3))

    def test_the_face_between(self):
        frames = [np.full((4, 4, 3), k, np.uint8) for k in range(30)]
        first, middle, last = (10, 20, 100, 100), (40, 20, 100, 130), (54, 20, 128, 130)
        other = (300, 300, 90, 90)
        found = {0: [other, first], 15: [middle, other], 29: [other, last]}
        boxes = stretches.followed(frames, Detector(found))
        self.assertEqual(boxes.shape, (30, 4))
        np.testing.assert_allclose(boxes[[0, 15, 29]], [[10, 20, 110, 120], [40, 20, 140, 150], [54, 20, 182, 150]])
        np.testing.assert_allclose(boxes[[5, 22]], [[20, 20, 120, 130], [47, 20, 161, 150]])
        for gone in (0, 15, 29):
            with self.subTest(gone):
                self.assertIsNone(stretches.followed(frames, Detector({k: v for k, v in found.items() if k != gone})))
        self.assertIsNone(stretches.followed(frames, Detector(found | {0: [other, (200, 20, 100, 100)]})), "elsewhere is another face")

    def test_how_much_overlap_is_enough(self):
        box = np.array([0.0, 0, 100, 100])
        for right, expected in ((53, True), (55, False)):  # intersection over union .307 and .290
            with self.subTest(right):
                self.assertEqual(stretches.nearest(box, [(right, 0, 100, 100)]) is not None, expected)

    def test_crops(self):
        """Crops are cut about the middle of the box, the margin wider."""
        asked = []
        cut = lambda frame, face, side, margin: asked.append((face, side, margin)) or np.zeros((side, side, 3), np.uint8)
        row = stretches.row([None] * 30, np.tile([10.0, 20, 110, 140], (30, 1)), cut)
        self.assertEqual(row.shape, (30, 112, 112, 3))
        self.assertEqual(asked[0], ((10.0, 20.0, 100.0, 120.0), 112, landmarks.MARGIN))

    def test_few(self):
        """As many methods of a repository as there are, and no more of its clips than of others' recordings."""
        item = lambda repository, fake, rank: SimpleNamespace(repository=repository, fake=fake, rank=rank)
        files = [item("a", 1, k) for k in range(20)] + [item("a", 0, 3), item("b", 1, 7)] + [item("a", 1, 0)] * 3
        own = media.few(files)
        self.assertEqual(sorted((i.repository, i.fake) for i in own), [("a", 0)] + [("a", 1)] * media.MOST + [("b", 1)])
        self.assertEqual(sorted(i.rank for i in own if (i.repository, i.fake) == ("a", 1)), [0, 0, 0, 0, 1, 2, 3, 4])


class Published(unittest.TestCase):
    """The published weights, on real faces."""

    def test_landmarks_are_where_a_face_has_them(self):
        for path in (WEIGHTS / "landmark68", MEDIA / "images2.tar", MEDIA / "held-out.sha256"):
            if not path.exists():
                self.skipTest(f"{path} is not here: the comparison needs the published weights and real media")
        with tempfile.TemporaryDirectory() as work:
            rows = media.moved_rows(MEDIA, Path(work), WEIGHTS, 20)
        with torch.no_grad():
            points = landmarks.load(WEIGHTS / "landmark68")(torch.from_numpy(rows[:, 15])).numpy()
        right, left, brows, nose, mouth, chin = (points[:, part].mean(1) for part in (
            slice(36, 42), slice(42, 48), slice(17, 27), slice(27, 36), slice(48, 68), slice(8, 9),
        ))
        self.assertTrue((right[:, 0] < left[:, 0]).all())
        for above, below in ((brows, right), (brows, left), (right, nose), (left, nose), (nose, mouth), (mouth, chin)):
            self.assertTrue((above[:, 1] < below[:, 1]).all())
        self.assertTrue(((points > -0.2) & (points < 1.2)).all())


if __name__ == "__main__":
    unittest.main()
