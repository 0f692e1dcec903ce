"""The peers: how each is started, spoken to and set up."""

import json
from dataclasses import dataclass
from pathlib import Path

from . import install

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Peer:
    """One server around the same models."""

    name: str
    kind: str  # of environment, see install
    package: str  # as its lock file names it
    program: tuple  # below the environment; {port} is filled in
    settings: str  # for people: what was set and why; {batch} and {queue} are filled in
    path: str = "/predict"
    form: str = "multipart"

    def command(self, folder, port):
        """What starts it."""
        head, *rest = (part.format(port=port) for part in self.program)
        return [folder / head if "/" in head else head, *rest]

    def version(self):
        """That of its lock file."""
        if self.kind == "go":
            lines = (install.REPOSITORY / "go.mod").read_text().splitlines()
            return next(line.split()[1] for line in lines if line.strip().startswith(self.package + " "))
        if self.kind == "node":
            return json.loads((HERE / "node" / "package.json").read_text())["dependencies"][self.package]
        lock = (HERE / "locks" / f"{self.kind}.txt").read_text().splitlines()
        return next(line.split("==")[1] for line in lock if line.startswith(self.package + "=="))


def python(name, kind, settings, **more):
    """A peer whose package and environment have one name."""
    return Peer(name, kind, kind, ("bin/python", f"with_{kind}.py"), settings, **more)


PEERS = (
    python("FastAPI", "fastapi", "uvicorn with `workers` processes, httptools and uvloop; the handler in uvicorn's threads, 2 files of a process at a time; `limit_concurrency` {queue}; no batching, FastAPI has none"),
    python("LitServe", "litserve", "`workers_per_device`, `max_batch_size` {batch}, `batch_timeout` 5 ms, `timeout` 1 s"),
    python("Mosec", "mosec", "`num` workers of one stage (a stage of its own for decoding would copy pixels between processes on the same cores), `max_batch_size` {batch}, `max_wait_time` 5 ms, `timeout` 1 s, `capacity` {queue}"),
    Peer("BentoML", "bentoml", "bentoml", ("bin/bentoml", "serve", "with_bentoml:Front", "--host", "127.0.0.1", "--port", "{port}"),
         "a service of `workers` with `batchable=True`, `max_batch_size` {batch}, `max_latency_ms` 1000, behind one that takes the form, `max_concurrency` {queue}, `timeout` 1 s"),
    python("Ray", "ray", "`num_replicas`, `@serve.batch` with `max_batch_size` {batch} and `batch_wait_timeout_s` 5 ms, `max_ongoing_requests` {ongoing}, `max_queued_requests` {queue}, `request_timeout_s` 1"),
    Peer("Triton", "pytriton", "nvidia-pytriton", ("bin/python", "with_pytriton.py"),
         "PyTriton: instances of the model in threads, dynamic batching of at most {batch} with a queue delay of 5 ms, `max_queue_size` {queue}, rejection after 1 s; spoken to by the Open Inference Protocol with binary data",
         "/v2/models/judge/infer", "kserve"),
    python("MLServer", "mlserver", "`parallel_workers`, adaptive batching with `max_batch_size` {batch} and `max_batch_time` 5 ms; it sheds no load; spoken to by the Open Inference Protocol in base64, as its REST server reads no binary data",
           path="/v2/models/judge/infer", form="kserve-json"),
    Peer("Fastify", "node", "fastify", ("node", str(HERE / "node" / "server.js")),
         "`workers` processes by `node:cluster`, sharp (libvips) for JPEG, 503 beyond {queue} files; onnxruntime-node 1.30.0, as npm has no 1.31.1; no batching"),
    Peer("Gin", "go", "github.com/gin-gonic/gin", ("./server",),
         "the service's decoder in the same process, one `Run` of each model for each request, as many at a time as there are sessions; no batching, sheds no load"),
)
