"""Spans and metrics of attempts, with OpenTelemetry's SDK."""

import asyncio
from collections.abc import Sequence

import pytest
from attrs import evolve, frozen
from opentelemetry import baggage, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader, NumberDataPoint
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from kafka_groups import Reject, Retry
from kafka_groups.errors import DeliveryFailedError
from kafka_groups.share.delivery.records import ShareRecord
from kafka_groups.share.workers.running.attempts import Attempt
from kafka_groups.telemetry.attempts import TracedAttempt, TracedRecord
from kafka_groups.telemetry.meters import MessagingMeters
from kafka_groups.telemetry.tracing import Tracing, tracing
from kafka_groups.testing.worker_driver.handler_loop import WorkerTestError
from kafka_groups.types import Header

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
PARENT: tuple[Header, ...] = (("traceparent", f"00-{TRACE}-{SPAN}-01".encode()),)
OTHER: tuple[Header, ...] = (("traceparent", f"00-{TRACE}-00f067aa0ba902b7-01".encode()),)
SHARED = {
    "messaging.system": "kafka",
    "messaging.operation.name": "process",
    "messaging.operation.type": "process",
    "messaging.destination.name": "orders",
    "messaging.consumer.group.name": "invoices",
    "messaging.client.id": "shop",
}


@frozen
class Record:
    offset: int = 7
    headers: Sequence[Header] = ()
    topic: str = "orders"
    partition: int = 3
    key: object = b"ann"


@frozen
class Call:
    """An attempt as a worker makes it."""

    records: Sequence[Record] = (Record(),)
    number: int = 1
    is_batch: bool = False
    group: str = "invoices"
    handler: str = "pay"
    client_id: str = "shop"


