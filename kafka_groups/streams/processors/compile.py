"""Joins the nodes of a sub-topology to the program of a task: one closure for each source."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import frozen

from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.processors.sinks import sink_step
from kafka_groups.streams.processors.surroundings import Surroundings
from kafka_groups.streams.topology.context import TaskServices
from kafka_groups.streams.topology.internal_topics import topic_name
from kafka_groups.streams.topology.nodes import (
    NodeStep,
    OperatorTime,
    ProcessorNode,
    SinkNode,
    SourceNode,
    TopologyNode,
    stream_time_of,
)
from kafka_groups.streams.topology.subtopologies import NodeGroup
from kafka_groups.types import Headers

__all__ = ["TaskProgram", "compile_group"]

T = TypeVar("T")


@frozen(kw_only=True)
class TaskProgram:
    """The compiled nodes of a task.

    Attributes:
        sources: The step of each source's topic, by the topic's full name, with the source.
        patterns: The steps of sources that read topics by patterns, with the sources.
        init: Functions to call with the task before its first record, parents first.
        close: Functions to call when the task is closed.
    """

    sources: Mapping[str, tuple[SourceNode, NodeStep]]
    patterns: tuple[tuple[SourceNode, NodeStep], ...]
    init: tuple[Callable[[TaskServices], None], ...]
    close: tuple[Callable[[], None], ...]

    def source_of(self, topic: str) -> tuple[SourceNode, NodeStep]:
        """Return the source of a topic, and its step. A topic that matches a pattern may be new since the task began.

        Raises:
            LookupError: No source reads it.
        """
        known = self.sources.get(topic)
        if known is None:
            known = next((each for each in self.patterns if each[0].matches(topic)), None)
        if known is None:
            raise LookupError(f"No source of the task reads topic {topic!r}.")
        return known


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
        patterns=tuple((source, opened[source.name].step) for source in group.sources if source.pattern is not None),
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
                return sink_step(node, self._surroundings)


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
