"""Answers HTTP requests about an application's health, such as those of Kubernetes."""

import logging
import socket
import socketserver
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from kafka_groups.errors import ConfigurationError
from kafka_groups.streams.workers.application_state import ApplicationLife, StreamsState

__all__ = ["ProbeServer"]

_log = logging.getLogger(__name__)

_LOOK_S = 0.2
"""The longest time that `close` waits for the thread."""

_SLOW_S = 10
"""The time after which a client that sends nothing is disconnected."""


class ProbeServer:
    """Answers `GET /live` and `GET /ready` in threads of its own, until it is closed.

    Args:
        address: The host and port to listen at; port 0 takes a free one.
        life: The application.

    Raises:
        ConfigurationError: The address cannot be used.

    Attributes:
        port: The port that it listens at.
    """

    def __init__(self, address: tuple[str, int], life: ApplicationLife) -> None:
        try:
            self._server = _ProbeListener(address, life)
        except OSError as error:
            raise ConfigurationError(
                f"probe_address={address[0]}:{address[1]}: cannot listen there: {error}. Give an address of this "
                "machine, such as 0.0.0.0, and a port that no other process uses."
            ) from error
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_LOOK_S,), name="streams-probe", daemon=True
        )
        self._thread.start()
        _log.info("Probes are answered at port %d", self.port)

    def __repr__(self) -> str:
        return f"<ProbeServer at port {self.port}>"

    def close(self) -> None:
        """Stop to listen. Blocks for a moment."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _ProbeListener(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int], life: ApplicationLife) -> None:
        (self.address_family, *_), *_ = socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        self.life = life
        super().__init__(address, _ProbeHandler)

    def handle_error(self, _request: Any, client_address: Any) -> None:
        _log.debug("A probe from %s failed", client_address, exc_info=True)


class _ProbeHandler(BaseHTTPRequestHandler):
    server: _ProbeListener
    timeout = _SLOW_S
    error_content_type = "text/plain"
    error_message_format = "%(code)d %(message)s\n"

    def do_GET(self) -> None:
        state = self.server.life.state
        answers = {"/live": not self.server.life.has_ended, "/ready": state is StreamsState.RUNNING}
        is_fine = answers.get(self.path.partition("?")[0])
        if is_fine is None:
            self._answer(HTTPStatus.NOT_FOUND, "Ask for /live or /ready.")
        else:
            self._answer(HTTPStatus.OK if is_fine else HTTPStatus.SERVICE_UNAVAILABLE, state.name)

    def _answer(self, status: HTTPStatus, line: str) -> None:
        body = f"{line}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, text: str, *values: object) -> None:
        _log.debug("Probe from %s: %s", self.client_address[0], text % values)
