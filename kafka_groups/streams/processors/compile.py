"""Joins the nodes of a sub-topology to the program of a task: one closure for each source."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.processors.changes import change_serializer
from kafka_groups.streams.state.state_store import RecordContext
from kafka_groups.streams.topology.context import TaskServices
from kafka_groups.streams.topology.internal_topics import topic_name
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import (
    NodeStep,
    OperatorTime,
    Partitioner,
    ProcessorNode,
    SinkNode,
    SourceNode,
    TopologyNode,
    stream_time_of,
)
from kafka_groups.streams.topology.partitioning import WindowedPartitioner, chosen_partitions
from kafka_groups.streams.topology.subtopologies import NodeGroup
from kafka_groups.types import Header, Headers

__all__ = ["Collector", "Failures", "TaskProgram", "compile_group"]

T = TypeVar("T")

_BY_DEFAULT: Sequence[int | None] = (None,)

LaterRefusal = Callable[[KafkaGroupsError, str, tuple[Any, Any, int, Headers]], Any]
"""Decides about a record that brokers have refused, by the error, the topic, and key, value, timestamp and headers.

Raises, or returns an `ErrorResponse`: RETRY to write the record again, or another one to skip it.
"""


PartitionChoice = Callable[[str, tuple[Any, Any, int, Headers]], Sequence[int | None]]
"""Gets the topic, and key, value, timestamp and headers of a record. Returns partitions: none if it is not written."""


class Collector(Protocol):
    """Takes the records of sinks.

    Attributes:
        refuses_later: True if a record may be refused after `send` has returned.
    """

    refuses_later: bool

    def partitions(self, topic: str) -> int:
        """Return a topic's number of partitions."""

    def send(  # noqa: PLR0913, PLR0917 - the parts of a record
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
        later: LaterRefusal | None = None,
    ) -> None:
        """Write a record. None as partition: the default partitioner's. `later` decides if brokers refuse it later."""


class Failures(Protocol):
    """Decides about exceptions of the user's code."""

    def processing(self, node: str, error: Exception, record: tuple[Any, Any, int, Headers]) -> None:
        """Raise, or return to skip the record."""

    def punctuating(self, node: str, error: Exception, now_ms: int) -> None:
        """Raise, or return to continue with the next punctuation."""

    def preparing(self, node: str, method: str, error: Exception) -> StreamsError:
        """Return the error for an exception of a processor's factory, `init` or `close`."""

    def production(self, node: str, error: Exception, topic: str, record: tuple[Any, Any, int, Headers]) -> object:
        """Raise, or return to skip a record that cannot be serialised."""

    def later(self, node: str) -> LaterRefusal:
        """Return the function that decides about the record that a sink writes now, if brokers refuse it later."""

    def unwritten(self, node: str, error: KafkaGroupsError, topic: str, record: tuple[Any, Any, int, Headers]) -> None:
        """Raise, or return to skip a record that the collector does not take."""

    def dropped(self, node: str, reason: str) -> None:
        """Count and log a record that an operator drops."""


@frozen(kw_only=True)
class TaskProgram:
    """The compiled nodes of a task.

    Attributes:
        sources: The step of each source's topic, by the topic's full name, with the source.
        init: Functions to call with the task before its first record, parents first.
        close: Functions to call when the task is closed.
    """

    sources: Mapping[str, tuple[SourceNode, NodeStep]]
    init: tuple[Callable[[TaskServices], None], ...]
    close: tuple[Callable[[], None], ...]


@frozen(kw_only=True)
class Surroundings:
    """The parts of a task that its nodes share.

    Attributes:
        topology: The topology.
        application_id: Prefix of the internal topics.
        states: The states of the stores by name.
        record: The record that is processed.
        collector: Takes the records of sinks.
        failures: Decides about exceptions.
        times: The times that operators keep, by name. They are added to it.
    """

    topology: NodeGraph
    application_id: str
    states: Mapping[str, Any]
    record: RecordContext
    collector: Collector
    failures: Failures
    times: dict[str, OperatorTime]


