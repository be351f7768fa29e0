"""A status of a worker with something in every field, for tests of the document, the page and the command."""

from pathlib import Path

from kafka_groups.share.workers.status import (
    FailureStatus,
    HandlerStatus,
    RecordsInFlight,
    RetryTopicStatus,
    WindowStatus,
    WorkerStatus,
)

__all__ = ["GOLDEN", "busy_status", "idle_handler"]

GOLDEN = Path(__file__).parents[1] / "golden" / "worker_status"
"""The status as document, page and table."""


def busy_status() -> WorkerStatus:
    """A worker with two handlers, one of which has problems. Names have characters that HTML and terminals mind."""
    bad = HandlerStatus(
        name="invoice <b>&\x1b[31m",
        topics=("orders", "orders.old"),
        rate=12.34,
        rate_limit=20.0,
        in_flight=RecordsInFlight(held=5, running=4, waiting=3, delayed=2, writing=1),
        is_breaker_open=True,
        fullest_window=WindowStatus("orders", 3, 1_234, 0.95),
        retry_topics=(RetryTopicStatus("orders.retry.10s", 7, 8), RetryTopicStatus("orders.retry.1m", 9, 0)),
        unconfirmed_outputs=6,
        unconfirmed_writes=11,
        last_error=FailureStatus("ConnectionError", 17, "orders", 3, 1_234, 1_767_225_600_000),
    )
    return WorkerStatus(
        group="shop",
        at_ms=1_767_225_661_000,
        is_live=True,
        is_ready=False,
        reasons=('handler invoice <b>&: the breaker is open ("ConnectionError")',),
        processes=4,
        restarts=1,
        handlers=(bad, idle_handler("count")),
        left_out=2,
    )


def idle_handler(name: str) -> HandlerStatus:
    """A handler that has done nothing."""
    nothing = RecordsInFlight(0, 0, 0, 0, 0)
    return HandlerStatus(name, ("clicks",), 0.0, None, nothing, False, None, (), 0, 0, None)