class Telemetry:
    """The spans and metrics that a program has recorded."""

    def __init__(self, *, record_keys: bool = False) -> None:
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        spans, meters = TracerProvider(), MeterProvider([self._reader])
        spans.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.spans_of = spans
        self.tracing = tracing(spans, meters, record_keys=record_keys)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    @property
    def span(self) -> ReadableSpan:
        (span,) = self.spans
        return span

    def points(self, name: str) -> list[NumberDataPoint | HistogramDataPoint]:
        data = self._reader.get_metrics_data()
        assert data is not None
        return [
            point  # type: ignore[misc]
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


def hexadecimal(span: ReadableSpan) -> tuple[str, str | None]:
    """The ids of a span's trace and parent."""
    assert span.context is not None
    return f"{span.context.trace_id:032x}", None if span.parent is None else f"{span.parent.span_id:016x}"


def links(span: ReadableSpan) -> list[str]:
    return [f"{link.context.span_id:016x}" for link in span.links]


def test_a_record_continues_the_trace_of_its_producer(telemetry: Telemetry) -> None:
    with telemetry.tracing(Call((Record(headers=PARENT),))):
        inside = trace.get_current_span()
    span = telemetry.span
    assert inside.get_span_context() == span.context
    assert not trace.get_current_span().get_span_context().is_valid
    assert (span.name, span.kind) == ("process orders", SpanKind.CONSUMER)
    assert hexadecimal(span) == (TRACE, SPAN)
    assert links(span) == [SPAN]
    assert span.attributes == SHARED | {
        "messaging.destination.partition.id": "3",
        "messaging.kafka.offset": 7,
        "kafka_groups.handler": "pay",
        "kafka_groups.attempt": 1,
    }
    assert span.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize(
    "headers",
    [(), (("traceparent", None),), (("traceparent", b"\xff\xfe"),), (("other", b"x"),)],
    ids=["none", "null", "not UTF-8", "others"],
)
def test_without_a_context_a_span_begins_a_trace(headers: tuple[Header, ...], telemetry: Telemetry) -> None:
    with telemetry.tracing(Call((Record(headers=headers),))):
        pass
    assert (telemetry.span.parent, links(telemetry.span)) == (None, [])


def test_a_span_around_the_worker_is_not_the_parent(telemetry: Telemetry) -> None:
    with telemetry.spans_of.get_tracer("program").start_as_current_span("main") as main:
        for is_batch in (False, True):
            with telemetry.tracing(Call(is_batch=is_batch)):
                pass
        assert trace.get_current_span() is main
    assert [(span.name, span.parent) for span in telemetry.spans[:2]] == [("process orders", None)] * 2


def test_baggage_of_the_producer_reaches_the_handler_of_a_record(telemetry: Telemetry) -> None:
    headers = (*PARENT, ("baggage", b"tenant=acme"))
    with telemetry.tracing(Call((Record(headers=headers),))):
        assert baggage.get_baggage("tenant") == "acme"
    assert baggage.get_baggage("tenant") is None
    with telemetry.tracing(Call((Record(headers=headers),), is_batch=True)):
        assert baggage.get_baggage("tenant") is None


def test_the_name_of_the_header_may_have_capitals(telemetry: Telemetry) -> None:
    with telemetry.tracing(Call((Record(headers=(("Traceparent", PARENT[0][1]),)),))):
        pass
    assert hexadecimal(telemetry.span) == (TRACE, SPAN)


def test_each_attempt_has_a_span(telemetry: Telemetry) -> None:
    for number in (1, 2):
        with telemetry.tracing(Call((Record(headers=PARENT),), number=number)):
            pass
    attempts = [span.attributes["kafka_groups.attempt"] for span in telemetry.spans if span.attributes]
    assert attempts == [1, 2]
    assert {hexadecimal(span) for span in telemetry.spans} == {(TRACE, SPAN)}


def test_a_batch_is_linked_to_its_producers_and_belongs_to_none(telemetry: Telemetry) -> None:
    records = [Record(1, PARENT), Record(2, PARENT), Record(3, OTHER), Record(4)]
    with telemetry.tracing(Call(records, is_batch=True)):
        pass
    span = telemetry.span
    assert hexadecimal(span)[1] is None
    assert links(span) == [SPAN, "00f067aa0ba902b7"]
    assert span.attributes is not None
    assert span.attributes["messaging.batch.message_count"] == 4
    assert span.attributes["messaging.destination.partition.id"] == "3"
    assert "messaging.kafka.offset" not in span.attributes


def test_a_batch_of_one_record_is_still_a_batch(telemetry: Telemetry) -> None:
    with telemetry.tracing(Call((Record(headers=PARENT),), is_batch=True)):
        pass
    assert telemetry.span.parent is None
    assert telemetry.span.attributes is not None
    assert telemetry.span.attributes["messaging.batch.message_count"] == 1


def test_a_batch_of_several_places_has_none(telemetry: Telemetry) -> None:
    with telemetry.tracing(Call((Record(partition=0), Record(partition=1)), is_batch=True)):
        pass
    with telemetry.tracing(Call((Record(), Record(topic="refunds")), is_batch=True)):
        pass
    partitions, topics = telemetry.spans
    assert partitions.attributes is not None
    assert topics.attributes is not None
    assert (partitions.name, topics.name) == ("process orders", "process pay")
    assert "messaging.destination.partition.id" not in partitions.attributes
    assert "messaging.destination.name" in partitions.attributes
    assert "messaging.destination.name" not in topics.attributes


@pytest.mark.parametrize(
    ("key", "shown"), [(b"ann", "ann"), (b"\xff\x00", "ff00"), (5, "5"), (None, None), (b"", None)], ids=str
)
def test_keys_are_recorded_on_request(key: object, shown: str | None) -> None:
    for record_keys in (False, True):
        telemetry = Telemetry(record_keys=record_keys)
        with telemetry.tracing(Call((Record(key=key),))):
            pass
        assert telemetry.span.attributes is not None
        expected = shown if record_keys else None
        assert telemetry.span.attributes.get("messaging.kafka.message.key") == expected


class BankClosedError(Exception):
    """Something that a handler raises."""


class WithoutTextError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ValueError("negative total"), "ValueError"),
        (BankClosedError("until 9"), f"{__name__}.BankClosedError"),
        (WithoutTextError(), f"{__name__}.WithoutTextError"),
        (ValueError(1_000_000 * "x"), "ValueError"),
        (asyncio.CancelledError(), "asyncio.exceptions.CancelledError"),
        (Reject("bad"), "kafka_groups.Reject"),
        (Retry("later"), "kafka_groups.Retry"),
        (DeliveryFailedError("no", failed=1, unanswered=0), "kafka_groups.errors.DeliveryFailedError"),
        (WorkerTestError("no"), "kafka_groups.testing.WorkerTestError"),
    ],
    ids=["python", "own", "no text", "long text", "cancelled", "reject", "retry", "errors", "testing"],
)
def test_what_ends_an_attempt_is_its_error(error: BaseException, name: str, telemetry: Telemetry) -> None:
    with pytest.raises(type(error)) as raised, telemetry.tracing(Call()):
        raise error
    assert raised.value is error
    span = telemetry.span
    assert span.attributes is not None
    assert span.attributes["error.type"] == name
    assert span.status.status_code is StatusCode.ERROR
    (event,) = span.events
    assert event.attributes is not None
    assert (event.name, event.attributes["exception.type"]) == ("exception", name)
    assert max(len(str(event.attributes[f"exception.{part}"])) for part in ("message", "stacktrace")) < 25_000
    (point,) = telemetry.points("messaging.process.duration")
    assert point.attributes == SHARED | {"error.type": name}


