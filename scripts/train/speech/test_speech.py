"""Tests: python -m unittest speech.test_speech, from scripts/train."""

import csv
import importlib.util
import io
import sys
import tarfile
import tempfile
import unittest
import wave
from pathlib import Path
from unittest import mock

import numpy as np
import onnx
import torch
from torch import nn

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE))  # last: `gather` stays the package beside this folder

import audio  # noqa: E402
import cepstral  # noqa: E402
import classifier  # noqa: E402
import features  # noqa: E402
import folds  # noqa: E402
import network  # noqa: E402
import texture  # noqa: E402
from frontend import WINDOW, Activity, Level, Spectrum, frames  # noqa: E402

WEIGHTS = HERE.parents[2].parent / "shared" / "weights"

COLUMNS = ("path", "medium", "label", "system", "repository", "commit", "original path", "licence", "sha256", "speaker", "excerpt")


def module(name):
    """A module of this folder whose name another one has."""
    spec = importlib.util.spec_from_file_location("speech_" + name, HERE / (name + ".py"))
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def clip(repository, label, system, seconds=1.0):
    """A clip of noise."""
    x = np.random.RandomState(len(repository + system)).normal(0, 3000, int(seconds * audio.RATE))
    return dict(repository=repository, label=label, system=system, speaker="", sound=x.astype(np.int16), id=repository + system)


def sound(seed):
    """The bytes of a second of WAV."""
    out = io.BytesIO()
    with wave.open(out, "wb") as f:
        f.setparams((1, 2, audio.RATE, 0, "NONE", ""))
        f.writeframes(np.random.RandomState(seed).normal(0, 900, audio.RATE).astype("<i2").tobytes())
    return out.getvalue()


class Files(unittest.TestCase):
    """Clips were decoded from a pipe: MP3 kept its padding, so that windows lay elsewhere than the service's."""

    def test_sounds_are_as_long_as_their_files_say(self):
        with tempfile.NamedTemporaryFile() as coded:
            audio.pipe(["-i", "pipe:0", "-c:a", "libmp3lame", "-f", "mp3", "-y", coded.name], sound(1))
            self.assertEqual(len(audio.decode(Path(coded.name).read_bytes())), audio.RATE)


class Unseen(unittest.TestCase):
    """What may teach a model that is judged on other clips."""

    def test_neither_repository_nor_system(self):
        clips = [clip("a/judged", 1, "HiFiGAN(voc)"), clip("a/judged", 0, "natural"), clip("b/same", 1, "Hifi-GAN"),
                 clip("b/same", 0, "natural"), clip("c/other", 1, "VITS")]
        test = np.array([True, True, False, False, False])
        self.assertEqual(folds.unseen(clips, test).tolist(), [False, False, False, True, True])

    def test_nor_speaker(self):
        """Voices of VCTK, LibriSpeech and LJSpeech are in many repositories: a model was judged on voices that it had learned."""
        clips = [clip("a/judged", 1, "VITS"), clip("a/judged", 0, "natural"), clip("b/other", 0, "natural"), clip("c/other", 1, "Bark"), clip("d/other", 0, "natural")]
        for c, voice in zip(clips, ("VCTK:p225", "", "VCTK:p225", "VCTK:p226", "")):
            c["speaker"] = voice
        test = np.array([True, True, False, False, False])
        self.assertEqual(folds.unseen(clips, test).tolist(), [False, False, False, True, True])

    def test_nor_either_voice_of_a_conversion(self):
        """Of the two voices of a conversion only the first counted: clips of the second taught the model that was judged on it."""
        clips = [clip("a/judged", 1, "AutoVC"), clip("b/other", 0, "natural"), clip("c/other", 0, "natural"), clip("d/other", 1, "VITS"), clip("e/other", 0, "natural")]
        for c, voice in zip(clips, ("VCTK:p226|LibriSpeech:198", "LibriSpeech:198", "VCTK:p231", "VCTK:p231|VCTK:p226", "")):
            c["speaker"] = voice
        test = np.array([True, False, False, False, False])
        self.assertEqual(folds.unseen(clips, test).tolist(), [False, False, True, False, True])

    def test_a_corpus_is_unseen_as_well(self):
        """RESULTS.md says so of every clip's system, and 55 fakes that LJSpeech's model had learned from were by systems it was judged on."""
        clips = [clip("a/judged", 1, "VITS"), clip("a/judged", 0, "natural"), clip("b/other", 1, "vits"), clip("b/other", 1, "Bark"),
                 clip("b/other", 0, "natural")]
        for c, corpus in zip(clips, ("LJSpeech", "-", "-", "-", "-")):
            c["corpus"] = corpus
        [(name, train, test)] = folds.strict_splits(clips, None)
        self.assertEqual((name, train.tolist()), ("LJSpeech", [False, False, False, True, True]))
        self.assertEqual(test.tolist(), [True, False, False, False, False])

    def test_chapters_of_three_digits(self):
        """LibriSpeech has them: such clips were of no corpus, and taught the model that was to have heard nothing of it."""
        gather = module("gather")
        self.assertEqual([gather.corpus(p) for p in ("a/b/audio/198-209-0000.ogg", "a/b/1089-134686-0004.flac", "a/b/1.wav")], ["LibriSpeech", "LibriSpeech", "-"])

    def test_names_of_one_system(self):
        """VALL-E counted as unseen by a model that had learned from its reproduction, and OpenAI's voices under their other name."""
        for a, b in (("MB-MelGAN", "multi_band_melgan"), ("PWG(voc)", "parallel_wavegan"), ("YourTTS", "your tts"),
                     ("VALL-E", "VALL-E-repro"), ("OpenAI TTS", "OpenAI tts-1"), ("lbigvgan", "BigVGAN(voc)")):
            self.assertEqual(folds.system_key(a), folds.system_key(b), (a, b))
        self.assertNotEqual(folds.system_key("Tacotron2"), folds.system_key("Tacotron2+WaveGlow"))


