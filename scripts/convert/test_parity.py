"""Regenerates the table of parity where the weights and media are at hand: python -m unittest convert.test_parity, from scripts/."""

import os
import tempfile
import unittest
from pathlib import Path

from convert import graph, parity
from convert.published import ALL

SHARED = Path(__file__).resolve().parents[3] / "shared"
WEIGHTS, MEDIA = (Path(os.environ.get(name, SHARED / folder)) for name, folder in (("WEIGHTS", "weights"), ("MEDIA", "data")))


class Parity(unittest.TestCase):
    """Converted graphs against their frameworks, on real rows."""

    def test_real_rows(self):
        for path in (WEIGHTS / "aasist", MEDIA / "speech2.tar", MEDIA / "held-out.sha256"):
            if not path.exists():
                self.skipTest(f"{path} is not here: parity needs the published weights and real media")
        with tempfile.TemporaryDirectory() as work:
            for result in parity.table(MEDIA, WEIGHTS, Path(work)):
                with self.subTest(result.name):
                    self.assertEqual(len(result.reference), parity.ROWS)
                    self.assertLessEqual(max(result.one, result.four), graph.TOLERANCE)

    def test_committed_table_is_complete(self):
        lines = Path(parity.__file__).with_name("PARITY.md").read_text().splitlines()
        rows = [line.split("|") for line in lines if line.startswith("| ") and not line.startswith("| detector")]
        self.assertEqual([r[1].strip() for r in rows], list(ALL))
        for row in rows:
            self.assertLessEqual(max(float(row[4]), float(row[5])), graph.TOLERANCE)
