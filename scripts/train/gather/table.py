"""What to gather: the rows of sources.tsv and of the named originals.

A pattern is matched against the whole path in the repository: * and ? stay
within one folder, ** does not. Patterns are joined by |, and one that begins
with ! takes away.
"""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

MEDIA = ("image", "speech", "face", "film")
MOST = {"image": 150, "face": 150, "speech": 60, "film": 12}  # files of one system of one repository


@dataclass(frozen=True)
class Source:
    """One system, or one kind of genuine media, in one repository."""

    repository: str
    commit: str
    pattern: str
    medium: str
    label: str
    system: str
    licence: str
    most: int
    grid: str = ""  # COLUMNSxROWS where a picture is a sheet of tiles; with :NUMBER,NUMBER only those, also of a clip of panels
    sha256: str = ""  # of the one file that is meant, where it is named
    pair: str = ""  # what generated and genuine rows of one repository that show the same subjects share
    kind: str = ""  # of media, such as portraits, products or art

    def key(self):
        """What files are counted by: of one system, and one pair, of a repository."""
        return self.repository, self.medium, self.label, self.system, self.pair


def expression(pattern):
    """The regular expression of one pattern without its exclamation mark."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meaning.get(part) or re.escape(part) for part in parts), re.I)


def matching(paths, pattern):
    """The paths that one of the patterns means and none takes away, in order."""
    wanted = [expression(one) for one in pattern.split("|") if not one.startswith("!")]
    unwanted = [expression(one[1:]) for one in pattern.split("|") if one.startswith("!")]
    return [
        path for path in paths
        if any(e.fullmatch(path) for e in wanted) and not any(e.fullmatch(path) for e in unwanted)
    ]


def rows(path):
    """The rows of a table with a header, tabs between columns and no quotes."""
    with open(path, newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def named(media):
    """The originals that more.tsv names one by one; a file's checksum decides what it is."""
    for row in rows(Path(media, "more.tsv")):
        medium, label = row["medium"], row["label"]
        if label.startswith("face_"):
            medium, label = "face", label.removeprefix("face_")
        system = row["system"].split(" | ")[0]
        system = "natural" if system == "-" else system
        yield Source(
            row["repository"], row["commit"], row["path"], medium, label, system,
            row["licence of the repository"], 0, sha256=row["sha256"].lower(),
        )


def listed(path):
    """The rows of sources.tsv."""
    for row in rows(path):
        if row["medium"] not in MEDIA or row["label"] not in ("real", "fake"):
            raise ValueError(f"{row['repository']}: medium {row['medium']} or label {row['label']} is not known")
        yield Source(
            row["repository"], row["commit"], row["paths"], row["medium"], row["label"], row["system"],
            row["licence"], int(row["most"] or MOST[row["medium"]]), row["grid"], pair=row["pair"], kind=row["kind"],
        )
