"""Measures the service beside other servers around the same models.

Run it by scripts/benchmark-peers. It writes docs/benchmarks-peers.md and .json, or
benchmarks-peers-gpu.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from . import load, machine, media, paper
from .peers import install, roster, speak
from .service import Process, Service, end_on_signal, free_port, must_be_built

MODELS = install.REPOSITORY / "models" / "builtin"
LOADS = (("half", 0.5), ("high", 0.8), ("twice", 2.0))  # and their share of the server's own capacity
START, END, OVERHEAD = 10.0, 1.0, 1.3  # seconds that a server and a load take besides, late answers included
TRIAL = 2.0  # seconds for each layout that is tried
SETTLED = 8.0  # seconds for the capacity that the same load is a share of: over 2 it came out a fifth below what the rounds then measured of pictures
ROUNDS, MINUTES = 3, 48
QUICK = 1.6  # seconds of each load
SHORTEST = 1.0


@dataclass(frozen=True)
class Given:
    """What all peers are given where models run on a provider."""

    batch: int  # files of one batch at most
    queue: int  # files that wait at most, where that can be bounded
    rows: dict  # of a run at most, by the model's task; empty where those that cost least are measured
    clients: int  # so many times those of a closed loop
    agree: float  # how far probabilities may be apart
    settle: float  # seconds of load before anything is measured
    together: bool  # all run at once and take turns, load by load; where they would not fit into memory, each runs alone


GIVEN = {
    "cpu": Given(batch=4, queue=64, rows={}, clients=1, agree=1e-3, settle=0, together=True),
    "cuda": Given(batch=16, queue=256, rows={"image-synthesis": 32, "face-detection": 16, "speech-synthesis": 32}, clients=2, agree=1e-2, settle=5, together=False),  # in TF32, whose algorithms differ with the size of a batch
}


def options():
    parser = argparse.ArgumentParser(prog="scripts/benchmark-peers", description="Measures the service beside other servers around the same models.")
    parser.add_argument("--quick", action="store_true", help=f"one round with loads of {QUICK:g} seconds and one layout for all peers")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="how long all may take; longer loads measure p99 better (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--peer", action="append", choices=[p.name for p in roster.PEERS], help="only this one; may be repeated")
    parser.add_argument("--workload", action="append", choices=media.SHORT, help="only this one; may be repeated")
    parser.add_argument("--provider", choices=sorted(GIVEN), default="cpu", help="where models run; what was measured on a GPU is written to benchmarks-peers-gpu.md")
    parser.add_argument("--media", type=Path, metavar="FOLDER", help="what scripts/benchmark --draw left there, for a machine without ffmpeg and espeak-ng")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of the document")
    return parser.parse_args()


def say(*words):
    print("benchmark-peers:", *words, file=sys.stderr, flush=True)


def layouts(provider):
    """How processes and threads may share the cores: a process for each, or as deepfaked does. On a GPU the threads of a process have next to nothing to do."""
    cores = machine.cores()
    if provider != "cpu":
        return [(max(1, cores // share), 1) for share in (4, 2)]
    sessions = max(1, cores // 4)
    return list(dict.fromkeys([(cores, 1), (sessions, cores // sessions)]))


class Ours(Service):
    """The service, asked as the peers are."""

    def __enter__(self):
        super().__enter__()
        self.target.options = ("--post", "/v1/detect")
        return self


class Running(Process):
    """A peer that answers."""

    def __init__(self, peer, folder, layout, comparison):
        port = free_port()
        workers, threads = layout
        given, box = comparison.given, comparison.box
        environment = {
            "PEER_PORT": str(port), "PEER_WORKERS": str(workers), "PEER_THREADS": str(threads), "PEER_PATIENCE": f"{load.SLO:g}",
            "PEER_PROVIDER": comparison.provider, "PEER_BATCH": str(given.batch), "PEER_QUEUE": str(given.queue), "PEER_ROWS": json.dumps(comparison.rows),
            "PEER_MODELS": str(MODELS), "PEER_MODULES": str(folder),
            # Nothing of theirs is reported to anybody or left behind.
            "BENTOML_DO_NOT_TRACK": "True", "BENTOML_HOME": f"{box}/bentoml", "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": f"{box}/ray",
            "ORT_DISABLE_TELEMETRY": "1",
        }
        super().__init__(peer.command(folder, port), Path(box) / f"{peer.name}.log", environment, roster.HERE)
        self.comparison = comparison
        self.peer, self.first, self.url = peer, comparison.files[0], f"http://127.0.0.1:{port}{peer.path}"
        self.base = f"http://127.0.0.1:{port}"

    def __enter__(self):
        super().__enter__()
        self.target = load.Target(self.base, self.running.pid, ("--post", self.peer.path, "--form", self.peer.form))
        try:
            self.await_(self.answers)
            settle(self.target, self.comparison)
        except BaseException:
            self.__exit__()
            raise
        return self

    def answers(self):
        try:
            speak.ask(self.url, self.peer.form, self.first)
        except speak.Refused:
            return False
        return True

    def verdicts(self, files):
        return {f: speak.ask(self.url, self.peer.form, f) for f in files}


def settle(target, c, patience=120):
    """Loads a server that answers, by a client for each core, until nothing is left unanswered, for as long as its other processes may still get their models ready.

    With a GPU that takes each of them half a minute and more. What was measured at once was of a server that was not there yet: the
    first answer comes from whichever process is ready first, and what each does for the first time takes seconds.
    """
    end = time.monotonic() + patience
    while c.given.settle:
        try:
            told = figures(load.closed(target, machine.cores(), media.arguments("mix", c.media), c.given.settle))
            if sent(told) == told["answers"]:
                return
            raise load.Failed(f"{sent(told) - told['answers']} of {sent(told)} requests have no answer")
        except load.Failed:
            if time.monotonic() > end:
                raise


def expected(service, files):
    """The service's own verdicts and probabilities."""
    told = {}
    for f in files:
        done = service.judge(f)
        told[f] = {"verdict": done["verdict"], "confidence": done["confidence"]}
    return told


