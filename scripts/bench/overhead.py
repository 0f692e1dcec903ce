"""What HTTP and the scheduler cost a row, beside a bare handler, by processor."""

import statistics
import subprocess

from .text import table

TAGS = "gocv_specific_modules,gocv_videoio,nodynamic"
COMMAND = ("go", "test", "-run", "^$", "-bench", "OverheadAtLowLoad", "-count", "5", "-tags", TAGS, "./inference")
FIGURES = {"overhead-p50-us": "HTTP and scheduler", "scheduler-p50-us": "the scheduler of it", "handler-p50-us": "bare gin handler", "overhead-ratio": "ratio"}
GOAL = 100  # microseconds of HTTP and scheduler together


def parsed(output):
    """The median of each figure over the runs that go test printed."""
    runs = [line.split() for line in output.splitlines() if line.startswith("BenchmarkOverheadAtLowLoad")]
    told = [dict(zip(words[3::2], map(float, words[2::2]))) for words in runs]
    if not told or any(name not in run for run in told for name in FIGURES):
        raise ValueError(f"go test printed no figures of the overhead:\n{output}")
    return {name: statistics.median(run[name] for run in told) for name in FIGURES}


def measured(facts):
    """The figures of this processor."""
    done = subprocess.run(COMMAND, capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(f"{' '.join(COMMAND)} failed:\n{done.stdout}{done.stderr}")
    return {"processor": facts["processor"], "date": facts["date"], "deepfaked": facts["deepfaked"], **parsed(done.stdout)}


def kept(before, now):
    """The figures of all processors, with those of this one in place of its earlier ones."""
    return sorted([*(row for row in before if row["processor"] != now["processor"]), now], key=lambda row: row["processor"])


def section(rows):
    """The part of the document, or nothing where there are no figures."""
    if not rows:
        return []
    shown = [(row["processor"], *(f"{row[name]:.2f}" if name == "overhead-ratio" else f"{row[name]:.0f} µs" for name in FIGURES), row["deepfaked"], row["date"]) for row in rows]
    return [
        "## What HTTP and the scheduler add to a row", "",
        "A model that takes 3 µs is asked over HTTP, and its own time is taken off.",
        "A bare gin handler reads the same body and answers without a model.",
        "All are medians, measured in turns in one run, client included.",
        "The ratio says how much more than bare HTTP a row costs.",
        f"The goal is {GOAL} µs. No test asserts it: a processor may be slower.", "",
        table(("processor", *FIGURES.values(), "deepfaked at", "date"), shown), "",
    ]
