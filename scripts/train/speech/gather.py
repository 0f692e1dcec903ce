"""Collect the clips of the archives: labels, sources, no held-out file, no duplicate."""
import collections
import csv
import hashlib
import io
import os
import re
import sys
import tarfile

import numpy as np

import audio

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # last: `gather` stays this file
from speakers import speaker  # noqa: E402

# The folders of speech.tar: name -> (repository, commit, licence of the repository).
FOLDERS = {
    "librispeech": ("resemble-ai/Resemblyzer", "15d828edebe0", "Apache-2.0; LibriSpeech CC BY 4.0"),
    "voices": ("jim-schwoebel/sample_voice_data", "86fdf302bf31", "Apache-2.0"),
    "ljspeech": ("MarkHershey/AudioDeepFakeDetection", "602bc4954398", "MIT"),
    "vocoders": ("gan-police/audiodeepfake-detection", "eaed30201667", "EUPL-1.2"),
}
VOCODER = re.compile(r"lbigvgan|bigvgan|avocodo|conformer|waveglow|hifigan|parallel_wavegan|pwg|mbmelgan|"
                     r"multi_band_melgan|full_?band_?melgan|lmelgan|melgan", re.I)
LABELS = ("real", "fake")
SHORTEST = audio.RATE // 2
# Clips of the bigger collection: at most so many of one repository and system, and of
# one repository's genuine speech.
MOST_FAKE, MOST_REAL = 8, 60
CORPORA = (
    ("LJSpeech", re.compile(r"LJ0\d\d|lj_?speech|/lj[_/]|lj_\d", re.I)),
    ("VCTK", re.compile(r"(?<![A-Za-z\d])p[23]\d\d(?!\d)|vctk", re.I)),
    ("LibriSpeech", re.compile(r"(?<!\d)\d{2,5}[-_]\d{3,6}[-_]\d{4,6}|libri|LL_\d|test-clean|test-other|/LT/", re.I)),
)


def held_out_sums(data):
    """SHA-256 of files that must not be used."""
    with open(os.path.join(data, "held-out.sha256")) as f:
        return {line.split()[0].lower() for line in f if line.strip()}


def corpus(path):
    """Home corpus of a clip as its original path tells, or '-'."""
    return next((name for name, pattern in CORPORA if pattern.search(path)), "-")


def from_folders(archive):
    """Clips of speech.tar, whose folders name their source."""
    for path, data in members(archive):
        label, folder = path.split("/")[:2]
        repository, commit, licence = FOLDERS[folder]
        found = VOCODER.search(os.path.basename(path)) if folder == "vocoders" else None
        system = (found.group(0).lower() if found else "waveform copy") if label == "fake" else folder
        yield dict(path=path, label=int(label == "fake"), system=system, repository=repository, commit=commit,
                   licence=licence, corpus=corpus(path), speaker=speaker(path), archived=True, sums=[], data=data)


def from_manifest(archive):
    """Clips of speech2.tar, whose MANIFEST.tsv names each original."""
    files = dict(members(archive))
    for row in csv.DictReader(io.StringIO(files["MANIFEST.tsv"].decode()), delimiter="\t"):
        origin = row["repository"] + "/" + row["path in the repository"]
        yield dict(path=row["path"], label=int(row["label"] == "fake"), system=row["system"],
                   repository=row["repository"], commit=row["commit"][:12],
                   licence=row["licence of the repository"], corpus=corpus(origin), speaker=speaker(origin), archived=True,
                   sums=[row["sha256 of the original"].lower()], data=files[row["path"]])


def from_collection(folder):
    """Clips that gather/ has brought together: whole files, some of each system of
    each repository, none of which an archive holds a part."""
    with open(os.path.join(folder, "manifest.tsv"), newline="") as f:
        found = [r for r in csv.DictReader(f, delimiter="\t") if r["medium"] == "speech" and r["excerpt"] != "yes"]
    taken = collections.Counter()
    for row in sorted(found, key=lambda r: r["sha256"]):
        group = row["repository"], row["label"], row["system"]
        taken[group] += 1
        if row["label"] not in LABELS or taken[group] > (MOST_FAKE if row["label"] == "fake" else MOST_REAL):
            continue
        with open(os.path.join(folder, row["path"]), "rb") as f:
            data = f.read()
        yield dict(path=row["path"], label=LABELS.index(row["label"]), system=row["system"],
                   repository=row["repository"], commit=row["commit"][:12], licence=row["licence"],
                   corpus=corpus(row["repository"] + "/" + row["original path"]), speaker=row["speaker"], archived=False,
                   sums=[row["sha256"].lower()], data=data)


def held_back(folder):
    """How many held-out files gather/ itself has dropped."""
    with open(os.path.join(folder, "counts.tsv"), newline="") as f:
        return sum(int(r["held out"]) for r in csv.DictReader(f, delimiter="\t") if r["medium"] == "speech")


def members(archive):
    """(path, bytes) of the files of a tar, in order of path."""
    with tarfile.open(archive) as tar:
        for m in sorted((m for m in tar.getmembers() if m.isfile()), key=lambda m: m.name):
            yield m.name.removeprefix("./"), tar.extractfile(m).read()


def gather(data, more=None):
    """-> list of clips with int16 `sound`, number of held-out files dropped. `more`
    is the folder of the bigger collection."""
    held, seen, clips = held_out_sums(data), set(), []
    counts = dict(held=0, duplicate=0, short=0)
    sets = [from_folders(os.path.join(data, "speech.tar")), from_manifest(os.path.join(data, "speech2.tar"))]
    if more:
        sets.append(from_collection(more))
        counts["held"] = held_back(more)
    for clip in (c for s in sets for c in s):
        body = clip.pop("data")
        sums = {hashlib.sha256(body).hexdigest(), *clip.pop("sums")}
        if sums & held:
            counts["held"] += 1
            continue
        sound = audio.decode(body)
        sums.add(hashlib.sha256(sound[:audio.WINDOW].tobytes()).hexdigest())
        if len(sound) < SHORTEST or not np.any(sound):
            counts["short"] += 1
        elif sums & seen:
            counts["duplicate"] += 1
        else:
            seen |= sums
            clips.append(dict(clip, sound=sound, id=hashlib.sha256(sound.tobytes()).hexdigest()))
    print(f"gathered {len(clips)} clips ({sum(c['label'] for c in clips)} fake); dropped {counts['held']} held out, "
          f"{counts['duplicate']} duplicate, {counts['short']} too short or empty", flush=True)
    return clips, counts["held"]
