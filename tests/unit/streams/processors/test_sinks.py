"""Sinks: serialisers are called once for each record, and the error says what has failed, whatever kind the sink is."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.errors import (
    InvalidRecordError,
    NetworkError,
    SerializationError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.serdes import Serde, Window, Windowed
from kafka_groups.streams import ErrorContext, ErrorResponse, Record, StreamsBuilder, StreamsError
from kafka_groups.testing.topology_driver import TopologyTestDriver
from kafka_groups.types import Headers

TEXT = serdes.string


class Noting:
    """A serialiser that notes its calls, and fails for bad texts."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __call__(self, text: str) -> bytes:
        self.calls.append(text)
        if text == "bad":
            raise ValueError("it is bad")
        return text.encode()


def noting(serializer: Noting) -> Serde[str]:
    return serdes.of(str, serializer=serializer, deserializer=bytes.decode)


Build = Callable[[StreamsBuilder, Serde[str], Serde[str]], None]


def fixed(builder: StreamsBuilder, key: Serde[str], value: Serde[str]) -> None:
    builder.stream("in", key=TEXT, value=TEXT).to("out", key=key, value=value, name="write")


def chosen(builder: StreamsBuilder, key: Serde[str], value: Serde[str]) -> None:
    builder.stream("in", key=TEXT, value=TEXT).to(lambda *_: "out", key=key, value=value, name="write")


def partitioned(builder: StreamsBuilder, key: Serde[str], value: Serde[str]) -> None:
    read = builder.stream("in", key=TEXT, value=TEXT)
    read.to("out", key=key, value=value, partitioner=lambda *_: 1, name="write")


def windowed(builder: StreamsBuilder, key: Serde[str], value: Serde[str]) -> None:
    read = builder.stream("in", key=TEXT, value=TEXT)
    keyed = read.select_key(lambda key, _: Windowed(key, Window(10, 20)))
    keyed.to("out", key=serdes.time_windowed(key, 10), value=value, name="write")


KINDS: dict[str, tuple[Build, int]] = {
    "fixed topic": (fixed, 2),
    "topic of the program's choice": (chosen, 2),
    "partitioner of the program": (partitioned, 2),
    "windowed": (windowed, 2),
    "windowed, one partition": (windowed, 1),
}
BY_KIND = pytest.mark.parametrize("kind", KINDS)


