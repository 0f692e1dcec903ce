"""Measures the service on this machine and writes docs/benchmarks.md.

Run it by scripts/benchmark.
"""

import argparse
import json
import math
import shutil
import sys
import tempfile
from pathlib import Path

from . import load, machine, media, overhead
from .service import PRECISION, Service, end_on_signal, must_be_built
from .text import milliseconds, share, table, wrapped

SHARES = (0.5, 0.8, 2.0)  # of the capacity
POLLING = 8  # times the clients of synchronous requests: most of the time they wait to ask again
KEPT = 0.8  # whose histogram is shown
MODES = {"sync": "synchronous", "async": "asynchronous"}
FULL, QUICK = 10.0, 2.0  # seconds of each load


def options():
    parser = argparse.ArgumentParser(prog="scripts/benchmark", description="Measures the service on this machine and writes docs/benchmarks.md.")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:g} seconds for each load in place of {FULL:g}: about two minutes")
    parser.add_argument("--seconds", type=float, help="so many seconds for each load")
    parser.add_argument("--overhead", action="store_true", help="measure only what HTTP and the scheduler add to a row, a minute, and keep the other figures of the document")
    parser.add_argument("--workload", action="append", choices=sorted(media.WORKLOADS), help="only this one; may be repeated (default: all but films, and those too on a GPU)")
    parser.add_argument("--provider", choices=sorted(PRECISION), default="cpu", help="where models run; what was measured on a GPU is written to benchmarks-gpu.md")
    parser.add_argument("--clients", type=int, default=1, metavar="TIMES", help="so many times the clients of the closed loops: a GPU needs more to be busy")
    parser.add_argument("--draw", type=Path, metavar="FOLDER", help="measure nothing, only leave the media in FOLDER")
    parser.add_argument("--media", type=Path, metavar="FOLDER", help="what --draw left there, for a machine without ffmpeg and espeak-ng")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of the document and the plots")
    chosen = parser.parse_args()
    chosen.seconds = chosen.seconds or (QUICK if chosen.quick else FULL)
    return chosen


def measured(service, name, mode, files, seconds, times, plots):
    """The capacity, and the answers at shares of it."""
    timeout = load.TIMEOUT if mode == "sync" else load.PATIENCE
    # A job is asked for no sooner than after a second: there must have been answers.
    warmup = None if mode == "sync" else max(1.5, seconds / 4)
    seconds = seconds if mode == "sync" else max(seconds, 2 * warmup)
    clients = round(media.clients(name, times) * (1 if mode == "sync" else POLLING))
    closed = load.closed(service.target, clients, files, seconds, "--mode", mode, warmup=warmup, timeout=timeout)
    capacity = closed["throughput"]
    if capacity <= 0:
        raise load.Failed(f"no request of {name} succeeded, {MODES[mode]}")
    rates = ",".join(f"{capacity * s:.3f}" for s in SHARES)
    box = Path(tempfile.mkdtemp(dir=plots))
    steps = load.measure(service.target, ["--ramp", rates, *load.room(max(SHARES) * capacity)], files, seconds, "--plots", box, "--mode", mode, warmup=warmup, timeout=timeout)
    if len(steps) < len(SHARES):  # it ends where the server no longer answers
        raise load.Failed(f"{name}, {MODES[mode]}: no measurement at {share(SHARES[len(steps)])} of the capacity, as the service stopped answering before")
    keep(box, plots, f"{name}-{mode}", mode, steps)
    return [("capacity", closed), *((share(s), step) for s, step in zip(SHARES, steps, strict=True))]


def keep(box, plots, name, mode, steps):
    """Keeps two of the plots, under names that stay the same from run to run."""
    latency = box / f"latency-{mode}.png"
    histogram = sorted(box.glob(f"histogram-{mode}-*.png"), key=lambda p: p.stat().st_mtime_ns)
    if latency.exists():
        latency.replace(plots / f"{name}-latency.png")
    drawn = [share for share, step in zip(SHARES, steps) if mode in step["latency"]]
    if KEPT in drawn and len(histogram) == len(drawn):
        histogram[drawn.index(KEPT)].replace(plots / f"{name}-histogram.png")
    shutil.rmtree(box)


