"""Starts the service, and other servers, on free ports."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from . import load
from .load import SLO, Target
from .machine import PROGRAM
from .peers.speak import request

PATIENCE = 60  # seconds for a start
# The models that peers run, too, and the precision in which they do.
PRECISION = {"cpu": ["--quality", "fast", "--precision", "int8"], "cuda": ["--quality", "fast"], "tensorrt": ["--quality", "fast"]}
GRACE = 5  # seconds for an end
# Nothing of a plan may stand in the way of the load, and whoever would be answered
# too late is told so at once: waiting may take half of the time. All else is as it comes.
CONFIGURATION = f"""\
plans: {{pro: {{requests_per_minute: 100000000, scans: 1000000000}}}}
upload: {{parallel: 64, parallel_per_account: 64}}
jobs: {{queue: 100000}}
inference: {{wait: {SLO / 2:g}s, burst: {SLO / 2:g}s}}
"""


def end_on_signal():
    """Makes a signal end this program by way of every `with`, so that no server stays behind."""
    for which in (signal.SIGTERM, signal.SIGINT):
        signal.signal(which, lambda number, _: sys.exit(128 + number))


def must_be_built(name):
    """Ends this program, which has that name, where the service or its client have not been built."""
    for program in (PROGRAM, load.PROGRAM):
        if not os.access(program, os.X_OK):
            sys.exit(f"{name}: {program} is missing: run make build")


def free_port():
    """A port that nobody listens on, with the two after it."""
    while True:
        with socket.socket() as first, socket.socket() as second, socket.socket() as third:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
                third.bind(("127.0.0.1", port + 2))
            except (OSError, OverflowError):
                continue
            return port


class Process:
    """A server with its children, ended together. Use it with `with`."""

    def __init__(self, command, log, environment=None, cwd=None):
        self.command, self.environment, self.cwd, self.log = command, environment or {}, cwd, Path(log)

    def __enter__(self):
        with open(self.log, "wb") as log:
            self.running = subprocess.Popen(
                [str(c) for c in self.command], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env={**os.environ, **self.environment}, cwd=self.cwd, start_new_session=True,
            )
        return self

    def __exit__(self, *_):
        self.resume()  # what is stopped does not end
        for end in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.running.pid, end)
            except ProcessLookupError:
                break
            try:
                self.running.wait(GRACE)
            except subprocess.TimeoutExpired:
                continue
        self.running.wait()

    def pause(self):
        """Stops it and its children where they are, until resume(): some servers keep a quarter of a core busy with nothing to do."""
        self._signal(signal.SIGSTOP)

    def resume(self):
        self._signal(signal.SIGCONT)

    @contextlib.contextmanager
    def awake(self):
        """Has it go on meanwhile."""
        self.resume()
        try:
            yield
        finally:
            self.pause()

    def _signal(self, which):
        """Sends a signal to all processes of its session, those with a group of their own included."""
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if (folder / "stat").read_text().rpartition(")")[2].split()[3] == str(self.running.pid):
                    os.kill(int(folder.name), which)

    def await_(self, ready):
        """Waits until ready() holds."""
        end = time.monotonic() + PATIENCE
        while not ready():
            if self.running.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the server did not become ready: " + self.words())
            time.sleep(0.2)

    def words(self):
        """What it said last."""
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return " / ".join(lines[-2:])[-300:]


class Service(Process):
    """deepfaked with a data folder of its own, which goes with it."""

    def __init__(self, provider):
        self.folder = tempfile.TemporaryDirectory(prefix="deepfaked-benchmark-")
        self.box = Path(self.folder.name)
        (self.box / "config.yaml").write_text(CONFIGURATION)
        self.flags = ["--deadline", f"{SLO:g}s", "--provider", provider, *PRECISION[provider]]
        command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--data", self.box / "data", "--config", self.box / "config.yaml",
                   "--log-level", "info", *self.flags]
        super().__init__(command, self.box / "log")

    def __enter__(self):
        key = subprocess.run([PROGRAM, "keys", "create", "--data", self.box / "data", "--account", "benchmark", "--plan", "pro"],
                             check=True, capture_output=True, text=True).stdout.strip()
        super().__enter__()
        try:
            self.await_(lambda: '"msg":"ready"' in self.log.read_text())
        except BaseException:
            self.__exit__()
            raise
        address = self._said("listening")["address"]
        runtime = self._said("ONNX Runtime loaded") | self._chosen()
        self.settings = {k: runtime[k] for k in ("version", "provider", "sessions", "intra_op_threads")}
        self.target = Target(f"http://{address}", self.running.pid, key=key)
        return self

    def __exit__(self, *exc):
        super().__exit__(*exc)
        self.folder.cleanup()

    def judge(self, file):
        """The service's own answer on a file."""
        headers, body = request("multipart", file.name, file.read_bytes())
        headers["Authorization"] = f"Bearer {self.target.key}"
        with urllib.request.urlopen(urllib.request.Request(self.target.url + "/v1/detect", body, headers)) as answer:
            return json.loads(answer.read())

    def _chosen(self):
        """The sessions and threads that it measured to be best, where it was free to choose."""
        lines = (json.loads(line) for line in self.log.read_text().splitlines() if '"cores measured"' in line)
        return next(({k: m[k] for k in ("sessions", "intra_op_threads")} for m in lines if m["chosen"]), {})

    def _said(self, message):
        for line in self.log.read_text().splitlines():
            if f'"msg":"{message}"' in line:
                return json.loads(line)
        raise RuntimeError(f"the service never said {message!r}")