class Shares(unittest.TestCase):
    """Intervals of the operating points."""

    def test_no_surer_than_independent_clips(self):
        """With 12 false alarms among 1,205 clips the card gave [.005, .016], and as many independent ones give [.005, .017]."""
        with mock.patch.dict(sys.modules, metrics=module("metrics")):  # ONNX Runtime has a module of that name
            calibrate = module("calibrate")
        clips = [clip(f"r{k % 20}", label, "s") for label in (0, 1) for k in range(200)]
        scores = {name: np.tile(np.linspace(-3, 3, 200), 2) for name in calibrate.POOLED}
        label, score, weight, group = calibrate.pooled(clips, scores)
        item = np.tile(np.arange(400), len(scores))
        point = calibrate.operating_points(label, score, weight, group, dict(scale=1.0, bias=0.0), item)["strict"]
        low, high = calibrate.reliability.exact_interval(2, 200)
        for name in ("false_positive_interval", "detection_interval"):
            self.assertLessEqual(point[name][0], low + 1e-9, name)
            self.assertGreaterEqual(point[name][1], high - 0.001, "200 clips, not 800 views of them")


class Lines(unittest.TestCase):
    """Random telephone lines."""

    def test_keeps_length_and_drops_what_no_line_carries(self):
        x = clip("a/b", 0, "natural", 2.0)["sound"]
        for seed in range(5):
            y = audio.line(x, np.random.RandomState(seed))
            power = np.abs(np.fft.rfft(y.astype(float))) ** 2
            hertz = np.fft.rfftfreq(len(y), 1 / audio.RATE)
            self.assertEqual((len(y), y.dtype), (len(x), np.int16))
            self.assertLess(power[hertz > 4500].sum(), 0.01 * power.sum())


class Views(unittest.TestCase):
    """Random views follow from seed and repository alone."""

    def test_repeatable(self):
        clips = [clip("a/b", 0, "natural", 5.0), clip("a/b", 1, "VITS", 1.0)]
        first, again, other = (features.view(clips, "line-0", seed) for seed in (7, 7, 8))
        self.assertTrue(all(np.array_equal(x, y) for x, y in zip(first, again)))
        self.assertFalse(np.array_equal(first[0], other[0]))
        self.assertEqual([len(x) for x in first], [audio.WINDOW] * 2)


