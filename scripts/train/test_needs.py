"""Tests of what the training scripts say where a package is missing."""

import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


class Packages(unittest.TestCase):
    def test_a_missing_package_is_named(self):
        """Without OpenCV or NumPy --help ended in a traceback, and said nothing of requirements.txt. -S leaves all packages out."""
        for script in [HERE / "agree.py", *HERE.glob("*/run.py")]:
            said = subprocess.run([sys.executable, "-S", script, "--help"], cwd=HERE, capture_output=True, text=True)
            self.assertRegex(said.stderr, r"^The Python package \w+ is missing: pip install -r .*train/requirements\.txt\n$", script)


if __name__ == "__main__":
    unittest.main()
