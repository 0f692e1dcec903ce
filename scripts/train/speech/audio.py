"""Decoding, window cutting, degradations and codecs. 16 kHz mono throughout."""
import subprocess
import tempfile

import numpy as np
import scipy.signal as ss

from frontend import RATE, WINDOW

LONGEST = 16 * RATE  # of a clip, for training and measuring
SIDE_BY_SIDE = 4
GRAIN = 2048
HOP = -(-WINDOW // 2 // GRAIN) * GRAIN  # of windows that overlap
RATES = {8000: (1, 2), 11025: (441, 640), 22050: (441, 320), 24000: (3, 2)}
FFMPEG = ["ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "error", "-threads", "1"]
PCM = ["-f", "s16le", "-ar", str(RATE), "-ac", "1"]
# name: (container, encoder and its options, sample rate)
CODECS = {
    "mp3-64": ("mp3", ["libmp3lame", "-b:a", "64k"], 44100),
    "mp3-48": ("mp3", ["libmp3lame", "-b:a", "48k"], 22050),
    "opus-24": ("ogg", ["libopus", "-b:a", "24k"], 48000),
    "aac-48": ("adts", ["aac", "-b:a", "48k"], 24000),
    "mp3-24": ("mp3", ["libmp3lame", "-b:a", "24k"], 16000),
    "mp3-32": ("mp3", ["libmp3lame", "-b:a", "32k"], 22050),
    "mp3-16": ("mp3", ["libmp3lame", "-b:a", "16k"], 16000),
    "opus-14": ("ogg", ["libopus", "-b:a", "14k"], 48000),
    "aac-24": ("adts", ["aac", "-b:a", "24k"], 16000),
}
USUAL = ("mp3-64", "mp3-48", "opus-24", "aac-48")  # half of the random degradations end with one of them
LOW = ("mp3-24", "mp3-32", "mp3-16", "opus-14", "aac-24", "opus-24")  # as speech is sent where bytes count
GAP = np.zeros(2000, np.int16)  # between clips that pass through a codec together


def pipe(arguments, data):
    """Run ffmpeg over pipes; its stdout."""
    return subprocess.run(FFMPEG + arguments, input=data, stdout=subprocess.PIPE, check=True).stdout


def decode(data):
    """Bytes of any media file -> int16 samples, at most LONGEST.

    By way of a file, as the service has one: from a pipe FFmpeg leaves the padding at the end of MP3 in, and cannot read
    M4A whose index comes last.
    """
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        raw = pipe(["-i", file.name, "-vn", *PCM, "pipe:1"], None)
    return np.frombuffer(raw, "<i2")[:LONGEST]


def through_codec(sounds, name):
    """int16 clips through a codec and back, each at its own length, in one
    run: starting ffmpeg costs more than coding a clip."""
    container, encoder, rate = CODECS[name]
    x = np.concatenate([part for sound in sounds for part in (sound, GAP)])
    coded = pipe([*PCM, "-i", "pipe:0", "-ar", str(rate), "-c:a", *encoder, "-f", container, "pipe:1"],
                 x.astype("<i2").tobytes())
    y = np.frombuffer(pipe(["-i", "pipe:0", *PCM, "pipe:1"], coded), "<i2")
    y = np.pad(y, (0, max(0, len(x) - len(y))))
    starts = np.cumsum([0] + [len(sound) + len(GAP) for sound in sounds])
    return [y[a:a + len(sound)] for a, sound in zip(starts, sounds)]


def telephone(x, low=300, high=3400, order=4, levels=127):
    """int16 samples in a band (Hz) at 8 kHz, mu-law with so many levels either side
    of 0, and back."""
    narrow = ss.resample_poly(np.asarray(x, np.float64) / 32768, 1, 2)
    narrow = ss.sosfilt(ss.butter(order, (low / 4000, high / 4000), "bandpass", output="sos"), narrow).clip(-1, 1)
    code = np.round(np.sign(narrow) * np.log1p(255 * np.abs(narrow)) / np.log(256) * levels) / levels
    narrow = np.sign(code) * (256 ** np.abs(code) - 1) / 255
    wide = ss.resample_poly(narrow, 2, 1)[:len(x)]
    return np.round(wide.clip(-1, 1) * 32767).astype(np.int16)


def window_starts(length, most):
    """First samples of the windows that the service cuts from `length` samples.

    k = min(most, max(1, (length + WINDOW//2) // WINDOW)) windows, integer
    division. One window starts at max(0, (length - WINDOW) // 2); of several,
    window i starts at i * (length - WINDOW) // (k - 1). A clip shorter than a
    window is repeated: sample j of the window is sample j mod length. Where that
    would be more than SIDE_BY_SIDE, windows overlap by half: they start at
    multiples of HOP, or of more GRAINs where they would be too many, the last at
    length - WINDOW.
    """
    k = min(most, max(1, (length + WINDOW // 2) // WINDOW))
    if k > SIDE_BY_SIDE:
        last = length - WINDOW
        return [*range(0, last, max(HOP, -(-last // ((most - 1) * GRAIN)) * GRAIN)), last]
    if k == 1:
        return [max(0, (length - WINDOW) // 2)]
    return [i * (length - WINDOW) // (k - 1) for i in range(k)]


def repeated(x, size):
    """The clip, repeated where it is shorter than `size`."""
    return np.tile(x, size // len(x) + 1)[:size] if len(x) < size else x


def windows(x, most):
    """[k, WINDOW] float32 in [-1, 1] of int16 samples, as the service cuts them."""
    starts = window_starts(len(x), most)
    x = repeated(x, WINDOW)
    return np.stack([x[s:s + WINDOW] for s in starts]).astype(np.float32) / 32768


def via_rate(x, rate):
    """Resampled to `rate` and back."""
    up, down = RATES[rate]
    y = ss.resample_poly(ss.resample_poly(x, up, down), down, up)
    return np.pad(y, (0, max(0, len(x) - len(y))))[:len(x)]


def room(x, r):
    """A mild reverberation of 50 to 400 ms."""
    n = int(r.uniform(0.05, 0.4) * RATE)
    h = r.randn(n) * np.exp(-6.9 * np.arange(n) / n) * r.uniform(0.01, 0.08)
    h[0] = 1
    return ss.fftconvolve(x, h)[:len(x)]


def equalise(x, r):
    """A random microphone or equaliser curve of up to 6 dB."""
    db = np.interp(np.linspace(0, 1, 33), np.linspace(0, 1, 6), r.uniform(-6, 6, 6))
    return ss.fftconvolve(x, ss.firwin2(65, np.linspace(0, 1, 33), 10 ** (db / 20)), "same")


def low_pass(x, r):
    """A Butterworth low-pass between 3.4 and 8 kHz."""
    edge = min(0.97, np.exp(r.uniform(np.log(3400), np.log(8000))) / 8000)
    return ss.sosfilt(ss.butter(int(r.choice([4, 8])), edge, output="sos"), x)


def noise(x, r):
    """Coloured noise, 10 to 40 dB below the signal."""
    tilt = (np.arange(len(x) // 2 + 1) + 30.0) ** (r.uniform(0, 1.4) / 2)
    n = np.fft.irfft(np.fft.rfft(r.randn(len(x))) / tilt, len(x))
    return x + n * (x.std() / (n.std() + 1e-9) * 10 ** (-r.uniform(10, 40) / 20))


def degrade(x, r):
    """One random chain of degradations of int16 samples. `r` is a RandomState; the
    label is never seen."""
    x = np.asarray(x, np.float64) / 32768
    if r.rand() < 0.25:
        x = room(x, r)
    if r.rand() < 0.3:
        x = equalise(x, r)
    if r.rand() < 0.35:
        x = via_rate(x, list(RATES)[r.choice(4, p=[0.25, 0.2, 0.3, 0.25])])
    if r.rand() < 0.45:
        x = low_pass(x, r)
    if r.rand() < 0.6:
        x = noise(x, r)
    if r.rand() < 0.08:
        edge = r.uniform(0.35, 0.9) * np.abs(x).max()
        x = np.clip(x, -edge, edge)
    x = x / (np.abs(x).max() + 1e-6) * 10 ** r.uniform(-1.0, -0.02)
    return np.round(x * 32767).astype(np.int16)


def line(x, r):
    """A random telephone line: noise and a curve before, then a narrow band, level
    and coarseness of its own. `r` is a RandomState."""
    x = np.asarray(x, np.float64) / 32768
    if r.rand() < 0.3:
        x = equalise(x, r)
    if r.rand() < 0.5:
        x = noise(x, r)
    x = x / (np.abs(x).max() + 1e-6) * 10 ** r.uniform(-1.0, -0.02) * 32767
    return telephone(x, r.uniform(60, 350), r.uniform(3000, 3850), int(r.choice([2, 4, 6])),
                     int(r.choice([31, 127, 1023], p=[0.15, 0.45, 0.4])))


def nuisance(x):
    """What must give nothing away: level, silence, noise floor, bandwidth of one
    float window, as 18 numbers."""
    x = np.asarray(x, np.float64)
    e = 10 * np.log10((x.reshape(-1, 320) ** 2).mean(1) + 1e-10)
    loud = np.flatnonzero(e > np.percentile(e, 95) - 35)
    p = ss.welch(x, RATE, nperseg=512)[1] + 1e-14
    db = 10 * np.log10(p / p.max())
    total = np.cumsum(p) / p.sum()
    width = [np.flatnonzero(db > -d)[-1] for d in (40, 50, 60, 70)]
    roll = [np.searchsorted(total, q) for q in (0.85, 0.95, 0.99, 0.999)]
    level = [np.abs(x).max(), 20 * np.log10(x.std() + 1e-6), x.mean() * 1e3, (x == 0).mean()]
    quiet = [loud[0], len(e) - loud[-1], len(loud) / len(e), e.min(), np.percentile(e, 5),
             np.percentile(e, 95) - np.percentile(e, 20)]
    return np.array([*level, *quiet, *width, *roll, np.median(db[200:])], np.float32)