def compile_group(group: NodeGroup, surroundings: Surroundings) -> TaskProgram:
    """Return the program of a task of a sub-topology."""
    children = surroundings.topology.children_of()
    opened: dict[str, _OpenNode] = {}
    # Children come first, as a step is a closure over those of its children.
    for node in reversed(group.nodes):
        opened[node.name] = _OpenNode(
            node, {each.name: opened[each.name].step for each in children[node.name]}, surroundings
        )
    ordered = [opened[node.name] for node in group.nodes]
    return TaskProgram(
        sources={
            topic_name(surroundings.topology, surroundings.application_id, topic): (source, opened[source.name].step)
            for source in group.sources
            for topic in source.topics
        },
        init=tuple(function for each in ordered for function in each.init),
        close=tuple(function for each in ordered for function in each.close),
    )


class _OpenNode:
    """One node in one task; operators see it as their `NodeContext`."""

    def __init__(self, node: TopologyNode, children: Mapping[str, NodeStep], surroundings: Surroundings) -> None:
        self.name = node.name
        self.children = children
        self.record = surroundings.record
        self.forward = _joined(tuple(children.values()))
        self.init: list[Callable[[TaskServices], None]] = []
        self.close: list[Callable[[], None]] = []
        self._surroundings = surroundings
        self.step = self._opened(node)

    def state(self, name: str) -> Any:
        place = self._surroundings.topology.stores.get(name)
        # A store belongs to the processors that name it, so that they and it end up in one sub-topology. Global stores
        # are open to all, and read-only (InternalTopologyBuilder.connectProcessorAndStateStores and
        # ProcessorContextImpl.getStateStore in Kafka).
        if place is None or not (place.is_global or self.name in place.users):
            raise StreamsError(
                f"Processor {self.name!r} is not connected with a store {name!r}. Name it in `stores` where you add "
                "the processor."
            )
        return self._surroundings.states[name]

    def time(self, name: str | None = None) -> OperatorTime:
        return self._surroundings.times.setdefault(name or stream_time_of(self.name), OperatorTime())

    def failed(self, error: Exception, key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
        self._surroundings.failures.processing(self.name, error, (key, value, timestamp_ms, headers))

    def punctuation_failed(self, error: Exception, now_ms: int) -> None:
        self._surroundings.failures.punctuating(self.name, error, now_ms)

    def prepared(self, method: str, function: Callable[[], T]) -> T:
        try:
            return function()
        except StreamsError:  # it says what to do
            raise
        except Exception as error:  # a method of the user's may raise anything; the error names it
            # No record is at fault, so no handler is asked, and the error ends the task (ProcessorNode.init and
            # ProcessorNode.close in Kafka).
            raise self._surroundings.failures.preparing(self.name, method, error) from error

    def dropped(self, reason: str) -> None:
        self._surroundings.failures.dropped(self.name, reason)

    def on_init(self, function: Callable[[TaskServices], None]) -> None:
        self.init.append(function)

    def on_close(self, function: Callable[[], None]) -> None:
        self.close.append(function)

    def _opened(self, node: TopologyNode) -> NodeStep:
        match node:
            case SourceNode():
                # A repartition topic of a table has pairs of new and old values, which operators of tables get as two
                # arguments.
                return _split(self.forward) if node.gives_changes else self.forward
            case ProcessorNode():
                return node.operator.open(self)
            case SinkNode():
                return _sink_step(node, self._surroundings)


def _split(forward: NodeStep) -> NodeStep:
    """Return the step of a source whose values are pairs of new and old values."""

    def step(key: Any, change: Any, timestamp_ms: int, headers: Headers) -> None:
        forward(key, *change, timestamp_ms, headers)

    return step


def _joined(children: tuple[NodeStep, ...]) -> NodeStep:
    """Return one step that calls those of all children, in the order in which they were added."""
    # Most nodes have one child, and one call less for each record is a good part of their cost.
    if len(children) == 1:
        return children[0]

    def each(*record: Any) -> None:
        for child in children:
            child(*record)

    return each


def _sink_step(sink: SinkNode, surroundings: Surroundings) -> NodeStep:
    collector, context, failures = surroundings.collector, surroundings.record, surroundings.failures
    fixed = sink.topic if isinstance(sink.topic, str) else None
    if fixed is not None:
        fixed = topic_name(surroundings.topology, surroundings.application_id, fixed)
    writers: dict[str, _Writer] = {}
    choose, send = _partition_choice(sink, collector, failures), collector.send
    later_of = failures.later if collector.refuses_later else None

    def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
        context.timestamp_ms, context.headers = timestamp_ms, headers
        try:
            topic = fixed if fixed is not None else sink.topic(key, value, context)  # type: ignore[operator]
        except Exception as error:  # the user's topic function may raise anything: the handler decides
            # Java chooses the topic while it processes the node, so there, too, it is the processing handler's
            # (SinkNode.process in Kafka).
            failures.processing(sink.name, error, (key, value, timestamp_ms, headers))
            return
        # None as a partition leaves the choice to the default partitioner, which hashes the bytes of the key.
        partitions = _BY_DEFAULT if choose is None else choose(topic, (key, value, timestamp_ms, headers))
        if not partitions:
            return
        try:
            writer = writers.get(topic) or writers.setdefault(topic, _Writer(sink, topic))
            written = [*headers]
            # A null stays null, so that a tombstone can be written whatever the serde does with None.
            key_bytes = None if key is None else writer.key(key, written)
            value_bytes = None if value is None else writer.value(value, written)
        except Exception as error:  # a serde of the user's may raise anything: the handler decides
            # Errors of serializers are the production handler's, as in RecordCollectorImpl.handleException. Key and
            # value are given as objects, because there are no bytes.
            failures.production(sink.name, error, topic, (key, value, timestamp_ms, headers))
            return
        try:
            later = None if later_of is None else later_of(sink.name)
            for partition in partitions:
                send(topic, key_bytes, value_bytes, timestamp_ms, tuple(written), partition, later)
        except KafkaGroupsError as error:
            failures.unwritten(sink.name, error, topic, (key_bytes, value_bytes, timestamp_ms, headers))

    return _paired(step) if sink.takes_changes else step


def _partition_choice(sink: SinkNode, collector: Collector, failures: Failures) -> PartitionChoice | None:
    """Return the function that chooses the partitions of a record, or None for the default partitioner."""
    choose = _chosen_by(sink.partitioner)
    # Without a partitioner of its own a sink need not know the number of partitions, which may be a request to the
    # brokers.
    if choose is None:
        return None

    def choice(topic: str, record: tuple[Any, Any, int, Headers]) -> Sequence[int | None]:
        try:
            # The user's partitioner gets the number of partitions (RecordCollectorImpl.send asks for it, too).
            count = collector.partitions(topic)
        except KafkaGroupsError as error:
            failures.unwritten(sink.name, error, topic, record)
            return ()
        try:
            partitions = choose(topic, record[0], record[1], count)
        except Exception as error:  # the user's partitioner may raise anything: the handler decides
            failures.processing(sink.name, error, record)
            return ()
        # A partitioner may choose several partitions, or none, which drops the record (RecordCollectorImpl.send).
        if not partitions:
            failures.dropped(sink.name, "its partitioner chose no partition")
        return partitions

    return choice


def _chosen_by(partitioner: Partitioner | None) -> Callable[[str, Any, Any, int], Sequence[int | None]] | None:
    if partitioner is None:
        return None
    if isinstance(partitioner, WindowedPartitioner):  # it chooses one that is right
        return lambda topic, key, value, count: (partitioner(topic, key, value, count),)
    return lambda topic, key, value, count: chosen_partitions(partitioner, topic, key, value, count)


def _paired(step: NodeStep) -> NodeStep:
    """Return the step of a sink whose values are pairs of new and old values."""

    def paired(key: Any, new: Any, old: Any, timestamp_ms: int, headers: Headers) -> None:
        step(key, (new, old), timestamp_ms, headers)

    return paired


class _Writer:
    """The bound serialisers of a sink for one topic, which may append to the headers that they are given."""

    def __init__(self, sink: SinkNode, topic: str) -> None:
        self.key = sink.key.serializer(topic, is_key=True)
        self.value = _change_writer(sink, topic) if sink.takes_changes else sink.value.serializer(topic, is_key=False)


def _change_writer(sink: SinkNode, topic: str) -> Callable[[Any, list[Header]], bytes]:
    write = change_serializer(sink.value, topic)
    return lambda change, headers: write(change[0], change[1], headers)
