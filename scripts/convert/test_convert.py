"""Tests: python -m unittest convert.test_convert, from scripts/."""

import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import h5py
import numpy as np
import torch
import torch.nn as nn

from convert import __main__ as command
from convert import aasist, card, classnseg, figures, graph, lrnet, measure, mesonet, published, rawgat, spectral, weights
from convert.errors import ConversionError
from convert.media import MOVED, SEEN, Item

SCRIPTS = Path(__file__).resolve().parents[1]
SHAPE = {
    "filts": [70, [1, 32], [32, 32], [32, 24], [24, 24]], "gat_dims": [24, 32], "pool_ratios": [0.4, 0.5, 0.7, 0.5],
    "temperatures": [2.0, 2.0, 100.0, 100.0],
}
POINT = {"false_positive_rate": 0.05, "threshold": 0.5, "detection_rate": 0.5, "detection_interval": [0.4, 0.6]}
LEVELS = ("strict", "balanced", "sensitive")
MEASURED = {"set": "a set", "condition": "clean", "auc": 0.7, "auc_interval": [0.6, 0.8], "eer": 0.3, "real": 20, "fake": 30}


def random_weights(network, seed=0):
    """Fills a network with random numbers and puts it into eval mode."""
    generator = torch.Generator().manual_seed(seed)
    for name, value in network.state_dict().items():
        if value.is_floating_point():
            fan = value[0].numel() if value.ndim > 1 and value.shape[0] > 1 else value.numel()
            drawn = torch.rand(value.shape, generator=generator)
            value.copy_(drawn + 0.5 if value.ndim == 1 and "bias" not in name else (drawn * 2 - 1) * fan**-0.5)
    return network.eval()


def settled(network, rows):
    """The network with its norms set to what they see in the rows, so that signals neither vanish nor explode."""
    for layer in network.modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            layer.momentum = 1.0
    with torch.no_grad():
        network.train()(torch.from_numpy(rows))
    return network.eval()


def facts(files=None, low=0.6):
    """What measured.json holds of one detector."""
    return {
        "files": files or {}, "measured": [MEASURED | {"auc_interval": [low, 0.8]}],
        "genuine_called_fake": 0.82, "fakes_called_fake": 0.9,
        "calibration": {"method": "platt", "scale": 0.3, "bias": 0.1},
        "operating_points": {level: POINT for level in LEVELS}, "held_out_dropped": 0,
    }


KERAS = {
    "conv2d": {"weight": "kernel", "bias": "bias"},
    "dense": {"weight": "kernel", "bias": "bias"},
    "batch_normalization": {
        "weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance",
    },
}


def keras_file(path, network, first=5):
    """Writes a network's weights the way Keras 2 does, its layers numbered from first."""
    with h5py.File(path, "w") as file:
        for kind, names in KERAS.items():
            for number, layer in enumerate(network.layers(kind), first):
                for name, stored in names.items():
                    value = getattr(layer, name).detach().numpy()
                    if stored == "kernel":
                        value = value.transpose(2, 3, 1, 0) if value.ndim == 4 else value.T
                    file[f"{kind}_{number}/{kind}_{number}/{stored}:0"] = value


class Networks(unittest.TestCase):
    """The graphs of all families, with random weights: they agree with PyTorch whatever the batch."""

    def check(self, network, rows):
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch, "model.onnx")
            expected = graph.framework(network, rows)
            graph.write(network, rows[:1], path, "x")
            runtime = graph.session(path)
            for batch in (1, len(rows)):
                got = graph.run(runtime, rows, batch)
                self.assertEqual(got.shape, (len(rows),))
                np.testing.assert_allclose(got, expected, atol=1e-4, rtol=1e-4)
            self.assertGreater(np.ptp(expected), 0)

    def test_speech(self):
        rows = np.random.default_rng(0).uniform(-0.5, 0.5, (2, 64_000)).astype(np.float32)
        for name, network in {"aasist": aasist.AASIST(SHAPE, 64_000), "rawgat": rawgat.RawGAT(64_000)}.items():
            with self.subTest(name):
                self.check(settled(random_weights(network), rows), rows)

    def test_faces(self):
        rows = np.random.default_rng(0).integers(0, 256, (3, 256, 256, 3), np.uint8)
        networks = {"meso4": mesonet.Meso(False), "mesoinception": mesonet.Meso(True), "classnseg": classnseg.ClassNSeg()}
        for name, network in networks.items():
            with self.subTest(name):
                self.check(settled(random_weights(network), rows), rows)

    def test_motion(self):
        rows = np.random.default_rng(0).integers(0, 256, (3, 30, 112, 112, 3), np.uint8)
        self.check(random_weights(lrnet.Motion()), rows)

    def test_training_mode_is_refused(self):
        with self.assertRaisesRegex(ValueError, "training mode"):
            graph.write(mesonet.Meso(False).train(), np.zeros((1, 256, 256, 3), np.uint8), "never.onnx", "pixels")


