"""FastAPI: one run for each request, in the worker threads of uvicorn's processes."""

from contextlib import asynccontextmanager

import anyio.to_thread
import uvicorn
from fastapi import FastAPI, UploadFile
from settings import PORT, QUEUE, WORKERS
from work import Work

FILES = 2  # at a time in each process: one is decoded while the other is judged


@asynccontextmanager
async def lifespan(app):
    app.state.work = Work()
    anyio.to_thread.current_default_thread_limiter().total_tokens = FILES
    yield


app = FastAPI(lifespan=lifespan)


@app.get("/ready")
async def ready():
    return {}


@app.post("/predict")
def predict(file: UploadFile):
    return app.state.work.answer(file.file.read())


if __name__ == "__main__":
    uvicorn.run("with_fastapi:app", host="127.0.0.1", port=PORT, workers=WORKERS, access_log=False, limit_concurrency=QUEUE)
