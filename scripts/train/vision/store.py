"""What is made of each file, by as many processes as there are cores, and kept, so that an interrupted run goes on."""

import hashlib
import multiprocessing
import os
import pickle
from pathlib import Path

SEED_DIGITS = 7  # of an item's identity, that are the seed of what is random about it


def every(make, items, folder, ready, given):
    """What make(item, base) returns for each item, in order, in processes that ready(*given) has readied; base is a path to write to."""
    return each(make, [(item, folder / identity(item)) for item in items], ready, given)


def each(make, placed, ready, given):
    """The same of (item, base) pairs, for what has no name of its own among files."""
    for folder in {base.parent for _, base in placed}:
        folder.mkdir(parents=True, exist_ok=True)
    tasks = [(make, item, base) for item, base in placed]
    with multiprocessing.get_context("spawn").Pool(os.cpu_count(), ready, given) as pool:
        return list(pool.imap(kept, tasks, 4))


def identity(item):
    """Sixteen hexadecimal digits that stand for an item, whatever stands beside it: its name among files."""
    return hashlib.sha256(f"{item.repository}\n{item.generator}\n{item.path.name}".encode()).hexdigest()[:16]


def seed(base):
    """The seed that an item's identity gives it."""
    return int(base.name[:SEED_DIGITS], 16)


def kept(task):
    """What is made of one item, written last, and whole or not at all."""
    make, item, base = task
    done = Path(f"{base}.pickle")
    if not done.exists():
        part = done.with_suffix(".part")
        part.write_bytes(pickle.dumps(make(item, base)))
        part.replace(done)
    return pickle.loads(done.read_bytes())
