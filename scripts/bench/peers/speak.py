"""Asks a peer for a verdict, in the form that it understands."""

import base64
import json
import struct
import urllib.error
import urllib.request

SECONDS = 10


class Refused(Exception):
    """A peer gave no verdict; the message says what it gave."""


def request(form, name, content):
    """The headers and the body that carry a file: those of deepfaked-bench."""
    tensor = {"name": "FILE", "shape": [1, 1], "datatype": "BYTES"}
    if form == "kserve-json":
        tensor |= {"parameters": {"content_type": "base64"}, "data": [base64.b64encode(content).decode()]}
        return {"Content-Type": "application/json"}, json.dumps({"inputs": [tensor]}).encode()
    if form == "kserve":
        binary = struct.pack("<I", len(content)) + content
        head = json.dumps({"inputs": [tensor | {"parameters": {"binary_data_size": len(binary)}}]}).encode()
        return {"Content-Type": "application/octet-stream", "Inference-Header-Content-Length": str(len(head))}, head + binary
    edge = b"edge-of-a-part-in-a-form"
    head = b'--%b\r\nContent-Disposition: form-data; name="file"; filename="%b"\r\nContent-Type: application/octet-stream\r\n\r\n'
    body = head % (edge, name.encode()) + content + b"\r\n--%b--\r\n" % edge
    return {"Content-Type": f"multipart/form-data; boundary={edge.decode()}"}, body


def understood(form, answer):
    """The verdict in an answer."""
    told = json.loads(answer)
    return told if form == "multipart" else json.loads(told["outputs"][0]["data"][0])


def ask(url, form, file):
    """The verdict on a file; Refused where there is none."""
    headers, body = request(form, file.name, file.read_bytes())
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=SECONDS) as answer:
            return understood(form, answer.read())
    except (urllib.error.URLError, OSError, ValueError, LookupError) as e:
        raise Refused(str(e)) from None