class Front(unittest.TestCase):
    """Rows of the service's length are repeated to the network's own, longer ones cut."""

    def test_length(self):
        samples = torch.from_numpy(np.random.default_rng(1).uniform(-1, 1, (1, 130_000)).astype(np.float32))
        own = random_weights(spectral.Front(spectral.LENGTH))
        for count in (20_000, 64_000, spectral.LENGTH, 130_000):
            with self.subTest(count):
                front = spectral.Front(count)
                front.load_state_dict(own.state_dict())
                row = samples[:, :count]
                repeated = row.repeat(1, 4)[:, : spectral.LENGTH]
                self.assertTrue(torch.equal(front.eval()(row), own(repeated)))

    def test_filters_pass_their_own_band(self):
        response = np.abs(np.fft.rfft(spectral.band_passes()[:, 0].numpy(), 4096))
        peaks = response.argmax(1)
        self.assertEqual(response.shape[0], spectral.FILTERS)
        self.assertTrue((np.diff(peaks[5:]) > 0).all())


class Weights(unittest.TestCase):
    """Weights go where they belong, and others are refused in a sentence."""

    def test_keras(self):
        for name, inception, first in (("Meso4_X", False, 5), ("MesoInception_X", True, 8)):
            with self.subTest(name), tempfile.TemporaryDirectory() as scratch:
                network = random_weights(mesonet.Meso(inception))
                keras_file(Path(scratch, name + ".h5"), network, first)
                rows = np.random.default_rng(0).integers(0, 256, (2, 256, 256, 3), np.uint8)
                loaded = mesonet.load(Path(scratch), name)
                np.testing.assert_array_equal(graph.framework(loaded, rows), graph.framework(network, rows))

    def test_other_layers(self):
        with tempfile.TemporaryDirectory() as scratch:
            keras_file(Path(scratch, "Meso4_X.h5"), mesonet.Meso(True))
            with self.assertRaisesRegex(ConversionError, "16 conv2d layers, not 4"):
                mesonet.load(Path(scratch), "Meso4_X")

    def test_torch(self):
        network = random_weights(nn.Linear(3, 1))
        renamed = {"old." + name: value for name, value in network.state_dict().items()} | {"unused.bn1.weight": torch.zeros(1)}
        filled = weights.fill(nn.Linear(3, 1), renamed, (("old.", ""),), (".bn1.",))
        self.assertTrue(torch.equal(filled.weight, network.weight))
        self.assertFalse(filled.training)
        with self.assertRaisesRegex(ConversionError, "do not fit"):
            weights.fill(nn.Linear(3, 1), {"weight": torch.zeros(1, 4)})

    def test_not_weights(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch, "x")
            path.write_bytes(b"no weights")
            with self.assertRaisesRegex(ConversionError, "PyTorch weights"):
                weights.state(path)
            path.rename(path.with_suffix(".h5"))
            with self.assertRaisesRegex(ConversionError, "Keras weights"):
                mesonet.load(Path(scratch), "x")


