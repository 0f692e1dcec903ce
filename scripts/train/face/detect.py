"""Faces by YuNet: box and five landmarks of the largest face."""

import cv2
import numpy as np
import onnxruntime

STRIDES = (8, 16, 32)
WORKING = 512  # pixels; the longer side is brought to about this before detection
CONFIDENT = 0.6


class YuNet:
    """Runs the published graph (BGR 0 to 255, sides a multiple of 32) on one thread."""

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.outputs = [o.name for o in self.session.get_outputs()]

    def largest(self, pixels):
        """[x, y, width, height, 5 × (x, y)] of the largest confident face in pixels, or None."""
        factor = min(WORKING / max(pixels.shape[:2]), 2.0)
        size = [max(32, round(v * factor)) for v in (pixels.shape[1], pixels.shape[0])]
        small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA if factor < 1 else cv2.INTER_LINEAR)
        small = cv2.copyMakeBorder(small, 0, -size[1] % 32, 0, -size[0] % 32, cv2.BORDER_CONSTANT)
        rows = self.candidates(small)
        if not len(rows):
            return None
        best = rows[np.argmax(rows[:, 2] * rows[:, 3] * rows[:, 14])]
        # One factor for each axis: rounding makes them differ by a little.
        back = np.tile([pixels.shape[1] / size[0], pixels.shape[0] / size[1]], 7)
        return (best[:14] * back).tolist()

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
