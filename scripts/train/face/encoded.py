"""What a larger encoder makes of the rows that data.py keeps, kept beside them."""

from pathlib import Path

import numpy as np
from vision import card, content, export, store

import clips
import data

SOME = 48  # rows by which products in 8 bits are scaled
TOOLS = {}  # of a process of the pool: the graph of statistics, and that of content


def features(items, work, name, graphs):
    """The statistics of each item as data.features has them, by graphs(rows, statistics, content), which writes both graphs."""
    folder, files = Path(work, f"{name}-base"), [Path(work, f"{name}-{part}.onnx") for part in ("statistics", "content")]
    if not all(file.exists() for file in files):
        np.save(rows_file(work, name), some_rows(items))
        graphs(np.load(rows_file(work, name)), *files)
    own = {i.base: i for i in items if not i.made}
    made = dict(zip(own, store.each(of_face, [(i, folder / Path(base).name) for base, i in own.items()], begin, files)))
    return [data.by_condition(made[i.base]["made" if i.made else "own"]) | ({} if i.made else {content.KEY: made[i.base][content.KEY]}) for i in items]


def rows_file(work, name):
    """Where the rows are kept by which products in 8 bits are scaled."""
    return Path(work, f"{name}-rows.npy")


def some_rows(items):
    """Rows of some faces, spread over all."""
    return np.stack([data.rows(items[k])[0] for k in np.linspace(0, len(items) - 1, SOME).astype(int)])


def begin(statistics, shown):
    """Readies a process of the pool."""
    card.one_thread()
    TOOLS.update(run=export.runner(statistics), content=export.runner(shown))


def of_face(item, _):
    """The statistics of a face and of its blended copy, and of a picture what it shows."""
    with np.load(item.base + ".npz") as rows:
        own = {name: TOOLS["run"](part).astype(np.float16) for name, part in rows.items()}
        return own | {content.KEY: [] if item.clip else TOOLS["content"](rows["own"][:1, 0]).astype(np.float16)}


def of_clips(items, work, name):
    """File -> the statistics of a clip after encoding, of each frame with a face."""
    paths = list(clips.together(items))
    folder, files = Path(work, f"{name}-base"), [Path(work, f"{name}-{part}.onnx") for part in ("statistics", "content")]
    made = store.each(of_clip, [(clips.file_of(path, work), folder / clips.file_of(path, work).stem) for path in paths], begin, files)
    return dict(zip(paths, made))


def of_clip(rows, _):
    """The statistics of the rows in a file."""
    rows = np.load(rows)
    return TOOLS["run"](rows).astype(np.float16) if len(rows) else []
