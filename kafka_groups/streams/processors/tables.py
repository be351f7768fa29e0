"""Operators of tables. Their records are changes: a new and an old value."""

from collections.abc import Callable
from typing import Any

from attrs import define, frozen

from kafka_groups.streams.processors.updates import forwarding_versions, updates
from kafka_groups.streams.state.versioned_stores import VersionedState
from kafka_groups.streams.topology.context import open_store
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep
from kafka_groups.types import Headers

__all__ = ["TableFilter", "TableMapValues", "TableMerge", "TableSource", "TableToStream", "TableTransformValues"]


@define
class TableSource:
    """Turns the records of a topic or a stream into changes of a table.

    Attributes:
        store: The table's store, or None if nobody needs one. Then old values are unknown.
        send_old: Whether a child wants old values.
    """

    store: str | None = None
    send_old: bool = False
    emits_changes: bool = True

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        return self._with_store(node, self.store) if self.store is not None else self._without_store(node)

    def _with_store(self, node: NodeContext, store: str) -> NodeStep:
        state = node.state(store)
        update = updates(node, state, send_old=self.send_old)

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            # A row needs a key (KTableSource.process in Kafka).
            if key is None:
                node.dropped("its key is null")
                return
            key_bytes = state.key_bytes(key)
            stored = state.stored(key_bytes)
            # The last record by offset wins, also if its timestamp is older: Java only logs a warning about such an
            # update (KTableSource.process). Only versioned stores decide by timestamp.
            state.put(key_bytes, value, timestamp_ms)
            update(key_bytes, key, value, stored, timestamp_ms, headers)

        return step

    def _without_store(self, node: NodeContext) -> NodeStep:
        forward = node.forward

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            # The same without a store.
            if key is None:
                node.dropped("its key is null")
                return
            # Nobody asked for old values, or the table would have a store.
            forward(key, value, None, timestamp_ms, headers)

        return step


@frozen
class TableToStream:
    """Forwards the new values of a table as records."""

    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward = node.forward

        def step(key: Any, new: Any, _old: Any, timestamp_ms: int, headers: Headers) -> None:
            # The old value ends here: a stream has records, and no changes.
            forward(key, new, timestamp_ms, headers)

        return step


@define
class TableFilter:
    """Keeps the rows for which a predicate is true (or false), and deletes the others from the result.

    `is_versioned` says whether the table above is versioned.
    """

    predicate: Callable[[Any, Any], Any]
    keeps: bool = True
    store: str | None = None
    send_old: bool = False
    is_versioned: bool = False
    emits_changes: bool = True

    def compute(self, node: NodeContext) -> Callable[[Any, Any], Any]:
        """Return the function of key and value that makes a row."""
        del node
        predicate, keeps = self.predicate, self.keeps

        def kept(key: Any, value: Any) -> Any:
            # A deleted row stays deleted without asking the predicate (KTableFilter.computeValue in Kafka).
            return value if value is not None and bool(predicate(key, value)) is keeps else None

        return kept

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        # The old value of a versioned table is that of the newest version, and says nothing about an older one
        # (KTableFilter.process in Kafka).
        skips_nothing = not self.is_versioned
        return _computed(node, self.compute(node), self.store, send_old=self.send_old, skips_nothing=skips_nothing)


@define
class TableMapValues:
    """Replaces each value by a function of key and value. A deleted row stays deleted."""

    function: Callable[[Any, Any], Any]
    store: str | None = None
    send_old: bool = False
    emits_changes: bool = True

    def compute(self, node: NodeContext) -> Callable[[Any, Any], Any]:
        """Return the function of key and value that makes a row."""
        del node
        function = self.function

        def mapped(key: Any, value: Any) -> Any:
            return None if value is None else function(key, value)

        return mapped

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        return _computed(node, self.compute(node), self.store, send_old=self.send_old, skips_nothing=False)


