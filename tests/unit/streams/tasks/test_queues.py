"""The queue of a partition: extractors that fail, and records that are processed in slices."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import (
    ErrorContext,
    ErrorResponse,
    Processor,
    PunctuationType,
    Record,
    SourceRecord,
    StreamsBuilder,
    StreamsError,
    extractors,
)
from kafka_groups.streams.runtime.settings import WorkerSettings
from kafka_groups.streams.state.engine import MemoryEngine
from kafka_groups.streams.tasks.queues import PartitionQueue
from kafka_groups.streams.tasks.stream_task import StreamTask, TaskSettings
from kafka_groups.streams.topology.nodes import TimestampExtractor
from kafka_groups.testing.topology_driver import TopologyTestDriver
from kafka_groups.types import FetchedRecord, Headers, TaskId

TEXT = serdes.string


def pipe(extractor: TimestampExtractor, *values: str, timestamp_ms: int = 0) -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=serdes.string, value=serdes.string, name="read").to("out")
    with TopologyTestDriver(builder.build(), timestamp=extractor) as driver:
        topic = driver.input_topic("in", serdes.string, serdes.string)
        for value in values:
            topic.pipe("k", value, timestamp_ms=timestamp_ms)


def test_an_exception_of_an_extractor_names_the_record() -> None:
    def from_value(record: SourceRecord, _partition_time_ms: int) -> int:
        return int(str(record.value))

    with pytest.raises(StreamsError) as raised:
        pipe(from_value, "1", "x")
    text = str(raised.value)
    assert text.startswith("The timestamp extractor of read in task 0_0 failed at in-0 offset 1: ValueError: ")
    assert "or -1 to drop the record" in text
    assert isinstance(raised.value.__cause__, ValueError)


@pytest.mark.parametrize("result", [None, 1.5, "7"])
def test_a_result_that_is_no_integer_names_the_record(result: object) -> None:
    with pytest.raises(StreamsError, match=r"failed at in-0 offset 0: TypeError: .* in ms since 1970"):
        pipe(lambda _record, _partition_time_ms: result, "x")  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("extractor", [extractors.fail_on_invalid, extractors.use_partition_time_on_invalid])
def test_ready_extractors_name_the_record_and_another_extractor(extractor: TimestampExtractor) -> None:
    with pytest.raises(StreamsError, match=r"in-0 offset 0 has the timestamp -1.* such as extractors\.skip_invalid"):
        pipe(extractor, "x", timestamp_ms=-1)


@pytest.mark.parametrize("extractor", [extractors.fail_on_invalid, extractors.use_partition_time_on_invalid])
def test_the_error_of_a_ready_extractor_is_not_its_own_cause(extractor: TimestampExtractor) -> None:
    with pytest.raises(StreamsError) as raised:
        pipe(extractor, "x", timestamp_ms=-1)
    assert raised.value.__cause__ is None


class Sinks:
    """Takes what a task writes."""

    refuses_later = False

    def __init__(self) -> None:
        self.written: list[tuple[Any, ...]] = []

    def partitions(self, topic: str) -> int:
        raise AssertionError(topic)

    def send(self, *record: Any) -> None:
        self.written.append(record[:5])


class Watching(Processor[str, str, str, str]):
    """Forwards records, and notes what it sees at each, and at each punctuation."""

    def __init__(self, seen: list[tuple[Any, ...]]) -> None:
        self.seen = seen

    def process(self, record: Record[str, str]) -> None:
        self.note(record.value, record.timestamp_ms, record.headers)
        match record.value:
            case "fail":
                raise LookupError("no such value")
            case "commit":
                self.context.commit()
            case "schedule":
                every = timedelta(milliseconds=10)
                self.context.schedule(every, PunctuationType.STREAM_TIME, lambda now_ms: self.note("tick", now_ms))
        self.context.forward(record)

    def note(self, *what: Any) -> None:
        self.seen.append((*what, self.context.record_metadata, self.context.current_stream_time_ms))


class Scene:
    """A task of one partition whose processor notes what it sees."""

    def __init__(self, *, timestamp: TimestampExtractor = extractors.skip_invalid, **handlers: Any) -> None:
        builder = StreamsBuilder()
        self.seen: list[tuple[Any, ...]] = []
        read = builder.stream("in", key=TEXT, value=TEXT)
        read.process(factory=lambda: Watching(self.seen), key=TEXT, value=TEXT).to("out")
        settings = TaskSettings(topology=builder.build().graph, application_id="app", extractor=timestamp, **handlers)
        (group,) = WorkerSettings(tasks=settings).groups().values()
        self.sinks = Sinks()
        self.task = StreamTask(TaskId("0", 0), group, settings, MemoryEngine(), self.sinks, {})
        self.task.init(0)
        self.arrived = 0

    @property
    def queue(self) -> PartitionQueue:
        return self.task.queues["in", 0]

    def add(self, *records: tuple[bytes, int], headers: Headers = ()) -> None:
        new = [
            FetchedRecord(self.arrived + at, b"k", value, time_ms, headers)
            for at, (value, time_ms) in enumerate(records)
        ]
        self.arrived += len(new)
        self.task.add("in", new)

    def is_cleared(self) -> bool:
        record = self.task.record
        place = record.topic, record.partition, record.offset
        return (place, record.timestamp_ms, record.headers, record.raw) == (
            (None, -1, -1),
            self.task.stream_time_ms,
            (),
            None,
        )


RECORDS: tuple[tuple[bytes, int], ...] = (
    (b"a", 5),
    (b"b", 3),
    (b"\xff", 9),
    (b"c", -1),
    (b"schedule", 12),
    (b"d", 31),
    (b"e", -1),
    (b"f", 25),
)


def one_by_one(task: StreamTask) -> None:
    while task.process(7):
        pass


def looking_ahead(task: StreamTask) -> None:
    while task.next_timestamp_ms is not None:
        assert task.process(7)


def looking_once(task: StreamTask) -> None:
    assert task.next_timestamp_ms is not None
    in_slices(task)


def in_slices(task: StreamTask) -> None:
    while task.process_slice(7, 3):
        pass


@pytest.mark.parametrize(
    "timestamp",
    [extractors.skip_invalid, extractors.use_partition_time_on_invalid, lambda given, time_ms: max(time_ms, 0) + 1],
)
@pytest.mark.parametrize("process", [looking_ahead, looking_once, in_slices])
def test_slices_are_as_records_one_by_one(process: Callable[[StreamTask], None], timestamp: TimestampExtractor) -> None:
    found = []
    for run in (one_by_one, process):
        skip = lambda *_: ErrorResponse.RESUME  # noqa: E731
        scene = Scene(timestamp=timestamp, deserialization_handler=skip)
        scene.add(*RECORDS, headers=(("h", b"1"),))
        run(scene.task)
        queue = scene.queue
        found.append((scene.seen, scene.sinks.written, scene.task.dropped_records, queue.position, queue.time_ms))
        assert scene.is_cleared()
        assert queue.taken == len(RECORDS)
    assert found[0] == found[1]
    assert [each for each in found[0][0] if each[0] == "tick"]


def test_a_slice_has_so_many_records_and_skipped_ones_do_not_count() -> None:
    scene = Scene()
    scene.add(*((b"v", time_ms) for time_ms in (1, -1, 2, 3, -1)))
    assert [scene.task.process_slice(0, 2) for _ in range(3)] == [2, 1, 0]
    assert scene.queue.position == 5


def test_a_slice_ends_behind_a_record_that_asks_for_a_commit() -> None:
    scene = Scene()
    scene.add(*((value, 1) for value in (b"a", b"commit", b"b", b"c")))
    assert scene.task.process_slice(0, 9) == 2
    assert scene.queue.position == 2
    scene.task.is_commit_requested = False
    assert scene.task.process_slice(0, 9) == 2


def test_a_slice_ends_behind_a_decoded_record_that_asks_for_a_commit() -> None:
    scene = Scene()
    scene.add((b"commit", 1), (b"a", 1))
    assert scene.task.next_timestamp_ms == 1
    assert scene.task.process_slice(0, 9) == 1


@pytest.mark.parametrize("process", [one_by_one, in_slices, looking_ahead])
@pytest.mark.parametrize(("bad", "told"), [(b"fail", "LookupError"), (b"\xff", "cannot decode in-0 offset 2")])
def test_the_position_does_not_pass_a_record_that_failed(
    process: Callable[[StreamTask], None], bad: bytes, told: str
) -> None:
    scene = Scene()
    scene.add((b"a", 1), (b"b", 4), (bad, 9), (b"c", 10))
    with pytest.raises(StreamsError, match=told):
        process(scene.task)
    assert scene.queue.position == 2
    assert scene.is_cleared()
    process(scene.task)
    assert scene.queue.position == 4


def test_handlers_get_the_record_of_their_own_within_a_slice() -> None:
    asked: list[tuple[int, bytes | None, Headers]] = []

    def handler(context: ErrorContext, _record: Record[Any, Any], _error: Exception) -> ErrorResponse:
        asked.append((context.offset, context.source_raw_value, context.headers))
        return ErrorResponse.RESUME

    scene = Scene(processing_handler=handler, deserialization_handler=handler)
    scene.add((b"a", 1), (b"fail", 2), (b"\xff", 3), headers=(("h", b"1"),))
    assert scene.task.process_slice(0, 9) == 2
    assert asked == [(1, b"fail", (("h", b"1"),)), (2, b"\xff", (("h", b"1"),))]


def test_a_punctuation_leaves_the_place_of_the_next_record_as_it_is() -> None:
    scene = Scene()
    scene.add((b"schedule", 5), (b"a", 20), (b"b", 21))
    assert scene.task.process_slice(0, 9) == 3
    places = [(each[0], each[-2] and each[-2].offset) for each in scene.seen]
    assert places == [("schedule", 0), ("tick", None), ("a", 1), ("tick", None), ("b", 2)]
