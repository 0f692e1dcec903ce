"""What must not be taken: held-out files and what the archives hold already."""

import csv
import hashlib
import io
import tarfile
from pathlib import Path

ARCHIVES = ("images.tar", "images2.tar", "faces.tar", "video.tar", "speech.tar", "speech2.tar")


def held_out(media):
    """The checksums of files that are never trained on."""
    with open(Path(media, "held-out.sha256"), encoding="ascii") as file:
        return {line.split()[0].lower() for line in file if line.strip()}


def archived(media):
    """Two sets of checksums: of the archives' files, and of the originals that their excerpts are from."""
    own, originals = set(), set()
    for name in ARCHIVES:
        with tarfile.open(Path(media, name)) as archive:
            for member in archive:
                if not member.isfile():
                    continue
                body = archive.extractfile(member).read()
                own.add(hashlib.sha256(body).hexdigest())
                if member.name.endswith("MANIFEST.tsv"):
                    table = csv.DictReader(io.StringIO(body.decode()), delimiter="\t")
                    originals |= {row["sha256 of the original"].lower() for row in table}
    return own, originals
