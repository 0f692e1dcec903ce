"""Puts the peers into the user's cache folder, at the versions of their lock files."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent.parent
TAGS = "gocv_specific_modules,gocv_videoio,nodynamic"
LAST_LINES = 3
# Parts of packages that no server needs, which weigh a hundred megabytes.
UNUSED = ("ray/jars", "ray/rllib", "pandas/tests", "numpy/tests")


class NotInstalled(Exception):
    """A peer can't be had here; the message says why."""


def root(provider="cpu"):
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "deepfaked" / ("peers" if provider == "cpu" else f"peers-{provider}")


def python():
    """The system's, where there is one: Triton's backend needs the library of the same build."""
    return "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable


def run(*command, cwd=None):
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
        raise NotInstalled(" ".join(lines[-LAST_LINES:])[:400])


def stamped(folder, *sources):
    """Says whether the folder was made from these files, and what to note there once it was."""
    stamp = hashlib.sha256(b"".join(s.read_bytes() for s in sources) + python().encode()).hexdigest()
    noted = folder / "installed"
    return noted.exists() and noted.read_text() == stamp, stamp


def environment(name, provider):
    """A virtual environment with what its lock file lists; it sees the packages of base."""
    folder, lock = root(provider) / name, HERE / "locks" / f"{name}.txt"
    if name == "base" and provider != "cpu":
        lock = lock.with_stem(f"base-{provider}")
    done, stamp = stamped(folder, lock)
    if done:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    run(python(), "-m", "venv", "--without-pip", folder)
    if name != "base":
        packages = next((root(provider) / "base").glob("lib/python*/site-packages"))
        own = next(folder.glob("lib/python*/site-packages"))
        (own / "base.pth").write_text(f"{packages}\n")
    run(python(), "-m", "pip", "--python", folder / "bin" / "python", "install", "--no-deps", "--no-cache-dir", "--quiet",
        "--disable-pip-version-check", "-r", lock)
    for packages in folder.glob("lib/python*/site-packages"):
        for part in UNUSED:
            shutil.rmtree(packages / part, ignore_errors=True)
    (folder / "installed").write_text(stamp)
    return folder


def node():
    """The modules of package-lock.json, less what is for other systems."""
    folder = root() / "fastify"
    done, stamp = stamped(folder, HERE / "node" / "package-lock.json")
    if shutil.which("npm") is None:
        raise NotInstalled("npm is missing")
    if done:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / "node" / name, folder)
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
    for other in folder.glob("node_modules/onnxruntime-node/bin/*/*"):
        if other.name != "linux":
            shutil.rmtree(other)
    (folder / "installed").write_text(stamp)
    return folder


def program():
    """The plain handler, built from this repository."""
    folder = root() / "gin"
    folder.mkdir(parents=True, exist_ok=True)
    run("go", "build", "-trimpath", "-tags", TAGS, "-o", folder / "server", "./scripts/bench/peers/gin", cwd=REPOSITORY)
    return folder


def install(kind, provider="cpu"):
    """Installs one peer's environment, and first what it builds on."""
    if kind == "node":
        if provider != "cpu":
            raise NotInstalled("onnxruntime-node has its own build of ONNX Runtime for GPUs, of another version")
        return node()
    if kind == "go":
        return program()
    environment("base", provider)
    return environment(kind, provider)
