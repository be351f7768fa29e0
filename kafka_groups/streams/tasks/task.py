"""One task: a partition's share of a sub-topology."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from attrs import frozen

from kafka_groups.streams.processors.compile import Collector, Surroundings, compile_group
from kafka_groups.streams.state.engine import Engine
from kafka_groups.streams.state.opening import open_state
from kafka_groups.streams.state.read_only import ReadOnlyState
from kafka_groups.streams.state.store import ChangelogRecord, RecordContext, StateStore, StoreSurroundings
from kafka_groups.streams.tasks.choosing import EarliestFirst
from kafka_groups.streams.tasks.error_context import ErrorHandler, ErrorHandlers
from kafka_groups.streams.tasks.failures import TaskFailures
from kafka_groups.streams.tasks.punctuation import Punctuation, Schedule
from kafka_groups.streams.tasks.queues import PartitionQueue
from kafka_groups.streams.topology.context import PunctuationType
from kafka_groups.streams.topology.internal_topics import changelog_topic
from kafka_groups.streams.topology.node_graph import NodeGraph, StorePlace
from kafka_groups.streams.topology.nodes import OperatorTime, TimestampExtractor, stream_time_of
from kafka_groups.streams.topology.subtopologies import NodeGroup
from kafka_groups.types import FetchedRecord, TaskId, TopicPartition

__all__ = ["Changelogs", "StreamTask", "TaskSettings"]

_NO_TIME = -1


class Changelogs(Protocol):
    """Takes the changes of stores."""

    def log(self, topic: str, partition: int, records: Iterable[ChangelogRecord]) -> None:
        """Write records to a partition of a changelog."""


@frozen(kw_only=True)
class TaskSettings:
    """Settings of all tasks of an application.

    Attributes:
        topology: The topology.
        application_id: Prefix of the internal topics.
        extractor: The default timestamp extractor.
        cache_max_bytes: The memory of a task's updates with which operators forward what they hold back. 0 makes
            them forward every update (`statestore.cache.max.bytes`).
        processing_handler: Decides about exceptions of the user's code; None fails.
        deserialization_handler: Decides about bytes that cannot be decoded; None fails.
        production_handler: Decides about records that cannot be serialised or written; None fails.
        dead_letter_topic: The topic for records for which a handler returns DEAD_LETTER.
    """

    topology: NodeGraph
    application_id: str
    extractor: TimestampExtractor
    cache_max_bytes: int = 10 * 1024 * 1024
    processing_handler: ErrorHandler | None = None
    deserialization_handler: ErrorHandler | None = None
    production_handler: ErrorHandler | None = None
    dead_letter_topic: str | None = None

    @property
    def handlers(self) -> ErrorHandlers:
        """The handlers of errors."""
        return ErrorHandlers(
            deserialization=self.deserialization_handler,
            processing=self.processing_handler,
            production=self.production_handler,
            dead_letter_topic=self.dead_letter_topic,
        )


class StreamTask:
    """Processes the records of its partitions in the order of their timestamps.

    Args:
        task_id: Its id.
        group: Its sub-topology.
        settings: Settings of all tasks.
        engine: Keeps what is committed.
        collector: Takes the records of sinks.
        global_states: The states of the global stores, by name.
        partitions: The partitions that it reads. None: its own partition of each topic of its sub-topology.

    Attributes:
        task_id: Its id.
        queues: The queues of its partitions, by topic and partition.
        record: The record that it processes.
        stream_time_ms: The highest timestamp that it has taken, or -1.
        wall_ms: The last wall-clock time that it got.
        is_commit_requested: Whether a processor has asked for a commit. The one who commits resets it.
    """

    def __init__(  # noqa: PLR0913 - the parts of a task
        self,
        task_id: TaskId,
        group: NodeGroup,
        settings: TaskSettings,
        engine: Engine,
        collector: Collector,
        global_states: Mapping[str, StateStore],
        *,
        partitions: Iterable[TopicPartition] | None = None,
    ) -> None:
        self.task_id = task_id
        self.application_id = settings.application_id
        self.record = RecordContext()
        self.stream_time_ms = _NO_TIME
        self.wall_ms = 0
        self.is_commit_requested = False
        self._flushed_bytes = 0
        self._settings = settings
        self._stream_schedule, self._wall_schedule = Schedule(), Schedule()
        self._failures = TaskFailures(task_id, self.record, settings.handlers, collector)
        self.states: dict[str, StateStore] = {}
        self._changelogs: dict[str, str] = {}
        self._restored_from: dict[str, str] = {}
        self._restored_ms: dict[str, tuple[int | None, tuple[str, ...]]] = {}
        for place in group.stores:
            self._open_store(place, engine)
        self._times: dict[str, OperatorTime] = {}
        self._program = compile_group(
            group,
            Surroundings(
                topology=settings.topology,
                application_id=settings.application_id,
                states={**_read_only(global_states), **self.states},
                record=self.record,
                collector=collector,
                failures=self._failures,
                times=self._times,
            ),
        )
        if partitions is None:
            partitions = [TopicPartition(topic, task_id.partition) for topic in self._program.sources]
        self.queues = {(each.topic, each.partition): self._queue(each) for each in partitions}
        self._only_queue = next(iter(self.queues.values())) if len(self.queues) == 1 else None
        self._earliest = EarliestFirst()
        self._filled: deque[PartitionQueue] = deque()

    def __repr__(self) -> str:
        return f"<StreamTask {self.task_id}>"

    @property
    def dropped_records(self) -> Mapping[str, int]:
        """The number of records that each node has dropped, by the node's name."""
        dropped: Counter[str] = Counter()
        for (node, _reason), count in self._failures.dropped_records.counts.items():
            dropped[node] += count
        return dropped

    @property
    def uncommitted_bytes(self) -> int:
        """The memory of the stores' changes since the last commit. Earlier changes of the same key count, too."""
        return sum(state.uncommitted_bytes for state in self.states.values())

    def recount(self) -> None:
        """Count `uncommitted_bytes` again, each key once."""
        for state in self.states.values():
            state.recount()

    def init(self, wall_ms: int) -> None:
        """Prepare the processors, parents first."""
        self.wall_ms = wall_ms
        for function in self._program.init:
            function(self)

    def restore(self, changelog: Callable[[str], Iterable[ChangelogRecord]]) -> None:
        """Fill the stores from their changelogs, before the task is initialised.

        Args:
            changelog: Returns the records of a topic, for the task's partition.
        """
        for name, state in self.states.items():
            if name in self._restored_from:
                for record in changelog(self._restored_from[name]):
                    state.restore(record)

    @property
    def changelog_partitions(self) -> tuple[TopicPartition, ...]:
        """The partitions that the stores are restored from: changelogs, or source topics that serve as such."""
        partition = self.task_id.partition
        return tuple(TopicPartition(topic, partition) for topic in dict.fromkeys(self._restored_from.values()))

    def stores_of(self, changelog: str) -> list[str]:
        """Return the names of the stores that are restored from a topic."""
        return [name for name, topic in self._restored_from.items() if topic == changelog]

    @property
    def keeps_windows(self) -> bool:
        """True if a store needs no records of its changelog that are too old."""
        return any(age is not None for age, _ in self._restored_ms.values())

    def restored_since_ms(self, changelog: str) -> int | None:
        """Return the time before which no record of a changelog is needed, by the times of operators. None: any may be.

        Operators that only read a store may know of a later time than those that write to it, so the earliest one
        counts.
        """
        since = [self._needed_since_ms(*self._restored_ms[store]) for store in self.stores_of(changelog)]
        known = [each for each in since if each is not None]
        return min(known) if known and len(known) == len(since) else None

    def _needed_since_ms(self, age_ms: int | None, users: tuple[str, ...]) -> int | None:
        times = [self._times[name].ms for name in map(stream_time_of, users) if name in self._times]
        return None if age_ms is None or not times or min(times) < 0 else min(times) - age_ms

    def resume_time(self, place: TopicPartition, time_ms: int) -> None:
        """Continue with the time that a partition had at its last commit."""
        queue = self.queues[place.topic, place.partition]
        queue.time_ms = max(queue.time_ms, time_ms)
        self.stream_time_ms = max(self.stream_time_ms, time_ms)

    @property
    def operator_times_ms(self) -> dict[str, int]:
        """The times that operators keep, by name, to be committed."""
        return {name: time.ms for name, time in self._times.items() if time.ms >= 0}

    def resume_operator_times(self, times_ms: Mapping[str, int]) -> None:
        """Continue with the times of the last commit. Those of operators that it does not have are left out."""
        for name in times_ms.keys() & self._times.keys():
            time = self._times[name]
            time.ms = max(time.ms, times_ms[name])

    def apply(self, topic: str, records: Iterable[FetchedRecord]) -> None:
        """Apply records of a changelog to the committed state of its stores."""
        changes = [
            ChangelogRecord(each.key, each.value, each.timestamp_ms, each.headers)
            for each in records
            if each.key is not None
        ]
        for name, source in self._restored_from.items():
            if source == topic:
                restore = self.states[name].restore
                for change in changes:
                    restore(change)

    def add(self, topic: str, records: list[FetchedRecord], partition: int | None = None) -> None:
        """Add records of one of its topics. None as partition: the task's own."""
        queue = self.queues[topic, self.task_id.partition if partition is None else partition]
        if queue is not self._only_queue and not queue:
            self._filled.append(queue)
        queue.add(records)

    @property
    def next_timestamp_ms(self) -> int | None:
        """The timestamp of the record that `process` would take, or None."""
        if self._only_queue is not None:
            head = self._only_queue.head()
            return None if head is None else head.timestamp_ms
        if self._filled:
            self._offer_filled()
        return self._earliest.time_ms

    def process(self, wall_ms: int) -> bool:
        """Process the record with the lowest timestamp. Return False if there is none."""
        self.wall_ms = wall_ms
        chosen = self._next_queue() if self._only_queue is None else self._only_queue
        taken = None if chosen is None else chosen.take()
        if chosen is None or taken is None:
            return False
        offset, key, value, timestamp_ms, headers = taken
        if chosen is not self._only_queue and chosen:
            self._filled.append(chosen)
        self.stream_time_ms = max(self.stream_time_ms, timestamp_ms)
        record = self.record
        record.topic, record.partition, record.offset = chosen.topic, chosen.partition.partition, offset
        record.timestamp_ms, record.headers, record.raw = timestamp_ms, headers, chosen.raw
        chosen.step(key, value, timestamp_ms, headers)
        self._punctuate(self._stream_schedule, self.stream_time_ms)
        return True

    def punctuate_wall_clock(self, wall_ms: int) -> bool:
        """Call what is due by wall-clock time. Return whether anything was."""
        self.wall_ms = wall_ms
        return self._punctuate(self._wall_schedule, wall_ms)

    def schedule(
        self, interval_ms: int, clock: PunctuationType, callback: Callable[[int], None], start_ms: int | None
    ) -> Punctuation:
        """Call a function again and again."""
        is_stream_time = clock is PunctuationType.STREAM_TIME
        schedule = self._stream_schedule if is_stream_time else self._wall_schedule
        # As in Java, punctuation by stream time is aligned to 0, so that the first record makes the first call.
        first_ms = 0 if is_stream_time else self.wall_ms + interval_ms
        return schedule.add(interval_ms, callback, first_ms if start_ms is None else start_ms)

    def request_commit(self) -> None:
        """Commit after the current record."""
        self.is_commit_requested = True

    def flush(self) -> None:
        """Forward the updates that operators hold back, those of stores further up first."""
        for state in self.states.values():
            state.flush()
        self._flushed_bytes = self.uncommitted_bytes

    def flush_large_caches(self) -> None:
        """Flush if the updates since the last flush take as much memory as operators may use to hold updates back."""
        limit_bytes = self._settings.cache_max_bytes
        if limit_bytes and self.uncommitted_bytes - self._flushed_bytes >= limit_bytes:
            self.recount()
            # Half of it is enough, so that keys that change again and again are not counted after every few records.
            if 2 * (self.uncommitted_bytes - self._flushed_bytes) >= limit_bytes:
                self.flush()

    def commit(self, changelogs: Changelogs) -> None:
        """Write the changes of the stores to their changelogs and into the committed state. Flush before."""
        changed = []
        for name, state in self.states.items():
            if state.is_changed:
                changed.append(state)
                if name in self._changelogs:
                    changelogs.log(self._changelogs[name], self.task_id.partition, state.changelog())
        for state in changed:
            state.commit()
        self._flushed_bytes = 0

    def log(self, changelogs: Changelogs) -> None:
        """Write the changes of the stores to their changelogs. Flush before."""
        for name, topic in self._changelogs.items():
            state = self.states[name]
            if state.is_changed:
                changelogs.log(topic, self.task_id.partition, state.changelog())

    def commit_states(self) -> None:
        """Move the changes into the committed state, when the changelogs have them and the offsets are committed."""
        for state in self.states.values():
            if state.is_changed:
                state.commit()
        self._flushed_bytes = 0

    def close(self) -> None:
        """Close the processors, parents first."""
        for function in self._program.close:
            function()

    def _open_store(self, place: StorePlace, engine: Engine) -> None:
        name, topic = place.definition.name, changelog_topic(place, self.application_id)
        self.states[name] = open_state(
            place.definition,
            StoreSurroundings(
                topic=topic, engine=engine, record=self.record, is_caching=self._settings.cache_max_bytes > 0
            ),
        )
        if place.definition.changelog is not None or place.source_topic is not None:
            self._restored_from[name] = topic
            self._restored_ms[name] = place.definition.restored_ms, place.users
        if place.definition.changelog is not None and place.source_topic is None:
            self._changelogs[name] = topic

    def _next_queue(self) -> PartitionQueue | None:
        if self._filled:
            self._offer_filled()
        return self._earliest.poll()

    def _offer_filled(self) -> None:
        """Let queues that have a next record again take part in the choice, in the order in which they got it."""
        while self._filled:
            queue = self._filled.popleft()
            try:
                head = queue.head()
            except Exception:
                if queue:
                    self._filled.appendleft(queue)
                raise
            if head is not None:
                self._earliest.offer(head.timestamp_ms, queue)

    def _punctuate(self, schedule: Schedule, now_ms: int) -> bool:
        record = self.record
        record.topic, record.partition, record.offset = None, _NO_TIME, _NO_TIME
        record.timestamp_ms, record.headers, record.raw = now_ms, (), None
        return bool(schedule.waiting) and schedule.run(now_ms)

    def _queue(self, partition: TopicPartition) -> PartitionQueue:
        source, step = self._program.sources[partition.topic]
        extractor = self._settings.extractor
        return PartitionQueue(partition, source, step, extractor, self._failures, lambda: self.wall_ms)


def _read_only(states: Mapping[str, StateStore]) -> Mapping[str, ReadOnlyState]:
    return {name: ReadOnlyState(state) for name, state in states.items()}
