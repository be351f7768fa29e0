"""Runs a topology in memory, record by record."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError
from kafka_groups.errors.texts import counted
from kafka_groups.records.partitioning import partition_of
from kafka_groups.serdes import Serde
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.processors.extractors import fail_on_invalid
from kafka_groups.streams.state.engine import MemoryEngine
from kafka_groups.streams.state.joined import JoinedStates
from kafka_groups.streams.state.key_value import KeyValueStore
from kafka_groups.streams.state.session_stores import SessionStore
from kafka_groups.streams.state.state_store import ChangelogRecord, StateStore
from kafka_groups.streams.state.stores import (
    KeyValueDefinition,
    SessionDefinition,
    StoreDefinition,
    VersionedDefinition,
    WindowDefinition,
)
from kafka_groups.streams.state.versioned_stores import VersionedKeyValueStore
from kafka_groups.streams.state.window_stores import WindowStore
from kafka_groups.streams.tasks.error_context import ErrorHandler
from kafka_groups.streams.tasks.stream_task import StreamTask, TaskSettings
from kafka_groups.streams.topology.checks import check_topology
from kafka_groups.streams.topology.context import open_view
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.internal_topics import topic_name
from kafka_groups.streams.topology.matched_topics import matched_topics, matching
from kafka_groups.streams.topology.nodes import TimestampExtractor
from kafka_groups.streams.topology.partitioning import check_partition
from kafka_groups.streams.topology.subtopologies import NodeGroup, node_groups
from kafka_groups.streams.topology.topology import Topology
from kafka_groups.testing.topology_driver.partition_counts import DrivenPartitions
from kafka_groups.testing.topology_driver.topics import CapturedRecord, TestInputTopic, TestOutputTopic
from kafka_groups.types import FetchedRecord, Headers, TaskId, TopicPartition

__all__ = ["TopologyTestDriver"]

K = TypeVar("K")
V = TypeVar("V")


class TopologyTestDriver:
    """Runs a topology in memory: pipe records in, read records and stores.

    Each record is processed wholly, with all that follows from it in other sub-topologies, and committed, before
    `pipe` returns. Times come from you: records have the timestamps that you give, and the wall clock moves when you
    advance it.

    ```python
    with TopologyTestDriver(build()) as driver:
        posts = driver.input_topic("posts", serdes.string, serdes.string)
        posts.pipe("ann", "to be or not to be", timestamp_ms=0)
        assert driver.store(COUNTS).get("to") == 2
    ```

    Args:
        topology: The topology.
        application_id: Prefix of the internal topics.
        partitions: Numbers of partitions by topic: of topics that the topology reads, and of those that it writes if
            their records shall show where they went. Those of internal topics are derived from them, as the coordinator
            of a streams group does it, and each sub-topology has a task for each partition. A pattern reads those of
            these topics that it matches, and others as soon as you ask for them.
        default_partitions: The number of partitions of topics that `partitions` does not name. With neither of the
            two, every topic has one partition, as in Kafka Streams' driver.
        wall_ms: The wall-clock time at the start, in ms since 1970.
        timestamp: The default timestamp extractor.
        statestore_cache_max_bytes: 0 makes operators forward every update, not only a key's last one at each commit.
        processing_exception_handler: Decides about exceptions of your code; without one they are raised by `pipe`.
        deserialization_exception_handler: Decides about records that cannot be decoded, in the same way. It gets their
            keys and values as bytes.
        production_exception_handler: Decides about records that cannot be serialised, in the same way.
        errors_dead_letter_queue_topic_name: The topic for records for which a handler returns DEAD_LETTER.
        on_record: Gets each record that is written to a topic. The driver then keeps none of them, so that it can
            process any number.

    Raises:
        TopologyError: The topology is empty, or needs other numbers of partitions.
        TypeError: A function gives no value, because it is asynchronous.
        ValueError: A number of partitions is not positive.
    """

    def __init__(  # noqa: PLR0913, an application's configuration
        self,
        topology: Topology,
        *,
        application_id: str = "test",
        partitions: Mapping[str, int] | None = None,
        default_partitions: int = 1,
        wall_ms: int = 0,
        timestamp: TimestampExtractor = fail_on_invalid,
        statestore_cache_max_bytes: int = 10 * 1024 * 1024,
        processing_exception_handler: ErrorHandler | None = None,
        deserialization_exception_handler: ErrorHandler | None = None,
        production_exception_handler: ErrorHandler | None = None,
        errors_dead_letter_queue_topic_name: str | None = None,
        on_record: Callable[[CapturedRecord], None] | None = None,
    ) -> None:
        check_functions(
            "TopologyTestDriver",
            timestamp=timestamp,
            processing_exception_handler=processing_exception_handler,
            deserialization_exception_handler=deserialization_exception_handler,
            production_exception_handler=production_exception_handler,
            on_record=on_record,
        )
        if not topology.graph.nodes:
            raise TopologyError("The topology is empty. Add a source at least.")
        check_topology(topology.graph)
        self._topology = topology
        self._application_id = application_id
        self._wall_ms = wall_ms
        self.refuses_later = False
        self._outputs: dict[str, list[CapturedRecord]] = {}
        self._keeps_records = on_record is None
        self._written_record = self._keep if on_record is None else on_record
        self._offsets: dict[tuple[str, int], int] = {}
        self._arrived: deque[CapturedRecord] = deque()
        self._settings = TaskSettings(
            topology=topology.graph,
            application_id=application_id,
            extractor=timestamp,
            cache_max_bytes=statestore_cache_max_bytes,
            processing_handler=processing_exception_handler,
            deserialization_handler=deserialization_exception_handler,
            production_handler=production_exception_handler,
            dead_letter_topic=errors_dead_letter_queue_topic_name,
        )
        self._kept: dict[str, list[CapturedRecord]] = {
            place.source_topic: []
            for place in topology.graph.stores.values()
            if place.source_topic is not None and on_record is None
        }
        self._partitions: DrivenPartitions | None = None
        if partitions is not None or default_partitions != 1:
            self._partitions = DrivenPartitions(topology.graph, application_id, partitions or {}, default_partitions)
        self._turns: Counter[str] = Counter()
        self._tasks: list[StreamTask] = []
        self._has_patterns = bool(topology.graph.patterns)
        self._matched: set[str] = set()
        self._readers: dict[tuple[str, int], StreamTask] = {}
        self._ready: list[StreamTask] = []
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<TopologyTestDriver {self._application_id!r}: {len(self._tasks)} tasks>"

    def input_topic(self, topic: str, key: Serde[K], value: Serde[V]) -> TestInputTopic[K, V]:
        """Return a topic to pipe records into. Topics that match a pattern come into being with that.

        Raises:
            LookupError: The topology does not read this topic.
            TopologyError: Two sources read it, or it has more partitions than there are tasks.
        """
        self._match(topic)
        read = {name for name, _ in self._readers}
        if topic not in read:
            known = ", ".join(sorted(read | self._patterns()))
            raise LookupError(f"The topology does not read topic {topic!r}. It reads: {known}.")
        return TestInputTopic(topic, key, value, self._pipe, lambda: self._wall_ms)

    def output_topic(self, topic: str, key: Serde[K], value: Serde[V]) -> TestOutputTopic[K, V]:
        """Return a topic to read results from. Repartition topics and changelogs can be read, too."""
        return TestOutputTopic(topic, key, value, self._written(topic))

    def records(self, topic: str) -> tuple[CapturedRecord, ...]:
        """Return all records of a topic, as bytes."""
        return tuple(self._written(topic))

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that have been written to, in the order of their first records."""
        return tuple(topic for topic, records in self._outputs.items() if records)

    @property
    def dropped_records(self) -> Mapping[str, int]:
        """The number of records that each node has dropped since the start or the last restart, by the node's name.

        Rows that had expired when they were put are counted by the names of their stores.
        """
        dropped: Counter[str] = Counter()
        for task in self._tasks:
            dropped.update(task.dropped_records)
        return dropped

    @overload
    def store(self, store: KeyValueDefinition[K, V], *, partition: int | None = None) -> KeyValueStore[K, V]: ...
    @overload
    def store(self, store: WindowDefinition[K, V], *, partition: int | None = None) -> WindowStore[K, V]: ...
    @overload
    def store(self, store: SessionDefinition[K, V], *, partition: int | None = None) -> SessionStore[K, V]: ...
    @overload
    def store(
        self, store: VersionedDefinition[K, V], *, partition: int | None = None
    ) -> VersionedKeyValueStore[K, V]: ...
    @overload
    def store(self, store: StoreDefinition | str, *, partition: int | None = None) -> Any: ...
    def store(self, store: StoreDefinition | str, *, partition: int | None = None) -> Any:
        """Return a store to read it, or to fill it before a test.

        Args:
            store: Its definition, which makes the result typed, or its name.
            partition: The partition whose part of the store you want. None: all of them as one store. If there are
                several, it can only be read then.

        Raises:
            LookupError: The topology has no such store, or no such partition of it.
        """
        name = store if isinstance(store, str) else store.name
        tasks = [task for task in self._tasks if name in task.states]
        if not tasks:
            known = ", ".join(sorted(self._topology.graph.stores)) or "none"
            raise LookupError(f"The topology has no store {name!r}. Its stores are: {known}.")
        if partition is not None:
            tasks = [_of_partition(tasks, partition, f"Store {name!r}")]
        states = [task.states[name] for task in tasks]
        return open_view(states[0] if len(states) == 1 else JoinedStates(states), tasks[0].record)

    def advance_wall_clock(self, by: timedelta) -> None:
        """Advance the wall clock, and call the punctuations that are due.

        Raises:
            ValueError: The duration is negative.
        """
        if by < timedelta(0):
            raise ValueError(f"The wall clock cannot go back by {by}. Use a positive duration.")
        self._wall_ms += round(by.total_seconds() * 1000)
        for task in self._tasks:
            task.punctuate_wall_clock(self._wall_ms)
            self._commit(task)
        self._settle()

    def restart(self) -> None:
        """Close the application and start it again: processors are new, and stores come from their changelogs.

        Stores without a changelog are empty afterwards. Topics keep their records, and global stores are filled again.
        The times of operators, which decide about late records, continue, as an application commits them.

        Raises:
            StreamsError: The driver is closed, or keeps no records.
        """
        self._check_open()
        if not self._keeps_records:
            raise StreamsError("The driver keeps no records to restart from, because it was made with on_record=.")
        times = [task.operator_times_ms for task in self._tasks]
        self.close()
        self._start(times)

    def close(self) -> None:
        """Close the processors of the topology, all of them if some fail."""
        tasks, self._tasks = self._tasks, []
        with ExitStack() as stack:
            for task in reversed(tasks):
                stack.callback(task.close)

    # ----------------------------------------------------------------- what tasks write to (Collector, Changelogs)

    def partitions(self, topic: str) -> int:
        """Return a topic's number of partitions."""
        return 1 if self._partitions is None else self._partitions(topic)

    def send(  # noqa: PLR0913, PLR0917 - the parts of a record
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
        later: object = None,
    ) -> None:
        """Take a record of a sink."""
        if self._partitions is None:
            partition = partition or 0
        elif partition is None:
            partition = self._partition_for(topic, key)
        else:
            check_partition(topic, partition, self._partitions(topic))
        record = CapturedRecord(topic, partition, key, value, timestamp_ms, headers)
        self._written_record(record)
        self._match(topic)
        if (topic, partition if self._partitions is not None else 0) in self._readers:
            self._arrived.append(record)

    def log(self, topic: str, partition: int, records: Iterable[ChangelogRecord]) -> None:
        """Take records of a changelog."""
        for key, value, given_ms, headers in records:
            timestamp_ms = self._wall_ms if given_ms is None else given_ms
            self._written_record(CapturedRecord(topic, partition, key, value, timestamp_ms, headers))

    # -----------------------------------------------------------------

    def _start(self, times_ms: Sequence[Mapping[str, int]] = ()) -> None:
        groups = node_groups(self._topology.graph)
        fillers = [self._filler(group) for group in groups if group.is_global]
        global_states = {name: state for task in fillers for name, state in task.states.items()}
        tasks = [task for group in groups if not group.is_global for task in self._tasks_of(group, global_states)]
        self._tasks = [*fillers, *tasks]
        self._readers = {partition: task for task in self._tasks for partition in task.queues}
        for topic in sorted(self._matched):
            self._read(topic)
        for task, times in zip(self._tasks, times_ms, strict=False):  # none at the first start
            task.resume_operator_times(times)
        for task in tasks:
            task.restore(partial(self._changelog, task.task_id.partition))
        for task in self._tasks:
            task.init(self._wall_ms)
        self._fill(fillers)
        self._settle()

    def _fill(self, fillers: list[StreamTask]) -> None:
        """Process the records that global topics have already."""
        for task in fillers:
            for topic, partition in task.queues:
                records = (record for record in self._kept.get(topic, ()) if record.partition == partition)
                task.add(topic, [_at(offset, record) for offset, record in enumerate(records)], partition)
            while task.process(self._wall_ms):
                self._commit(task)

    def _patterns(self) -> set[str]:
        """Return what the topology reads by patterns, in words."""
        shown = (node.pattern.pattern for node in self._topology.graph.patterns.values() if node.pattern is not None)
        return {f"all that match {pattern!r}" for pattern in shown}

    def _match(self, topic: str) -> None:
        """Read a topic from now on if it is new, and a pattern matches it."""
        graph = self._topology.graph
        if not self._has_patterns or topic in self._matched or not matched_topics(graph, [topic]):
            return
        matching(graph, self._application_id, [topic])  # refuses a topic of two sources
        self._matched.add(topic)
        self._read(topic)

    def _read(self, topic: str) -> None:
        reads = {
            str(group.number)
            for group in node_groups(self._topology.graph)
            for source in group.sources
            if source.matches(topic)
        }
        tasks = {task.task_id.partition: task for task in self._tasks if task.task_id.subtopology_id in reads}
        count = self.partitions(topic)
        if count > len(tasks):
            raise TopologyError(
                f"Topic {topic!r} has {counted(count, 'partition')}, but the sub-topology that reads it has "
                f"{counted(len(tasks), 'task')}. Name the topic with partitions= of the driver, so "
                "that there is a task for each."
            )
        for number in range(count):
            if (topic, number) not in self._readers:
                tasks[number].gain([TopicPartition(topic, number)])
                self._readers[topic, number] = tasks[number]

    def _changelog(self, partition: int, topic: str) -> Iterator[ChangelogRecord]:
        """Return the records from which a store is restored."""
        for record in self._kept[topic] if topic in self._kept else self._written(topic):
            if record.key is not None and record.partition == partition:
                yield ChangelogRecord(record.key, record.value, record.timestamp_ms, record.headers)

    def _check_open(self) -> None:
        if not self._tasks:
            raise StreamsError("The driver is closed. Make another one.")

    def _filler(self, group: NodeGroup) -> StreamTask:
        """Return what fills a global store. It reads all partitions."""
        read = [
            TopicPartition(topic, partition)
            for source in group.sources
            for topic in source.topics
            for partition in range(self.partitions(topic))
        ]
        return self._task(group, 0, {}, read)

    def _tasks_of(self, group: NodeGroup, global_states: Mapping[str, StateStore]) -> list[StreamTask]:
        if self._partitions is None:
            return [self._task(group, 0, global_states, None)]
        topics = [
            topic_name(self._topology.graph, self._application_id, topic)
            for source in group.sources
            for topic in source.topics
        ]
        return [
            self._task(group, number, global_states, _partitions_of_task(number, topics, self._partitions))
            for number in range(self._partitions.tasks(group.number))
        ]

    def _task(
        self,
        group: NodeGroup,
        partition: int,
        global_states: Mapping[str, StateStore],
        read: list[TopicPartition] | None,
    ) -> StreamTask:
        task_id = TaskId(str(group.number), partition)
        return StreamTask(task_id, group, self._settings, MemoryEngine(), self, global_states, partitions=read)

    def _pipe(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
    ) -> None:
        if not self._tasks:
            self._check_open()
        if partition is None:
            partition = self._partition_for(topic, key)
        if (topic, partition) not in self._readers:
            raise LookupError(
                f"Topic {topic!r} has no partition {partition!r}: it has {self.partitions(topic)}, counted from 0. "
                "Give the number with partitions= of the driver."
            )
        self._arrived.append(CapturedRecord(topic, partition, key, value, timestamp_ms, headers))
        self._settle()

    def _partition_for(self, topic: str, key: bytes | None) -> int:
        """Return the partition of a record that was given none. Those without a key take turns."""
        count = self.partitions(topic)
        if count == 1:
            return 0
        if key is not None:
            return partition_of(key, count)
        self._turns[topic] += 1
        return (self._turns[topic] - 1) % count

    def _settle(self) -> None:
        """Process what has arrived, and what follows from it."""
        while self._arrived or self._ready:
            task = self._next_task()
            if task is None:
                continue
            if task.process(self._wall_ms):
                self._commit(task)
            if task.next_timestamp_ms is not None and task not in self._ready:
                self._ready.append(task)

    def _hand_over(self, record: CapturedRecord) -> StreamTask:
        # Without numbers of partitions, every topic is read as one of one partition.
        partition = record.partition if self._partitions is not None else 0
        task = self._readers[record.topic, partition]
        task.add(record.topic, [self._fetched(record)], partition)
        return task

    def _make_ready(self) -> None:
        while self._arrived:
            task = self._hand_over(self._arrived.popleft())
            if task not in self._ready:
                self._ready.append(task)

    def _next_task(self) -> StreamTask | None:
        """Return the task with the earliest record. Of several, the one whose turn was longest ago."""
        if len(self._arrived) == 1 and not self._ready:
            return self._hand_over(self._arrived.popleft())
        self._make_ready()
        chosen, earliest = None, None
        for task in tuple(self._ready):
            timestamp_ms = task.next_timestamp_ms
            if timestamp_ms is None:
                self._ready.remove(task)
            elif earliest is None or timestamp_ms < earliest:
                chosen, earliest = task, timestamp_ms
        if chosen is not None:
            self._ready.remove(chosen)
            self._ready.append(chosen)
        return chosen

    def _commit(self, task: StreamTask) -> None:
        task.flush()
        task.commit(self)
        task.is_commit_requested = False

    def _fetched(self, record: CapturedRecord) -> FetchedRecord:
        place = record.topic, record.partition
        offset = self._offsets.get(place, 0)
        self._offsets[place] = offset + 1
        if record.topic in self._kept:
            self._kept[record.topic].append(record)
        return FetchedRecord(offset, record.key, record.value, record.timestamp_ms, record.headers)

    def _keep(self, record: CapturedRecord) -> None:
        written = self._outputs.get(record.topic)
        if written is None:
            written = self._written(record.topic)
        written.append(record)

    def _written(self, topic: str) -> list[CapturedRecord]:
        return self._outputs.setdefault(topic, [])


def _at(offset: int, record: CapturedRecord) -> FetchedRecord:
    return FetchedRecord(offset, record.key, record.value, record.timestamp_ms, record.headers)


def _of_partition(tasks: list[StreamTask], partition: int, owner: str) -> StreamTask:
    for task in tasks:
        if task.task_id.partition == partition:
            return task
    raise LookupError(f"{owner} has no partition {partition!r}: it has {len(tasks)}, counted from 0.")


def _partitions_of_task(number: int, topics: list[str], counts: DrivenPartitions) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic in topics if counts(topic) > number]
