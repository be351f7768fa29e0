"""The handlers of an application: what they are asked, what they may answer, and what the errors say."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.errors import MessageTooLargeError, NetworkError
from kafka_groups.streams import ErrorContext, ErrorResponse, Processor, Record, StreamsBuilder, StreamsError, Topology
from kafka_groups.streams.state.store import RecordContext
from kafka_groups.streams.tasks.error_context import ErrorHandlers
from kafka_groups.streams.tasks.failures import TaskFailures
from kafka_groups.testing.topology_driver import TopologyTestDriver
from kafka_groups.testing.topology_driver.topics import CapturedRecord
from kafka_groups.types import FetchedRecord, Headers, TaskId

Handler = Callable[[ErrorContext, Record[Any, Any], Exception], ErrorResponse]
PREFIX = "__streams.errors."


def always(response: object) -> Handler:
    return lambda _context, _record, _error: response  # type: ignore[return-value]


def raising(_context: ErrorContext, _record: Record[Any, Any], _error: Exception) -> ErrorResponse:
    raise LookupError("no such rule")


def numbers() -> Topology:
    """Writes numbers as int64."""
    builder = StreamsBuilder()
    read = builder.stream("in", key=serdes.string, value=serdes.string)
    read.map_values(int, name="parse").to("out", key=serdes.string, value=serdes.int64, name="write")
    return builder.build()


def repartitioned() -> Topology:
    builder = StreamsBuilder()
    read = builder.stream("in", key=serdes.string, value=serdes.string)
    moved = read.select_key(lambda _key, value: value[:1]).repartition(
        key=serdes.string, value=serdes.string, name="moved"
    )
    moved.map_values(int, name="parse").to("out", key=serdes.string, value=serdes.int64)
    return builder.build()


def piped(
    topology: Topology, *values: bytes, headers: Headers = (), handlers: dict[str, Any] | None = None
) -> TopologyTestDriver:
    driver = TopologyTestDriver(topology, **(handlers or {}))
    topic = driver.input_topic("in", serdes.string, serdes.bytes_)
    for value in values:
        topic.pipe("k", value, timestamp_ms=5, headers=headers)
    return driver


def described(record: CapturedRecord) -> Iterator[tuple[str, bytes | None]]:
    """The headers about the error."""
    return ((name.removeprefix(PREFIX), value) for name, value in record.headers if name.startswith(PREFIX))


def test_without_a_handler_the_error_names_the_record_and_the_handler_to_set() -> None:
    with pytest.raises(StreamsError) as raised:
        piped(numbers(), b"x")
    for part in ("parse in task 0_0 failed at in-0 offset 0: ValueError", "set processing_exception_handler"):
        assert part in str(raised.value)


def test_without_a_handler_a_record_that_cannot_be_decoded_names_the_handler_to_set() -> None:
    with pytest.raises(StreamsError, match=r"cannot decode in-0 offset 0: .*set deserialization_exception_handler"):
        piped(numbers(), b"\xff")


def test_without_a_handler_a_record_that_cannot_be_serialised_names_topic_and_handler() -> None:
    with pytest.raises(StreamsError) as raised:
        piped(numbers(), b"1", str(2**63).encode())
    for part in ("write in task 0_0", "out", "in-0 offset 1", "SerializationError", "set production_exception_handler"):
        assert part in str(raised.value)


def test_a_handler_that_fails_is_not_named_as_the_remedy() -> None:
    with pytest.raises(StreamsError, match="in-0 offset 0") as raised:
        piped(numbers(), b"x", handlers={"processing_exception_handler": always(ErrorResponse.FAIL)})
    assert "set processing_exception_handler" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("deserialization_exception_handler", b"\xff"),
        ("processing_exception_handler", b"x"),
        ("production_exception_handler", str(2**63).encode()),
    ],
)
class TestEachHandler:
    def test_may_skip_the_record(self, name: str, bad: bytes) -> None:
        with piped(numbers(), b"1", bad, b"3", handlers={name: always(ErrorResponse.RESUME)}) as driver:
            assert [each.value for each in driver.output_topic("out", serdes.string, serdes.int64).read_all()] == [1, 3]

    def test_may_write_a_dead_letter(self, name: str, bad: bytes) -> None:
        chosen = {name: always(ErrorResponse.DEAD_LETTER), "errors_dead_letter_queue_topic_name": "dead"}
        with piped(numbers(), b"1", bad, headers=(("from", b"me"),), handlers=chosen) as driver:
            (letter,) = driver.records("dead")
        assert (letter.key, letter.value, letter.timestamp_ms) == (b"k", bad, 5)
        assert letter.headers[0] == ("from", b"me")
        found = dict(described(letter))
        assert list(found) == ["exception", "message", "stacktrace", "topic", "partition", "offset"]
        assert (found["topic"], found["partition"], found["offset"]) == (b"in", b"0", b"1")
        assert b"Traceback" in (found["stacktrace"] or b"")

    def test_that_raises_is_named_with_the_record(self, name: str, bad: bytes) -> None:
        with pytest.raises(StreamsError) as raised:
            piped(numbers(), bad, handlers={name: raising})
        for part in (name, "LookupError: no such rule", "in-0 offset 0"):
            assert part in str(raised.value)
        assert isinstance(raised.value.__cause__, LookupError)

    @pytest.mark.parametrize("wrong", [None, True, "RESUME"])
    def test_that_returns_something_else_is_named_with_the_record(self, name: str, bad: bytes, wrong: object) -> None:
        with pytest.raises(StreamsError) as raised:
            piped(numbers(), bad, handlers={name: always(wrong)})
        for part in (name, f"returned {wrong!r}", "in-0 offset 0", "Return an ErrorResponse"):
            assert part in str(raised.value)

    def test_cannot_retry_what_would_fail_again(self, name: str, bad: bytes) -> None:
        with pytest.raises(StreamsError, match=f"{name} returned ErrorResponse.RETRY, which is for errors of writing"):
            piped(numbers(), bad, handlers={name: always(ErrorResponse.RETRY)})

    def test_needs_a_topic_for_dead_letters(self, name: str, bad: bytes) -> None:
        with pytest.raises(StreamsError, match=f"{name}.*in-0 offset 0.*Set errors_dead_letter_queue_topic_name"):
            piped(numbers(), bad, handlers={name: always(ErrorResponse.DEAD_LETTER)})


def test_a_handler_gets_the_raw_record_and_the_failing_one() -> None:
    asked: list[tuple[ErrorContext, Record[Any, Any], Exception]] = []

    def noted(context: ErrorContext, record: Record[Any, Any], error: Exception) -> ErrorResponse:
        asked.append((context, record, error))
        return ErrorResponse.RESUME

    piped(
        numbers(), str(2**63).encode(), headers=(("from", b"me"),), handlers={"production_exception_handler": noted}
    ).close()
    ((context, record, error),) = asked
    assert context == ErrorContext(
        node="write",
        task_id=TaskId("0", 0),
        topic="in",
        partition=0,
        offset=0,
        timestamp_ms=5,
        headers=(("from", b"me"),),
        source_raw_key=b"k",
        source_raw_value=str(2**63).encode(),
        output_topic="out",
    )
    assert record == Record("k", 2**63, 5, (("from", b"me"),))
    assert type(error).__name__ == "SerializationError"


def test_a_dead_letter_behind_a_repartition_has_the_record_of_the_repartition_topic() -> None:
    chosen = {
        "processing_exception_handler": always(ErrorResponse.DEAD_LETTER),
        "errors_dead_letter_queue_topic_name": "dead",
    }
    with piped(repartitioned(), b"1", b"x", handlers=chosen) as driver:
        (letter,) = driver.records("dead")
    assert (letter.key, letter.value) == (b"x", b"x")
    found = dict(described(letter))
    assert (found["topic"], found["partition"], found["offset"]) == (b"test-moved-repartition", b"0", b"1")
    assert (found["exception"], found["message"]) == (
        b"ValueError",
        b"invalid literal for int() with base 10: 'x'",
    )


def test_a_dead_letter_about_an_update_that_was_held_back_has_the_record_that_made_it() -> None:
    builder = StreamsBuilder()
    read = builder.stream("in", key=serdes.string, value=serdes.string)
    latest = read.group_by_key(key=serdes.string, value=serdes.string).reduce(lambda _old, new: new)
    latest.to_stream().map_values(int).to("out", key=serdes.string, value=serdes.int64)
    chosen = {
        "processing_exception_handler": always(ErrorResponse.DEAD_LETTER),
        "errors_dead_letter_queue_topic_name": "dead",
    }
    with piped(builder.build(), b"1", b"x", b"3", handlers=chosen) as driver:
        (letter,) = driver.records("dead")
    assert (letter.key, letter.value, dict(described(letter))["offset"]) == (b"k", b"x", b"1")


def test_a_dead_letter_of_a_punctuation_has_no_record() -> None:
    letters: list[tuple[object, ...]] = []

    class Sink:
        def send(self, *record: object) -> None:
            letters.append(record)

    handlers = ErrorHandlers(processing=always(ErrorResponse.DEAD_LETTER), dead_letter_topic="dead")
    failures = TaskFailures(TaskId("0", 0), RecordContext(), handlers, Sink())
    failures.processing("node", ValueError("bad"), ("k", "v", 7, ()))
    ((topic, key, value, timestamp_ms, headers, partition),) = letters
    assert (topic, key, value, timestamp_ms, partition) == ("dead", None, None, 7, None)
    assert dict(headers)["__streams.errors.topic"] is None  # type: ignore[call-overload]
    assert dict(headers)["__streams.errors.offset"] == b"-1"  # type: ignore[call-overload]


@pytest.mark.parametrize("is_retriable", [True, False])
def test_only_errors_that_may_pass_are_retried(is_retriable: bool) -> None:
    class Sink:
        def send(self, *record: object) -> None:
            raise AssertionError(record)

    context = RecordContext("in", 0, 3, raw=FetchedRecord(3, b"k", b"v", 5))
    handlers = ErrorHandlers(production=always(ErrorResponse.RETRY))
    failures = TaskFailures(TaskId("0", 0), context, handlers, Sink())
    record = (b"k", b"v", 5, ())
    if is_retriable:
        response = failures.production("write", TimeoutError("late"), "out", record, is_retriable=True)
        assert response is ErrorResponse.RETRY
    else:
        with pytest.raises(StreamsError, match="in-0 offset 3"):
            failures.production("write", TimeoutError("late"), "out", record)


def forwarding() -> Topology:
    """Has a processor of the user's, whose exceptions are decided about, above a sink."""
    builder = StreamsBuilder()
    read = builder.stream("in", key=serdes.string, value=serdes.string)
    read.process(factory=ForwardingProcessor).to("out", key=serdes.string, value=serdes.string, name="write")
    return builder.build()