class Folder(unittest.TestCase):
    """The model folder and its card."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.source = Path(scratch.name, "source")
        self.source.mkdir()
        self.out = Path(scratch.name, "out", "meso4-df")
        keras_file(self.source / "Meso4_DF.h5", random_weights(mesonet.Meso(False)))
        own = facts({"Meso4_DF.h5": weights.digest(self.source / "Meso4_DF.h5")})
        patch = mock.patch.object(figures, "kept", lambda: {"meso4-df": own})
        patch.start()
        self.addCleanup(patch.stop)

    def run_command(self, *arguments):
        """What the command says as it fails; empty when it succeeds."""
        with mock.patch("sys.argv", ["convert", *map(str, arguments)]), contextlib.redirect_stderr(io.StringIO()):
            try:
                command.main()
            except SystemExit as stop:
                return stop.code
        return ""

    def test_card(self):
        self.assertEqual(self.run_command("meso4-df", "--source", self.source, "--out", self.out), "")
        made = json.loads((self.out / "card.json").read_text())
        self.assertEqual(made["sha256"], weights.digest(self.out / "model.onnx"))
        self.assertEqual(made["input"], {"name": "pixels", "type": "uint8", "shape": [-1, 256, 256, 3]})
        runtime = graph.session(self.out / "model.onnx")
        golden = graph.run(runtime, graph.golden_row((256, 256, 3), "uint8"))[0]
        self.assertAlmostEqual(made["golden"]["output"], float(golden), places=4)
        self.assertIn("82% of the genuine", made["description"])

    def test_failures(self):
        cases = {
            "no such detector": (("nobody", "--source", self.source), "no detector called nobody"),
            "file missing": (("meso4-df", "--source", self.out), "has no Meso4_DF.h5"),
            "no face finder there": (("yunet", "--source", self.source), "No such file"),
            "never measured": (("classnseg", "--source", self.source), "never measured"),
        }
        for name, (arguments, sentence) in cases.items():
            with self.subTest(name):
                said = self.run_command(*arguments, "--out", self.out)
                self.assertIn(sentence, said)
                self.assertEqual(said.count("\n"), 0)
                self.assertFalse((self.out / "card.json").exists())

    def test_other_file_than_measured(self):
        keras_file(self.source / "Meso4_DF.h5", random_weights(mesonet.Meso(False), seed=1))
        said = self.run_command("meso4-df", "--source", self.source, "--out", self.out)
        self.assertIn("not the file that was measured", said)

    def test_lines_of_media_are_on_the_card(self):
        """Clips of published detectors were judged by the line of pictures, as their cards had no other."""
        own = figures.kept()["meso4-df"]
        own["operating_points_by_medium"] = {"video": {level: POINT for level in LEVELS}}
        self.assertEqual(self.run_command("meso4-df", "--source", self.source, "--out", self.out), "")
        made = json.loads((self.out / "card.json").read_text())
        self.assertEqual(made["operating_points_by_medium"], own["operating_points_by_medium"])

    def test_no_skill_is_said(self):
        self.assertIn("No skill", card.skill(facts(low=0.48)))
        self.assertNotIn("No skill", card.skill(facts(low=0.52)))

    def test_all_media_are_said(self):
        own = facts()
        own["measured"] = [MEASURED | {"set": f"{kind} of the archives"} for kind in ("faces in pictures", "clips")]
        self.assertIn("AUC 0.70 [0.60, 0.80] on 20 genuine and 30 fake faces in pictures; AUC 0.70", card.skill(own))


class Measured(unittest.TestCase):
    """What measured.json says of scores."""

    def judged(self, task, media):
        """Facts of 200 genuine and 200 fake items of each medium, whose scores lie about an offset of their own."""
        random, items, values = np.random.RandomState(0), [], []
        for medium, offset in media.items():
            for k in range(400):
                items.append(Item(k % 2, f"{medium} {k % 40}", [], medium))
                values.append(offset + k % 2 + random.normal(size=2))
        return np.array([i.medium for i in items]), np.array(values), measure.facts(items, np.array(values), 3, task)

    def test_each_medium_has_its_line(self):
        """One line for both media was right for neither: of scores a unit apart it took most alarms from the one that lies higher."""
        medium, values, own = self.judged(published.FACES, {"image": 0.0, "video": 1.0})
        chances = 1 / (1 + np.exp(-(own["calibration"]["scale"] * values + own["calibration"]["bias"])))
        genuine = np.arange(len(medium)) % 2 == 0
        for name, points in own["operating_points_by_medium"].items():
            alarms = (chances[genuine & (medium == name)] >= points["balanced"]["threshold"]).mean()
            self.assertAlmostEqual(alarms, 0.05, delta=0.005)
        both = chances >= own["operating_points"]["balanced"]["threshold"]
        self.assertGreater(both[genuine & (medium == "video")].mean(), 2 * both[genuine & (medium == "image")].mean())
        self.assertEqual([(r["set"].split(" of ")[0], r["condition"], r["real"]) for r in own["measured"]], [
            ("faces in pictures", "clean", 200), ("faces in pictures", SEEN[1], 200), ("clips", "clean", 200), ("clips", MOVED[1], 200),
        ])

    def test_one_medium_has_one_line(self):
        _, _, own = self.judged(published.SPEECH, {"audio": 0.0})
        self.assertNotIn("operating_points_by_medium", own)
        self.assertEqual(len(own["measured"]), 2)
        self.assertEqual(own["held_out_dropped"], 3)

    def test_claims_no_more_than_the_set_supports(self):
        """No card of a published detector had limits: one sure item could have been told with a certainty that 200 cannot give."""
        _, _, own = self.judged(published.SPEECH, {"audio": 0.0})
        low, high = own["calibration"]["limits"]
        self.assertTrue(-np.log(201) <= low <= 0 <= high <= np.log(201))


class Kept(unittest.TestCase):
    """measured.json and requirements.txt belong to what is beside them."""

    def test_measured(self):
        for name, own in figures.kept().items():
            with self.subTest(name):
                self.assertEqual(set(own["files"]), set(published.ALL[name].files))
                self.assertGreater(own["calibration"]["scale"], 0)
                limits = [own["operating_points"][level]["threshold"] for level in LEVELS]
                self.assertEqual(limits, sorted(limits, reverse=True))
                self.assertTrue(own["measured"])

    def test_requirements(self):
        pins = lambda path: set(re.findall(r"^[a-z0-9-]+==\S+$", path.read_text(), re.MULTILINE))
        own, trained = pins(SCRIPTS / "convert" / "requirements.txt"), pins(SCRIPTS / "train" / "requirements.txt")
        self.assertEqual({p.split("==")[0] for p in own - trained}, {"h5py"})


class Packages(unittest.TestCase):
    def test_a_missing_package_is_named(self):
        """Without PyTorch --help ended in a traceback, and said nothing of requirements.txt. -S leaves all packages out."""
        said = subprocess.run([sys.executable, "-S", "-m", "convert", "--help"], cwd=SCRIPTS, capture_output=True, text=True)
        self.assertRegex(said.stderr, r"^The Python package torch is missing: pip install -r .*convert/requirements\.txt\n$")


if __name__ == "__main__":
    unittest.main()
