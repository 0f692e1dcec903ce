"""Takes what the tables name, drops what must not or need not be kept, writes the manifest."""

import csv
import hashlib
import re
from collections import Counter, defaultdict
from pathlib import Path, PurePosixPath

from gather import known
from gather.media import POINTER, Hashes, Unfit, check_sound, difference_hash, looked_at, tiles
from gather.mirror import Missing, Repository
from gather.table import matching
from speakers import speaker

SEED = "deepfaked-1"
COLUMNS = (
    "path", "medium", "label", "system", "repository", "commit", "original path", "licence", "sha256", "speaker",
    "excerpt",  # yes: one of the archives holds a part of it, which is then to be left out
    "pair", "kind",  # as the table has them
)
REASONS = ("held out", "duplicate", "near-duplicate", "undecodable", "small", "blank", "pointer", "absent", "changed")


def plain(name):
    """A name that is fit for a folder."""
    return re.sub(r"[^A-Za-z0-9.+-]+", "_", name).strip("_.") or "unnamed"


def shuffled(paths):
    """The paths in an order that a hash with a fixed seed decides."""
    return sorted(paths, key=lambda path: hashlib.sha256(f"{SEED}\n{path}".encode("utf-8", "surrogateescape")).digest())


class Collector:
    """Writes below folder; one process, one thread."""

    def __init__(self, media, folder):
        """Reads the checksums; folder is made."""
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.held = known.held_out(media)
        self.seen, self.excerpts = known.archived(media)
        self.hashes = defaultdict(Hashes)
        self.dropped = defaultdict(Counter)  # (medium, label): reason: count
        self.taken = Counter()  # by the source's key
        self.problems = []
        self.manifest = open(self.folder / "manifest.tsv", "w", newline="", encoding="utf-8", errors="surrogateescape")
        self.writer = csv.writer(
            self.manifest, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, escapechar="\\",
        )
        self.writer.writerow(COLUMNS)

    def close(self):
        """Ends the manifest."""
        self.manifest.close()

    def all(self, mirror, sources):
        """Takes every source; those of one repository and commit are together, in order."""
        groups = defaultdict(list)
        for source in sources:
            groups[source.repository, source.commit].append(source)
        for (name, commit), group in groups.items():
            try:
                repository = Repository(mirror, name, commit)
            except Missing as problem:
                self.problems.append(str(problem))
                for source in group:
                    self.drop(source, "absent")
                continue
            paths = repository.paths()
            for source in group:
                self.source(repository, source, paths)
            repository.close()
            self.manifest.flush()

    def source(self, repository, source, paths):
        """Takes the files of one row: the one that is named, or as many as are wanted."""
        if source.sha256:
            self.file(repository, source, source.pattern)
            return
        found = matching(paths, source.pattern)
        if not found:
            self.problems.append(f"{source.repository}: no file matches {source.pattern}")
        key = source.key()
        for path in shuffled(found):
            if self.taken[key] >= source.most:
                break
            self.file(repository, source, path)

    def file(self, repository, source, path):
        """Takes one file, or counts why not."""
        try:
            body = repository.read(path)
            if body.startswith(POINTER):
                raise Unfit("pointer")
            if source.sha256 and hashlib.sha256(body).hexdigest() != source.sha256:
                raise Unfit("changed")
            suffix = PurePosixPath(path).suffix.lower()
            if not source.grid:
                self.keep(source, path, body, suffix)
                return
            if hashlib.sha256(body).hexdigest() in self.held:
                raise Unfit("held out")
            for row, column, kind, tile in tiles(body, suffix, source.grid):
                self.tile(source, f"{path}#{row},{column}", tile, kind)
        except Missing:
            self.drop(source, "absent")
        except Unfit as reason:
            self.drop(source, str(reason))

    def tile(self, source, path, body, suffix):
        """Takes one tile of a sheet, or panel of a clip, or counts why not."""
        try:
            self.keep(source, path, body, suffix)
        except Unfit as reason:
            self.drop(source, str(reason))

    def keep(self, source, path, body, suffix):
        """Writes one file and its row; an unfit one is not written."""
        checksum = hashlib.sha256(body).hexdigest()
        if checksum in self.held:
            raise Unfit("held out")
        if checksum in self.seen:
            raise Unfit("duplicate")
        if source.medium == "speech":
            check_sound(body, suffix)
        else:
            self.unlike(source, looked_at(body, suffix, source.medium))
        self.seen.add(checksum)
        self.taken[source.key()] += 1
        name = f"{plain(source.repository)}-{checksum[:16]}{suffix}"
        target = Path(source.medium, source.label, plain(source.system), name)
        (self.folder / target).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / target).write_bytes(body)
        self.writer.writerow([
            target.as_posix(), source.medium, source.label, source.system, source.repository, source.commit,
            re.sub(r"[\t\r\n]", " ", path), source.licence, checksum,
            speaker(path) if source.medium == "speech" else "", "yes" if checksum in self.excerpts else "", source.pair, source.kind,
        ])

    def unlike(self, source, picture):
        """Fails for a picture that is close to one of the same label."""
        value, hashes = difference_hash(picture), self.hashes[source.label]
        if hashes.near(value):
            raise Unfit("near-duplicate")
        hashes.add(value)

    def drop(self, source, reason):
        """Counts a file that is not kept."""
        self.dropped[source.medium, source.label][reason] += 1
