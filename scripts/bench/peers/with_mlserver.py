"""MLServer: adaptive batching, in parallel workers."""

import asyncio
import base64
import json

from mlserver import MLModel, MLServer, ModelSettings, Settings
from mlserver.settings import ModelParameters
from mlserver.types import InferenceResponse, ResponseOutput
from settings import BATCH, PORT, WAIT, WORKERS
from work import Work


class Judge(MLModel):
    async def load(self):
        self.work = Work()
        return True

    async def predict(self, payload):
        contents = [base64.b64decode(data) for data in payload.inputs[0].data]
        answers = self.work.judge([self.work.prepare(content) for content in contents])
        output = ResponseOutput(name="VERDICT", shape=[len(answers), 1], datatype="BYTES", data=[json.dumps(a) for a in answers])
        return InferenceResponse(model_name=self.name, outputs=[output])


async def main():
    settings = Settings(
        host="127.0.0.1", http_port=PORT, grpc_port=PORT + 1, metrics_port=PORT + 2, debug=False,
        parallel_workers=WORKERS if WORKERS > 1 else 0, metrics_endpoint=None,
    )
    model = ModelSettings(
        name="judge", implementation=Judge, max_batch_size=BATCH, max_batch_time=WAIT, parameters=ModelParameters(version="1")
    )
    await MLServer(settings).start([model])


if __name__ == "__main__":
    asyncio.run(main())
