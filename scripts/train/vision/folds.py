"""Folds that keep repositories and generators together, and weights."""

from collections import Counter

import numpy as np

MADE = 0.3


def groups(items):
    """The group of each item: repositories that share a generator are one group.

    What the script made itself goes with the repository it was made from.
    """
    parent = {}

    def find(node):
        while parent.setdefault(node, node) != node:
            node = parent[node]
        return node

    for item in items:
        if item.made:
            continue
        roots = sorted([find(("repository", item.repository)), find(("generator", *source(item)))])
        parent[roots[1]] = roots[0]
    return [find(("repository", item.repository)) for item in items]


def repositories(items):
    """The group of each item: its repository alone; inside() keeps generators apart."""
    return [("repository", item.repository) for item in items]


def folds(items, count, group=groups):
    """A fold for each item: groups are kept whole, both classes spread evenly, big groups first."""
    group_of = group(items)
    sizes = {}
    for item, group in zip(items, group_of):
        sizes.setdefault(group, np.zeros(2))[item.fake] += not item.made
    total = sum(sizes.values())
    load, chosen = np.zeros((count, 2)), {}
    for group, size in sorted(sizes.items(), key=lambda pair: (-pair[1].sum(), pair[0])):
        share = size / total
        growth = ((load + share) ** 2).sum(1) - (load**2).sum(1)
        chosen[group] = int(growth.argmin())
        load[chosen[group]] += share
    return np.array([chosen[group] for group in group_of])


def source(item):
    """What may not be trained on where it is judged, in whichever repository: a generator, or a source of genuine media.

    The label itself does not matter: a generator's faces (face_fake) stand beside its other pictures (fake).
    """
    return item.fake, item.family or item.generator


def inside(items, fold_of, fold):
    """Rows to train on for a fold: the other folds, less everything that shares a source with what is judged."""
    judged = {source(i) for i, k in zip(items, fold_of) if k == fold and not i.made}
    return np.array([n for n, (i, k) in enumerate(zip(items, fold_of)) if k != fold and (i.made or source(i) not in judged)])


def sampling_weights(items, media=None):
    """In each medium classes equal; inside a class each (repository, generator) counts by the root of its size.

    So a medium says nothing of the class. What the script made itself counts MADE times
    as much as what it found. All media count alike unless media says how much each does.
    """
    keys = [(i.medium, i.fake, i.repository, i.generator) for i in items]
    size = Counter(keys)
    weights = np.array([size[k] ** -0.5 * (MADE if i.made else 1) for k, i in zip(keys, items)])
    parts = np.array([f"{i.medium} {i.fake}" for i in items])
    for part in set(parts):
        weights[parts == part] /= weights[parts == part].sum()
    weights *= [media[i.medium] for i in items] if media else 1
    return weights / weights.sum()


def equal_weights(labels, repositories, kinds=None):
    """Classes equal, inside a class all kinds of media equal, if they are given, and inside a kind all repositories."""
    keys = list(zip(labels, [""] * len(labels) if kinds is None else kinds, repositories))
    size = Counter(keys)
    parts = Counter(key[:2] for key in size)
    classes = Counter(part[0] for part in parts)
    return np.array([1 / size[k] / parts[k[:2]] / classes[k[0]] for k in keys])
