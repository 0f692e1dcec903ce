"""Statistics of all windows that training and measuring need, computed with the
very module that is exported."""
import hashlib
import os
import zlib

import numpy as np
import torch

import audio
from model import Features

MOST = 4  # windows a clip
WHOLE = ("clean", "mp3-64", "telephone")  # conditions of whole clips
PART = {"opus-24": 8, "mp3-24": 4, "mp3-32": 4}  # and of one clip in so many, by a hash of its samples: coding is slow
RANDOM = ("degraded-0", "line-0", "coded-0")  # random views of one window each
VIEWS = (*WHOLE, *PART, *RANDOM)


def cpu_seconds():
    """CPU time of this process and of the ffmpeg runs it has waited for."""
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


def excerpts(clips, r):
    """One window of each clip, at random."""
    for clip in clips:
        x = clip["sound"]
        at = r.randint(max(1, len(x) - audio.WINDOW + 1))
        yield audio.repeated(x, audio.WINDOW)[at:at + audio.WINDOW]


def coded(sounds, names, pick):
    """The sounds, each through the codec that `pick` gives it the number of; those
    whose number is beyond the names stay as they are."""
    out = list(sounds)
    for k, name in enumerate(names):
        chosen = np.flatnonzero(pick == k)
        if len(chosen):
            for i, y in zip(chosen, audio.through_codec([out[i] for i in chosen], name)):
                out[i] = y
    return out


def random_view(clips, kind, r):
    """A window of each clip: through a telephone line, through a codec at a low
    rate, or degraded and half of them coded."""
    cut = excerpts(clips, r)
    if kind == "line":
        return [audio.line(x, r) for x in cut]
    if kind == "coded":
        return coded(cut, audio.LOW, r.choice(len(audio.LOW), len(clips)))
    return coded([audio.degrade(x, r) for x in cut], audio.USUAL, r.choice(2 * len(audio.USUAL), len(clips)))


def view(clips, name, seed):
    """The clips' int16 samples in one condition; random ones follow from the seed
    and the clips' repository."""
    sounds = [c["sound"] for c in clips]
    if name == "clean":
        return sounds
    if name == "telephone":
        return [audio.telephone(s) for s in sounds]
    if name in audio.CODECS:
        return audio.through_codec(sounds, name)
    r = np.random.RandomState(zlib.crc32(f"{seed} {name} {clips[0]['repository']}".encode()))
    return random_view(clips, name.split("-")[0], r)


def table(clips, name, seed, module):
    """Features and, for clean sound, shortcuts of all windows: dict of x, nuisance,
    clip (row -> clip)."""
    rows, shortcuts, owner = [], [], []
    spent = cpu_seconds()
    for i, sound in enumerate(view(clips, name, seed)):
        cut = audio.windows(sound, MOST)
        with torch.no_grad():
            rows.append(module(torch.from_numpy(cut))[0].numpy())
        shortcuts += [audio.nuisance(w) for w in cut] if name == "clean" else []
        owner += [i] * len(cut)
    return dict(x=np.concatenate(rows), nuisance=np.array(shortcuts), clip=np.array(owner),
                cpu_seconds=cpu_seconds() - spent)


def kept(clips, name, seed, folder, module):
    """The table of one repository's clips, from the folder if it is there."""
    key = hashlib.sha256("\n".join([str(seed), name, *(c["id"] for c in clips)]).encode()).hexdigest()[:24]
    path = os.path.join(folder, key + ".npz")
    if not os.path.exists(path):
        np.savez(path + ".part.npz", **table(clips, name, seed, module))
        os.replace(path + ".part.npz", path)
    with np.load(path) as f:
        return dict(f)


def homes(clips, name):
    """Indices of the clips that a condition has, by repository."""
    out = {}
    for i, c in enumerate(clips):
        if int(c["id"][:8], 16) % PART.get(name, 1) == 0:
            out.setdefault(c["repository"], []).append(i)
    return out.values()


def tables(clips, work, seed, weights):
    """All tables. Those of each repository are kept in the work folder: what is
    added later costs only itself. `weights` is the folder of pretrained weights."""
    folder, module = os.path.join(work, "tables"), Features(weights).eval()
    os.makedirs(folder, exist_ok=True)
    out = {}
    for name in VIEWS:
        parts = [(np.array(at), kept([clips[i] for i in at], name, seed, folder, module))
                 for at in homes(clips, name)]
        out[name] = dict(x=np.concatenate([p["x"] for _, p in parts]),
                         clip=np.concatenate([at[p["clip"]] for at, p in parts]),
                         cpu_seconds=sum(float(p["cpu_seconds"]) for _, p in parts))
        if name == "clean":
            out[name]["nuisance"] = np.concatenate([p["nuisance"] for _, p in parts])
        print(f"{name}: {len(out[name]['x'])} windows, {out[name]['cpu_seconds']:.0f} s of CPU time", flush=True)
    return out
