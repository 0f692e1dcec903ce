"""BentoML: adaptive batching in a service behind one that takes the form."""

from pathlib import Path

import bentoml
from settings import BATCH, PATIENCE, QUEUE, WORKERS
from work import Work


@bentoml.service(workers=WORKERS, traffic={"timeout": max(1, PATIENCE)})
class Judge:
    def __init__(self):
        self.work = Work()

    @bentoml.api(batchable=True, max_batch_size=BATCH, max_latency_ms=int(PATIENCE * 1000))
    def judge(self, contents: list[bytes]) -> list[dict]:
        return self.work.judge([self.work.prepare(c) for c in contents])


@bentoml.service(workers=1, traffic={"timeout": max(1, PATIENCE), "max_concurrency": QUEUE})
class Front:
    judge = bentoml.depends(Judge)

    @bentoml.api(route="/predict")
    async def predict(self, file: Path) -> dict:
        return (await self.judge.to_async.judge([file.read_bytes()]))[0]
