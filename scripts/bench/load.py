"""Runs deepfaked-bench and reads what it says."""

import json
import math
import subprocess
from dataclasses import dataclass

PROGRAM = "bin/deepfaked-bench"
WINDOWS = 3
SLO = 1.0  # seconds; for all servers and workloads
# At twice its capacity a server that refuses nothing answers at the moment t what came at t/2: only from twice the SLO on
# is everything late. What is measured earlier flatters it.
DROWNED = 2.2 * SLO
SAME = 0.8  # of the service's capacity: a load that every server is given, in as many requests a second
LOST = 0.01  # a server that leaves more than this share of it unanswered has no p99
TIMEOUT = 3.0  # seconds; a synchronous request that takes longer has failed
PATIENCE = 60.0  # seconds; likewise an asynchronous one, from submission to result


@dataclass
class Target:
    """A server as deepfaked-bench is told of it."""

    url: str
    pid: int
    options: tuple = ()  # such as --post PATH
    key: str = ""


class Failed(Exception):
    """A measurement gave nothing; the message says why."""


def measure(target, load, files, seconds, *options, warmup=None, timeout=TIMEOUT):
    """Loads for about so many seconds each; returns them as the JSON has them."""
    warmup = 0.25 * seconds if warmup is None else warmup
    command = [
        PROGRAM, "--url", target.url, "--pid", target.pid, *target.options, *load, "--slo", f"{SLO}s", "--timeout", f"{timeout}s",
        "--warmup", f"{warmup:.3f}s", "--window", f"{(seconds - warmup) / WINDOWS:.3f}s", "--windows", WINDOWS, "--json", "-", *options, *files,
    ]
    environment = {"DEEPFAKED_KEY": target.key} if target.key else {}
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment)
    try:
        return json.loads(done.stdout)["steps"]
    except (json.JSONDecodeError, KeyError):
        lines = done.stderr.strip().splitlines()
        raise Failed(lines[-1] if lines else f"exit code {done.returncode}") from None


def closed(target, clients, files, seconds, *options, **more):
    """A closed loop: what the server can do."""
    return measure(target, ["--clients", clients], files, seconds, *options, **more)[0]


def opened(target, rate, files, seconds, *options, **more):
    """An open loop with Poisson arrivals at so many requests a second."""
    return measure(target, ["--rate", f"{rate:.3f}", *room(rate)], files, seconds, *options, **more)[0]


def room(rate):
    """Connections for all that a server may keep waiting at such a rate. With fewer the client would hold the load up."""
    return ["--connections", max(1024, math.ceil(2 * SLO * rate))]