class ForwardingProcessor(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)


def test_a_record_that_is_too_large_for_the_producer_is_a_matter_of_the_production_handler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def skip(context: ErrorContext, record: Record[Any, Any], error: Exception) -> ErrorResponse:
        asked.append((context.node, context.output_topic, record.value, type(error)))
        return ErrorResponse.RESUME

    monkeypatch.setattr(TopologyTestDriver, "send", refusing(MessageTooLargeError("10 bytes")))
    chosen = {"production_exception_handler": skip, "processing_exception_handler": always(ErrorResponse.FAIL)}
    with piped(forwarding(), b"large", handlers=chosen):
        assert asked == [("write", "out", b"large", MessageTooLargeError)]
    with pytest.raises(StreamsError, match=r"write in task 0_0 cannot write to out .*set production_exception_handler"):
        piped(forwarding(), b"large")


def test_other_errors_of_the_producer_fail_whatever_the_handlers_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TopologyTestDriver, "send", refusing(NetworkError("no broker")))
    names = ("production_exception_handler", "processing_exception_handler")
    chosen = {name: always(ErrorResponse.RESUME) for name in names}
    with pytest.raises(StreamsError, match="write in task 0_0 cannot write to out: NetworkError: no broker"):
        piped(forwarding(), b"x", handlers=chosen)


def refusing(error: Exception) -> Callable[..., None]:
    def send(*_: object) -> None:
        raise error

    return send
