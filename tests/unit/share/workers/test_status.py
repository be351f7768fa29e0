"""The status of a worker: all processes together, bounded, and as the document that the probe tells."""

import json

import attrs
from attrs import evolve

from kafka_groups import RetryTopics, Worker
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.status import (
    MOST_HANDLERS,
    MOST_REASONS,
    FailureStatus,
    RecordsInFlight,
    RetryTopicStatus,
    WindowStatus,
    WorkerStatus,
    worker_status,
)
from kafka_groups.telemetry.handler_details import FullestWindow, HandlerDetails, LastFailure
from kafka_groups.telemetry.handler_sensors import HandlerSensors
from kafka_groups.telemetry.workers import WorkerTelemetry
from tests.support.worker_statuses import GOLDEN, busy_status

DOCUMENT = GOLDEN / "status.json"


def declared() -> Worker:
    worker = Worker("shop", bootstrap_servers="localhost:9092")

    @worker.handler("orders", name="invoice", retry_topics=RetryTopics("orders.retry", (10, 60)), dead_letters="dead")
    def invoice(value: bytes) -> None: ...

    @worker.handler("clicks", name="count", rate_limit="90/m")
    def count(value: bytes) -> None: ...

    return worker


def failure(error_type: str, offset: int, at_ms: int) -> LastFailure:
    return LastFailure(error_type, "orders", 0, offset, at_ms)


def reported(sensors: HandlerSensors, details: HandlerDetails, failures: int = 0, **states: int) -> None:
    """Report the numbers of one member."""
    sensors.in_hand(states)
    sensors.ran({("failed", "ValueError"): failures, ("succeeded", ""): 5}, 0, 0.0)
    sensors.details(details)


def status(worker: Worker, reports: WorkerTelemetry, health: Health | None = None) -> WorkerStatus:
    return worker_status(worker.handlers, reports, health or Health(), 5_000)


def test_a_worker_that_has_reported_nothing_has_its_handlers_all_the_same() -> None:
    found = status(declared(), WorkerTelemetry("shop"), Health(is_ready=False, reasons=("it starts",)))
    assert (found.group, found.at_ms, found.is_live, found.is_ready) == ("shop", 5_000, True, False)
    assert (found.reasons, found.processes, found.restarts, found.left_out) == (("it starts",), 0, 0, 0)
    invoice, count = found.handlers
    assert (invoice.name, invoice.topics, invoice.rate) == ("invoice", ("orders",), 0)
    assert invoice.in_flight == RecordsInFlight(0, 0, 0, 0, 0)
    assert invoice.retry_topics == (
        RetryTopicStatus("orders.retry.10s", 0, 0),
        RetryTopicStatus("orders.retry.1m", 0, 0),
    )
    assert (count.fullest_window, count.last_error, count.retry_topics) == (None, None, ())
    assert (invoice.rate_limit, count.rate_limit) == (None, 1.5)


def test_members_of_a_handler_in_all_processes_are_one_row() -> None:
    reports = WorkerTelemetry("shop", "parent")
    for process, offset in (("1", 7), ("2", 8)):
        own, retry = HandlerSensors(), HandlerSensors()
        window = FullestWindow("orders", int(process), offset, offset / 10)
        reported(
            own,
            HandlerDetails(1.25, window, 2, 3, failure("ValueError", offset, offset)),
            failures=offset,
            held=1,
            running=2,
            waiting=3,
            writing=4,
        )
        reported(retry, HandlerDetails(0.25, FullestWindow("orders.retry.10s", 0, 0, 9.0), 0, 1), held=1, delayed=2)
        own.breaker(is_open=process == "1")
        reports.received(process, {"invoice": own.snapshot(), "invoice (retry 10s)": retry.snapshot()})
    reports.restarted("3")
    invoice, count = status(declared(), reports).handlers
    assert invoice.rate == 3.0
    assert invoice.in_flight == RecordsInFlight(held=4, running=4, waiting=6, delayed=4, writing=8)
    assert invoice.is_breaker_open
    assert invoice.fullest_window == WindowStatus("orders", 2, 8, 0.8)
    assert invoice.retry_topics[0] == RetryTopicStatus("orders.retry.10s", waiting=4, due=2)
    assert (invoice.unconfirmed_outputs, invoice.unconfirmed_writes) == (4, 8)
    assert invoice.last_error == FailureStatus("ValueError", 15, "orders", 0, 8, 8)
    assert count.in_flight == RecordsInFlight(0, 0, 0, 0, 0)
    assert status(declared(), reports).restarts == 1


def test_the_last_failure_outlives_its_process() -> None:
    reports = WorkerTelemetry("shop", "parent")
    first = HandlerSensors()
    reported(first, HandlerDetails(9.0, None, 1, 1, failure("ValueError", 3, 3)), failures=2, running=1)
    reports.received("1", {"count": first.snapshot()})
    reports.restarted("1")
    count = status(declared(), reports).handlers[1]
    assert (count.rate, count.in_flight.running, count.unconfirmed_writes) == (0, 0, 0)
    assert count.last_error == FailureStatus("ValueError", 2, "orders", 0, 3, 3)
    reports.received("1", {"count": HandlerSensors().snapshot()})
    assert status(declared(), reports).handlers[1].last_error == count.last_error


def test_the_size_is_bounded() -> None:
    topics = tuple("t" * 9_000 for _ in range(60))
    first = declared().handlers[0]
    handlers = [evolve(first, name=f"{number}-" + "n" * 9_000, topics=topics) for number in range(MOST_HANDLERS + 5)]
    reasons = tuple(f"{number} {'r' * 9_000}" for number in range(MOST_REASONS + 7))
    reports = WorkerTelemetry("g" * 9_000)
    long = LastFailure("E" * 9_000, "t" * 9_000, 0, 0, 0)
    for spec in handlers:
        reported(reports.handler(spec.name), HandlerDetails(1.0, FullestWindow("t" * 9_000, 0, 0, 1.0), 0, 0, long))
    found = worker_status(handlers, reports, Health(True, False, reasons), 5_000)
    assert (len(found.handlers), len(found.reasons), found.left_out) == (MOST_HANDLERS, MOST_REASONS, 12)
    assert len(json.dumps(attrs.asdict(found))) < 2_000_000
    assert max(map(len, found.reasons)) == 1_000


def test_the_document_is_the_golden_one() -> None:
    assert json.dumps(attrs.asdict(busy_status()), indent=2) + "\n" == DOCUMENT.read_text(encoding="utf-8")
