"""NVIDIA Triton through PyTriton: dynamic batching, instances as threads."""

import json

import numpy as np
from pytriton.decorators import batch
from pytriton.model_config import DynamicBatcher, ModelConfig, QueuePolicy, Tensor, TimeoutAction
from pytriton.triton import Triton, TritonConfig
from settings import BATCH, PATIENCE, PORT, QUEUE, WAIT, WORKERS
from work import Work


def instance():
    work = Work()

    @batch
    def judge(FILE):
        answers = work.judge([work.prepare(content) for content in FILE[:, 0]])
        return {"VERDICT": np.array([[json.dumps(a).encode()] for a in answers], object)}

    return judge


if __name__ == "__main__":
    policy = QueuePolicy(
        timeout_action=TimeoutAction.REJECT, default_timeout_microseconds=int(PATIENCE * 1e6), max_queue_size=QUEUE
    )
    batcher = DynamicBatcher(max_queue_delay_microseconds=int(WAIT * 1e6), default_queue_policy=policy)
    config = TritonConfig(http_address="127.0.0.1", http_port=PORT, allow_grpc=False, allow_metrics=False, log_verbose=0)
    with Triton(config=config) as triton:
        triton.bind(
            model_name="judge",
            infer_func=[instance() for _ in range(WORKERS)],
            inputs=[Tensor(name="FILE", dtype=bytes, shape=(1,))],
            outputs=[Tensor(name="VERDICT", dtype=bytes, shape=(1,))],
            config=ModelConfig(max_batch_size=BATCH, batcher=batcher),
        )
        triton.serve()
