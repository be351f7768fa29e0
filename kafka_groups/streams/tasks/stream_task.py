"""One task: a partition's share of a sub-topology."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Protocol

from attrs import frozen

from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.processors.compile import compile_group
from kafka_groups.streams.processors.surroundings import Collector, Surroundings
from kafka_groups.streams.state.engine import NO_NOTES, NO_POSITIONS, Engine, Notes, Positions
from kafka_groups.streams.state.opened_state import open_state
from kafka_groups.streams.state.position import input_notes
from kafka_groups.streams.state.state_store import (
    ChangelogRecord,
    RecordContext,
    StateStore,
    StoreSurroundings,
    batch_of,
)
from kafka_groups.streams.tasks.error_context import ErrorHandler, ErrorHandlers
from kafka_groups.streams.tasks.failures import TaskFailures
from kafka_groups.streams.tasks.punctuation import Punctuation, Schedule, next_time
from kafka_groups.streams.tasks.queues import PartitionQueue
from kafka_groups.streams.tasks.record_choice import EarliestFirst
from kafka_groups.streams.topology.context import PunctuationType
from kafka_groups.streams.topology.internal_topics import changelog_topic
from kafka_groups.streams.topology.node_graph import NodeGraph, TopologyStore
from kafka_groups.streams.topology.nodes import OperatorTime, TimestampExtractor, stream_time_of
from kafka_groups.streams.topology.subtopologies import NodeGroup
from kafka_groups.types import RecordRow, TaskId, TopicPartition

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
        stream_schedule: What it calls by stream time.
        wall_ms: The last wall-clock time that it got.
        is_commit_requested: Whether a processor has asked for a commit. The one who commits resets it.
        unlogged_stores: The names of the stores on disk of which there is no other copy.
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
        self._engine = engine
        self._settings = settings
        self.stream_schedule, self._wall_schedule = Schedule(), Schedule()
        self._failures = TaskFailures(
            task_id, self.record, settings.handlers, collector, refuses_later=collector.refuses_later
        )
        self.states: dict[str, StateStore] = {}
        self._changelogs: dict[str, str] = {}
        self._restored_from: dict[str, str] = {}
        self._restored_ms: dict[str, tuple[int | None, tuple[str, ...]]] = {}
        for place in group.stores:
            self._open_store(place, engine)
        self.unlogged_stores = [
            place.definition.name
            for place in group.stores
            if place.definition.persistent and place.definition.name not in self._restored_from
        ]
        # Only stores that outlast the task have a position that does.
        volatile = {place.definition.name for place in group.stores if not place.definition.persistent}
        self._unsaved = {topic for name, topic in self._restored_from.items() if name in volatile}
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
        # Task p reads partition p of each source topic of its sub-topology (PartitionGrouper.partitionGroups in Kafka).
        if partitions is None:
            partitions = [TopicPartition(topic, task_id.partition) for topic in self._program.sources]
        self.queues: dict[tuple[str, int], PartitionQueue] = {}
        self._only_queue: PartitionQueue | None = None
        self.gain(partitions)
        self._earliest = EarliestFirst()
        self._filled: deque[PartitionQueue] = deque()

    def __repr__(self) -> str:
        return f"<StreamTask {self.task_id}>"

    @property
    def dropped_records(self) -> Mapping[str, int]:
        """The number of records that each node has dropped, by the node's name, and of expired rows by the store's."""
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
        for name, topic in self._restored_from.items():
            self._load([self.states[name]], batch_of(changelog(topic)), NO_POSITIONS)

    @property
    def changelog_partitions(self) -> tuple[TopicPartition, ...]:
        """The partitions that the stores are restored from: changelogs, or source topics that serve as such.

        A source topic that is merged with a larger one does not have a partition for every task.
        """
        partition, sources = self.task_id.partition, self._program.sources
        topics = dict.fromkeys(self._restored_from.values())
        there = (topic for topic in topics if topic not in sources or (topic, partition) in self.queues)
        return tuple(TopicPartition(topic, partition) for topic in there)

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
        # A topic that several stores are restored from is read from where the first of them needs it.
        known = [each for each in since if each is not None]
        return min(known) if known and len(known) == len(since) else None

    def _needed_since_ms(self, age_ms: int | None, users: tuple[str, ...]) -> int | None:
        # An operator without a time may still need any row, so one such operator is enough that all are read.
        times = [self._times[name].ms for name in map(stream_time_of, users) if name in self._times]
        return None if age_ms is None or not times or min(times) < 0 else min(times) - age_ms

    def resume_time(self, place: TopicPartition, time_ms: int) -> None:
        """Continue with the time that a partition had at its last commit."""
        queue = self.queues[place.topic, place.partition]
        # StreamTask.initializeTaskTimeAndProcessorMetadata in Kafka: without the committed time, the time of the task
        # would start again at its next record, and late records would look like current ones.
        queue.time_ms = max(queue.time_ms, time_ms)
        self.stream_time_ms = max(self.stream_time_ms, time_ms)

    @property
    def operator_times_ms(self) -> dict[str, int]:
        """The times that operators keep, by name, to be committed."""
        # Java commits only the times of emit-on-close stores (AbstractProcessorContext.addProcessorMetadataKeyValue),
        # and its operators start without a time after a restart. Here all operators keep theirs, so that a record which
        # was too late stays too late.
        return {name: time.ms for name, time in self._times.items() if time.ms >= 0}

    def resume_operator_times(self, times_ms: Mapping[str, int]) -> None:
        """Continue with the times of the last commit. Those of operators that it does not have are left out."""
        for name in times_ms.keys() & self._times.keys():
            time = self._times[name]
            time.ms = max(time.ms, times_ms[name])

    def apply(self, place: TopicPartition, batch: ChangelogBatch, position: int) -> None:
        """Apply records of a changelog to the committed state of its stores, together with the position after them."""
        self._load([self.states[name] for name in self.stores_of(place.topic)], batch, {place: position})

    def _load(self, states: Iterable[StateStore], batch: ChangelogBatch, positions: Positions) -> None:
        changes: dict[str, Mapping[bytes, bytes | None] | None] = {}
        notes: dict[str, bytes] = {}
        for state in states:
            changes.update(state.restore(batch))
            notes.update(state.notes())
        self._engine.load(changes, self.saved(positions), notes)

    def saved(self, positions: Positions) -> Positions:
        """Return the positions of changelogs whose stores all outlast the task."""
        return {place: offset for place, offset in positions.items() if place.topic not in self._unsaved}

    def add(self, topic: str, records: Sequence[RecordRow], partition: int | None = None) -> None:
        """Add records of one of its topics. None as partition: the task's own."""
        queue = self.queues[topic, self.task_id.partition if partition is None else partition]
        # A queue that gets its first record takes part in the choice again (PartitionGroup.addRawRecords).
        if queue is not self._only_queue and not queue:
            self._filled.append(queue)
        queue.add(records)

    def gain(self, partitions: Iterable[TopicPartition]) -> None:
        """Read more partitions of its topics from now on."""
        self.queues.update({(each.topic, each.partition): self._queue(each) for each in partitions})
        former, self._only_queue = self._only_queue, next(iter(self.queues.values())) if len(self.queues) == 1 else None
        if former is not None and former is not self._only_queue and len(former):
            self._filled.append(former)  # as one of several, it has to be chosen

    @property
    def next_timestamp_ms(self) -> int | None:
        """The timestamp of the record that `process` would take, or None."""
        if self._only_queue is not None:
            head = self._only_queue.head()
            return None if head is None else head[3]
        if self._filled:
            self._offer_filled()
        return self._earliest.time_ms

    def process(self, wall_ms: int) -> bool:
        """Process the record with the lowest timestamp. Return False if there is none."""
        self.wall_ms = wall_ms
        if self._only_queue is not None:
            return self._only_queue.process(self, 1) > 0
        chosen = self._next_queue()
        if chosen is None:
            return False
        # It is offered again before the record is processed, behind queues with the same timestamp, as in
        # PartitionGroup.nextRecord. Its next head is decoded only when the next record is chosen, whereas Java decodes
        # it here; an error of the next record thus never prevents this one.
        if len(chosen) > 1:
            self._filled.append(chosen)
        chosen.process_head(self)
        return True

    def process_slice(self, wall_ms: int, most: int) -> int:
        """Process up to so many records in the order of their timestamps, and return their number.

        Stops behind a record that asks for a commit.
        """
        self.wall_ms = wall_ms
        if self._only_queue is not None:
            return self._only_queue.process(self, most)
        for count in range(most):
            if not self.process(wall_ms):
                return count
            if self.is_commit_requested:
                return count + 1
        return most

    def punctuate_stream_time(self) -> None:
        """Call what is due by stream time.

        That follows each record, as in Kafka's TopologyTestDriver. A Java thread punctuates after several records of a
        task (StreamThread.runOnceWithoutProcessingThreads), so there the number of calls depends on how many records it
        takes at once.
        """
        self._punctuate(self.stream_schedule, self.stream_time_ms)

    def punctuate_wall_clock(self, wall_ms: int) -> bool:
        """Call what is due by wall-clock time. Return whether anything was."""
        self.wall_ms = wall_ms
        return self._punctuate(self._wall_schedule, wall_ms)

    def schedule(
        self, interval_ms: int, clock: PunctuationType, callback: Callable[[int], None], start_ms: int | None
    ) -> Punctuation:
        """Call a function again and again."""
        is_stream_time = clock is PunctuationType.STREAM_TIME
        schedule = self.stream_schedule if is_stream_time else self._wall_schedule
        now_ms = self.stream_time_ms if is_stream_time else self.wall_ms
        # A call by wall-clock time is first due when an interval has passed (StreamTask.schedule).
        if start_ms is None:
            # As in Java, punctuation by stream time is aligned to 0, so that the first record makes the first call.
            start_ms = 0 if is_stream_time else now_ms + interval_ms
        elif start_ms < now_ms:
            # A start in the past only says which times are meant (KIP-1146).
            start_ms = next_time(start_ms, interval_ms, now_ms)
        return schedule.add(interval_ms, callback, start_ms)

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
        # Java evicts the least recently used updates until the rest fits (ThreadCache.maybeEvict). Here the whole task
        # is flushed: its layer of uncommitted changes has no order of use, and after it each key counts again.
        if limit_bytes and self.uncommitted_bytes - self._flushed_bytes >= limit_bytes:
            self.recount()
            # Half of it is enough, so that keys that change again and again are not counted after every few records.
            if 2 * (self.uncommitted_bytes - self._flushed_bytes) >= limit_bytes:
                self.flush()

    def commit(self, changelogs: Changelogs) -> None:
        """Write the changes of the stores to their changelogs and into the committed state. Flush before."""
        self.log(changelogs)
        self.commit_states()

    def log(self, changelogs: Changelogs) -> None:
        """Write the changes of the stores to their changelogs. Flush before."""
        # A store is logged at the commit with one record for each key that changed. Java logs each update
        # (ChangeLoggingKeyValueBytesStore.put), or each one that its cache evicts; the last value of a key, which
        # restoration needs, is the same.
        for name, topic in self._changelogs.items():
            state = self.states[name]
            if state.is_changed:
                changelogs.log(topic, self.task_id.partition, state.changelog())

    def commit_states(self, positions: Positions = NO_POSITIONS, more: Notes = NO_NOTES) -> None:
        """Move the changes into the committed state, when the changelogs have them and the offsets are committed.

        All stores move together, and with them the positions of the changelogs that have the changes, and the offsets
        of the inputs, which are those of the commit, and more notes about the task.
        """
        changed = [state for state in self.states.values() if state.is_changed]
        changes: dict[str, Mapping[bytes, bytes | None] | None] = {}
        notes = dict(more)
        for state in changed:
            changes.update(state.changes())
            notes.update(state.notes())
        inputs = {queue.partition: queue.position for queue in self.queues.values() if queue.position is not None}
        if self.states and (changed or positions or inputs):
            self._engine.commit(changes, self.saved(positions), {**notes, **input_notes(inputs)})
        for state in changed:
            state.committed()
        self._flushed_bytes = 0

    def begin_at(self, inputs: Mapping[TopicPartition, int]) -> None:
        """Note that the stores have everything before these offsets of the inputs."""
        if self.states:
            self._engine.commit({}, notes=input_notes(inputs))

    def close(self) -> None:
        """Close the processors, parents first, and all of them if some fail. An error is raised in the end."""
        with ExitStack() as stack:
            # StreamTask.closeTopology in Kafka also closes every node, and raises the last error. An ExitStack calls
            # the last one pushed first, hence the reversed order.
            for function in reversed(self._program.close):
                stack.callback(function)

    def _open_store(self, place: TopologyStore, engine: Engine) -> None:
        name, topic = place.definition.name, changelog_topic(place, self.application_id)
        self.states[name] = open_state(
            place.definition,
            StoreSurroundings(
                topic=topic,
                engine=engine,
                record=self.record,
                is_caching=self._settings.cache_max_bytes > 0,
                dropped=self._failures.dropped,
            ),
        )
        # There are three kinds of stores. One with a changelog is written to it and restored from it. A table whose
        # source topic serves as its changelog is restored from that topic, and writes nothing, since its changes are in
        # the topic already (ProcessorStateManager.changelogAsSource in Kafka). A store without either begins empty
        # wherever its task goes.
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
                # The record that caused the error is gone, and those behind it are to take part when processing goes
                # on.
                if queue:
                    self._filled.appendleft(queue)
                raise
            if head is not None:
                self._earliest.offer(head[3], queue)

    def _punctuate(self, schedule: Schedule, now_ms: int) -> bool:
        # A punctuation is about no record of a topic.
        self.record.clear(now_ms)
        return bool(schedule) and schedule.run(now_ms)

    def _queue(self, partition: TopicPartition) -> PartitionQueue:
        source, step = self._program.source_of(partition.topic)
        extractor = self._settings.extractor
        return PartitionQueue(partition, source, step, extractor, self._failures, lambda: self.wall_ms)


class _ReadOnlyState:
    """The state of a global store for tasks, which do not own it."""

    def __init__(self, state: StateStore) -> None:
        self._state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def put(self, *_change: object) -> None:
        """Refuse a change.

        Raises:
            StreamsError: Always.
        """
        raise StreamsError(
            f"Store {self._state.name!r} is global: tasks only read it. Write to the topic that fills it."
        )


def _read_only(states: Mapping[str, StateStore]) -> Mapping[str, _ReadOnlyState]:
    return {name: _ReadOnlyState(state) for name, state in states.items()}
