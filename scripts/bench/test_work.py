"""The work that the Python peers share is the service's: the same verdicts on the same files."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from . import compare, media
from .peers import install

REPOSITORY = install.REPOSITORY
PROGRAM = REPOSITORY / "bin" / "deepfaked"
PYTHON = install.root() / "base" / "bin" / "python"
ASK = "import json, sys, work; w = work.Work(sys.argv[1], 1); print(json.dumps([w.answer(open(f, 'rb').read()) for f in sys.argv[2:]]))"


def absent():
    """What the test needs and this machine lacks."""
    needed = {"bin/deepfaked (make build)": PROGRAM.exists(), "the peers (make benchmark-peers)": PYTHON.exists()}
    return [what for what, there in needed.items() if not there] + media.missing()


@unittest.skipIf(absent(), f"the peers' work was not compared with the service's: {', '.join(absent())} missing")
class SameWork(unittest.TestCase):
    def test_same_verdicts(self):
        with tempfile.TemporaryDirectory() as box:
            media.make(box)
            files = [str(f) for f in media.files(box)]
            data = ["--data", str(Path(box) / "data"), "--provider", "cpu"]
            lines = subprocess.run([PROGRAM, "detect", "--json", *data, *files], check=True, capture_output=True, text=True).stdout.splitlines()
            told = subprocess.run([PYTHON, "-c", ASK, REPOSITORY / "models" / "builtin", *files], check=True, capture_output=True, text=True,
                                  cwd=REPOSITORY / "scripts" / "bench" / "peers").stdout
        ours = {e["file"]: e for e in map(json.loads, lines)}
        self.assertEqual(sorted(ours), sorted(files))
        self.assertLess(compare.disagreement(ours, dict(zip(files, json.loads(told)))), compare.GIVEN["cpu"].agree)
