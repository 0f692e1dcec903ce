"""Tests of what the fusion is fitted on."""

import importlib.util
import json
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

RUN = Path(__file__).parent / "fusion" / "run.py"
# Judges pictures, and refuses clips as the service refuses a codec.
SERVICE = """#!/usr/bin/env python3
import json, sys
for name in sys.argv[sys.argv.index("--") + 1 :]:
    report = {"report": {"findings": [{"task": "image-synthesis", "log_odds": 1.5}]}}
    print(json.dumps({"file": name} | ({"error": "unsupported_media_type"} if name.endswith(".mkv") else report)))
"""


def fusion():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("fusion_run", RUN)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


class Rows(unittest.TestCase):
    def test_files_that_the_service_refuses_are_counted(self):
        """198 of 494 clips were cut as FFV1, which the service does not read, and left out of the fit without a word."""
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "service")
            program.write_text(SERVICE)
            program.chmod(0o700)
            scores = [{"path": name, "repository": "nobody/has-seen", "fake": 0, "log_odds": -1.0} for name in ("a.jpg", "b.mkv", "c.mp4", "d.mkv")]
            Path(folder, "deepfaked-face-scores.json").write_text(json.dumps(scores))
            rows, left = fusion().rows_of("face", "image", SimpleNamespace(work=Path(folder), program=program))
        self.assertEqual([(r["path"], r["face"], r["image"]) for r in rows], [("a.jpg", -1.0, 1.5), ("c.mp4", -1.0, 1.5)])
        self.assertEqual(left, 2)


if __name__ == "__main__":
    unittest.main()
