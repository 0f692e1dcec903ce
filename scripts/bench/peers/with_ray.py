"""Ray Serve: batches, in replicas behind Serve's proxy."""

import asyncio
import signal

import ray
from ray import serve
from settings import BATCH, PATIENCE, PORT, QUEUE, WAIT, WORKERS
from starlette.requests import Request
from work import Work


@serve.deployment(
    num_replicas=WORKERS, ray_actor_options={"num_cpus": 1}, max_ongoing_requests=2 * BATCH, max_queued_requests=QUEUE
)
class Judge:
    def __init__(self):
        self.work = Work()

    @serve.batch(max_batch_size=BATCH, batch_wait_timeout_s=WAIT)
    async def judge(self, contents):
        return self.work.judge([self.work.prepare(c) for c in contents])

    async def __call__(self, request: Request):
        async with request.form() as form:
            return await self.judge(await form["file"].read())


async def main():
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()


if __name__ == "__main__":
    ray.init(num_cpus=WORKERS + 1, include_dashboard=False, logging_level="warning", object_store_memory=200 << 20, _node_ip_address="127.0.0.1")
    serve.start(http_options={"host": "127.0.0.1", "port": PORT, "request_timeout_s": PATIENCE}, logging_config={"enable_access_log": False})
    serve.run(Judge.bind(), route_prefix="/predict")
    asyncio.run(main())
    serve.shutdown()
