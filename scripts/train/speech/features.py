"""Statistics of all windows that training and measuring need, computed with the
very module that is exported."""
import os

import numpy as np
import torch

import audio
from model import Features

MOST = 4  # windows a clip
CONDITIONS = ("clean", "mp3-64", "telephone")
DEGRADED = 2  # random degradations of each clip


def cpu_seconds():
    """CPU time of this process and of the ffmpeg runs it has waited for."""
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


def degraded(clips, seed):
    """One degraded window of each clip, half of them through a random codec."""
    r = np.random.RandomState(seed)
    out = []
    for clip in clips:
        x = clip["sound"]
        at = r.randint(max(1, len(x) - audio.WINDOW + 1))
        out.append(audio.degrade(audio.repeated(x, audio.WINDOW)[at:at + audio.WINDOW], r))
    pick = r.choice(2 * len(audio.CODECS), len(out))
    for k, name in enumerate(audio.CODECS):
        chosen = np.flatnonzero(pick == k)
        for i, y in zip(chosen, audio.through_codec([out[i] for i in chosen], name)):
            out[i] = y
    return out


def condition(clips, name, seed):
    """The clips' int16 samples in one condition."""
    sounds = [c["sound"] for c in clips]
    if name == "clean":
        return sounds
    if name == "telephone":
        return [audio.telephone(s) for s in sounds]
    if name.startswith("degraded"):
        return degraded(clips, seed + 1 + int(name.split("-")[1]))
    return audio.through_codec(sounds, name)


def table(clips, name, seed):
    """Features and shortcuts of all windows: dict of x, nuisance, clip (row -> clip)."""
    module, rows, shortcuts, owner = Features().eval(), [], [], []
    spent = cpu_seconds()
    for i, sound in enumerate(condition(clips, name, seed)):
        cut = audio.windows(sound, MOST)
        with torch.no_grad():
            rows.append(module(torch.from_numpy(cut))[0].numpy())
        shortcuts += [audio.nuisance(w) for w in cut]
        owner += [i] * len(cut)
    print(f"{name}: {len(owner)} windows, {cpu_seconds() - spent:.0f} s of CPU time", flush=True)
    return dict(x=np.concatenate(rows), nuisance=np.stack(shortcuts), clip=np.array(owner),
                cpu_seconds=cpu_seconds() - spent)


def tables(clips, work, seed):
    """All tables, kept in the work folder: rerunning the script reads them back."""
    out = {}
    for name in (*CONDITIONS, *(f"degraded-{k}" for k in range(DEGRADED))):
        path = os.path.join(work, name + ".npz")
        if not os.path.exists(path):
            np.savez(path, **table(clips, name, seed))
        out[name] = dict(np.load(path))
    return out