def named(p):
    """The name of a peer, or of the service in the place of None."""
    return p.name if p else paper.OURS


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


def sent(told):
    """How many requests of a load were due."""
    return sum(told["statuses"].values()) + sum(told["errors"].values()) + told["unsent"]


def kept_up(told):
    """What was measured under a load, without its p99 where too many had no answer, which are the slowest of all."""
    return told | ({} if told["answers"] >= (1 - load.LOST) * sent(told) else {"p99": None})


def loads(told, target, clients, files, seconds, same):
    """Measures one workload on one server, one load between two yields: its capacity, same() requests a second, as the others get, then shares of its own capacity."""
    told["capacity"] = figures(load.closed(target, clients, files, seconds))
    capacity = told["capacity"]["throughput"]
    if capacity <= 0:
        raise load.Failed("no request succeeded")
    yield
    told["same"] = kept_up(figures(load.opened(target, same(), files, seconds)))
    for name, share in LOADS:
        yield
        if name == "twice":
            told[name] = figures(load.opened(target, share * capacity, files, seconds + load.DROWNED, warmup=load.DROWNED))
        else:
            told[name] = kept_up(figures(load.opened(target, share * capacity, files, seconds)))


class Comparison:
    """Everything that one run of this script finds out."""

    def __init__(self, chosen, box):
        self.box, self.workloads, self.provider = Path(box), chosen.workload or media.SHORT, chosen.provider
        self.given = GIVEN[self.provider]
        self.media = chosen.media or media.make(self.box / "media")
        self.files = media.files(self.media)
        self.rounds, self.settled = (1, 2 * QUICK) if chosen.quick else (chosen.rounds, SETTLED)
        self.peers = [p for p in roster.PEERS if not chosen.peer or p.name in chosen.peer]
        self.default = layouts(self.provider)[0]
        self.absent, self.folders, self.layouts, self.differences, self.results = {}, {}, {}, {}, {}
        self.rows = {}  # of a run, by the model's task
        self.same = {}  # requests a second, by workload, where the service is not measured by turns with the others
        self.starts, self.seconds = [], []  # how long starts took, and the loads of each round

    def install(self):
        for p in self.peers:
            say("install", p.name, p.version())
            try:
                self.folders[p.name] = install.install(p.kind, self.provider)
            except install.NotInstalled as e:
                self.absent[p.name] = f"not installed: {e}"
        self._drop()

    def _drop(self):
        self.peers = [p for p in self.peers if p.name not in self.absent]

    def reference(self):
        with self.start(None) as service:
            self.settings, self.flags = service.settings, service.flags
            self.expected = expected(service, self.files)
            for w in self.workloads:
                self.same[w] = load.SAME * load.closed(service.target, media.clients(w, self.given.clients), media.arguments(w, self.media), self.settled)["throughput"]
        say(f"{load.SAME * 100:.0f} % of what the service does:", ", ".join(f"{w} {rate:.1f}/s" for w, rate in self.same.items()))

    def start(self, p):
        """A peer, or the service in the place of None; use it with `with`."""
        return Running(p, self.folders[p.name], self.layouts.get(p.name, self.default), self) if p else Ours(self.provider)

    def size(self):
        """Finds the rows of a run that cost the Python peers least."""
        if self.given.rows:
            self.rows = self.given.rows
            return
        python = install.root() / "base" / "bin" / "python"
        if not python.exists():
            return
        told = subprocess.run([python, "work.py"], cwd=roster.HERE, check=True, capture_output=True, text=True,
                              env={**os.environ, "PEER_MODELS": str(MODELS)}).stdout
        self.rows = json.loads(told)
        say("rows of a run:", told.strip())

    def prepare(self, tried):
        """Compares the verdicts of each peer with the service's, and gives it the layout of those tried that serves the mix fastest."""
        for p in self.peers:
            say("check", p.name)
            try:
                rates = {layout: self._try(p, layout, len(tried) > 1) for layout in tried}
            except (RuntimeError, speak.Refused, load.Failed) as e:
                self.absent[p.name] = f"did not serve: {e}"
                continue
            self.layouts[p.name] = max(rates, key=rates.get)
            if self.differences[p.name] > self.given.agree:
                self.absent[p.name] = f"does other work: its confidence is {self.differences[p.name]:.2g} off"
            if len(tried) > 1:
                say(p.name, ", ".join(f"{w} × {t} threads: {rate:.1f}/s" for (w, t), rate in rates.items()))
        self._drop()

    def _try(self, p, layout, measured):
        """What the peer gets out of a layout, a second; 0 where that is not measured."""
        self.layouts[p.name] = layout
        began = time.monotonic()
        with self.start(p) as running:
            self.starts.append(time.monotonic() - began)
            self.differences[p.name] = disagreement(self.expected, running.verdicts(self.files))
            if not measured:
                return 0
            return load.closed(running.target, media.clients("mix", self.given.clients), media.arguments("mix", self.media), TRIAL)["throughput"]

    def order(self, number):
        """Who comes when: forwards, backwards, from the middle."""
        names = [None, *self.peers]
        half = len(names) // 2
        return [names, names[::-1], names[half:] + names[:half]][number % 3]

    def round(self, number, seconds):
        order = self.order(number)
        say(f"round {number + 1} of {self.rounds}:", ", ".join(map(named, order)))
        for servers in [order] if self.given.together else [[p] for p in order]:
            self._side_by_side(servers, seconds)
        # Rounds of all servers stay side by side, also where one gave nothing.
        for p in order:
            for w in self.workloads:
                rounds = self.results.setdefault(w, {}).setdefault(named(p), [])
                if len(rounds) == number:
                    rounds.append({"error": "the server did not start, or no longer answered"})

    def _side_by_side(self, servers, seconds):
        with contextlib.ExitStack() as stack:
            running = {}
            for p in servers:
                try:
                    server = stack.enter_context(self.start(p))
                except (RuntimeError, load.Failed) as e:
                    say(f"{named(p)}: {e}")
                    continue
                server.pause()
                running[named(p)] = server
            for w in self.workloads:
                self._turns(w, running, seconds)
                self._leave_out_the_fallen(running)

    def _leave_out_the_fallen(self, running):
        for name, server in list(running.items()):
            try:
                if name != paper.OURS:
                    with server.awake():
                        server.await_(server.answers)
            except RuntimeError as e:
                say(f"{name}: {e}")
                del running[name]

    def _turns(self, workload, running, seconds):
        """Every load on one server after the other, the others stopped, so that a machine that gets slower does so for all of them."""
        told, left = {}, {}

        def same():
            ours = told.get(paper.OURS, {}).get("capacity")
            return load.SAME * ours["throughput"] if ours else self.same[workload]

        for name, server in running.items():
            told[name] = {}
            left[name] = loads(told[name], server.target, media.clients(workload, self.given.clients), media.arguments(workload, self.media), seconds, same)
        while left:
            for name in list(left):
                with running[name].awake():
                    machine.rest()
                    try:
                        next(left[name])
                    except StopIteration:
                        del left[name]
                    except load.Failed as e:
                        told[name] = {"error": str(e)}
                        say(f"{name}, {workload}: {e}")
                        del left[name]
                    machine.rest()  # what it has not refused it may still work on
        for name, found in told.items():
            self.results.setdefault(workload, {}).setdefault(name, []).append(found)

    def plan(self, left):
        """How long each load of a round may be with so many seconds left for it and those after it."""
        servers = 1 + len(self.peers)
        pairs = servers * len(self.workloads)
        rounds = self.rounds - len(self.seconds)
        start = statistics.mean(self.starts) if self.starts else START
        return max(SHORTEST, (left / rounds - servers * (start + END) - pairs * load.DROWNED) / (pairs * (2 + len(LOADS))) - OVERHEAD)

    def run(self, chosen, began):
        """All rounds, within the time."""
        for number in range(self.rounds):
            each = QUICK if chosen.quick else self.plan(chosen.minutes * 60 - (time.monotonic() - began))
            self.seconds.append(each)
            say(f"{each:.1f} seconds for each load")
            self.round(number, each)


def main():
    chosen = options()
    end_on_signal()
    must_be_built("benchmark-peers")
    missing = [] if chosen.media else media.missing()
    if missing:
        sys.exit(f"benchmark-peers: {' and '.join(missing)} missing: run scripts/setup --tests")
    with tempfile.TemporaryDirectory(prefix="deepfaked-peers-") as box:
        c = Comparison(chosen, box)
        c.install()
        began, facts = time.monotonic(), machine.facts()
        c.reference()
        c.size()
        c.prepare(layouts(c.provider)[: 1 if chosen.quick else None])
        c.run(chosen, began)
        took = time.monotonic() - began
    chosen.out.mkdir(parents=True, exist_ok=True)
    told = paper.told(c, facts, took)
    document = chosen.out / ("benchmarks-peers.md" if c.provider == "cpu" else "benchmarks-peers-gpu.md")
    document.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n")
    document.write_text(paper.document(told))
    say(f"wrote {document} after {took / 60:.1f} minutes")


if __name__ == "__main__":
    main()
