"""LitServe: batches, in worker processes."""

import litserve
from settings import BATCH, PATIENCE, PORT, WAIT, WORKERS
from work import Work


class Judge(litserve.LitAPI):
    def setup(self, device):
        self.work = Work()

    def decode_request(self, request):
        return self.work.prepare(request["file"].file.read())

    def batch(self, inputs):
        return inputs

    def predict(self, files):
        return self.work.judge(files)

    def unbatch(self, outputs):
        return outputs

    def encode_response(self, output):
        return output


if __name__ == "__main__":
    api = Judge(max_batch_size=BATCH, batch_timeout=WAIT)
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=WORKERS, timeout=PATIENCE)
    server.run(host="127.0.0.1", port=PORT, log_level="warning", generate_client_file=False)
