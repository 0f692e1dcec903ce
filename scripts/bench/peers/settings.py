"""What every peer is told through its environment."""

import os

PORT = int(os.environ.get("PEER_PORT", "8000"))
WORKERS = int(os.environ.get("PEER_WORKERS", "1"))  # processes or instances, each with a session of every model
BATCH = int(os.environ.get("PEER_BATCH", "4"))  # files of one batch at most
WAIT = float(os.environ.get("PEER_WAIT", "0.005"))  # seconds that a batch waits for more files
PATIENCE = float(os.environ.get("PEER_PATIENCE", "1"))  # seconds after which nobody wants the answer
QUEUE = int(os.environ.get("PEER_QUEUE", "64"))  # files that wait at most, where that can be bounded


def content_of(body):
    """The file in the body of a form with one part, for servers that read no forms."""
    return body[body.index(b"\r\n\r\n") + 4 : body.rindex(b"\r\n--")]