PERCENTILES = {"p50": 50, "p90": 90, "p99": 99, "p99.9": 99.9}


def percentile(latency, name, unsent):
    """A percentile; None where it is the longest latency of all, as the p99.9 of fewer than a thousand, or among those of what was never sent."""
    count = latency.get("count", 0)
    rank = math.ceil(round(PERCENTILES[name] * (count + unsent) / 100, 6))
    return latency.get(name) if rank <= count and rank < count + unsent else None


HEAD = ("media", "requests", "load", "a second", "succeed", f"within {load.SLO:g} s", *PERCENTILES, "other answers", "CPU each", "memory", "answers")


def row(name, mode, label, step):
    latency = step["latency"].get(mode, {})
    others = {k: n for k, n in step["statuses"].items() if k not in ("200", "202")}
    others.update(step["errors"])
    if step["unsent"]:
        others["unsent"] = step["unsent"]
    cost = step["server"] or {}
    rate = step["load"].get("rate")
    return (
        name, MODES[mode], label, f"{rate:.1f}" if rate else f"{step['load']['clients']} clients", f"{step['throughput']:.1f}/s", f"{step['goodput']:.1f}/s" if mode == "sync" else "–",
        *(milliseconds(percentile(latency, k, step["unsent"])) for k in PERCENTILES),
        ", ".join(f"{k}: {n}" for k, n in sorted(others.items())) or "–",
        milliseconds(cost.get("cpu_per_success")), f"{cost['resident_bytes'] / 2**20:.0f} MiB" if cost else "–",
        f"{step['successes']}{'' if step['steady'] else ' *'}",
    )


def elsewhere(folder):
    """What there is to say of GPUs in the document of a processor."""
    if (folder.parent / "benchmarks-gpu.md").exists():
        return "[benchmarks-gpu.md](benchmarks-gpu.md)"
    return "Outstanding: nothing has been measured on a GPU yet." + ("" if machine.gpus() else " The machine above has none.")


def noted(folder):
    """What people wrote down beside the plots."""
    notes = folder / "notes.md"
    return notes.read_text().strip() if notes.exists() else ""


def shown(plot):
    """The plot in Markdown, or a dash where too little succeeded to draw one."""
    return f"![{plot.stem}]({plot.parent.name}/{plot.name})" if plot.exists() else "–"


def method(seconds):
    """How it is measured, as items of a list."""
    return [
        f"- The service has a data folder of its own, its defaults, `--deadline {load.SLO:g}s`, `inference.wait` and `inference.burst` of {load.SLO / 2:g} s, limits that no plan reaches, a queue of jobs that is never full, and 64 uploads at a time.",
        "- It shares the machine with `deepfaked-bench`, which sends the load.",
        f"- *Capacity* is a closed loop with so many clients. The loads below it are open loops with Poisson arrivals at shares of that, each about {seconds:g} seconds.",
        "- Latency counts from when a request was due to its answer, or until it was given up. For jobs it counts from submission to the result, which is asked for when the service says.",
        "- *Unsent* is what the load generator had no connection for.",
        "- A dash: that percentile is the longest latency of all, or falls among requests that were never sent. A star: throughput and median latency of the windows were more than 10 % apart.",
    ]


