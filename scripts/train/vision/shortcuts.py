"""A classifier that sees no content: format, size, JPEG table and sharpness alone.

What it reaches is what a data set gives away by its files. The nearer the
real model is to it, the less the real model's figure means.
"""

import cv2
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from vision.folds import inside, sampling_weights


def sharpness(pixels):
    """Log-variance of the Laplacian, the deviation of the luma and the size."""
    luma = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    return [float(np.log1p(cv2.Laplacian(luma, cv2.CV_32F).var())), float(luma.std()), *map(float, luma.shape)]


def scores(items, traits, fold_of, with_file):
    """Out-of-fold log-odds from the sharpness of the pictures, with what the file says or without."""
    rows = np.array([list(t) + (i.facts if with_file else []) for i, t in zip(items, traits)])
    labels, result = np.array([i.fake for i in items]), np.zeros(len(items))
    for fold in sorted(set(fold_of)):
        known = inside(items, fold_of, fold)
        weights = sampling_weights([items[k] for k in known])
        model = HistGradientBoostingClassifier(max_iter=80, max_leaf_nodes=6, min_samples_leaf=20, random_state=0)
        model.fit(rows[known], labels[known], sample_weight=weights * len(known))
        left = fold_of == fold
        result[left] = model.decision_function(rows[left])
    return result