class Classifiers(unittest.TestCase):
    """What a classifier learns, and what is strange to it."""

    def setUp(self):
        self.x = np.random.RandomState(0).normal(0, 1, (600, classifier.STATISTICS + 30)).astype(np.float32)
        self.label = (self.x[:, 0] + self.x[:, -1] > 0).astype(int)
        with mock.patch.multiple(classifier, EPOCHS=60, NETS=2):
            self.classifier = classifier.Classifier(self.x, self.label, np.ones(600))

    def test_learns_from_both_kinds_of_columns(self):
        value = classifier.score(self.classifier, self.x)
        self.assertGreater(((value > 0) == self.label).mean(), 0.95)
        for column in (0, -1):
            self.assertGreater(np.corrcoef(value, self.x[:, column])[0, 1], 0.3, column)

    def test_strange_comes_near_nothing(self):
        value, familiar = self.classifier(torch.from_numpy(self.x))
        self.assertTrue((familiar == 1).all())
        value, familiar = self.classifier(torch.from_numpy(self.x * 50))
        self.assertTrue((familiar == np.float32(classifier.LEAST)).all())
        np.testing.assert_allclose(classifier.score(self.classifier, self.x * 50), value.detach() * classifier.LEAST, atol=1e-6)

    def test_repeatable_and_divided(self):
        with mock.patch.multiple(classifier, EPOCHS=60, NETS=2):
            again = classifier.Classifier(self.x, self.label, np.ones(600))
        value = classifier.score(self.classifier, self.x)
        np.testing.assert_array_equal(classifier.score(again, self.x), value)
        np.testing.assert_allclose(classifier.score(again.divided(1.25), self.x), value / 1.25, rtol=1e-5)

    def test_rows_without_weight_teach_nothing(self):
        """Weights balance repositories and systems; a row that weighs nothing is never drawn."""
        label, weight = self.label.copy(), np.ones(600)
        label[300:], weight[300:] = 1 - label[300:], 0
        with mock.patch.multiple(classifier, EPOCHS=60, NETS=1):
            value = classifier.score(classifier.Classifier(self.x, label, weight), self.x[:300])
        self.assertGreater(((value > 0) == self.label[:300]).mean(), 0.95)


class Fixed(nn.Module):
    """A classifier that has one answer."""

    def __init__(self, *answer):
        super().__init__()
        self.answer = answer

    def forward(self, x):
        return [torch.full((len(x),), v) for v in self.answer]


