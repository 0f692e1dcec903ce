"""Tests: python -m unittest gather.test_gather, from scripts/train."""

import hashlib
import io
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

import speakers
from gather import media, table
from gather.collect import Collector
from gather.known import ARCHIVES

HEADER = "medium\tlabel\tsystem\trepository\tcommit\tpath\tlicence of the repository\tsha256\n"


def picture(seed, size=(320, 240)):
    """The bytes of a PNG of smooth random colours."""
    small = np.random.default_rng(seed).integers(0, 255, (6, 8, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(small).resize(size, Image.Resampling.BICUBIC).save(out, "PNG")
    return out.getvalue()


def source(pattern, **more):
    """A row of genuine pictures of the repository that the tests make."""
    row = {
        "repository": "me/photos", "commit": "HEAD", "pattern": pattern, "medium": "image", "label": "real",
        "system": "camera", "licence": "MIT", "most": 9,
    }
    return table.Source(**{**row, **more})


class Patterns(unittest.TestCase):
    """What the patterns of sources.tsv mean."""

    def test_folders_and_exclusions(self):
        paths = ["a/1.jpg", "a/b/2.JPG", "a/b/2-thumb.jpg", "c/3.png"]
        self.assertEqual(table.matching(paths, "a/*.jpg"), ["a/1.jpg"])
        self.assertEqual(table.matching(paths, "a/**/*.jpg|!**/*-thumb.jpg"), ["a/1.jpg", "a/b/2.JPG"])
        self.assertEqual(table.matching(paths, "**/?.png|a/1*"), ["a/1.jpg", "c/3.png"])

    def test_sources_table_is_sound(self):
        rows = list(table.listed(Path(__file__).with_name("sources.tsv")))
        self.assertTrue(rows)
        for row in rows:
            self.assertRegex(row.commit, "^[0-9a-f]{40}$")
            self.assertTrue(row.system and row.licence and row.pattern, row)


class Gathering(unittest.TestCase):
    """A repository made here, gathered."""

    def setUp(self):
        """Makes data without media, and a mirror with one repository."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.top = Path(temporary.name)
        (self.top / "more.tsv").write_text(HEADER)
        for name in ARCHIVES:
            tarfile.open(self.top / name, "w").close()
        self.files = {f"{k}.png": picture(k) for k in range(5)}
        near = io.BytesIO()
        Image.open(io.BytesIO(self.files["1.png"])).save(near, "JPEG", quality=40)
        self.files |= {
            "again.png": self.files["0.png"], "near.jpg": near.getvalue(), "broken.png": self.files["2.png"][:900],
            "small.png": picture(7, (90, 90)), "pointer.png": media.POINTER + b"v1\n", "sheet.png": picture(8, (640, 640)),
        }
        work = self.top / "mirror" / "me+photos"
        work.mkdir(parents=True)
        for name, body in self.files.items():
            (work / name).write_bytes(body)
        for command in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "t"]):
            subprocess.run(["git", "-C", str(work), *command], check=True)

    def gather(self, sources, held=()):
        """The collector after it has taken the sources."""
        (self.top / "held-out.sha256").write_text("".join(f"{s}\n" for s in held))
        collector = Collector(self.top, self.top / "more")
        collector.all(self.top / "mirror", sources)
        collector.close()
        return collector

    def test_drops_and_counts(self):
        held = hashlib.sha256(self.files["4.png"]).hexdigest()
        collector = self.gather([source("*.png|*.jpg|!sheet.png")], [held])
        self.assertEqual(sum(collector.taken.values()), 4)
        self.assertEqual(dict(collector.dropped["image", "real"]), {
            "held out": 1, "duplicate": 1, "near-duplicate": 1, "undecodable": 1, "small": 1, "pointer": 1,
        })
        self.assertEqual(len((self.top / "more" / "manifest.tsv").read_text().splitlines()), 5)

    def test_takes_as_many_as_wanted_and_the_same_each_time(self):
        first, second = (set(self.gather([source("?.png", most=2)]).seen) for _ in range(2))
        self.assertEqual(len(first), 2)
        self.assertEqual(first, second)

    def test_cuts_sheets(self):
        collector = self.gather([source("sheet.png", grid="2x2")])
        self.assertEqual(sum(collector.taken.values()), 4)

    def test_cuts_panels(self):
        """Of a sheet and of a clip that show two panels, only the second is taken."""
        clip = self.top / "mirror" / "me+photos" / "pair.avi"
        still = ["-loop", "1", "-t", "2", "-i", str(clip.with_name("sheet.png"))]
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", *still, "-c:v", "mjpeg", "-q:v", "2", str(clip)], check=True)
        for command in (["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "t"]):
            subprocess.run(["git", "-C", str(clip.parent), *command], check=True)
        self.gather([source("pair.avi", grid="2x1:2"), source("sheet.png", grid="1x2:2", system="sheet")])
        cut, sheet = sorted((self.top / "more" / "image" / "real").glob("*/*"), key=lambda f: f.suffix)
        found = cv2.VideoCapture(str(cut))
        self.assertEqual(found.get(cv2.CAP_PROP_FRAME_COUNT), 4)
        _, frame = found.read()
        whole = np.asarray(Image.open(io.BytesIO(self.files["sheet.png"])))
        self.assertLess(np.abs(frame[:, :, ::-1].astype(int) - whole[:, 320:]).mean(), 4)
        self.assertTrue(np.array_equal(np.asarray(Image.open(sheet)), whole[320:]))

    def test_a_held_out_sheet_gives_no_tile(self):
        held = hashlib.sha256(self.files["sheet.png"]).hexdigest()
        collector = self.gather([source("sheet.png", grid="2x2")], [held])
        self.assertEqual(sum(collector.taken.values()), 0)

    def test_a_named_file_that_changed_is_not_taken(self):
        collector = self.gather([source("1.png", sha256="0" * 64)])
        self.assertEqual(dict(collector.dropped["image", "real"]), {"changed": 1})


class Speakers(unittest.TestCase):
    """Who speaks, by the path."""

    def test_paths(self):
        for path, name in (
            ("WAVE/SPEAKER0011/000110023.WAV", "speechocean762:0011"), ("audio/p225_007.wav", "VCTK:p225"),
            ("x/1089-134686-0004_ours.wav", "LibriSpeech:1089"), ("dataset/Angry/03a01Wa.wav", "EmoDB:03"), ("a.wav", ""),
        ):
            self.assertEqual(speakers.speaker(path), name)

    def test_a_corpus_of_one_voice(self):
        """Her clips were known by the corpus's own file names alone: 80 of 213 taught models that judged the others."""
        for path in ("LJ001-0001.wav", "wavs/ljspeech/fs_v2/1.wav", "wavs/lj_3_gt.wav", "LJSpeech/AnaSyn/[LJ-Sample1]-7-Ground truth.wav"):
            self.assertEqual(speakers.speaker(path), "LJSpeech:only", path)

    def test_chapters_of_three_digits(self):
        """LibriSpeech has them: such clips were nobody's, or of the speaker whose number is the chapter's."""
        for path, name in (("audio/198-209-0000.ogg", "LibriSpeech:198"), ("GT/2961_961_000005_000004.wav", "LibriSpeech:2961"), ("26-495-0000.flac", "LibriSpeech:26")):
            self.assertEqual(speakers.speaker(path), name, path)

    def test_both_voices_of_a_conversion(self):
        """The second was not noted, and other clips of it taught models that judged the conversion."""
        for path, names in (
            ("s2s/p226_p231_003002_R.wav", {"VCTK:p226", "VCTK:p231"}), ("p241_302_p241_396.wav", {"VCTK:p241"}),
            ("u2s/F_5142_36377_000004_000012-F_p253_219.wav", {"VCTK:p253", "LibriSpeech:5142"}), ("a.wav", set()),
        ):
            self.assertEqual(speakers.voices(speakers.speaker(path)), names, path)


if __name__ == "__main__":
    unittest.main()
