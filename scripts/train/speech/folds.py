"""Folds by repository, and weights that balance labels, repositories and systems."""
import os
import re
import sys

import numpy as np

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from speakers import voices  # noqa: E402

# Other names of a system, after system_key has made them plain, and what is too near to it to count as unseen:
# a reproduction, another size, another training of the same network.
SAME = {
    "multibandmelgan": "mbmelgan", "fullbandmelgan": "fbmelgan", "parallelwavegan": "pwg", "pwgvuv": "pwg", "lmelgan": "melgan",
    "lbigvgan": "bigvgan", "hifiganmssbcqt": "hifigan", "gradtts+hifigan": "gradtts", "portaspeechadv": "portaspeech",
    "portaspeechsmall": "portaspeech", "miniflytts": "flytts", "openaitts1": "openaitts", "vallerepro": "valle",
    "naturalspeech2repro": "naturalspeech2", "voiceboxrepro": "voicebox", "soundstormrepro": "soundstorm",
}
CORPORA = ("LJSpeech", "VCTK", "LibriSpeech")


def repository_folds(clips, k=5, seed=0):
    """Fold number of each clip; a repository lies in one fold, labels are spread."""
    names = np.array([c["repository"] for c in clips])
    label = np.array([c["label"] for c in clips])
    count = {n: np.array([((names == n) & (label == q)).sum() for q in (0, 1)]) for n in sorted(set(names))}
    order = list(count)
    np.random.RandomState(seed).shuffle(order)
    order.sort(key=lambda n: -count[n].sum())
    load, total, home = np.zeros((k, 2)), sum(count.values()) / k, {}
    for n in order:
        growth = ((load + count[n]) / total) ** 2 - (load / total) ** 2
        home[n] = int(np.argmin(growth.sum(1)))
        load[home[n]] += count[n]
    return np.array([home[n] for n in names])


def system_key(name):
    """A system's name without capitals, signs and what it was given to say."""
    plain = re.sub(r"[^a-z0-9+]", "", name.lower().replace("(voc)", ""))
    return SAME.get(plain, plain)


def unseen(clips, test):
    """Mask of what may teach a model that is judged on `test`: nothing of its
    repositories, no clip with any voice of its clips, as far as they are known, and no fake of its systems."""
    homes = {c["repository"] for c, t in zip(clips, test) if t}
    systems = {system_key(c["system"]) for c, t in zip(clips, test) if t and c["label"]}
    heard = set().union(*(voices(c["speaker"]) for c, t in zip(clips, test) if t))
    return np.array([c["repository"] not in homes and not voices(c["speaker"]) & heard
                     and not (c["label"] and system_key(c["system"]) in systems) for c in clips])


def strict_splits(clips, fold):
    """(name, train, test) masks where LJSpeech, VCTK or LibriSpeech is wholly unseen as well."""
    home = np.array([c["corpus"] for c in clips])
    for name in CORPORA:
        test = home == name
        if test.any():
            yield name, unseen(clips, test), test


def balanced(clips, power=0.5):
    """Weight of each clip: each label sums to 1/2; inside a label, n clips of one
    repository and system weigh n**power; repositories with both labels, which
    carry the least style, count double."""
    label = np.array([c["label"] for c in clips])
    group = np.array([f"{c['repository']}|{c['system']}|{c['label']}" for c in clips])
    _, inverse, n = np.unique(group, return_inverse=True, return_counts=True)
    w = (n.astype(float) ** (power - 1))[inverse]
    names = np.array([c["repository"] for c in clips])
    both = {r for r in set(names) if len(set(label[names == r])) == 2}
    w *= np.array([2.0 if r in both else 1.0 for r in names])
    for q in (0, 1):
        w[label == q] *= 0.5 / w[label == q].sum()
    return w
