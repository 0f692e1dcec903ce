"""Regenerates the table of parity where the weights and media are at hand: python -m unittest convert.test_parity, from scripts/."""

import os
import tempfile
import unittest
from pathlib import Path

from convert import graph, parity, yunet
from convert.errors import ConversionError
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

    def test_yunet(self):
        """The folder of YuNet is written only if its boxes are those of the published graph, and of no other file."""
        if not (WEIGHTS / "yunet" / yunet.FILE).exists():
            self.skipTest(f"{WEIGHTS / 'yunet'} is not here: the comparison needs the published weights")
        with tempfile.TemporaryDirectory() as work:
            out, other = Path(work, "out"), Path(work, "other")
            yunet.to_folder(WEIGHTS / "yunet", out)
            found = graph.session(out / "model.onnx").run(None, {"pixels": graph.golden_row((640, 640, 3), "uint8").repeat(4, 0)})[0]
            self.assertEqual(found.shape, (4, yunet.BOXES, 5))
            self.assertTrue((found[:, :-1, 0] >= found[:, 1:, 0]).all(), "the surest first")
            other.mkdir()
            (other / yunet.FILE).write_bytes((WEIGHTS / "yunet" / yunet.FILE).read_bytes() + b"x")
            with self.assertRaises(ConversionError):
                yunet.to_folder(other, out)

    def test_committed_table_is_complete(self):
        lines = Path(parity.__file__).with_name("PARITY.md").read_text().splitlines()
        rows = [line.split("|") for line in lines if line.startswith("| ") and not line.startswith("| detector")]
        self.assertEqual([r[1].strip() for r in rows], [*ALL, "yunet"])
        for row in rows:
            self.assertLessEqual(max(float(row[4]), float(row[5])), graph.TOLERANCE)
