"""Tests of the figures of the overhead: how they are read, kept by processor and shown."""

import json
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from . import overhead, published

PRINTED = """goos: linux
BenchmarkOverheadAtLowLoad-2   \t   12000\t         0 ns/op\t        60.0 handler-p50-us\t         1.5 overhead-ratio\t        90.0 overhead-p50-us\t         4.0 scheduler-p50-us
BenchmarkOverheadAtLowLoad-2   \t   12000\t         0 ns/op\t        50.0 handler-p50-us\t         1.2 overhead-ratio\t        60.0 overhead-p50-us\t         2.0 scheduler-p50-us
BenchmarkOverheadAtLowLoad-2   \t   12000\t         0 ns/op\t        55.0 handler-p50-us\t         1.3 overhead-ratio\t        70.0 overhead-p50-us\t         3.0 scheduler-p50-us
PASS
"""
FACTS = {"processor": "B", "date": "2026-11-29", "deepfaked": "abc"}


class Overhead(unittest.TestCase):
    def test_the_median_of_the_runs_is_told(self):
        self.assertEqual(overhead.parsed(PRINTED), {"overhead-p50-us": 70, "scheduler-p50-us": 3, "handler-p50-us": 55, "overhead-ratio": 1.3})
        for nothing in ("PASS\n", PRINTED.replace("scheduler-p50-us", "other")):
            self.assertRaisesRegex(ValueError, "no figures", overhead.parsed, nothing)

    def test_each_processor_has_its_latest_row(self):
        rows = []
        for processor, ratio in (("B", 2.0), ("A", 3.0), ("B", 1.0)):
            rows = overhead.kept(rows, {"processor": processor, "overhead-ratio": ratio})
        self.assertEqual([(r["processor"], r["overhead-ratio"]) for r in rows], [("A", 3.0), ("B", 1.0)])

    def test_the_document_keeps_its_other_figures(self):
        """The overhead alone can be measured again, which takes a minute in place of seven."""
        with tempfile.TemporaryDirectory() as box:
            told = {"facts": {"processor": "A", "date": "then"}, "service": {"version": "1", "provider": "cpu", "sessions": 1, "intra_op_threads": 2}, "seconds": 10.0, "results": []}
            Path(box, "benchmarks.json").write_text(json.dumps(told))
            with unittest.mock.patch("sys.argv", ["benchmark", "--out", box, "--media", box, "--overhead"]), \
                    unittest.mock.patch.multiple(published, must_be_built=unittest.mock.DEFAULT, end_on_signal=unittest.mock.DEFAULT), \
                    unittest.mock.patch.object(published.machine, "facts", lambda: FACTS), \
                    unittest.mock.patch.object(overhead.subprocess, "run") as run:
                run.return_value.returncode, run.return_value.stdout = 0, PRINTED
                published.main()
            text = Path(box, "benchmarks.md").read_text()
            self.assertIn("| date | then |", text)
            self.assertIn("| B | 70 µs | 3 µs | 55 µs | 1.30 | abc | 2026-11-29 |", text)
            self.assertEqual(json.loads(Path(box, "benchmarks.json").read_text())["facts"], told["facts"])