class Answers:
    """Handlers that skip each record, and note what they are asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ErrorContext, Record[Any, Any], Exception]] = []

    def of(self, name: str) -> Callable[[ErrorContext, Record[Any, Any], Exception], ErrorResponse]:
        def answer(context: ErrorContext, record: Record[Any, Any], error: Exception) -> ErrorResponse:
            self.asked.append((name, context, record, error))
            return ErrorResponse.RESUME

        return answer


def driver(kind: str, key: Noting, value: Noting, answers: Answers | None = None) -> TopologyTestDriver:
    build, partitions = KINDS[kind]
    builder = StreamsBuilder()
    build(builder, noting(key), noting(value))
    names = ("processing", "production")
    handlers: dict[str, Any] = {} if answers is None else {f"{n}_exception_handler": answers.of(n) for n in names}
    return TopologyTestDriver(builder.build(), partitions={"in": 1, "out": partitions}, **handlers)


@BY_KIND
@pytest.mark.parametrize("given", [("k", "v"), ("bad", "v"), ("k", "bad"), ("bad", "bad")])
def test_serialisers_are_called_once_for_a_record_also_if_they_fail(kind: str, given: tuple[str, str]) -> None:
    key, value = Noting(), Noting()
    with driver(kind, key, value, Answers()) as driven:
        driven.input_topic("in", TEXT, TEXT).pipe(*given)
        written = driven.records("out")
    assert key.calls == [given[0]]
    assert value.calls == ([] if given[0] == "bad" else [given[1]])
    assert len(written) == ("bad" not in given)


@BY_KIND
@pytest.mark.parametrize("given", [("bad", "v"), ("k", "bad")])
def test_the_handler_of_what_has_failed_is_asked(kind: str, given: tuple[str, str]) -> None:
    answers = Answers()
    with driver(kind, Noting(), Noting(), answers) as driven:
        driven.input_topic("in", TEXT, TEXT).pipe(*given, timestamp_ms=7, headers=(("h", b"1"),))
    ((name, context, record, error),) = answers.asked
    # A key that several partitions have is serialised to choose one of them, before the record is.
    is_chosen = kind == "windowed" and given[0] == "bad"
    assert name == ("processing" if is_chosen else "production")
    assert isinstance(error, SerializationError)
    assert "it is bad" in str(error)
    key = Windowed(given[0], Window(10, 20)) if kind.startswith("windowed") else given[0]
    assert record == Record(key, given[1], 7, (("h", b"1"),))
    assert (context.node, context.offset, context.source_raw_value) == ("write", 0, given[1].encode())
    assert context.output_topic == (None if is_chosen else "out")


@BY_KIND
def test_nulls_are_written_without_a_serialiser(kind: str) -> None:
    key, value = Noting(), Noting()
    with driver(kind, key, value) as driven:
        driven.input_topic("in", serdes.nullable(TEXT), serdes.nullable(TEXT)).pipe(
            "k" if kind.startswith("windowed") else None, None
        )
        (record,) = driven.records("out")
    assert (record.value, value.calls) == (None, [])
    assert (record.key is None) == (not kind.startswith("windowed"))


class OtherError(Exception):
    """Not an error of writing."""


def fail(monkeypatch: pytest.MonkeyPatch, error: Exception, method: str = "send") -> None:
    """Let the collector fail at each record of a sink, or when it is asked for partitions."""

    def failing(_driver: object, topic: str, *_record: object) -> int:
        if topic == "out":
            raise error
        return 1

    monkeypatch.setattr(TopologyTestDriver, method, failing)


@BY_KIND
def test_what_cannot_be_written_is_given_to_the_production_handler_as_bytes(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, InvalidRecordError("no"))
    answers = Answers()
    with driver(kind, Noting(), Noting(), answers) as driven:
        driven.input_topic("in", TEXT, TEXT).pipe("k", "v")
    ((name, _context, record, error),) = answers.asked
    assert (name, str(error), record.value) == ("production", "no", b"v")
    assert record.key.startswith(b"k")


@BY_KIND
@pytest.mark.parametrize(
    ("error", "raised", "text"),
    [
        (NetworkError("gone"), StreamsError, "write in task 0_0 cannot write to out"),
        (OtherError("no"), OtherError, "no"),
    ],
)
def test_other_errors_of_the_collector_ask_nobody(
    kind: str, error: Exception, raised: type[Exception], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, error)
    answers = Answers()
    with driver(kind, Noting(), Noting(), answers) as driven, pytest.raises(raised, match=text):
        driven.input_topic("in", TEXT, TEXT).pipe("k", "v")
    assert answers.asked == []


@pytest.mark.parametrize("kind", ["windowed", "partitioner of the program"])
def test_a_topic_whose_partitions_are_unknown_has_no_bytes_yet(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch, UnknownTopicOrPartitionError("no topic"), method="partitions")
    answers, key = Answers(), Noting()
    with driver(kind, key, Noting(), answers) as driven:
        driven.input_topic("in", TEXT, TEXT).pipe("k", "v")
    ((name, _context, record, _error),) = answers.asked
    assert (name, record.value, key.calls) == ("production", "v", [])


class Uneven(Serde[str]):
    """A serde that cannot make its serialiser."""

    def serializer(self, topic: str, *, is_key: bool) -> Callable[[str, list[Any]], bytes]:
        raise LookupError(f"no schema for {topic}")

    def deserializer(self, topic: str, *, is_key: bool) -> Callable[[bytes, Any], str]:
        return lambda data, _: data.decode()


@BY_KIND
def test_a_serialiser_that_cannot_be_made_is_tried_again_with_each_record(kind: str) -> None:
    build, partitions = KINDS[kind]
    builder, answers = StreamsBuilder(), Answers()
    build(builder, noting(Noting()), Uneven("uneven", is_immutable=True))
    handler = answers.of("production")
    counts = {"in": 1, "out": partitions}
    with TopologyTestDriver(builder.build(), partitions=counts, production_exception_handler=handler) as driven:
        for _ in range(2):
            driven.input_topic("in", TEXT, TEXT).pipe("k", "v")
    assert [str(error) for _, _, _, error in answers.asked] == ["no schema for out"] * 2


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize(
    ("key", "by_partitions"),
    [
        ("k", ("SerializationError", "AttributeError")),
        (Windowed("k", Window(10, 25)), ("SerializationError", "SerializationError")),
        (Windowed(7, Window(10, 25)), ("SerializationError", "SerializationError")),
    ],
)
def test_keys_that_are_not_windowed_as_the_sink_says_are_refused(
    key: Any, by_partitions: tuple[str, str], partitions: int
) -> None:
    builder, answers = StreamsBuilder(), Answers()
    read = builder.stream("in", key=TEXT, value=TEXT).select_key(lambda *_: key)
    read.to("out", key=serdes.time_windowed(TEXT, 10), value=TEXT)
    handlers: dict[str, Any] = {f"{n}_exception_handler": answers.of(n) for n in ("processing", "production")}
    with TopologyTestDriver(builder.build(), partitions={"in": 1, "out": partitions}, **handlers) as driven:
        driven.input_topic("in", TEXT, TEXT).pipe("k", "v")
    ((name, _context, _record, error),) = answers.asked
    is_of_the_choice = partitions == 2 and (not isinstance(key, Windowed) or key.key == 7)
    assert name == ("processing" if is_of_the_choice else "production")
    assert type(error).__name__ == by_partitions[partitions - 1]


def test_headers_of_serialisers_are_written_once() -> None:
    def adding(text: str, context: serdes.SerializationContext) -> bytes:
        context.headers.append((text, b"1"))
        return text.encode()

    builder = StreamsBuilder()
    serde = serdes.of(str, serializer=adding, deserializer=bytes.decode)
    windowed(builder, serde, serde)
    with TopologyTestDriver(builder.build(), partitions={"in": 1, "out": 2}) as driven:
        driven.input_topic("in", TEXT, TEXT).pipe("k", "v", headers=(("h", b"0"),))
        (record,) = driven.records("out")
    expected: Headers = (("h", b"0"), ("k", b"1"), ("v", b"1"))
    assert record.headers == expected