class Bands(unittest.TestCase):
    """Wide and narrow sound, each judged by a classifier of its own."""

    @staticmethod
    def statistics(sounds):
        """The first columns of the statistics of int16 windows."""
        x, _ = Level()(torch.from_numpy(np.stack(sounds).astype(np.float32) / 32768))
        power = Spectrum()(x)
        return cepstral.Cepstral()(power, *Activity()(power.sum(2)))

    def test_tells_a_line(self):
        """In the telephone band AUC was .874 where nets for that band reach .897, and the graph could not tell which it is given."""
        r = np.random.RandomState(0)
        swell = np.repeat(r.uniform(0.1, 1, (40, WINDOW // 800)), 800, 1)  # every 50 ms another loudness
        sounds = [(s * r.normal(0, 3000, WINDOW)).astype(np.int16) for s in swell]
        lines = [audio.line(x, r) for x in sounds]
        named = self.statistics(sounds + lines)
        x = torch.cat(list(named.values()), 1)
        torch.testing.assert_close(x[:, classifier.VARYING], torch.cat([named["band_std"], named["band_p5"]], 1))
        narrow, taught = np.repeat([False, True], 40), np.tile(np.arange(40) < 20, 2)
        share = classifier.Band(x[taught].numpy(), narrow[taught])(x[~taught]).numpy()
        self.assertLess(share[:20].max(), 0.2)
        self.assertGreater(share[20:].min(), 0.8)

    def test_each_counts_as_far_as_the_band_is_its_own(self):
        """Narrow nets took a click for speech, and called it fake with .90: the wide ones say what is familiar."""
        pair = classifier.Pair(Fixed(2.0, 1.0), Fixed(-4.0, 0.5), nn.Flatten(0))
        value, familiar = pair(torch.tensor([[0.0], [0.5], [1.0]]))
        self.assertEqual((value.tolist(), familiar.tolist()), ([2.0, -1.0, -4.0], [1.0, 1.0, 1.0]))


class Exported(unittest.TestCase):
    """The classifiers as a graph."""

    def test_keeps_matrices_in_bytes_and_means_what_was_measured(self):
        """Twice as many nets would take 5 MB as they are, and 1.3 in 8 bits; what is measured is rounded before."""
        export, r = module("export"), np.random.RandomState(0)
        x = r.normal(0, 1, (300, classifier.STATISTICS + 30)).astype(np.float32)
        label = (x[:, 0] > 0).astype(int)
        with mock.patch.multiple(classifier, EPOCHS=2):
            wide, narrow = (classifier.Classifier(x, label, r.uniform(0, 1, 300)) for _ in range(2))
        pair = classifier.Pair(wide, narrow, classifier.Band(x, x[:, classifier.VARYING].sum(1) > 0)).eval()
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model.onnx")
            torch.onnx.export(pair, (torch.from_numpy(x[:2]),), path, input_names=["x"], output_names=["value", "familiar"],
                              opset_version=export.OPSET, dynamo=False, do_constant_folding=False, dynamic_axes={"x": {0: "batch"}})
            export.compact(path, classifier.BYTES, "nets")
            kept = {t.name: t.data_type for t in onnx.load(path).graph.initializer if np.prod(t.dims) > 1000}
            value, familiar = export.session(path).run(["value", "familiar"], {"x": x})
        in_bytes = [name for name, kind in kept.items() if kind == onnx.TensorProto.INT8]
        self.assertEqual(len(in_bytes), 2 * classifier.NETS, kept)
        self.assertTrue(all("nets" in name for name in in_bytes), kept)
        np.testing.assert_allclose(value * familiar, classifier.score(pair, x), atol=1e-5)


class Networks(unittest.TestCase):
    """Statistics of feature maps."""

    def test_deaf_to_level_and_tilt(self):
        if not (WEIGHTS / network.FILE).exists():
            self.skipTest(f"no {network.FILE} in ../shared/weights")
        net = network.Network(str(WEIGHTS))
        r = np.random.RandomState(0)
        power = torch.from_numpy(r.gamma(1, 100, (2, 398, 256)).astype(np.float32))
        power[1] = power[1] * torch.from_numpy(np.repeat(r.gamma(1, 9, (398, 1)), 256, 1).astype(np.float32))
        active = torch.ones(2, 398)
        with torch.no_grad():
            plain, louder = net(power, active), net(power * 9, active)
        self.assertEqual(plain.shape, (2, 768))
        self.assertLess((plain - louder).abs().max(), 0.02)
        self.assertGreater((plain[0] - plain[1]).abs().mean(), 0.05)


class Spectra(unittest.TestCase):
    """The folded transform."""

    def test_as_the_plain_one(self):
        x = torch.from_numpy(np.random.RandomState(0).normal(0, 0.05, (1, WINDOW)).astype(np.float32))
        want = np.abs(np.fft.rfft(frames(x, 400, 160)[0].numpy() * np.hanning(400), 512)[:, 1:]) ** 2
        np.testing.assert_allclose(Spectrum()(x)[0], want, rtol=1e-3, atol=1e-5)


class Moments(unittest.TestCase):
    """Shapes of distributions."""

    def test_of_rounding_are_nothing(self):
        """Beyond the band of a telephone there is only rounding, whose skewness and kurtosis were the processor's own: a logit
        differed by 1.2e-4 between PyTorch and ONNX Runtime."""
        r = np.random.RandomState(0)
        rounding = torch.from_numpy(-11.5 + 1e-4 * r.exponential(1, (1, 8, 256)).astype(np.float32))
        _, skew, kurtosis = texture.moments(rounding, 2)
        self.assertLess(max(skew.abs().max(), kurtosis.max()), 1e-3)
        steps = (rounding - rounding.mean())[:, 0, :, None]
        _, skew, kurtosis = texture.Dynamics.masked_moments(steps, torch.ones(1, 256))
        self.assertLess(max(skew.abs().max(), kurtosis.max()), 1e-3)

    def test_of_sound_are_what_they_were(self):
        z = torch.from_numpy(np.random.RandomState(0).exponential(1, (1, 8, 4096)).astype(np.float32))
        s, skew, kurtosis = (v.mean().item() for v in texture.moments(z, 2))
        np.testing.assert_allclose([s, skew], [1, 2], rtol=0.05)
        self.assertAlmostEqual(kurtosis, 9, delta=0.7)


class Tones(unittest.TestCase):
    """The fine structure of the spectrum: medians by shared sorting, autocorrelations by one product of matrices."""

    def test_medians_are_those_of_a_sort(self):
        for scale, rows in ((1, 3), (0.25, 2)):  # with few values that are alike, and with many
            z = torch.from_numpy(np.random.RandomState(0).normal(0, 1, (rows, 2048)).astype(np.float32))
            z = z if scale == 1 else (z / scale).round() * scale
            padded = np.pad(z.numpy(), ((0, 0), (15, 15)), mode="edge")
            want = np.median(np.lib.stride_tricks.sliding_window_view(padded, 31, axis=1), axis=2)
            np.testing.assert_array_equal(texture.Tonal.median(z), want)

    def test_autocorrelation_is_the_plain_one(self):
        z = np.cumsum(np.random.RandomState(1).normal(0, 1, (3, 2048)), axis=1)
        z -= z.mean(1, keepdims=True)
        r = np.stack([(z[:, : 2048 - lag] * z[:, lag:]).sum(1) / (z * z).sum(1) for lag in texture.LAGS], axis=1)
        got = texture.Tonal.comb(torch.from_numpy(z.astype(np.float32)))
        np.testing.assert_allclose(got, r.reshape(3, -1, 3).max(2), atol=1e-5)


class Collection(unittest.TestCase):
    """What comes in of a folder that the gathering has filled."""

    def test_shares_and_excerpts(self):
        gather, rows = module("gather"), []
        with tempfile.TemporaryDirectory() as folder:
            for i in range(gather.MOST_FAKE + 3):
                (Path(folder) / f"{i}.wav").write_bytes(sound(i))
                rows.append(dict(path=f"{i}.wav", medium="speech", label="fake", system="VITS", repository="a/b",
                                 commit="c" * 40, licence="MIT", sha256=f"{i:064x}", excerpt="")
                            | {"original path": ""})
            rows[0]["excerpt"], rows[1]["medium"] = "yes", "image"
            with open(Path(folder) / "manifest.tsv", "w", newline="") as f:
                table = csv.DictWriter(f, COLUMNS, delimiter="\t")
                table.writeheader()
                table.writerows(rows)
            found = list(gather.from_collection(folder))
        self.assertEqual([c["path"] for c in found], [f"{i}.wav" for i in range(2, 2 + gather.MOST_FAKE)])
        self.assertEqual({(c["label"], c["archived"]) for c in found}, {(1, False)})

    def test_counts_what_gathering_held_back(self):
        """The card said that no file was dropped as held out where the gathering had dropped two."""
        gather = module("gather")
        lines = ["medium\tlabel\tfiles\theld out", "image\tfake\t9\t22", "speech\tfake\t5\t2", "speech\treal\t5\t0", "dropped as held out: 24"]
        with tempfile.TemporaryDirectory() as folder:
            for name in ("speech.tar", "speech2.tar"):
                with tarfile.open(Path(folder) / name, "w") as archive:
                    if name == "speech2.tar":
                        archive.addfile(tarfile.TarInfo("MANIFEST.tsv"), io.BytesIO())
            (Path(folder) / "held-out.sha256").touch()
            (Path(folder) / "manifest.tsv").touch()
            (Path(folder) / "counts.tsv").write_text("\n".join(lines) + "\n")
            self.assertEqual(gather.gather(folder, folder), ([], 2))


if __name__ == "__main__":
    unittest.main()
