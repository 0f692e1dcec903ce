"""Measures the service beside other servers around the same models.

Run it by scripts/benchmark-peers. It writes docs/benchmarks-peers.md and .json.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from . import load, machine, media, paper
from .peers import install, roster, speak
from .service import Process, Service, free_port

OURS = "deepfaked"
CLIENTS = 16
LOADS = (("half", 0.5), ("high", 0.8), ("twice", 2.0))  # and their share of the capacity
AGREE = 1e-3  # of probabilities
START, OVERHEAD = 12.0, 0.5  # seconds that a server and a measurement take besides
ROUNDS, MINUTES = 3, 24
QUICK = 1.6  # seconds of each load
SHORTEST = 1.2


def options():
    parser = argparse.ArgumentParser(prog="scripts/benchmark-peers", description="Measures the service beside other servers around the same models.")
    parser.add_argument("--quick", action="store_true", help=f"one round with loads of {QUICK:g} seconds and one layout for all peers")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="how long all may take; longer loads measure p99 better (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--peer", action="append", choices=[p.name for p in roster.PEERS], help="only this one; may be repeated")
    parser.add_argument("--workload", action="append", choices=sorted(media.WORKLOADS), help="only this one; may be repeated")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of the document")
    return parser.parse_args()


def say(*words):
    print("benchmark-peers:", *words, file=sys.stderr, flush=True)


def layouts():
    """How processes and threads may share the cores: a process for each, or as deepfaked does."""
    cores = machine.cores()
    sessions = max(1, cores // 4)
    return list(dict.fromkeys([(cores, 1), (sessions, cores // sessions)]))


class Running(Process):
    """A peer that answers."""

    def __init__(self, peer, folder, layout, box, first):
        port = free_port()
        workers, threads = layout
        environment = {
            "PEER_PORT": str(port), "PEER_WORKERS": str(workers), "PEER_THREADS": str(threads), "PEER_PATIENCE": f"{load.SLO:g}",
            "PEER_MODELS": str(install.REPOSITORY / "models" / "builtin"), "PEER_MODULES": str(folder),
            # Nothing of theirs is reported to anybody or left behind.
            "BENTOML_DO_NOT_TRACK": "True", "BENTOML_HOME": f"{box}/bentoml", "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": f"{box}/ray",
        }
        super().__init__(peer.command(folder, port), Path(box) / f"{peer.name}.log", environment, roster.HERE)
        self.peer, self.first, self.url = peer, first, f"http://127.0.0.1:{port}{peer.path}"
        self.base = f"http://127.0.0.1:{port}"

    def __enter__(self):
        super().__enter__()
        try:
            self.await_(self._answers)
        except RuntimeError:
            self.__exit__()
            raise
        self.target = load.Target(self.base, self.running.pid, ("--post", self.peer.path, "--form", self.peer.form))
        return self

    def _answers(self):
        try:
            speak.ask(self.url, self.peer.form, self.first)
        except speak.Refused:
            return False
        return True

    def verdicts(self, files):
        return {f: speak.ask(self.url, self.peer.form, f) for f in files}


def expected(service, files):
    """The service's own verdicts and probabilities."""
    told = {}
    for f in files:
        done = service.judge(f)
        told[f] = {"verdict": done["verdict"], "confidence": done["confidence"]}
    return told


def disagreement(expected, got):
    """The largest difference in confidence; infinite where a verdict differs."""
    return max(float("inf") if got[f]["verdict"] != e["verdict"] else abs(got[f]["confidence"] - e["confidence"]) for f, e in expected.items())


def figures(step):
    """What is kept of one load."""
    latency, server = step["latency"].get("sync", {}), step["server"] or {}
    return {
        "rate": step["load"].get("rate"), "throughput": step["throughput"], "goodput": step["goodput"], "steady": step["steady"],
        "p50": latency.get("p50"), "p99": latency.get("p99"), "answers": step["successes"], "statuses": step["statuses"], "errors": step["errors"],
        "unsent": step["unsent"], "cpu": server.get("cpu_per_success"), "memory": server.get("resident_bytes"),
    }


def run(target, files, seconds):
    """One workload on one server: its capacity, then shares of it."""
    out = {"capacity": figures(load.closed(target, CLIENTS, files, seconds))}
    capacity = out["capacity"]["throughput"]
    if capacity <= 0:
        raise load.Failed("no request succeeded")
    for name, share in LOADS:
        # A server that refuses nothing answers late only once more than the SLO's worth of work waits.
        warmup = min(load.SLO, seconds / 2) if name == "twice" else None
        out[name] = figures(load.opened(target, share * capacity, files, seconds, warmup=warmup))
    return out


