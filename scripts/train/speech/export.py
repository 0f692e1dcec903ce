"""ONNX export, comparison with PyTorch, robustness, cost, golden output and card."""
import hashlib
import json
import os
import time
import warnings

import numpy as np
import onnx
import onnxruntime
import torch

from classifier import BYTES
from frontend import RATE, WINDOW
from network import ORIGIN
from vision.export import compact  # by the path that frontend adds

OPSET = 17
TOLERANCE = 1e-4  # between ONNX Runtime and PyTorch, on the logit
NOTHING = 0.5  # the largest logit of what is nothing to judge
GOLDEN_TOLERANCE = 1e-4  # between machines; the pattern is noise, whose logit is scaled down


def to_onnx(model, example, path):
    """One self-contained graph with a dynamic batch; the nets' matrices in 8 bits, as they were measured."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(model.eval(), (torch.from_numpy(example[:2]),), path, input_names=["samples"],
                          output_names=["logit"], opset_version=OPSET, dynamo=False, do_constant_folding=False,
                          dynamic_axes={"samples": {0: "batch"}, "logit": {0: "batch"}})
    compact(path, BYTES, "nets")
    onnx.checker.check_model(onnx.load(path), full_check=True)


def session(path):
    """ONNX Runtime on one CPU thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run(runtime, samples, batch):
    """Logits of all rows, `batch` at a time."""
    parts = [runtime.run(["logit"], {"samples": samples[i:i + batch]})[0] for i in range(0, len(samples), batch)]
    return np.concatenate(parts)


def compare(runtime, reference, samples):
    """Largest differences from PyTorch at batch 1 and 4; raises past TOLERANCE."""
    one, four = run(runtime, samples, 1), run(runtime, samples, 4)
    lines = ["| window | PyTorch | ONNX Runtime, batch 1 | batch 4 | largest difference |", "|---|---|---|---|---|"]
    for i, r in enumerate(reference):
        worst = max(abs(one[i] - r), abs(four[i] - r))
        lines.append(f"| {i} | {r:.6f} | {one[i]:.6f} | {four[i]:.6f} | {worst:.1e} |")
    print("\n".join(lines), flush=True)
    worst = float(max(np.abs(one - reference).max(), np.abs(four - reference).max()))
    if not worst <= TOLERANCE:
        raise RuntimeError(f"ONNX Runtime differs from PyTorch by {worst:.1e}")
    return worst


def robust(runtime):
    """Logits of degenerate windows; raises when one is not finite, or judged."""
    t = np.arange(WINDOW) / RATE
    square = np.sign(np.sin(2 * np.pi * 173 * t))
    impulse = np.zeros(WINDOW)
    impulse[WINDOW // 2] = 1
    cases = {"silence": 0 * t, "constant": 0 * t + 0.5, "full-scale clipping": square,
             "pure tone": 0.5 * np.sin(2 * np.pi * 440 * t), "one impulse": impulse,
             "sweep": np.sin(np.cumsum(np.linspace(0.03, 2.5, WINDOW))),
             "mains hum": 0.1 * sum(np.sin(2 * np.pi * 50 * k * t) / k for k in range(1, 8)),
             "white noise": np.random.RandomState(0).uniform(-1, 1, WINDOW),
             "not a number": 0 * t + np.nan, "infinite": 0 * t - np.inf,
             "beyond full scale": 1e4 * np.sin(2 * np.pi * 440 * t)}
    out = {k: float(run(runtime, v[None].astype(np.float32), 1)[0]) for k, v in cases.items()}
    if not all(abs(v) <= NOTHING for v in out.values()):
        raise RuntimeError(f"not finite, or judged: {out}")
    return out


def cost(runtime, samples, repeats=3):
    """CPU milliseconds a window at batch 1 and 4: the best of some repeats."""
    out = {}
    for batch in (1, 4):
        spent = []
        for _ in range(repeats):
            begin = time.process_time()
            run(runtime, samples, batch)
            spent.append((time.process_time() - begin) / len(samples) * 1000)
        out[batch] = min(spent)
    return out


def golden_row():
    """The card's "lcg" pattern for float32."""
    i = np.arange(WINDOW, dtype=np.uint64)
    h = ((i * 2654435761 + 1013904223) & 0xFFFFFFFF) >> 24
    return ((h / 255 - 0.5) * 0.2).astype(np.float32)[None]


def sources(clips):
    """Clips per repository, as the card lists them."""
    out = {}
    for c in clips:
        s = out.setdefault(c["repository"], dict(name=c["repository"].split("/")[1], repository=c["repository"],
                                                 commit=c["commit"], licence=c["licence"], real=0, fake=0))
        s["fake" if c["label"] else "real"] += 1
    return [out[k] for k in sorted(out, key=str.lower)]


def card(path, runtime, facts):
    """The model card for model.onnx at `path`; `facts` holds what was measured."""
    with open(path, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    return dict(
        schema=1, name="deepfaked-speech", version=facts["version"], task="speech-synthesis",
        description="Networks of one hidden layer, two for wide and two for narrow sound such as a telephone's, from raw "
                    "4-second windows, on statistics of cepstra, short-term dynamics and tonal fine structure and of the "
                    "feature maps of YAMNet's first seven convolutions.",
        file=os.path.basename(path), sha256=digest,
        input=dict(name="samples", type="float32", shape=[-1, WINDOW]),
        output=dict(name="logit", type="float32", shape=[-1]),
        preprocessing=dict(sample_rate=RATE, window_samples=WINDOW),
        calibration=facts["calibration"], operating_points=facts["operating_points"], measured=facts["measured"],
        by_source=facts["by_source"],
        training=dict(recipe="scripts/train/speech", seed=facts["seed"], cpu_minutes=facts["cpu_minutes"],
                      started_from=ORIGIN, sources=facts["sources"], held_out_dropped=facts["held_out"]),
        licences=dict(code="Apache-2.0", weights="Apache-2.0",
                      data="The recordings are third-party, were used for training and measuring only, and are not "
                           "part of this project; their sources are listed under training."),
        golden=dict(pattern="lcg", output=float(run(runtime, golden_row(), 1)[0]), tolerance=GOLDEN_TOLERANCE))


def write_json(value, path):
    """Indented JSON with a final newline."""
    with open(path, "w") as f:
        json.dump(value, f, indent=2, ensure_ascii=False)
        f.write("\n")
