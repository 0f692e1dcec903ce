"""Tests of what the fusion is fitted on."""

import importlib.util
import json
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import numpy as np

RUN = Path(__file__).parent / "fusion" / "run.py"
# Judges pictures, and refuses clips as the service refuses a codec.
SERVICE = """#!/usr/bin/env python3
import json, sys
for name in sys.argv[sys.argv.index("--") + 1 :]:
    report = {"report": {"findings": [{"task": "image-synthesis", "log_odds": 1.5, "pieces": []}]}}
    print(json.dumps({"file": name} | ({"error": "unsupported_media_type"} if name.endswith(".mkv") else report)))
"""


def fusion():
    """The script as a module, with several.py in its folder."""
    sys.path.insert(0, str(RUN.parent))
    spec = importlib.util.spec_from_file_location("fusion_run", RUN)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


class Known(unittest.TestCase):
    def test_a_model_with_a_short_card_knows_what_the_table_beside_its_recipe_says(self):
        """Its card names no repository, so that files it was trained on would pass for unseen ones."""
        module = fusion()
        for folder in ("image", "image-clip"):
            self.assertIn("songguoxs/gpt4o-image-prompts", module.learned_from(folder))


class Rows(unittest.TestCase):
    def test_files_that_the_service_refuses_are_counted(self):
        """198 of 494 clips were cut as FFV1, which the service does not read, and left out of the fit without a word."""
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "service")
            program.write_text(SERVICE)
            program.chmod(0o700)
            scores = [{"path": name, "repository": "nobody/has-seen", "generator": name[0], "fake": 0, "log_odds": -1.0} for name in ("a.jpg", "b.mkv", "c.mp4", "d.mkv")]
            Path(folder, "deepfaked-face-scores.json").write_text(json.dumps(scores))
            rows, left = fusion().rows_of("face", "image", SimpleNamespace(work=Path(folder), program=program, picture="image", folders={"image": "image", "face": "face"}))
        self.assertEqual([(r["path"], r["face"], r["image"]) for r in rows], [("a.jpg", -1.0, 1.5), ("c.mp4", -1.0, 1.5)])
        self.assertEqual(left, 2)

    def test_few_of_each_source_are_taken(self):
        """All of them keep the service busy for half an hour and more, and weigh no more than a few, as repositories count equally."""
        scored = {f"{k}.jpg": {"repository": "r", "generator": "g" if k < 5 else "h"} for k in range(7)}
        self.assertEqual(list(fusion().few(scored, 2)), ["0.jpg", "1.jpg", "5.jpg", "6.jpg"])
        self.assertEqual(list(fusion().few(scored, None)), list(scored))


class Fit(unittest.TestCase):
    """What two models say of files with and without a face."""

    def test_a_face_alone_says_nothing(self):
        """Genuine files at hand show faces more often than generated ones: balanced over all files, the fit took a face for a sign of a genuine one."""
        rows = []
        for fake, counts in ((0, (40, 120)), (1, (120, 40))):
            for several, count in zip((False, True), counts):
                for k in range(count):
                    odds = (k % 20 - 9.5) / 4 + (1 if fake else -1)
                    rows.append({"fake": fake, "repository": f"r{k % 5}", "image": odds, "face": odds if several else None})
        found, odds, labels, _ = fusion().fit(rows)
        for name in ("alone", "together"):
            self.assertAlmostEqual(found[name]["bias"], 0, places=3)
        np.testing.assert_allclose(odds[[r["face"] is None for r in rows]][:20], odds[[r["face"] is not None for r in rows]][:20], atol=1e-2)

    def test_one_of_two_suffices(self):
        """A weighted sum took from what one says what the other does: of manipulated clips 38 % were found where the mean of the odds finds 51 %."""
        said = fusion().pooled([{"image": -9.0, "face": 3.0}, {"image": 3.0, "face": None}])
        np.testing.assert_allclose(said, [3 - np.log(2), 3], atol=1e-4)


