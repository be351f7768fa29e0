"""The nodes of a topology, as values, and what an operator is."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, Protocol, TypeVar, get_args

from attrs import Attribute, define, field, frozen

from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError, check_topic_name
from kafka_groups.serdes import Serde
from kafka_groups.streams.state.state_store import RecordContext
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.types import Headers

__all__ = [
    "NodeContext",
    "NodeStep",
    "OffsetReset",
    "Operator",
    "OperatorTime",
    "Partitioner",
    "ProcessorNode",
    "SinkNode",
    "SourceNode",
    "TimestampExtractor",
    "TopicName",
    "TopologyNode",
    "stream_time_of",
]

T = TypeVar("T")

NodeStep = Callable[..., None]
"""Processes one record in a node: `(key, value, timestamp_ms, headers)`, or for a table's node
`(key, new, old, timestamp_ms, headers)`."""

TimestampExtractor = Callable[[Any, int], int]
"""Gets a `SourceRecord` and the partition's time (-1 at first), and returns the record's timestamp in ms."""

Partitioner = Callable[[str, Any, Any, int], int | Sequence[int] | None]
"""Gets topic, key, value and the number of partitions. Returns a partition, several (KIP-837: none drops the record),
or None for the default."""

OffsetResetWord = Literal["earliest", "latest", "none"]

OffsetReset = OffsetResetWord | timedelta
"""Says where to begin in a partition without a committed offset: at its beginning, at its end, with the records of the
last minutes or days (KIP-1106), or nowhere (`"none"`): then the application fails."""

TopicName = Callable[[Any, Any, RecordContext], str]
"""Gets key, value and context of a record, and returns the topic to write it to."""


@define
class OperatorTime:
    """A time that an operator keeps, and that is committed with the offsets.

    Attributes:
        ms: The time, or -1 if there is none yet.
    """

    ms: int = -1


def stream_time_of(name: str) -> str:
    """Return the name of the stream time of a node or store. Java's names of times have no colon."""
    return f"time:{name}"


