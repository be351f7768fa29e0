"""What a processor of the user's can do and see, each in the test driver, and what it is refused."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import (
    Cancellable,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    StreamsError,
    Topology,
    stores,
)
from kafka_groups.streams.tasks.stream_task import Changelogs, StreamTask
from kafka_groups.testing.topology_driver import TopologyTestDriver
from kafka_groups.types import TaskId

TEXT = serdes.string
SEEN = stores.key_value("seen", TEXT, TEXT)
Texts = Record[str, str]
Context = ProcessorContext[str, str]


class Doing(Processor[str, str, str, str]):
    """Calls functions with its context: one at the beginning, one for each record."""

    def __init__(
        self,
        each: Callable[[Context, Texts], object] = lambda *_: None,
        first: Callable[[Context], object] = lambda _: None,
    ) -> None:
        self.each, self.first = each, first

    def init(self, context: Context) -> None:
        super().init(context)
        self.first(context)

    def process(self, record: Texts) -> None:
        self.each(self.context, record)


def topology(factory: Callable[[], Processor[Any, Any, Any, Any]]) -> Topology:
    made = Topology().add_source("read", "in", key=TEXT, value=TEXT)
    made.add_processor("do", factory=factory, parents=["read"], stores=[SEEN])
    for sink in ("one", "two"):
        made.add_sink(sink, sink, parents=["do"], key=TEXT, value=TEXT)
    return made


def driven(factory: Callable[[], Processor[Any, Any, Any, Any]], **options: Any) -> TopologyTestDriver:
    return TopologyTestDriver(topology(factory), application_id="shop", **options)


def pipe(driver: TopologyTestDriver, value: str = "v", **options: Any) -> None:
    driver.input_topic("in", TEXT, TEXT).pipe("k", value, **options)


def values(driver: TopologyTestDriver, topic: str) -> list[str]:
    return [record.value for record in driver.output_topic(topic, TEXT, TEXT).read_all()]


# --------------------------------------------------------------------------- forwarding


def test_a_record_goes_to_all_children_or_to_one() -> None:
    def each(context: Context, record: Texts) -> None:
        context.forward(record)
        context.forward(record.with_value("again"), to="two")

    with driven(lambda: Doing(each)) as driver:
        pipe(driver)
        assert values(driver, "one") == ["v"]
        assert values(driver, "two") == ["v", "again"]


def test_a_forwarded_record_has_the_time_and_headers_that_it_was_given() -> None:
    def each(context: Context, record: Texts) -> None:
        context.forward(record.with_timestamp(7).with_headers(*record.headers, ("b", None)), to="one")

    with driven(lambda: Doing(each)) as driver:
        pipe(driver, timestamp_ms=5, headers=[("a", b"1")])
        (found,) = driver.records("one")
        assert (found.timestamp_ms, found.headers) == (7, (("a", b"1"), ("b", None)))


def test_a_child_that_does_not_exist_is_named_with_those_that_do() -> None:
    with (
        driven(lambda: Doing(lambda context, record: context.forward(record, to="three"))) as driver,
        pytest.raises(StreamsError, match=r"'do' has no child 'three'\. Its children are: one, two"),
    ):
        pipe(driver)


@pytest.mark.parametrize("given", [("k", "v"), "v", None])
def test_what_is_no_record_cannot_be_forwarded(given: Any) -> None:
    with (
        driven(lambda: Doing(lambda context, _: context.forward(given))) as driver,
        pytest.raises(StreamsError, match="is not a Record"),
    ):
        pipe(driver)


def test_a_record_with_a_negative_timestamp_cannot_be_forwarded() -> None:
    with (
        driven(lambda: Doing(lambda context, record: context.forward(record.with_timestamp(-1)))) as driver,
        pytest.raises(StreamsError, match="has the timestamp -1"),
    ):
        pipe(driver)


@pytest.mark.parametrize(
    ("given", "message"), [("v", "is not a Record"), (Record("k", "v", -5), "has the timestamp -5")]
)
def test_functions_yield_records_that_can_be_forwarded(given: Any, message: str) -> None:
    def wrong(_record: Texts) -> Iterator[Any]:
        yield given

    made = Topology().add_source("read", "in", key=TEXT, value=TEXT).add_processor("do", wrong, parents=["read"])
    with (
        TopologyTestDriver(made.add_sink("one", "one", parents=["do"], key=TEXT, value=TEXT)) as driver,
        pytest.raises(StreamsError, match=message),
    ):
        pipe(driver)


# --------------------------------------------------------------------------- seeing


def test_a_record_says_where_it_is_from() -> None:
    found: list[Any] = []

    def each(context: Context, _record: Texts) -> None:
        at = context.record_metadata
        assert at is not None
        found.append((at.topic, at.partition, at.offset, context.task_id))

    with driven(lambda: Doing(each), partitions={"in": 3}) as driver:
        for partition in (2, 0, 2):
            pipe(driver, partition=partition)
    assert found == [("in", 2, 0, TaskId("0", 2)), ("in", 0, 0, TaskId("0", 0)), ("in", 2, 1, TaskId("0", 2))]


def test_both_times_and_the_application_are_there() -> None:
    found: list[Any] = []

    def note(context: Context, _record: Texts | None = None) -> None:
        found.append((context.current_stream_time_ms, context.current_system_time_ms, context.application_id))

    with driven(lambda: Doing(note, note), wall_ms=100) as driver:
        pipe(driver, timestamp_ms=50)
        driver.advance_wall_clock(timedelta(milliseconds=9))
        pipe(driver, timestamp_ms=20)
    assert found == [(-1, 100, "shop"), (50, 100, "shop"), (50, 109, "shop")]


def test_a_store_is_found_by_its_definition_and_by_its_name() -> None:
    def each(context: Context, record: Texts) -> None:
        context.store(SEEN).put(record.key, record.value)
        assert context.store("seen").get(record.key) == record.value
        context.store("unknown")

    with (
        driven(lambda: Doing(each)) as driver,
        pytest.raises(StreamsError, match=r"'do' is not connected with a store 'unknown'\. Name it in `stores`"),
    ):
        pipe(driver)


def test_commit_asks_the_task_for_a_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    commit = StreamTask.commit

    def noting(self: StreamTask, changelogs: Changelogs) -> None:
        asked.append(self.is_commit_requested)
        commit(self, changelogs)

    monkeypatch.setattr(StreamTask, "commit", noting)
    with driven(lambda: Doing(lambda context, record: context.commit() if record.value == "now" else None)) as driver:
        for value in ("now", "later"):
            pipe(driver, value)
    assert asked == [True, False]


# --------------------------------------------------------------------------- punctuations


def scheduled(clock: PunctuationType, called: list[Any], **options: Any) -> Callable[[], Doing]:
    def first(context: Context) -> None:
        def call(now_ms: int) -> None:
            called.append((now_ms, context.record_metadata))
            context.forward(Record("k", f"at {now_ms}", now_ms), to="one")

        context.schedule(timedelta(milliseconds=10), clock, call, **options)

    return lambda: Doing(first=first)


def test_stream_time_punctuates_as_records_come() -> None:
    called: list[Any] = []
    with driven(scheduled(PunctuationType.STREAM_TIME, called)) as driver:
        for timestamp_ms in (3, 9, 10, 35, 36):
            pipe(driver, timestamp_ms=timestamp_ms)
        driver.advance_wall_clock(timedelta(seconds=1))
        assert called == [(3, None), (10, None), (35, None)]
        assert values(driver, "one") == ["at 3", "at 10", "at 35"]


def test_the_wall_clock_punctuates_as_it_advances() -> None:
    called: list[Any] = []
    with driven(scheduled(PunctuationType.WALL_CLOCK_TIME, called), wall_ms=1000) as driver:
        pipe(driver, timestamp_ms=90_000)
        for by_ms in (9, 1, 25, 4):
            driver.advance_wall_clock(timedelta(milliseconds=by_ms))
        assert called == [(1010, None), (1035, None)]


@pytest.mark.parametrize("clock", PunctuationType)
def test_the_first_call_can_come_later(clock: PunctuationType) -> None:
    called: list[Any] = []
    with driven(scheduled(clock, called, start_ms=25)) as driver:
        for timestamp_ms in (10, 20, 25, 30, 35):
            if clock is PunctuationType.STREAM_TIME:
                pipe(driver, timestamp_ms=timestamp_ms)
            else:
                driver.advance_wall_clock(timedelta(milliseconds=10 if timestamp_ms < 25 else 5))
        assert [now_ms for now_ms, _ in called] == [25, 35]


def test_a_punctuation_can_be_cancelled() -> None:
    called: list[int] = []
    handles: list[Cancellable] = []

    def first(context: Context) -> None:
        handles.append(context.schedule(timedelta(milliseconds=10), PunctuationType.WALL_CLOCK_TIME, called.append))

    with driven(lambda: Doing(first=first)) as driver:
        driver.advance_wall_clock(timedelta(milliseconds=10))
        handles[0].cancel()
        driver.advance_wall_clock(timedelta(milliseconds=10))
    assert called == [10]


async def awaited(_now_ms: int) -> None:
    """Do nothing."""


SECOND, CLOCK = timedelta(seconds=1), PunctuationType.STREAM_TIME


@pytest.mark.parametrize(
    ("arguments", "start_ms", "error", "message"),
    [
        ((5, CLOCK, print), None, TypeError, "Processor 'do': schedule: interval=5 is not a timedelta"),
        ((SECOND, "stream time", print), None, TypeError, "clock='stream time' is not a PunctuationType"),
        ((SECOND, CLOCK, None), None, TypeError, "callback=None is not a function"),
        ((SECOND, CLOCK, awaited), None, TypeError, "Declare it with def"),
        ((SECOND, CLOCK, lambda: None), None, TypeError, "cannot be called with the time in ms: too many positional"),
        ((timedelta(0), CLOCK, print), None, ValueError, "is 0:00:00. Use at least 1 ms"),
        ((timedelta(microseconds=900), CLOCK, print), None, ValueError, "Use at least 1 ms"),
        ((SECOND, CLOCK, print), -1, ValueError, "the start of a punctuation is -1. Use a time from 1970 on"),
    ],
)
def test_a_punctuation_that_makes_no_sense_is_refused(
    arguments: Any, start_ms: int | None, error: type[Exception], message: str
) -> None:
    def first(context: Context) -> None:
        context.schedule(*arguments, start_ms=start_ms)

    with pytest.raises(StreamsError, match=message) as raised:
        driven(lambda: Doing(first=first))
    assert type(raised.value.__cause__) is error