@define
class TableMerge:
    """Forwards the changes of a join, and keeps its rows if it has a store.

    `has_old_values` says whether the changes come with their old values, if a child wants them.
    """

    store: str | None = None
    has_old_values: bool = False
    send_old: bool = False
    emits_changes: bool = True

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        # Without a store the merge only passes changes on (KTableKTableJoinMerger in Kafka).
        if self.store is None:
            return node.forward
        state = node.state(self.store)
        if self.has_old_values and isinstance(state, VersionedState):
            return self._with_versions(node, state)
        return _stored(node, lambda _key, value: value, self.store, send_old=self.send_old, skips_nothing=False)

    def _with_versions(self, node: NodeContext, state: VersionedState) -> NodeStep:
        forward, failed, send_old = forwarding_versions(node, state), node.failed, self.send_old

        def step(key: Any, new: Any, old: Any, timestamp_ms: int, headers: Headers) -> None:
            try:
                state.put(state.key_bytes(key), new, timestamp_ms)
            except Exception as error:  # a serde of the user's may raise anything: the handler decides
                failed(error, key, new, timestamp_ms, headers)
                return
            # The newest version may not be the one that the change replaces (KTableKTableJoinMerger in Kafka).
            forward(key, new, old if send_old else None, timestamp_ms, headers)

        return step


@define
class TableTransformValues:
    """Replaces each value by a function of key, value and stores. The function gets deleted rows, too."""

    function: Callable[..., Any]
    stores: tuple[str, ...] = ()
    store: str | None = None
    send_old: bool = False
    emits_changes: bool = True

    def compute(self, node: NodeContext) -> Callable[[Any, Any], Any]:
        """Return the function of key and value that makes a row."""
        function, stores = self.function, [open_store(node, name) for name in self.stores]

        def transformed(key: Any, value: Any) -> Any:
            return function(key, value, *stores)

        return transformed

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        return _computed(node, self.compute(node), self.store, send_old=self.send_old, skips_nothing=False)


def _computed(
    node: NodeContext, compute: Callable[[Any, Any], Any], store: str | None, *, send_old: bool, skips_nothing: bool
) -> NodeStep:
    """Return the step of a table whose rows are computed from one row of another table.

    Args:
        node: The node.
        compute: Computes a row's value from key and value.
        store: The table's own store, or None.
        send_old: Whether a child wants old values.
        skips_nothing: Whether a change from nothing to nothing is dropped. It is seen only where old values are known.
    """
    if store is not None:
        return _stored(node, compute, store, send_old=send_old, skips_nothing=skips_nothing)
    forward, failed = node.forward, node.failed

    def step(key: Any, new: Any, old: Any, timestamp_ms: int, headers: Headers) -> None:
        try:
            new_value = compute(key, new)
            # Nothing keeps the old result, so the function computes it again from the old row
            # (KTableFilter.computeOldValue, KTableMapValues.computeOldValue in Kafka). It has to return the same as
            # before.
            old_value = compute(key, old) if send_old else None
        except Exception as error:  # the user's functions and serdes may raise anything: the handler decides
            failed(error, key, new, timestamp_ms, headers)
            return
        # Children have no row, and will have none: KTableFilter drops such a change, and only if old values tell.
        # KTableMapValues and KTableTransformValues forward it.
        if skips_nothing and send_old and new_value is None and old_value is None:
            return
        forward(key, new_value, old_value, timestamp_ms, headers)

    return step


def _stored(
    node: NodeContext, compute: Callable[[Any, Any], Any], store: str, *, send_old: bool, skips_nothing: bool
) -> NodeStep:
    state, failed = node.state(store), node.failed
    update = updates(node, state, send_old=send_old)

    def step(key: Any, new: Any, _old: Any, timestamp_ms: int, headers: Headers) -> None:
        try:
            value = compute(key, new)
            key_bytes = state.key_bytes(key)
            stored = state.stored(key_bytes)
            # The old value is in the store here (KTableFilter.computeOldValue).
            if skips_nothing and send_old and value is None and stored is None:
                return
            state.put(key_bytes, value, timestamp_ms)
        except Exception as error:  # the user's functions and serdes may raise anything: the handler decides
            failed(error, key, new, timestamp_ms, headers)
            return
        update(key_bytes, key, value, stored, timestamp_ms, headers)

    return step
