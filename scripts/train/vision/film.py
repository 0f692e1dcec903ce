"""Films: views of pictures as frames of them, and how they come back when they are shared."""

import io
import subprocess
import tempfile
from pathlib import Path

import av
import cv2
import numpy as np

from vision import gather

SIDES = (240, 360, 480, 540, 720, 1080)  # pixels, shorter sides of films
FRAMES = 6  # of the film that is made of a picture
QUALITIES = (18, 35)  # constant rate factors of H.264, from and up to
SHARED = "H.264 CRF 32 at no more than 768 pixels"
LONGEST = 768  # pixels, of a shared one


def filmed(pixels, random):
    """One frame of a short film in which the picture moves slowly, as H.264 at a random size and quality leaves it."""
    small = to_side(pixels, random.choice(SIDES))
    frames = moved(small, random.uniform(-4, 4, 2), random.uniform(-0.01, 0.01))
    return coded(frames, random.randint(*QUALITIES), random.randint(FRAMES))


def to_side(pixels, side):
    """The picture with a shorter side of that many pixels, or its own size if that is smaller; sides are even."""
    factor = min(1.0, side / min(pixels.shape[:2]))
    width, height = (max(2, int(v * factor) // 2 * 2) for v in (pixels.shape[1], pixels.shape[0]))
    return cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA)


def moved(pixels, step, zoom):
    """FRAMES views of a picture, each moved by step pixels and larger by zoom than the one before."""
    height, width = pixels.shape[:2]
    views = []
    for k in range(FRAMES):
        turn = cv2.getRotationMatrix2D((width / 2, height / 2), 0, 1 + zoom * k)
        turn[:, 2] += step * k
        views.append(cv2.warpAffine(pixels, turn, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT_101))
    return views


def coded(frames, quality, wanted):
    """The wanted one of some RGB frames of one size after H.264, 4:2:0, on one thread."""
    file = io.BytesIO()
    with av.open(file, "w", "matroska") as out:
        stream = out.add_stream("libx264", rate=25, options={"crf": str(quality), "preset": "veryfast", "threads": "1"})
        stream.height, stream.width, stream.pix_fmt = *frames[0].shape[:2], "yuv420p"
        for pixels in frames:
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), "rgb24")))
        out.mux(stream.encode(None))
    file.seek(0)
    with av.open(file) as made:
        made.streams.video[0].thread_type = "NONE"
        return list(made.decode(video=0))[wanted].to_ndarray(format="rgb24")


def share(path, target, seconds=None):
    """Encodes a clip, or so many seconds of it, as it is shared; of a broken one there is no target, or an empty one."""
    scale = f"scale=w='min({LONGEST},iw)':h='min({LONGEST},ih)':force_original_aspect_ratio=decrease:force_divisible_by=2"
    part = ["-t", str(seconds)] if seconds else []
    command = ["ffmpeg", "-nostdin", "-v", "error", "-threads", "1", *part, "-i", str(path), "-an", "-vf", scale]
    subprocess.run([*command, "-c:v", "libx264", "-preset", "fast", "-crf", "32", "-pix_fmt", "yuv420p", str(target)], check=False)


def shared(path, count, seconds=None):
    """Up to count frames of a clip, or of so many seconds of it, after encoding it as it is shared, spread over it as those of the original are; none of a broken one."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "clip.mp4")
        share(path, target, seconds)
        return gather.frames(target, count)
