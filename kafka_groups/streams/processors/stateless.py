"""Operators that look at one record at a time.

Each calls the user's function in a `try` of its own, as the handler of exceptions lets the other children of the same
parent go on, as in Kafka Streams.
"""

import sys
from collections.abc import Callable, Iterable
from typing import IO, Any

from attrs import frozen

from kafka_groups.streams.topology.nodes import NodeContext, NodeStep
from kafka_groups.types import Headers

__all__ = [
    "Branch",
    "DropNullKeys",
    "Filter",
    "FlatMap",
    "FlatMapValues",
    "Foreach",
    "Map",
    "MapValues",
    "MapValuesWithKey",
    "PassThrough",
    "Peek",
    "SelectKey",
    "printer",
]

KeyAndValue = Callable[[Any, Any], Any]


@frozen
class PassThrough:
    """Forwards every record."""

    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        return node.forward


@frozen
class DropNullKeys:
    """Drops the records with null keys before a repartition topic."""

    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, dropped = node.forward, node.dropped

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            # A repartition topic has no place for a record without a key, and grouping and inner joins have no use for
            # it. Java filters such records without counting them (OptimizableRepartitionNode in Kafka). Before a left
            # or outer join they pass (KIP-962), and a PassThrough takes the place of this operator.
            if key is None:
                dropped("its key is null")
                return
            forward(key, value, timestamp_ms, headers)

        return step


@frozen
class Filter:
    """Forwards the records for which a predicate of key and value is true, or those for which it is false."""

    predicate: KeyAndValue
    keeps: bool = True
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, predicate, keeps = node.forward, node.failed, self.predicate, self.keeps

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            try:
                is_kept = bool(predicate(key, value)) is keeps
            except Exception as error:  # the user's function may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)
                return
            if is_kept:
                forward(key, value, timestamp_ms, headers)

        return step


@frozen
class MapValues:
    """Replaces each value by a function of it."""

    function: Callable[[Any], Any]
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, function = node.forward, node.failed, self.function

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            try:
                mapped = function(value)
            except Exception as error:  # the user's function may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)
                return
            forward(key, mapped, timestamp_ms, headers)

        return step


@frozen
class MapValuesWithKey:
    """Replaces each value by a function of key and value."""

    function: KeyAndValue
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, function = node.forward, node.failed, self.function

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            try:
                mapped = function(key, value)
            except Exception as error:  # the user's function may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)
                return
            forward(key, mapped, timestamp_ms, headers)

        return step


@frozen
class Map:
    """Replaces each record by the pair that a function of key and value returns."""

    function: KeyAndValue
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, function = node.forward, node.failed, self.function

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            try:
                new_key, new_value = function(key, value)
            except Exception as error:  # the user's function may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)
                return
            forward(new_key, new_value, timestamp_ms, headers)

        return step


@frozen
class SelectKey:
    """Replaces each key by a function of key and value."""

    function: KeyAndValue
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, function = node.forward, node.failed, self.function

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            try:
                new_key = function(key, value)
            except Exception as error:  # the user's function may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)
                return
            forward(new_key, value, timestamp_ms, headers)

        return step


@frozen
class FlatMap:
    """Replaces each record by the pairs that a function of key and value returns."""

    function: Callable[[Any, Any], Iterable[tuple[Any, Any]]]
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, function = node.forward, node.failed, self.function

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            try:
                # All pairs are made before the first is forwarded, so that a function that fails in the middle has
                # forwarded nothing. Java iterates and forwards in turn, after its function has returned (KStreamFlatMap
                # in Kafka); a Python function may be a generator, which fails only then.
                pairs = [(new_key, new_value) for new_key, new_value in function(key, value)]
            except Exception as error:  # the user's function may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)
                return
            for new_key, new_value in pairs:
                forward(new_key, new_value, timestamp_ms, headers)

        return step


@frozen
class FlatMapValues:
    """Replaces each value by those that a function of it, or of key and value, returns."""

    function: Callable[..., Iterable[Any]]
    with_key: bool = False
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, function, with_key = node.forward, node.failed, self.function, self.with_key

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            try:
                # The same as above, for values (KStreamFlatMapValues).
                values = list(function(key, value) if with_key else function(value))
            except Exception as error:  # the user's function may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)
                return
            for each in values:
                forward(key, each, timestamp_ms, headers)

        return step


@frozen
class Peek:
    """Calls a function with key and value, and forwards the record."""

    action: KeyAndValue
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, action = node.forward, node.failed, self.action

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            try:
                action(key, value)
            except Exception as error:  # the user's function may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)
                return
            forward(key, value, timestamp_ms, headers)

        return step


@frozen
class Foreach:
    """Calls a function with key and value."""

    action: KeyAndValue
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        failed, action = node.failed, self.action

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            try:
                action(key, value)
            except Exception as error:  # the user's function may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)

        return step


class Branch:
    """Forwards each record to the child of the first predicate that is true, or to the default child.

    Attributes:
        branches: The predicates with the names of their children, in order.
        default: The child of the records that no predicate wants, or None to drop them.
    """

    emits_changes = False

    def __init__(self) -> None:
        self.branches: list[tuple[KeyAndValue, str]] = []
        self.default: str | None = None

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        failed = node.failed
        branches = [(predicate, node.children[name]) for predicate, name in self.branches]
        default = node.children[self.default] if self.default is not None else _nothing

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            chosen = default
            try:
                for predicate, child in branches:
                    # Only the first predicate that is true counts (KStreamBranch in Kafka).
                    if predicate(key, value):
                        chosen = child
                        break
            except Exception as error:  # the user's function may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)
                return
            chosen(key, value, timestamp_ms, headers)

        return step


def _nothing(*_record: Any) -> None:
    pass


def printer(label: str, file: IO[str] | None) -> Callable[[Any, Any], None]:
    """Return a function that writes key and value of a record. None: to standard output, wherever that is by then."""

    def write(key: Any, value: Any) -> None:
        out = sys.stdout if file is None else file
        out.write(f"[{label}]: {key}, {value}\n")
        out.flush()

    return write
