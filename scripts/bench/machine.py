"""What was measured on: the machine, the versions and the day."""

import datetime
import os
import platform
import re
import shutil
import subprocess
import time
from pathlib import Path

PROGRAM = "bin/deepfaked"
BUILT = re.compile(r"deepfaked (.*) \((?:.*, )?(go[^)]*)\)")  # what --version prints

BUSY = 0.5  # of the cores: more load than this by others disturbs
RESTING = 0.25  # of the cores: a server with nothing to do uses less, with anything more


def said(*command):
    """The first line that a program prints, or nothing where there is no such program."""
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""


def processor():
    told = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().replace("\t", "").splitlines() if ":" in line)
    return ", ".join([told.get("model name", platform.machine()).strip(), f"{cores()} cores", *instructions(told.get("flags", "").split())])


def instructions(flags):
    """Those that a model's speed hangs on most: its widest vectors, and those for sums of bytes."""
    widest = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), None)
    return [widest + (" with VNNI" if {"avx512_vnni", "avx_vnni"} & set(flags) else "")] if widest else []


def system():
    for line in Path("/etc/os-release").read_text().splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.split("=", 1)[1].strip('"')
    return platform.system()


def gpus():
    """The names of the NVIDIA GPUs."""
    if shutil.which("nvidia-smi") is None:
        return []
    done = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def checked_out():
    """The revision of the source, where the program does not know its own."""
    revision = said("git", "rev-parse", "--short", "HEAD")
    return revision + " with changes" if revision and said("git", "status", "--porcelain", "--untracked-files=no") else revision


def facts():
    """The machine in a few lines."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    built = BUILT.match(said(PROGRAM, "--version"))
    revision = built[1] if built and built[1] != "unknown" else checked_out()
    load = os.getloadavg()[0]
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "processor": processor(),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{system()}, Linux {platform.release()}",
        "gpu": ", ".join(gpus()) or "none",
        "load": f"{load:.1f} before the first measurement" + (": **other programs were busy, the figures mean little**" if load > BUSY * cores() else ""),
        "deepfaked": revision or "unknown",
        "go": built[2] if built else "",
        "ffmpeg": said("ffmpeg", "-version").split(" Copyright")[0],
    }


def cores():
    """What a process may use."""
    return len(os.sched_getaffinity(0))


def worked():
    """Seconds that the processors have worked since the start."""
    user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def rest(patience=10.0, look=0.2):
    """Waits until the cores rest, for so many seconds at most."""
    end, was = time.monotonic() + patience, worked()
    while time.monotonic() < end:
        time.sleep(look)
        now = worked()
        if now - was < RESTING * look * cores():
            return
        was = now


LABELS = {
    "date": "date", "processor": "processor", "memory": "memory", "system": "system", "gpu": "GPU", "load": "load average",
    "deepfaked": "deepfaked at", "go": "Go", "runtime": "ONNX Runtime", "python": "Python", "node": "Node.js", "ffmpeg": "media made by",
}


def table(told):
    """The facts as a table in Markdown."""
    rows = [f"| {LABELS[k]} | {v} |" for k, v in told.items() if k in LABELS and v]
    return "\n".join(["| | |", "|---|---|", *rows])
