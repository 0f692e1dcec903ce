"""Faces by YuNet: boxes and five landmarks."""

import cv2
import numpy as np
import onnxruntime

STRIDES = (8, 16, 32)
WORKING = 512  # pixels; the longer side is brought to about this before detection
CONFIDENT = 0.6
OVERLAP = 0.3  # intersection over union above which two boxes are of one face


class YuNet:
    """Runs the published graph (BGR 0 to 255, sides a multiple of 32) on one thread."""

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.outputs = [o.name for o in self.session.get_outputs()]

    def faces(self, pixels):
        """[x, y, width, height, 5 × (x, y)] of every confident face in pixels, large and certain ones first."""
        factor = min(WORKING / max(pixels.shape[:2]), 2.0)
        size = [max(32, round(v * factor)) for v in (pixels.shape[1], pixels.shape[0])]
        small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA if factor < 1 else cv2.INTER_LINEAR)
        small = cv2.copyMakeBorder(small, 0, -size[1] % 32, 0, -size[0] % 32, cv2.BORDER_CONSTANT)
        rows = self.candidates(small)
        rows = rows[np.argsort(-rows[:, 2] * rows[:, 3] * rows[:, 14], kind="stable")]
        # One factor for each axis: rounding makes them differ by a little.
        back = np.tile([pixels.shape[1] / size[0], pixels.shape[0] / size[1]], 7)
        return [(row[:14] * back).tolist() for row in apart(rows)]

    def largest(self, pixels):
        """The first of faces(), or None."""
        found = self.faces(pixels)
        return found[0] if found else None

    def candidates(self, pixels):
        """Faces before suppression of duplicates, one row each: box, landmarks, score."""
        blob = pixels[:, :, ::-1].transpose(2, 0, 1)[None].astype(np.float32)
        values = dict(zip(self.outputs, self.session.run(None, {self.session.get_inputs()[0].name: blob})))
        found = []
        for stride in STRIDES:
            across = pixels.shape[1] // stride
            score = np.sqrt(np.clip(values[f"cls_{stride}"][0, :, 0] * values[f"obj_{stride}"][0, :, 0], 0, 1))
            for k in np.flatnonzero(score > CONFIDENT):
                cell = np.array([k % across, k // across])
                box, marks = values[f"bbox_{stride}"][0, k], values[f"kps_{stride}"][0, k]
                centre, extent = (cell + box[:2]) * stride, np.exp(box[2:]) * stride
                points = ((marks.reshape(5, 2) + cell) * stride).ravel()
                found.append(np.concatenate([centre - extent / 2, extent, points, [score[k]]]))
        return np.array(found).reshape(-1, 15)


def apart(rows):
    """The rows less those that an earlier one overlaps."""
    kept = []
    for row in rows:
        if all(overlap(row, other) <= OVERLAP for other in kept):
            kept.append(row)
    return kept


def overlap(one, other):
    """Intersection over union of two boxes."""
    low, high = np.maximum(one[:2], other[:2]), np.minimum(one[:2] + one[2:4], other[:2] + other[2:4])
    shared = np.clip(high - low, 0, None).prod()
    return shared / (one[2] * one[3] + other[2] * other[3] - shared)
