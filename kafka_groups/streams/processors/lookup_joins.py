"""Joins that look rows of tables up: streams with tables, and tables with each other by key."""

from collections.abc import Callable
from typing import Any

from attrs import define, frozen

from kafka_groups.streams.processors.updates import OUT_OF_ORDER
from kafka_groups.streams.processors.views import LookUp, LookUpAsOf, TableView
from kafka_groups.streams.topology.nodes import NodeContext, NodeStep
from kafka_groups.types import Headers

__all__ = ["JoinSide", "KeyedJoiner", "StreamTableJoin", "TableJoin", "joined_view"]

KeyedJoiner = Callable[[Any, Any, Any], Any]
"""Gets key, left value and right value."""


@frozen
class StreamTableJoin:
    """Joins each record of a stream with a row of a table.

    Attributes:
        view: Looks rows up.
        joiner: Combines key, value and row.
        keeps_unmatched: Whether records without a row are joined with None.
        on: The row's key from key and value of a record, for global tables. None: the record's key.
    """

    view: TableView
    joiner: KeyedJoiner
    keeps_unmatched: bool
    on: Callable[[Any, Any], Any] | None = None
    emits_changes: bool = False

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, look_up = node.forward, node.failed, self._look_up(node)
        joiner, keeps_unmatched, on = self.joiner, self.keeps_unmatched, self.on

        def step(key: Any, value: Any, timestamp_ms: int, headers: Headers) -> None:
            # A null value never joins, also not in a left join, where None for the other side means that there is none
            # (KStreamKTableJoinProcessor.maybeDropRecord in Kafka).
            if value is None:
                node.dropped("its value is null")
                return
            try:
                row_key = key if on is None else on(key, value)
                # A null key finds no row. An inner join drops the record, and a left join keeps it with None (KIP-962).
                if row_key is None and not keeps_unmatched:
                    node.dropped("the key to join on is null")
                    return
                row = None if row_key is None else look_up(row_key, timestamp_ms)
                # The usual case of an inner join without a partner is not a dropped record, and is not counted
                # (KStreamKTableJoinProcessor.doJoin).
                if row is None and not keeps_unmatched:
                    return
                joined = joiner(key, value, None if row is None else row[0])
            except Exception as error:  # the user's functions and serdes may raise anything: the handler decides
                failed(error, key, value, timestamp_ms, headers)
                return
            # The result has the stream's timestamp: the table is a state, and its row's time does not matter
            # (KStreamKTableJoinProcessor.doJoin).
            forward(key, joined, timestamp_ms, headers)

        return step

    def _look_up(self, node: NodeContext) -> LookUpAsOf:
        """Return the function that looks up the row for a record: a versioned table's row as of the record's time."""
        if self.view.open_as_of is not None:
            return self.view.open_as_of(node)
        look_up = self.view.open(node)
        return lambda key, _as_of_ms: look_up(key)


@frozen
class JoinSide:
    """One side of a join of tables.

    Attributes:
        is_left: Whether this is the left side.
        needs_own: Whether there is no result without a row of this side.
        needs_other: Whether there is no result without a row of the other side.
        is_versioned: Whether its table is versioned, so that changes are dropped that are not the newest of their keys.
    """

    is_left: bool
    needs_own: bool
    needs_other: bool
    is_versioned: bool = False


@define
class TableJoin:
    """Joins the changes of one table with the rows of another."""

    view: TableView
    joiner: KeyedJoiner
    side: JoinSide
    send_old: bool = False
    emits_changes: bool = True

    def open(self, node: NodeContext) -> NodeStep:
        """Return the node's step in one task."""
        forward, failed, look_up = node.forward, node.failed, self.view.open(node)
        needs_other, send_old = self.side.needs_other, self.send_old
        combine = _combining(self.joiner, self.side)
        is_versioned, record = self.side.is_versioned, node.record

        def step(key: Any, new: Any, old: Any, timestamp_ms: int, headers: Headers) -> None:
            # Rows have keys, so a change without one cannot be joined (KTableKTableInnerJoin and its siblings in
            # Kafka).
            if key is None:
                node.dropped("its key is null")
                return
            # The other rows are those of now, with which an older version has nothing to do (KIP-914).
            if is_versioned and not record.is_latest:
                node.dropped(OUT_OF_ORDER)
                return
            try:
                found = look_up(key)
                # There are two cases without a result. An inner join needs the other row, and so does the right side of
                # a left join (KTableKTableInnerJoin, KTableKTableRightJoin). In the other joins a change from nothing
                # to nothing with no other row has changed nothing (KTableKTableLeftJoin, KTableKTableOuterJoin).
                if found is None and (needs_other or (new is None and old is None)):
                    return
                other, other_ms = (None, timestamp_ms) if found is None else found
                new_value = combine(key, new, other)
                # The old result is that with the row that the other side has now: if that row has changed, its change
                # came before, and its result is the one to take back.
                old_value = combine(key, old, other) if send_old else None
            except Exception as error:  # the user's functions and serdes may raise anything: the handler decides
                failed(error, key, new, timestamp_ms, headers)
                return
            # A row of the result is as new as the newer of its two rows.
            forward(key, new_value, old_value, max(timestamp_ms, other_ms), headers)

        return step


def joined_view(left: TableView, right: TableView, joiner: KeyedJoiner, side: JoinSide) -> TableView:
    """Return the view of a join without a store; `side` is its left one."""

    def opened(node: NodeContext) -> LookUp:
        look_left, look_right = left.open(node), right.open(node)
        combine = _combining(joiner, side)

        def joined(key: Any) -> tuple[Any, int] | None:
            # A join without a store is computed from both rows at each look (KTableKTableInnerJoinValueGetter in
            # Kafka), and no row of its own can be out of date.
            mine, other = look_left(key), look_right(key)
            value = combine(key, None if mine is None else mine[0], None if other is None else other[0])
            times = [found[1] for found in (mine, other) if found is not None]
            return None if value is None else (value, max(times))

        return joined

    return TableView((*left.stores, *right.stores), opened)


def _combining(joiner: KeyedJoiner, side: JoinSide) -> KeyedJoiner:
    """Return a function of key, own value and other value."""
    needs_own, needs_other, is_left = side.needs_own, side.needs_other, side.is_left

    def combine(key: Any, own: Any, other: Any) -> Any:
        # This side has no row and the join needs one, or neither side has a row: the result has no row.
        if own is None and (needs_own or other is None):
            return None
        if other is None and needs_other:
            return None
        return joiner(key, own, other) if is_left else joiner(key, other, own)

    return combine
