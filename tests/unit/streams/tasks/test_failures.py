"""The handlers of an application: what they are asked, what they may answer, and what the errors say."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.errors import MessageTooLargeError, NetworkError
from kafka_groups.streams import (
    ErrorContext,
    ErrorResponse,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    StreamsBuilder,
    StreamsError,
    Topology,
)
from kafka_groups.streams.processors.surroundings import decided
from kafka_groups.streams.state.state_store import RecordContext
from kafka_groups.streams.tasks.error_context import ErrorHandlers
from kafka_groups.streams.tasks.failures import TaskFailures
from kafka_groups.testing.topology_driver import TopologyTestDriver
from kafka_groups.testing.topology_driver.topics import CapturedRecord
from kafka_groups.types import Headers, TaskId

Handler = Callable[[ErrorContext, Record[Any, Any], Exception], ErrorResponse]
PREFIX = "__streams.errors."
DROPPED_LOGGER = "kafka_groups.streams.tasks.failures"


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


class WithoutTextError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def failing(error: Exception) -> Topology:
    """Raises an error for the value `bad`."""

    def check(value: str) -> str:
        if value == "bad":
            raise error
        return value

    builder = StreamsBuilder()
    read = builder.stream("in", key=serdes.string, value=serdes.string)
    read.map_values(check, value=serdes.string, name="check").to("out", key=serdes.string)
    return builder.build()


BURIED: dict[str, Any] = {
    "processing_exception_handler": always(ErrorResponse.DEAD_LETTER),
    "errors_dead_letter_queue_topic_name": "dead",
}


def test_an_error_without_a_text_is_named_with_its_record() -> None:
    with pytest.raises(StreamsError, match=r"check in task 0_0 failed at in-0 offset 0: WithoutTextError: its text"):
        piped(failing(WithoutTextError()), b"bad")


@pytest.mark.parametrize("error", [WithoutTextError(), ValueError("x" * 2_000_000)], ids=["no text", "long text"])
def test_a_dead_letter_has_a_short_text_whatever_the_error_says(error: Exception) -> None:
    with piped(failing(error), b"bad", b"good", handlers=BURIED) as driver:
        (letter,) = driver.records("dead")
        assert [each.value for each in driver.records("out")] == [b"good"]
    assert letter.value == b"bad"
    found = dict(described(letter))
    assert sum(len(value or b"") for value in found.values()) < 25_000
    assert (found["message"] or b"")[:8] == (b"its text" if isinstance(error, WithoutTextError) else b"xxxxxxxx")


def limited(monkeypatch: pytest.MonkeyPatch, most_bytes: int) -> None:
    """Refuse records whose keys, values and headers are larger."""
    send = TopologyTestDriver.send

    def checked(self: TopologyTestDriver, *record: Any) -> None:
        _topic, key, value, _timestamp_ms, headers, *_ = record
        if sum(len(each or b"") for each in (key, value, *(each for _, each in headers))) > most_bytes:
            raise MessageTooLargeError("too large")
        send(self, *record)

    monkeypatch.setattr(TopologyTestDriver, "send", checked)


def test_a_dead_letter_that_is_too_large_is_written_without_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, 400)
    with piped(failing(ValueError("x" * 300)), b"bad", headers=(("from", b"me"),), handlers=BURIED) as driver:
        (letter,) = driver.records("dead")
    assert [name for name, _ in letter.headers] == [
        "from", *(f"{PREFIX}{name}" for name in ("exception", "message", "topic", "partition", "offset"))
    ]  # fmt: skip
    assert dict(described(letter))["message"] == b"x" * 200


def test_a_dead_letter_for_which_there_is_no_room_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, 100)
    with pytest.raises(StreamsError, match=r"The dead letter about check at in-0 offset 0 cannot be written to dead: "):
        piped(failing(ValueError("x" * 300)), b"bad", handlers=BURIED)


def test_a_dead_letter_that_brokers_refuse_later_is_written_without_its_traceback() -> None:
    sent: list[tuple[Any, ...]] = []

    class Sink:
        def send(self, *record: Any) -> None:
            sent.append(record)

    handlers = ErrorHandlers(processing=always(ErrorResponse.DEAD_LETTER), dead_letter_topic="dead")
    context = RecordContext("in", 0, 3, raw=(3, b"k", b"v", 5, ()))
    failures = TaskFailures(TaskId("0", 0), context, handlers, Sink(), refuses_later=True)
    failures.processing("node", ValueError("bad"), ("k", "v", 7, ()))
    later = sent[0][-1]
    assert decided(later, MessageTooLargeError("large"), "dead", sent[0][1:5]) is ErrorResponse.RESUME
    assert [len(record[4]) for record in sent] == [6, 5]
    assert sent[1][-1] is None
    with pytest.raises(StreamsError, match="about node at in-0 offset 3 cannot be written to dead: NetworkError: gone"):
        decided(later, NetworkError("gone"), "dead", sent[0][1:5])


class Ticking(Processor[str, str, str, str]):
    """Fails at each multiple of 10 ms of the stream's time, and forwards its records."""

    def init(self, context: ProcessorContext[str, str]) -> None:
        super().init(context)
        context.schedule(timedelta(milliseconds=10), PunctuationType.STREAM_TIME, self.tick)

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)

    def tick(self, now_ms: int) -> None:
        raise ValueError(f"at {now_ms}")


def ticking() -> Topology:
    builder = StreamsBuilder()
    read = builder.stream("in", key=serdes.string, value=serdes.string)
    read.process(factory=Ticking, name="tick").to("out", key=serdes.string, value=serdes.string)
    return builder.build()


