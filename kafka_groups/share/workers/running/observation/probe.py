"""Answer requests about a worker: of Kubernetes for its health, of Prometheus for metrics, of people for its status."""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Protocol

import attrs

from kafka_groups.config.readers import UnfitError, read_host_port
from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import sentences
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.http_answers import HttpAnswer, HttpAnswers, plain_answer
from kafka_groups.share.workers.handlers import HandlerSpec
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.running.observation.status_page import status_page
from kafka_groups.share.workers.status import WorkerStatus, worker_status
from kafka_groups.telemetry.sources import Measured, TelemetrySource
from kafka_groups.telemetry.workers import WorkerTelemetry

__all__ = ["ProbedWorker", "answering_probes", "checked_probe_address"]

_LOG = logging.getLogger("kafka_groups.worker")

_EVERYWHERE = "0.0.0.0"  # noqa: S104 - what `:8081` means


class ProbedWorker(Protocol):
    """A worker with handlers, health and metrics."""

    @property
    def handlers(self) -> Sequence[HandlerSpec]:
        """The handlers."""
        ...

    def health(self) -> Health:
        """Return the health. Any thread may call this."""
        ...

    @property
    def telemetry(self) -> TelemetrySource:
        """The metrics."""
        ...


def checked_probe_address(address: object) -> tuple[str, int] | None:
    """Return the host and port of a text such as `0.0.0.0:8081` or `:8081`.

    Raises:
        ConfigurationError: It is neither None nor such a text.
    """
    if address is None:
        return None
    text = f"{_EVERYWHERE}{address}" if isinstance(address, str) and address.startswith(":") else address
    try:
        if isinstance(text, str):
            return read_host_port(text)
    except UnfitError as error:
        raise ConfigurationError(
            sentences(f"probe_address={address!r}: {error}", "Give host:port, or :port")
        ) from error
    raise ConfigurationError(f"probe_address={address!r}: give host:port, or :port")


@contextmanager
def answering_probes(address: str | None, worker: ProbedWorker, reports: WorkerTelemetry) -> Iterator[None]:
    """Answer `GET /live`, `/ready`, `/metrics`, `/status` and `/` in threads of their own during the block.

    Args:
        address: Where to listen; None answers nothing.
        worker: The worker.
        reports: What its processes report.

    Raises:
        ConfigurationError: The address cannot be used.
    """
    place = checked_probe_address(address)
    if place is None:
        yield
        return

    def status() -> WorkerStatus:
        return worker_status(worker.handlers, reports, worker.health(), SystemClock().wall_ms())

    answers: dict[str, Callable[[], HttpAnswer]] = {
        "/live": lambda: _live(worker),
        "/ready": lambda: _ready(worker),
        "/metrics": lambda: _metrics(worker),
        "/status": lambda: _status(status()),
        "/": lambda: _page(status()),
    }
    server = HttpAnswers(place, answers, "worker-probe")
    try:
        yield
    finally:
        server.close()


def _live(worker: ProbedWorker) -> HttpAnswer:
    health = worker.health()
    return plain_answer("live" if health.is_live else _reasons(health), is_fine=health.is_live)


def _ready(worker: ProbedWorker) -> HttpAnswer:
    health = worker.health()
    return plain_answer("ready" if health.is_ready else _reasons(health), is_fine=health.is_ready)


def _reasons(health: Health) -> str:
    return "\n".join(health.reasons) or "an attempt hangs and cannot be stopped"


def _metrics(worker: Measured) -> HttpAnswer:
    try:
        from kafka_groups.telemetry import prometheus  # noqa: PLC0415 - an extra, which may not be installed
    except ModuleNotFoundError as error:
        # The probe works without the extra. Only `/metrics` needs it, and its answer says so.
        return HttpAnswer(HTTPStatus.NOT_IMPLEMENTED, f"{error}\n".encode())
    return HttpAnswer(HTTPStatus.OK, prometheus.scrape(worker), prometheus.CONTENT_TYPE)


def _status(status: WorkerStatus) -> HttpAnswer:
    return HttpAnswer(HTTPStatus.OK, f"{json.dumps(attrs.asdict(status))}\n".encode(), "application/json")


def _page(status: WorkerStatus) -> HttpAnswer:
    return HttpAnswer(HTTPStatus.OK, status_page(status).encode(), "text/html; charset=utf-8")
