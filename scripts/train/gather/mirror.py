"""Files out of git repositories, without a work tree."""

import subprocess
from pathlib import Path


class Missing(Exception):
    """A repository, a commit or a file that is not at hand."""


def git_folder(mirror, repository):
    """The git directory of a repository below its folder OWNER/NAME, or None; any character may stand for the slash."""
    for top in (Path(mirror, repository), *sorted(Path(mirror).glob(repository.replace("/", "?")))):
        for folder in (top, top / "repo", top / "repo" / ".git", top / ".git"):
            if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
                return folder
    return None


def clone(mirror, repository, commit):
    """Clones a repository from GitHub without its blobs, which follow as they are read."""
    target = Path(mirror, repository, "repo")
    address = f"https://github.com/{repository}"
    run = subprocess.run(
        ["git", "clone", "--quiet", "--bare", "--filter=blob:none", address, str(target)],
        capture_output=True, text=True,
    )
    if run.returncode:
        raise Missing(f"{repository} is not in the mirror and could not be cloned: {run.stderr.strip()[-200:]}")
    subprocess.run(["git", "--git-dir", str(target), "fetch", "--quiet", "origin", commit], capture_output=True)
    return target


class Repository:
    """One repository at one commit; close it after use. Not for several threads."""

    def __init__(self, mirror, name, commit):
        """Opens the mirror's copy, or clones it; fails with Missing without the commit."""
        self.name, self.commit = name, commit
        self.folder = git_folder(mirror, name) or clone(mirror, name, commit)
        self.reader = None
        if self.git("cat-file", "-e", commit + "^{commit}").returncode:
            raise Missing(f"{name} has no commit {commit} in the mirror")

    def git(self, *arguments):
        """One git command's result, with its output as bytes."""
        return subprocess.run(["git", "--git-dir", str(self.folder), *arguments], capture_output=True)

    def paths(self):
        """Every file's path at the commit, in git's order."""
        listing = self.git("ls-tree", "-r", "-z", "--name-only", self.commit).stdout
        return [path for path in listing.decode("utf-8", "surrogateescape").split("\0") if path]

    def read(self, path):
        """The bytes of a file; Missing where the mirror does not hold them."""
        if "\n" in path:
            raise Missing(f"{self.name}: a path with a line break cannot be read")
        if self.reader is None:
            self.reader = subprocess.Popen(
                ["git", "--git-dir", str(self.folder), "cat-file", "--batch"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )
        self.reader.stdin.write(f"{self.commit}:{path}\n".encode("utf-8", "surrogateescape"))
        self.reader.stdin.flush()
        head = self.reader.stdout.readline().split()
        if len(head) != 3 or head[1] != b"blob":
            raise Missing(f"{self.name}: {path} is not in the mirror")
        body = self.reader.stdout.read(int(head[2]))
        self.reader.stdout.read(1)
        return body

    def close(self):
        """Ends the reading process."""
        if self.reader is not None:
            self.reader.stdin.close()
            self.reader.wait()
            self.reader.stdout.close()
