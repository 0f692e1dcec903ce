"""MesoNet's networks in Keras, the framework of its authors: what parity is measured against.

Needs TensorFlow (reference-requirements.txt), which conversion itself does not.
"""

import os

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")


def convolved(x, width, size, reach=1):
    """A convolution and its activation."""
    from keras import layers

    return layers.Conv2D(width, size, padding="same", dilation_rate=reach, activation="relu")(x)


def side_by_side(x, widths):
    """The four views of an inception block."""
    from keras import layers

    views = [convolved(x, widths[0], 1)]
    views += [convolved(convolved(x, width, 1), width, 3, reach) for reach, width in enumerate(widths[1:], 1)]
    return layers.Concatenate()(views)


def network(inception):
    """Crops, float32 N×256×256×3 in [0, 1], to the log-odds of genuine, N×1."""
    import keras
    from keras import layers

    early = (
        [lambda x: side_by_side(x, (1, 4, 4, 2)), lambda x: side_by_side(x, (2, 4, 4, 2))] if inception
        else [lambda x: convolved(x, 8, 3), lambda x: convolved(x, 8, 5)]
    )
    late = [lambda x: convolved(x, 16, 5)] * 2
    x = crops = keras.Input((256, 256, 3))
    for layer, size in zip([*early, *late], (2, 2, 2, 4)):
        x = layers.MaxPooling2D(size)(layers.BatchNormalization()(layer(x)))
    hidden = layers.LeakyReLU(negative_slope=0.1)(layers.Dense(16)(layers.Flatten()(x)))
    return keras.Model(crops, layers.Dense(1)(hidden))


def logits(path, rows):
    """Log-odds of fake of uint8 rows, by the weights that Keras itself reads from path."""
    model = network("Inception" in path.name)
    model.load_weights(path)
    return -np.concatenate([model(rows[i : i + 4].astype(np.float32) / 255).numpy().ravel() for i in range(0, len(rows), 4)])


def version():
    """The framework by name and version; raises ImportError where it is not installed."""
    import keras
    import tensorflow

    return f"Keras {keras.__version__} on TensorFlow {tensorflow.__version__}"