def document(facts, settings, results, seconds, folder, overheads=()):
    rows = [row(name, mode, label, step) for name, mode, steps in results for label, step in steps]
    plots = [(name, MODES[mode], *(shown(folder / f"{name}-{mode}-{what}.png") for what in ("latency", "histogram"))) for name, mode, _ in results]
    facts = {**facts, "runtime": f"{settings['version']}, provider {settings['provider']}, {settings['sessions']} sessions of {settings['intra_op_threads']} threads"}
    gpu = settings["provider"] != "cpu"
    return "\n".join([
        "# How fast the service is on a GPU" if gpu else "# How fast the service is", "",
        "Written by `scripts/benchmark`; do not edit. Beside other servers: [benchmarks-peers.md](benchmarks-peers.md).", "",
        machine.table(facts), "",
        "## The service" if gpu else "## On this processor", "",
        *map(wrapped, method(seconds)), "",
        "The media are drawn by ffmpeg and spoken by espeak-ng:", "",
        *(wrapped(f"- `{name}`: {media.WORKLOADS[name][0]}") for name in dict.fromkeys(name for name, _, _ in results)), "",
        table(HEAD, rows), "",
        "Latency against load, and its histogram at 80 % load:", "",
        table(("media", "requests", "latency", "histogram"), plots), "",
        *([] if gpu else overhead.section(overheads)),
        *([noted(folder)] if gpu else ["## On a GPU", "", elsewhere(folder)]), "",
    ])


def earlier(plots):
    """What the last run wrote, or nothing."""
    path = plots.with_suffix(".json")
    return json.loads(path.read_text()) if path.exists() else {}


def write(told, plots):
    """Writes the figures, and the document that shows them."""
    results = [(r["workload"], r["mode"], list(r["loads"].items())) for r in told["results"]]
    plots.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n")
    plots.with_suffix(".md").write_text(document(told["facts"], told["service"], results, told["seconds"], plots, told.get("overhead", ())))
    print(f"benchmark: wrote {plots}.md", file=sys.stderr)


def add_overhead(told, facts, plots):
    """Measures what HTTP and the scheduler add to a row, and writes it beside the other figures."""
    try:
        told["overhead"] = overhead.kept(told.get("overhead", []), overhead.measured(facts))
    except ValueError as e:
        sys.exit(f"benchmark: {e}")
    write(told, plots)


def run(chosen, box, plots, facts):
    """Measures, and writes what there is after each workload: one that is cut short leaves that."""
    told = {"facts": facts, "service": {}, "seconds": chosen.seconds, "results": [], "overhead": earlier(plots).get("overhead", [])}
    if chosen.provider != "cpu":
        del told["overhead"]
    with Service(provider=chosen.provider) as service:
        for name in chosen.workload or (media.SHORT if chosen.provider == "cpu" else media.WORKLOADS):
            for mode in MODES if name in media.SHORT else ["async"]:  # nobody waits load.SLO for a film
                print(f"benchmark: {name}, {MODES[mode]}", file=sys.stderr)
                try:
                    steps = measured(service, name, mode, media.arguments(name, box), chosen.seconds, chosen.clients, plots)
                except load.Failed as e:
                    sys.exit(f"benchmark: {name}, {MODES[mode]}: {e}")
                told["results"].append({"workload": name, "mode": mode, "loads": dict(steps)})
            told["service"] = service.settings
            write(told, plots)
    if chosen.provider == "cpu":
        add_overhead(told, facts, plots)


def main():
    chosen = options()
    end_on_signal()
    missing = [] if chosen.media else media.missing()
    if missing:
        sys.exit(f"benchmark: {' and '.join(missing)} missing: run scripts/setup --tests")
    if chosen.draw:
        media.make(chosen.draw)
        return
    must_be_built("benchmark")
    plots = chosen.out / ("benchmarks" if chosen.provider == "cpu" else "benchmarks-gpu")
    plots.mkdir(parents=True, exist_ok=True)
    facts = machine.facts()  # before anything is changed here
    if chosen.overhead:
        if not (told := earlier(plots)):
            sys.exit(f"benchmark: {plots}.json is missing: measure once without --overhead")
        add_overhead(told, facts, plots)
        return
    for old in plots.glob("*.png"):
        old.unlink()
    with tempfile.TemporaryDirectory(prefix="deepfaked-media-") as box:
        run(chosen, chosen.media or media.make(box), plots, facts)


if __name__ == "__main__":
    main()