def pipe_at(driver: TopologyTestDriver, *times_ms: int) -> None:
    for timestamp_ms in times_ms:
        driver.input_topic("in", serdes.string, serdes.string).pipe("k", "v", timestamp_ms=timestamp_ms)


def test_a_punctuation_that_fails_is_named() -> None:
    expected = (
        r"tick in task 0_0 failed in a punctuation at 7 ms: ValueError: at 7\. .* set processing_exception_handler"
    )
    with TopologyTestDriver(ticking()) as driver, pytest.raises(StreamsError, match=expected):
        pipe_at(driver, 7)


def test_a_punctuation_that_fails_asks_the_processing_handler_and_goes_on() -> None:
    asked: list[tuple[ErrorContext, Record[Any, Any], str]] = []

    def noted(context: ErrorContext, record: Record[Any, Any], error: Exception) -> ErrorResponse:
        asked.append((context, record, str(error)))
        return ErrorResponse.RESUME

    with TopologyTestDriver(ticking(), processing_exception_handler=noted) as driver:
        pipe_at(driver, 7, 8, 12)
        assert len(driver.records("out")) == 3
        assert driver.dropped_records == {"tick": 2}
    assert asked == [
        (ErrorContext("tick", TaskId("0", 0), None, -1, -1, now_ms), Record(None, None, now_ms), f"at {now_ms}")
        for now_ms in (7, 12)
    ]


def test_a_handler_that_fails_at_a_punctuation_ends_the_task_without_a_hint() -> None:
    handler = always(ErrorResponse.FAIL)
    with TopologyTestDriver(ticking(), processing_exception_handler=handler) as driver:
        with pytest.raises(StreamsError, match="tick in task 0_0 failed in a punctuation at 7 ms: ") as raised:
            pipe_at(driver, 7)
        assert str(raised.value).endswith("ValueError: at 7.")


def test_an_error_of_a_child_in_a_punctuation_is_decided_about_once() -> None:
    class Forwarding(Ticking):
        def tick(self, now_ms: int) -> None:
            self.context.forward(Record("k", "bad", now_ms))

    asked: list[str] = []

    def noted(context: ErrorContext, _record: Record[Any, Any], _error: Exception) -> ErrorResponse:
        asked.append(context.node)
        return ErrorResponse.FAIL

    builder = StreamsBuilder()
    read = builder.stream("in", key=serdes.string, value=serdes.string)
    made = read.process(factory=Forwarding, key=serdes.string, value=serdes.string)
    made.map_values(int, name="parse").to("out", value=serdes.int64)
    with (
        TopologyTestDriver(builder.build(), processing_exception_handler=noted) as driver,
        pytest.raises(StreamsError, match="parse in task 0_0 failed at "),
    ):
        driver.input_topic("in", serdes.string, serdes.string).pipe("k", "1", timestamp_ms=7)
    assert asked == ["parse"]


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

    @pytest.mark.parametrize("response", [ErrorResponse.RESUME, ErrorResponse.DEAD_LETTER])
    def test_drops_what_it_skips(
        self, name: str, bad: bytes, response: ErrorResponse, caplog: pytest.LogCaptureFixture
    ) -> None:
        chosen = {name: always(response), "errors_dead_letter_queue_topic_name": "dead"}
        with caplog.at_level("WARNING", DROPPED_LOGGER), piped(numbers(), b"1", *10 * [bad], handlers=chosen) as driver:
            assert list(driver.dropped_records.values()) == [10]
        how = "skipped it" if response is ErrorResponse.RESUME else "sent it to the dead-letter topic"
        first, tenth = caplog.messages
        assert f"dropped a record at in-0 offset 1: {name} has {how} after " in first
        assert "offset 10: " in tenth
        assert tenth.endswith(" (10 such records so far)")

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
    ((topic, key, value, timestamp_ms, headers, partition, _later),) = letters
    assert (topic, key, value, timestamp_ms, partition) == ("dead", None, None, 7, None)
    assert dict(headers)["__streams.errors.topic"] is None  # type: ignore[call-overload]
    assert dict(headers)["__streams.errors.offset"] == b"-1"  # type: ignore[call-overload]


@pytest.mark.parametrize("is_retriable", [True, False])
def test_only_errors_that_may_pass_are_retried(is_retriable: bool) -> None:
    class Sink:
        def send(self, *record: object) -> None:
            raise AssertionError(record)

    context = RecordContext("in", 0, 3, raw=(3, b"k", b"v", 5, ()))
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


def test_a_function_with_other_parameters_is_to_be_corrected_and_no_record_skipped() -> None:
    builder = StreamsBuilder()
    wrong: Any = lambda _value: True  # noqa: E731 - as programs have it
    builder.stream("in", key=serdes.string, value=serdes.string).filter(wrong, name="keep").to("out")
    with pytest.raises(StreamsError) as raised:
        piped(builder.build(), b"x")
    told = str(raised.value)
    assert "keep in task 0_0 failed at in-0 offset 0: TypeError" in told
    assert told.endswith("every record would fail. Correct the function, or give another one.")
    assert "processing_exception_handler" not in told


def test_a_full_stop_of_the_program_is_not_doubled() -> None:
    def refuse(_value: str) -> str:
        raise ValueError("a word like process.")

    builder = StreamsBuilder()
    builder.stream("in", key=serdes.string, value=serdes.string).map_values(refuse, value=serdes.string).to("out")
    with pytest.raises(StreamsError, match=r"a word like process\. To skip such records .* processing_\w+\.$"):
        piped(builder.build(), b"x")