class NodeContext(Protocol):
    """The services of a task for one operator."""

    @property
    def name(self) -> str:
        """The node's name."""

    @property
    def record(self) -> RecordContext:
        """The record that the task is processing."""

    @property
    def forward(self) -> NodeStep:
        """Passes a record to all children."""

    @property
    def children(self) -> Mapping[str, NodeStep]:
        """The children by name."""

    def state(self, name: str) -> Any:
        """Return the state of a store that the node is connected with."""

    def time(self, name: str | None = None) -> OperatorTime:
        """Return a time that continues when another worker takes over the task.

        Args:
            name: The name under which it is committed; nodes that give the same name share it. None: the node's own
                stream time.
        """

    def failed(self, error: Exception, key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
        """Let the handler decide about an exception of the user's code. Returns if the record must be skipped."""

    def punctuation_failed(self, error: Exception, now_ms: int) -> None:
        """Let the handler decide about an exception of a punctuation. Returns if the task continues."""

    def prepared(self, method: str, function: Callable[[], T]) -> T:
        """Call a function of the user's that prepares for records, or ends.

        Args:
            method: Its name, for the error.
            function: The function.

        Raises:
            StreamsError: It raised. The text names the node and the task.
        """

    def dropped(self, reason: str) -> None:
        """Count and log a record that the operator drops."""

    def on_init(self, function: Callable[[Any], None]) -> None:
        """Call a function with the task before its first record; parents come first."""

    def on_close(self, function: Callable[[], None]) -> None:
        """Call a function when the task is closed."""


class Operator(Protocol):
    """The work of a node. One operator serves all tasks; `open` makes the step of one of them."""

    @property
    def emits_changes(self) -> bool:
        """True if its children get new and old values, as those of a table do."""

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""


def _serde(node: object, attribute: "Attribute[Serde[Any]]", given: object) -> None:
    if not isinstance(given, Serde):
        raise TypeError(f"{_kind(node)}: {attribute.name}={given!r} is not a serde. Give one, such as serdes.string.")


def _function(node: object, attribute: "Attribute[Any]", given: object) -> None:
    functions: dict[str, Any] = {attribute.name: given}
    check_functions(_kind(node), **functions)


def _topics(node: "SourceNode", _attribute: object, given: tuple[str, ...]) -> None:
    if not given and node.pattern is None:
        raise TopologyError(f"{_kind(node)} reads no topic. Name at least one.")
    for topic in given:
        check_topic_name(_kind(node), topic)


def _pattern(node: object, _attribute: object, given: re.Pattern[Any] | None) -> None:
    if given is not None and isinstance(given.pattern, bytes):
        raise TopologyError(f"{_kind(node)}: {given!r} has bytes, but names of topics are text. Leave out the b.")


def _topic(node: object, _attribute: object, given: Any) -> None:
    if callable(given):
        check_functions(_kind(node), topic=given)
    else:
        check_topic_name(_kind(node), given)


def _offset_reset(node: object, _attribute: object, given: object) -> None:
    is_word = isinstance(given, str) and given in get_args(OffsetResetWord)
    is_duration = isinstance(given, timedelta) and given >= timedelta(0)
    if given is not None and not is_word and not is_duration:
        raise TopologyError(
            f"{_kind(node)}: offset_reset={given!r} does not name a place to begin. Give 'earliest', 'latest', 'none', "
            "or a timedelta that is not negative, to begin that long ago."
        )


def _kind(node: Any) -> str:
    kind = "Source" if isinstance(node, SourceNode) else "Sink"
    return f"{kind} {node.name!r}" if node.name else f"A {kind.lower()}"


@frozen(kw_only=True)
class SourceNode:
    """Reads topics.

    Attributes:
        name: The node's name.
        pattern: It reads all topics whose whole names match this. None: it reads topics by their names.
        topics: The topics, repartition topics without the application's prefix; of a pattern, those that are known to
            match.
        key: The serde of keys.
        value: The serde of values.
        timestamp: Overrides the application's timestamp extractor.
        offset_reset: Where to begin in a partition without committed offset. None: as the application says.
        gives_changes: Whether its records are changes of a table, with new and old values.
    """

    name: str
    pattern: re.Pattern[str] | None = field(default=None, validator=_pattern)
    topics: tuple[str, ...] = field(default=(), validator=_topics)
    key: Serde[Any] = field(validator=_serde)
    value: Serde[Any] = field(validator=_serde)
    timestamp: TimestampExtractor | None = field(default=None, validator=_function)
    offset_reset: OffsetReset | None = field(default=None, validator=_offset_reset)
    gives_changes: bool = False
    parents: tuple[str, ...] = field(default=(), init=False)

    def matches(self, topic: str) -> bool:
        """Return whether it reads a topic because its pattern matches the name."""
        return self.pattern is not None and self.pattern.fullmatch(topic) is not None

    def reads(self, topic: str) -> bool:
        """Return whether it reads a topic, by its name or by its pattern."""
        return topic in self.topics or self.matches(topic)


@frozen(kw_only=True)
class ProcessorNode:
    """Processes records.

    Attributes:
        name: The node's name.
        parents: Names of the nodes whose records it gets.
        operator: What it does.
    """

    name: str
    parents: tuple[str, ...]
    operator: Operator


@frozen(kw_only=True)
class SinkNode:
    """Writes records to a topic.

    Attributes:
        name: The node's name.
        parents: Names of the nodes whose records it gets.
        topic: The topic, a repartition topic without the application's prefix, or a function that chooses one.
        key: The serde of keys.
        value: The serde of values.
        partitioner: Overrides the default partitioner.
        takes_changes: Whether it gets new and old values, as a table's repartition sink does.
    """

    name: str
    parents: tuple[str, ...]
    topic: str | TopicName = field(validator=_topic)
    key: Serde[Any] = field(validator=_serde)
    value: Serde[Any] = field(validator=_serde)
    partitioner: Partitioner | None = field(default=None, validator=_function)
    takes_changes: bool = False


TopologyNode = SourceNode | ProcessorNode | SinkNode
