"""Media that shows and holds nobody: drawn by ffmpeg and spoken by espeak-ng."""

import shutil
import subprocess
from pathlib import Path

from . import machine

SENTENCES = (
    "The weather in the valley will be calm tomorrow, with light wind from the west and a little rain towards the evening. "
    "Walkers may want to take an umbrella, and the ferry leaves half an hour earlier than usual.",
    "The library opens at nine, and the reading room on the second floor half an hour later. Books that were ordered "
    "before noon can be fetched in the afternoon, at the desk beside the stairs, until seven in the evening.",
)
PICTURES, FILMS = 3, 2
TOOLS = ("ffmpeg", "espeak-ng")

# Clients of a closed loop for each core: enough to fill batches, and few enough for
# answers to come well within load.SLO.
CLIENTS = {"picture-224": 8, "picture-720": 3, "sound-10s": 4, "mix": 4, "film-6s": 0.25}

# The workloads by name: what people read, the folders that are sent, and how often.
WORKLOADS = {
    "picture-224": ("224 × 224 JPEG: one tile through the picture model", ("picture-224",), None),
    "picture-720": ("1280 × 720 JPEG: four tiles and the whole, reduced, through the picture model", ("picture-720",), None),
    "sound-10s": ("WAV of 10 s: three windows through the speech model", ("sound-10s",), None),
    "mix": ("mix: half 224 × 224, a quarter 1280 × 720, a quarter WAV", ("picture-224", "picture-720", "sound-10s"), "image=3,audio=1"),
    "film-6s": ("film of 6 s, 1280 × 720 in H.264: its frames through the picture model, the search for faces and, where there are any, the face model", ("film-6s",), None),
}
# Those that two cores answer within load.SLO.
SHORT = [name for name in WORKLOADS if name != "film-6s"]


def missing():
    """The tools that are not installed."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def _ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-nostdin", "-loglevel", "error", "-y", *map(str, arguments)], check=True)


def _picture(path, size, number):
    path.parent.mkdir(parents=True, exist_ok=True)
    source = f"mandelbrot=size={size}:start_scale={3 / (number + 1):.3f}:start_x={-0.743 - number / 100:.3f}"
    _ffmpeg("-f", "lavfi", "-i", source, "-frames:v", 1, "-q:v", 3, path)


def _sound(path, sentence):
    path.parent.mkdir(parents=True, exist_ok=True)
    spoken = path.with_suffix(".spoken.wav")
    subprocess.run(["espeak-ng", "-w", str(spoken), sentence], check=True)
    _ffmpeg("-i", spoken, "-af", "apad=whole_dur=10", "-t", 10, "-ar", 16000, "-ac", 1, "-c:a", "pcm_s16le", path)
    spoken.unlink()


def _film(path, number):
    path.parent.mkdir(parents=True, exist_ok=True)
    source = f"mandelbrot=size=1280x720:rate=25:start_scale={3 / (number + 1):.3f}:end_scale=0.3"
    _ffmpeg("-f", "lavfi", "-i", source, "-t", 6, "-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", path)


def make(folder):
    """Fills the folder with a subfolder for each kind of file."""
    folder = Path(folder)
    for number in range(2 * PICTURES):
        _picture(folder / "picture-224" / f"{number}.jpg", "224x224", number)
    for number in range(PICTURES):
        _picture(folder / "picture-720" / f"{number}.jpg", "1280x720", number)
    for number, sentence in enumerate(SENTENCES):
        _sound(folder / "sound-10s" / f"{number}.wav", sentence)
    for number in range(FILMS):
        _film(folder / "film-6s" / f"{number}.mp4", number)
    return folder


def arguments(workload, folder):
    """What deepfaked-bench is told of the files of a workload."""
    _, folders, weights = WORKLOADS[workload]
    return [*(["--mix", weights] if weights else []), *(str(Path(folder) / f) for f in folders)]


def clients(workload, times):
    """Those of a closed loop, or so many times as many."""
    return times * CLIENTS[workload] * machine.cores()


def files(folder):
    """Every picture and sound, in order."""
    return sorted(p for p in Path(folder).glob("*/*") if p.suffix in (".jpg", ".wav"))