class Several(unittest.TestCase):
    """Files with several faces."""

    def setUp(self):
        self.several = fusion().several

    def test_the_frame_with_most_counts(self):
        pieces = [{"at_seconds": at} for at in (0, 1, 1, 2)]
        self.assertEqual(self.several.faces([{"task": "image-synthesis", "pieces": pieces * 2}, {"task": "face-manipulation", "pieces": pieces}]), 2)
        self.assertEqual(self.several.faces([]), 0)

    def test_by_number(self):
        """What was not asked about is of unknown number."""
        rows, labels = [{"faces": n} for n in (0, 0, 5, 2, None)], np.array([0, 1, 0, 1, 1])
        table = self.several.found(rows, labels, np.array([[0], [1], [0], [1], [0]]))
        self.assertIn("| no face | 1 | 0.000 | 1 | 1.000 |\n| two and more | 1 | 0.000 | 1 | 1.000 |\n", table)

    def test_others_beside_a_manipulated_one_lower_the_mean(self):
        rows = [{"from": "face", "image": -9.0, "face": face} for face in (-9.0, 3.0)]
        table = self.several.joined(rows, np.array([0, 1]), {"scale": 2, "bias": 1}, np.full((2, 1), 2 * 2 + 1))  # of 2.3 and 1.6
        self.assertRegex(table, r"\| 1 \| 0.000 \| 1.000 \|\n\| 2 \| 0.000 \| 0.000 \|")


class Sound(unittest.TestCase):
    """Videos with sound."""

    def test_all_pairs_are_judged_as_the_service_does(self):
        """The mean of the odds against the mean of those at the lines."""
        random, sound = np.random.RandomState(0), fusion().sound
        (video, voices), limits = [(np.array([0, 1] * 20), random.randn(40)) for _ in range(2)], [(1.5, 0.5), (0.2, 0.1)]
        table = sound.beside((video[0], video[1]), voices, limits)
        mean = lambda a, b: np.log((np.exp(a) + np.exp(b)) / 2)
        told = mean(video[1][video[0] == 1][:, None], voices[1][voices[0] == 0][None])
        both, seen, heard = ([f"{share:.3f}" for share in shares] for shares in (
            [(told >= mean(*pair)).mean() for pair in limits],
            [(video[1][video[0] == 1] >= pair[0]).mean() for pair in limits],
            [(voices[1][voices[0] == 0] >= pair[1]).mean() for pair in limits],
        ))
        self.assertIn(f"| fake | genuine | {', '.join(both)} | {', '.join(seen)} | {', '.join(heard)} |\n", table)

    def test_without_the_speech_models_scores_there_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIsNone(fusion().sound.scores(Path(folder)))


class Lines(unittest.TestCase):
    """Each medium has lines of its own."""

    def setUp(self):
        """Pictures and films, no clips of faces; genuine films lie two below genuine pictures, fakes one above genuine ones."""
        self.script, self.rows, odds = fusion(), [], []
        for suffix, level in ((".jpg", 0.0), (".mp4", -2.0)):
            for fake in (0, 1):
                for k in range(101):
                    self.rows.append({"path": f"{k}{suffix}", "from": "image", "fake": fake, "repository": f"r{k % 9}"})
                    odds.append(k / 50 + level + fake)
        self.odds, self.labels = np.array(odds), np.array([r["fake"] for r in self.rows])
        self.repositories = [r["repository"] for r in self.rows]
        self.lines = self.script.lines_of(self.rows, self.odds, self.labels, self.repositories)

    def called(self):
        """The table of what is called fake."""
        above = self.odds[:, None] >= self.script.limits_of(self.rows, self.lines)
        return self.script.called(self.rows, above, self.labels)

    def test_films_are_found_at_their_own(self):
        """At one line for both, films that score lower than pictures were found a third as often as they could be."""
        for medium, expected in (("image", 1.7), ("video", -0.3)):
            self.assertAlmostEqual(self.lines[medium]["sensitive"]["threshold"], 1 / (1 + np.exp(-expected)), places=3)
        table = self.called()
        for medium in ("pictures", "films"):  # a score lies on each line, and rounding says on which side of it: one of 101 more or less
            self.assertRegex(table, medium + r" \| 0\.0[12]., 0\.0[56]., 0\.1[45]. \| 0\.5.., 0\.5.., 0\.6..")

    def test_intervals_are_no_narrower_than_exact_ones(self):
        """Five of 439 genuine videos were above the strict line, and a bootstrap gave [.002, .022] for it; here it is one or two of 101."""
        low, high = self.lines["video"]["strict"]["false_positive_interval"]
        self.assertLessEqual(low, 0.001)
        self.assertGreaterEqual(high, 0.054)

    def test_what_only_one_model_scored_has_no_row(self):
        self.assertNotIn("clips of faces", self.called())

    def test_measured_by_medium(self):
        found = self.script.measured(self.rows, self.odds, self.labels, self.repositories)
        self.assertEqual([(m["real"], m["fake"]) for m in found], [(202, 202), (101, 101), (101, 101)])
        self.assertEqual([m["set"].split(":")[0] for m in found][1:], ["pictures", "films and clips"])


if __name__ == "__main__":
    unittest.main()
