"""YuNet by OpenCV, for which its authors publish it and whose face detector they wrote: for comparison."""

import cv2
import numpy as np

LEAST = 0.05  # score of a box that is a candidate


def version():
    """Of the framework."""
    return f"OpenCV {cv2.__version__}"


def surest(path, rows, overlap):
    """Log-odds of the surest face of each row, uint8 N×side×side×3 RGB; not a number where there is none."""
    side = rows.shape[1]
    detector = cv2.FaceDetectorYN.create(str(path), "", (side, side), score_threshold=LEAST, nms_threshold=overlap)
    found = [detector.detect(np.ascontiguousarray(row[:, :, ::-1]))[1] for row in rows]
    chance = np.array([np.nan if boxes is None else boxes[:, -1].max() for boxes in found], np.float64)
    return np.log(chance) - np.log(1 - chance)
