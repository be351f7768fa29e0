"""Processors of `process_values`: their timers, their metadata, and the keys that they cannot change."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import (
    FixedKeyProcessor,
    FixedKeyProcessorContext,
    FixedKeyRecord,
    Processor,
    PunctuationType,
    Record,
    StreamsBuilder,
    StreamsError,
    Topology,
    stores,
)
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT = serdes.string
SEEN = stores.key_value("seen", TEXT, TEXT)
Context = FixedKeyProcessorContext[str, str]


class Doing(FixedKeyProcessor[str, str, str]):
    """Calls functions with its context."""

    def __init__(
        self,
        each: Callable[[Context, FixedKeyRecord[str, str]], object],
        first: Callable[[Context], object] = lambda _: None,
    ) -> None:
        self.each, self.first = each, first

    def init(self, context: Context) -> None:
        super().init(context)
        self.first(context)

    def process(self, record: FixedKeyRecord[str, str]) -> None:
        self.each(self.context, record)


def topology(factory: Callable[[], FixedKeyProcessor[str, str, str]]) -> Topology:
    builder = StreamsBuilder()
    read = builder.stream("in", key=TEXT, value=TEXT)
    read.process_values(factory=factory, stores=(SEEN,), value=TEXT, name="do").to("out")
    return builder.build()


def results(driver: TopologyTestDriver, *times_ms: int) -> list[tuple[str, str, int]]:
    for time_ms in times_ms:
        driver.input_topic("in", TEXT, TEXT).pipe("k", f"v{time_ms}", timestamp_ms=time_ms)
    return [(each.key, each.value, each.timestamp_ms) for each in driver.output_topic("out", TEXT, TEXT).read_all()]


def test_a_processor_has_stores_metadata_and_timers() -> None:
    kept: list[FixedKeyRecord[str, str]] = []

    def each(context: Context, record: FixedKeyRecord[str, str]) -> None:
        kept.append(record)
        store, at = context.store(SEEN), context.record_metadata
        assert at is not None
        context.forward(record.with_value(f"{store.get(record.key)} {at.topic}-{at.partition}-{at.offset}"), to=SINK)
        store.put(record.key, record.value)

    def first(context: Context) -> None:
        def remind(now_ms: int) -> None:
            context.forward(kept[-1].with_timestamp(now_ms).with_headers(("again", b"1")))

        context.schedule(timedelta(milliseconds=10), PunctuationType.WALL_CLOCK_TIME, remind)

    with TopologyTestDriver(topology(lambda: Doing(each, first))) as driver:
        assert results(driver, 3, 4) == [("k", "None in-0-0", 3), ("k", "v3 in-0-1", 4)]
        driver.advance_wall_clock(timedelta(milliseconds=10))
        assert results(driver)[2:] == [("k", "v4", 10)]
        assert driver.records("out")[-1].headers == (("again", b"1"),)


SINK = "KSTREAM-SINK-0000000001"


@pytest.mark.parametrize(
    ("each", "message"),
    [
        (lambda context, record: context.forward(Record("other", record.value, 0)), "is not a FixedKeyRecord"),
        (lambda *_: FixedKeyRecord(), "A FixedKeyRecord cannot be made"),
        (lambda _, record: record.with_key("other"), "has no attribute 'with_key'"),
        (lambda _, record: setattr(record, "key", "other"), "has no setter"),
        (lambda context, record: context.forward(record.with_timestamp(-1)), "has the timestamp -1"),
        (lambda context, record: context.forward(record, to="nobody"), "has no child 'nobody'"),
    ],
)
def test_keys_cannot_be_changed(each: Any, message: str) -> None:
    with TopologyTestDriver(topology(lambda: Doing(each))) as driver, pytest.raises(StreamsError, match=message):
        results(driver, 1)


def test_records_are_equal_by_what_they_have() -> None:
    got: list[FixedKeyRecord[str, str]] = []
    with TopologyTestDriver(topology(lambda: Doing(lambda _, record: got.append(record)))) as driver:
        results(driver, 1, 1)
    first, second = got
    assert first == second
    assert hash(first) == hash(second)
    assert first != second.with_value("other")
    assert (first.key, first.value, first.timestamp_ms, first.headers) == ("k", "v1", 1, ())
    assert repr(first) == "FixedKeyRecord(key='k', value='v1', timestamp_ms=1, headers=())"


class Changing(Processor[str, str, str, str]):
    """A processor of the other kind."""

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)


class Keeping(FixedKeyProcessor[str, str, str]):
    """A processor that keeps keys."""

    def process(self, record: FixedKeyRecord[str, str]) -> None:
        self.context.forward(record)


KEEPING = Keeping()


def test_the_other_kind_of_processor_is_refused_and_so_is_one_for_all_tasks() -> None:
    read: Any = StreamsBuilder().stream("in", key=TEXT, value=TEXT)
    with pytest.raises(TypeError, match=r"process_values: .* makes a Processor\. Derive it from FixedKeyProcessor\."):
        read.process_values(factory=Changing)
    with pytest.raises(TypeError, match=r"process: .* makes a FixedKeyProcessor\. Derive it from Processor\."):
        read.process(factory=Keeping)
    with pytest.raises(TypeError, match=r"process_values: .* returns the same object again"):
        read.process_values(factory=lambda: KEEPING)
    with pytest.raises(TypeError, match="process_values takes a function, or `factory=`"):
        read.process_values()


def test_no_repartition_follows() -> None:
    builder = StreamsBuilder()
    read = builder.stream("in", key=TEXT, value=TEXT).process_values(factory=Keeping, value=TEXT)
    read.group_by_key().count().to_stream().to("out", value=serdes.int64)
    assert "repartition" not in builder.build().describe()