class Comparison:
    """Everything that one run of this script finds out."""

    def __init__(self, chosen, box):
        self.box, self.workloads = Path(box), chosen.workload or list(media.WORKLOADS)
        self.media = media.make(self.box / "media")
        self.files = media.files(self.media)
        self.rounds = 1 if chosen.quick else chosen.rounds
        self.peers = [p for p in roster.PEERS if not chosen.peer or p.name in chosen.peer]
        self.default = layouts()[0]
        self.absent, self.folders, self.layouts, self.differences, self.results = {}, {}, {}, {}, {}

    def install(self):
        for p in self.peers:
            say("install", p.name, p.version())
            try:
                self.folders[p.name] = install.install(p.kind)
            except install.NotInstalled as e:
                self.absent[p.name] = f"not installed: {e}"
        self._drop()

    def _drop(self):
        self.peers = [p for p in self.peers if p.name not in self.absent]

    def reference(self):
        with Service() as service:
            self.settings, self.flags = service.settings, service.flags
            self.expected = expected(service, self.files)

    def start(self, p):
        return Running(p, self.folders[p.name], self.layouts.get(p.name, self.default), self.box, self.files[0])

    def check(self):
        """Compares the verdicts of each peer with the service's."""
        for p in self.peers:
            say("check", p.name)
            try:
                with self.start(p) as running:
                    self.differences[p.name] = disagreement(self.expected, running.verdicts(self.files))
                if self.differences[p.name] > AGREE:
                    self.absent[p.name] = f"does other work: its confidence is {self.differences[p.name]:.2g} off"
            except (RuntimeError, speak.Refused) as e:
                self.absent[p.name] = f"did not serve: {e}"
        self._drop()

    def lay_out(self, seconds):
        """Gives each peer the layout that serves the mix fastest."""
        for p in self.peers:
            tried = {}
            for layout in layouts():
                self.layouts[p.name] = layout
                with self.start(p) as running:
                    step = load.closed(running.target, CLIENTS, media.arguments("mix", self.media), seconds)
                    tried[layout] = step["throughput"]
            self.layouts[p.name] = max(tried, key=tried.get)
            say(p.name, ", ".join(f"{w} × {t} threads: {rate:.1f}/s" for (w, t), rate in tried.items()))

    def order(self, number):
        """Who comes when: forwards, backwards, from the middle."""
        names = [None, *self.peers]
        half = len(names) // 2
        return [names, names[::-1], names[half:] + names[:half]][number % 3]

    def round(self, number, seconds):
        for p in self.order(number):
            name = p.name if p else OURS
            say(f"round {number + 1} of {self.rounds}:", name)
            try:
                with (self.start(p) if p else Service()) as running:
                    target = running.target
                    if not p:
                        target.options = ("--post", "/v1/detect")
                    for w in self.workloads:
                        self._measure(name, w, target, seconds)
            except RuntimeError as e:
                say(f"{name}: {e}")

    def _measure(self, name, workload, target, seconds):
        try:
            told = run(target, media.arguments(workload, self.media), seconds)
        except load.Failed as e:
            told = {"error": str(e)}
            say(f"{name}, {workload}: {e}")
        self.results.setdefault(workload, {}).setdefault(name, []).append(told)


def seconds_of_a_load(minutes, servers, workloads, rounds, spent):
    """What is left of the time for each, overload's answers that come late included."""
    left = minutes * 60 - spent - rounds * servers * START
    each = left / (rounds * servers * workloads * (1 + len(LOADS)))
    return max(SHORTEST, each - OVERHEAD)


def main():
    chosen = options()
    if media.missing():
        sys.exit(f"benchmark-peers: {' and '.join(media.missing())} missing: run scripts/setup --tests")
    with tempfile.TemporaryDirectory(prefix="deepfaked-peers-") as box:
        c = Comparison(chosen, box)
        c.install()
        began, facts = time.monotonic(), machine.facts()
        c.reference()
        c.check()
        if not chosen.quick:
            c.lay_out(2.0)
        spent = time.monotonic() - began
        seconds = QUICK if chosen.quick else seconds_of_a_load(chosen.minutes, 1 + len(c.peers), len(c.workloads), c.rounds, spent)
        say(f"{seconds:.1f} seconds for each load")
        for number in range(c.rounds):
            c.round(number, seconds)
        took = time.monotonic() - began
    chosen.out.mkdir(parents=True, exist_ok=True)
    told = paper.told(c, facts, seconds, took)
    (chosen.out / "benchmarks-peers.json").write_text(json.dumps(told, indent=1) + "\n")
    (chosen.out / "benchmarks-peers.md").write_text(paper.document(told))
    say(f"wrote {chosen.out}/benchmarks-peers.md after {took / 60:.1f} minutes")


if __name__ == "__main__":
    main()
