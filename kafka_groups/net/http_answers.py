"""Answers to GET requests of probes and scrapes, such as those of Kubernetes and Prometheus."""

import io
import logging
import socket
import socketserver
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from attrs import frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.log_tracebacks import cut_tracebacks
from kafka_groups.errors.texts import sentences
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.short_waits import joined

__all__ = ["HttpAnswer", "HttpAnswers", "plain_answer"]

_log = logging.getLogger(__name__)
cut_tracebacks(_log)

_LOOK_S = 0.2
"""The longest time that `close` waits for the thread."""

_SLOW_MS = 10_000
"""The time after which a client that has not sent its whole request, or does not read the answer, is disconnected."""

_LARGEST_REQUEST = 16_384
"""The most bytes of a request line and its headers."""

_MOST_CLIENTS = 32
"""The most clients at a time; others are disconnected at once."""

_END = b"\r\n\r\n"
_PIECE = 4_096


@frozen
class HttpAnswer:
    """The answer to a request.

    Attributes:
        status: The status.
        body: The body.
        content_type: Its type.
    """

    status: HTTPStatus
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


def plain_answer(text: str, *, is_fine: bool) -> HttpAnswer:
    """Return a text with status 200, or 503 if something is wrong."""
    return HttpAnswer(HTTPStatus.OK if is_fine else HTTPStatus.SERVICE_UNAVAILABLE, f"{text}\n".encode())


class HttpAnswers:
    """Answers GET requests in threads of its own, until it is closed.

    Args:
        address: The host and port to listen at; port 0 takes a free one.
        answers: What answers the requests for each path. Called from several threads.
        name: The name of the thread that listens.

    Raises:
        ConfigurationError: The address cannot be used.

    Attributes:
        port: The port that it listens at.
    """

    def __init__(
        self, address: tuple[str, int], answers: Mapping[str, Callable[[], HttpAnswer]], name: str = "probe"
    ) -> None:
        try:
            self._server = _Listener(address, answers)
        except OSError as error:
            text = f"probe_address={address[0]}:{address[1]}: cannot listen there: {error}"
            remedy = "Give an address of this machine, such as 0.0.0.0, and a port that no other process uses"
            raise ConfigurationError(sentences(text, remedy)) from error
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_LOOK_S,), name=name, daemon=True)
        self._thread.start()
        _log.info("Probes are answered at port %d", self.port)

    def __repr__(self) -> str:
        return f"<HttpAnswers at port {self.port}>"

    def close(self) -> None:
        """Stop to listen. Blocks for a moment."""
        self._server.shutdown()
        self._server.server_close()
        joined(self._thread)


class _Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int], answers: Mapping[str, Callable[[], HttpAnswer]]) -> None:
        (self.address_family, *_), *_ = socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        self.answers = answers
        self._free = threading.BoundedSemaphore(_MOST_CLIENTS)
        super().__init__(address, _RequestHandler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            _log.warning("Refused a probe from %s: %d others are being answered", client_address, _MOST_CLIENTS)
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, _request: Any, client_address: Any) -> None:
        _log.debug("A probe from %s failed", client_address, exc_info=True)


class _RequestHandler(BaseHTTPRequestHandler):
    server: _Listener
    error_content_type = "text/plain"
    error_message_format = "%(code)d %(message)s\n"
    request_version = ""
    requestline = ""
    command = ""

    def handle(self) -> None:
        request = self._request()
        if request is None:
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif request:
            self.rfile = io.BytesIO(request)
            self.handle_one_request()

    def _request(self) -> bytes | None:
        """Read a request with its headers. None if it is too large, empty if the client leaves or is slow."""
        clock, read = SystemClock(), b""
        until_ms = clock.now_ms() + _SLOW_MS
        while _END not in read:
            if len(read) > _LARGEST_REQUEST:
                return None
            self.connection.settimeout(max(1, until_ms - clock.now_ms()) / 1000)
            try:
                piece = self.connection.recv(_PIECE)
            except TimeoutError:
                return b""
            if not piece:
                return b""
            read += piece
        return read

    def do_GET(self) -> None:
        answer = self.server.answers.get(self.path.partition("?")[0])
        if answer is None:
            paths = " or ".join(self.server.answers)
            self._answer(HttpAnswer(HTTPStatus.NOT_FOUND, f"Ask for {paths}.\n".encode()))
        else:
            self._answer(answer())

    def _answer(self, answer: HttpAnswer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, text: str, *values: object) -> None:
        _log.debug("Probe from %s: %s", self.client_address[0], text % values)
