"""The card beside a model, and the command line the training scripts share."""

import argparse
import json
import os
from pathlib import Path

from vision import export

START = (
    "ViT-Tiny/16, ImageNet-21k, then ImageNet (Steiner and others, 2021; Apache-2.0), as timm has it under the name "
    "vit_tiny_patch16_224.augreg_in21k_ft_in1k: the first eight blocks, untouched; the copy read is parameters/ of codr-shiv/VisionTransformer at b2d262d"
)
BACKBONE = "vit_tiny"
LICENCES = {
    "code": "Apache-2.0",
    "weights": "Apache-2.0",
    "data": "The training media belong to third parties; they were used for training and measuring only, "
    "are not distributed, and are listed under training.",
}


def arguments(description):
    """The options of a training script."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", required=True, type=Path, help="folder of the archives and held-out.sha256")
    parser.add_argument("--weights", required=True, type=Path, help="folder of the published weights")
    parser.add_argument("--work", required=True, type=Path, help="folder for what is made on the way")
    parser.add_argument("--out", required=True, type=Path, help="folder of the model")
    parser.add_argument("--more", type=Path, help="folder that scripts/train/gather made")
    parser.add_argument("--report", type=Path, help="file for the tables; RESULTS.md beside the script if not given")
    return parser.parse_args()


def one_thread():
    """Keeps every library to one thread, so that a run repeats and leaves the machine usable."""
    import cv2
    import torch

    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    cv2.setNumThreads(1)


def write(folder, shape, fields):
    """Completes the fields with what is the same for every card, and writes card.json."""
    model = folder / "model.onnx"
    card = {
        "schema": 1,
        **({} if "golden" in fields else {"golden": export.golden(model, shape)}),
        **fields,
        "file": model.name,
        "sha256": export.digest(model),
        "input": {"name": "pixels", "type": "uint8", "shape": [-1, *shape]},
        "output": {"name": "logit", "type": "float32", "shape": export.output_shape(model)},
        "licences": LICENCES,
    }
    (folder / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n")


def keep(path, make):
    """What make() returns, kept as a NumPy archive, so that an interrupted run goes on."""
    import numpy as np

    if not path.exists():
        np.savez(path, **make())
    with np.load(path) as archive:
        return dict(archive)