def test_an_empty_client_id_is_left_out(telemetry: Telemetry) -> None:
    with telemetry.tracing(Call(client_id="")):
        pass
    (point,) = telemetry.points("messaging.process.duration")
    assert "messaging.client.id" not in (telemetry.span.attributes or {})
    assert "messaging.client.id" not in (point.attributes or {})


async def test_a_span_is_current_in_an_asynchronous_handler_alone(telemetry: Telemetry) -> None:
    async def handle(offset: int, others: asyncio.Barrier) -> int:
        with telemetry.tracing(Call((Record(offset),))):
            await others.wait()
            return trace.get_current_span().get_span_context().span_id

    barrier = asyncio.Barrier(3)
    found = await asyncio.gather(*(handle(offset, barrier) for offset in range(3)))
    ids = {
        span.attributes["messaging.kafka.offset"]: span.context.span_id
        for span in telemetry.spans
        if span.attributes and span.context
    }
    assert found == [ids[offset] for offset in range(3)]


def test_durations_are_measured_and_messages_are_counted_at_their_first_attempt() -> None:
    reader = InMemoryMetricReader()
    times = iter([10.0, 10.5, 20.0, 22.0])
    traced = Tracing(
        TracerProvider().get_tracer("test"), MessagingMeters(MeterProvider([reader])), timer=lambda: next(times)
    )
    batch = Call((Record(1), Record(2)), is_batch=True)
    for attempt in (batch, evolve(batch, number=2)):
        with traced(attempt):
            pass
    telemetry = Telemetry()
    telemetry._reader = reader
    (duration,) = telemetry.points("messaging.process.duration")
    (consumed,) = telemetry.points("messaging.client.consumed.messages")
    assert isinstance(duration, HistogramDataPoint)
    assert isinstance(consumed, NumberDataPoint)
    assert (duration.count, duration.sum, consumed.value) == (2, 2.5, 2)
    assert duration.attributes == consumed.attributes == SHARED


def test_operations_of_the_client_have_metrics_too(telemetry: Telemetry) -> None:
    meters = telemetry.tracing.meters
    meters.operation("settle", 0.25, topic="orders", group="invoices")
    meters.operation("send", 0.5, topic="orders.dead", error_type="TimeoutError")
    meters.sent(3, topic="orders.dead")
    settled, sent = telemetry.points("messaging.client.operation.duration")
    assert settled.attributes == {
        "messaging.system": "kafka",
        "messaging.operation.name": "settle",
        "messaging.operation.type": "settle",
        "messaging.destination.name": "orders",
        "messaging.consumer.group.name": "invoices",
    }
    assert sent.attributes is not None
    assert sent.attributes["error.type"] == "TimeoutError"
    (count,) = telemetry.points("messaging.client.sent.messages")
    assert isinstance(count, NumberDataPoint)
    assert count.value == 3


def test_without_providers_nothing_is_recorded_and_the_handler_runs() -> None:
    has_run = False
    with tracing()(Call()):
        has_run = True
    assert has_run


def as_seen_by_tracing(record: ShareRecord[object, object], attempt: Attempt) -> tuple[TracedRecord, TracedAttempt]:
    """Type checkers confirm that the records and attempts of a worker can be traced."""
    return record, attempt
