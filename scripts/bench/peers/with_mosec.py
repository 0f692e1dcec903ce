"""Mosec: batches, in worker processes behind a server in Rust."""

import sys

from mosec import Server, Worker
from settings import BATCH, PATIENCE, PORT, QUEUE, WAIT, WORKERS, content_of
from work import Work


class Judge(Worker):
    def __init__(self):
        self.work = Work()

    def deserialize(self, data):
        return content_of(data)

    def forward(self, data):
        return self.work.judge([self.work.prepare(content) for content in data])


if __name__ == "__main__":
    sys.argv += ["--address", "127.0.0.1", "--port", str(PORT), "--timeout", str(int(PATIENCE * 1000)), "--capacity", str(QUEUE)]
    server = Server()
    server.append_worker(Judge, num=WORKERS, max_batch_size=BATCH, max_wait_time=max(1, int(WAIT * 1000)), route="/predict")
    server.run()
