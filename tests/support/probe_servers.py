"""Servers that answer as the probe address of a worker does."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

import attrs

from kafka_groups.net.http_answers import HttpAnswer, HttpAnswers
from kafka_groups.share.workers.status import WorkerStatus

__all__ = ["answering_status", "port_of_nobody"]


@contextmanager
def answering_status(status: WorkerStatus) -> Iterator[str]:
    """Answer with a status. The block gets the address."""
    body = json.dumps(attrs.asdict(status)).encode()
    server = HttpAnswers(("127.0.0.1", 0), {"/status": lambda: HttpAnswer(HTTPStatus.OK, body, "application/json")})
    try:
        yield f"127.0.0.1:{server.port}"
    finally:
        server.close()


def port_of_nobody() -> int:
    """Return a port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port
