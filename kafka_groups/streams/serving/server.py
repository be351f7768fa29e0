"""`StateServer`: the stores of an application over HTTP."""

import logging
import socket
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kafka_groups.config.readers import UnfitError, read_host_port
from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.log_tracebacks import cut_tracebacks
from kafka_groups.errors.texts import sentences
from kafka_groups.net.short_waits import joined

if TYPE_CHECKING:
    from kafka_groups.streams.aio import AsyncKafkaStreams
    from kafka_groups.streams.app import KafkaStreams

__all__ = ["StateServer"]

_log = logging.getLogger(__name__)
cut_tracebacks(_log)

_CLOSE_S = 5
_MOST_QUESTIONS = 200


class StateServer:
    """Answers questions to the stores of an application over HTTP, in JSON, in threads of its own, until it is closed.

    `GET /stores/NAME/get?key=…`, `/range` and `/fetch` read a store; `GET /openapi.json` describes all addresses. A key
    that another process has is asked for there, once, if that process has an `application_server`, which has to be the
    address of its `StateServer`. There is no authentication: listen where only those come who may read the stores.

    ```python
    app = KafkaStreams(build, application_id="shop", application_server="10.0.0.7:8080", …)
    with app, StateServer(app, "0.0.0.0:8080"):
        app.wait()
    ```

    Args:
        app: The application. Questions are answered with status 503 until it runs.
        address: The host and port to listen at, as text or as a pair.

    Raises:
        ConfigurationError: The address cannot be used, or the extra `streams-http` is not installed.

    Attributes:
        port: The port that it listens at.
    """

    def __init__(self, app: "KafkaStreams | AsyncKafkaStreams", address: str | tuple[str, int]) -> None:
        server, routes = _modules()
        host, port = _checked(address)
        self._socket = _listening(host, port)
        self.port: int = self._socket.getsockname()[1]
        settings = server.Config(
            routes(app), log_config=None, access_log=False, lifespan="off", limit_concurrency=_MOST_QUESTIONS,
            timeout_graceful_shutdown=_CLOSE_S,
        )  # fmt: skip
        self._server = server.Server(settings)
        self._thread = threading.Thread(target=self._run, name="streams-state-server", daemon=True)
        self._thread.start()
        _log.info("Stores are read at port %d", self.port)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<StateServer at port {self.port}>"

    def close(self) -> None:
        """Stop to listen. Blocks for up to five seconds, in which questions are answered that have come before."""
        self._server.should_exit = True
        joined(self._thread)
        self._socket.close()

    def _run(self) -> None:
        try:
            self._server.run([self._socket])
        except Exception:
            _log.exception("Stores are no longer read at port %d", self.port)
            raise


def _modules() -> tuple[Any, Any]:
    try:
        import uvicorn  # noqa: PLC0415 - an extra

        from kafka_groups.streams.serving.routes import routes  # noqa: PLC0415
    except ImportError as error:
        raise ConfigurationError(
            f"StateServer needs the extra streams-http: pip install 'kafka-groups[streams-http]' ({error})"
        ) from error
    return uvicorn, routes


def _checked(address: str | tuple[str, int]) -> tuple[str, int]:
    try:
        return read_host_port(address)
    except UnfitError as error:
        remedy = "Use host:port, such as 0.0.0.0:8080"
        raise ConfigurationError(sentences(f"address={address!r}: {error}", remedy)) from error


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=_family(host, port))
    except OSError as error:
        remedy = "Give an address of this machine, such as 0.0.0.0, and a port that no other process uses"
        raise ConfigurationError(sentences(f"address={host}:{port}: cannot listen there: {error}", remedy)) from error


def _family(host: str, port: int) -> socket.AddressFamily:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
