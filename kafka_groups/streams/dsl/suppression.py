"""Suppression of a table's updates (KIP-328), as the DSL writes it."""

from datetime import timedelta
from typing import Any, Generic, TypeVar

from attrs import evolve, field, frozen

from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError
from kafka_groups.errors import ConfigurationError
from kafka_groups.serdes import Windowed
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.table_parts import TableParts
from kafka_groups.streams.state.durations import milliseconds
from kafka_groups.streams.state.stores import Changelog, SuppressDefinition
from kafka_groups.streams.topology.node_graph import NodeGraph

__all__ = ["Suppressed", "suppress_table"]

K = TypeVar("K")


def _limit(suppressed: object, keyword: Any, given: object) -> None:
    """Refuse a limit that is not a positive number of updates or bytes."""
    del suppressed
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 0):
        raise ConfigurationError(f"{keyword.name}={given!r} is not a limit. Give an int from 0 on, or leave it out.")


@frozen(kw_only=True)
class Suppressed(Generic[K]):
    """Rules about the updates that a table holds back: how long, and how many.

    Attributes:
        wait_ms: How long an update waits, or None if it waits until its key's window closes.
        max_records: The most updates that may wait, or None.
        max_bytes: The most bytes that they may have, or None.
        shut_down_when_full: Whether more are an error. Otherwise the first ones come out early.
    """

    wait_ms: int | None
    max_records: int | None = field(default=None, validator=_limit)
    max_bytes: int | None = field(default=None, validator=_limit)
    shut_down_when_full: bool = False

    @classmethod
    def until_window_closes(
        cls, *, max_records: int | None = None, max_bytes: int | None = None
    ) -> "Suppressed[Windowed[Any]]":
        """Forward one final result of each window, when it has closed: its grace is over by the time of the updates.

        A final result cannot come early, so a limit that is exceeded ends the application.

        Args:
            max_records: The most updates that may wait. None: any number.
            max_bytes: The most bytes that they may have. None: any number.

        Raises:
            ConfigurationError: A limit is not a positive number.
        """
        return Suppressed(wait_ms=None, max_records=max_records, max_bytes=max_bytes, shut_down_when_full=True)

    @classmethod
    def until_time_limit(
        cls,
        limit: timedelta,
        *,
        max_records: int | None = None,
        max_bytes: int | None = None,
        shut_down_when_full: bool = False,
    ) -> "Suppressed[Any]":
        """Forward the last update of a key when its first one has waited for a time, by the times of the updates.

        Args:
            limit: The time.
            max_records: The most updates that may wait. None: any number.
            max_bytes: The most bytes that they may have, with about 30 for each update. None: any number.
            shut_down_when_full: Whether more are an error. Otherwise those that have waited longest come out early.

        Raises:
            ConfigurationError: The limit is negative or no `timedelta` of whole milliseconds, another limit is no
                number, or nothing can be full.
        """
        # Nothing can be full then, and the keyword would have no effect.
        if shut_down_when_full and max_records is None and max_bytes is None:
            raise ConfigurationError("shut_down_when_full=True needs a limit. Give max_records or max_bytes, too.")
        return Suppressed(
            wait_ms=milliseconds("limit", limit),
            max_records=max_records,
            max_bytes=max_bytes,
            shut_down_when_full=shut_down_when_full,
        )


def suppress_table(
    table: TableParts, suppressed: Suppressed[Any], name: str | None, changelog: Changelog
) -> TableParts:
    """Add a node that holds updates back, and return the table that it makes.

    Raises:
        TypeError: `suppressed` is not a `Suppressed`.
        TopologyError: It waits until windows close, but the table's keys are not windowed.
        ConfigurationError: The table is versioned.
    """
    if table.history_ms is not None:
        raise ConfigurationError(
            f"suppress: {table.node.name} is a versioned table (history={table.history_ms} ms), and its updates may be "
            "older than others. Suppress a table with another store, or call to_stream().to_table(…) first."
        )
    graph, wait_ms = table.graph, _wait_ms(table, suppressed)
    # The buffer keeps the old value of the first update that waits, to show joins the row as it was.
    table.send_old_values(force=True)
    node_name = graph.new_name("KTABLE-SUPPRESS-") if name is None else name
    store = graph.new_store_name("KTABLE-SUPPRESS-") if name is None else f"{name}-store"
    key, value = graph.need(table.key, "suppress"), graph.need(table.value, "suppress")
    definition = SuppressDefinition(name=store, key=key, value=value, changelog=changelog)
    operator = _operator(suppressed, store, wait_ms)

    def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
        topology.add_operator(node_name, operator, parents)
        topology.add_state_store(definition, node_name)
        # As in Java, what follows knows the table's sources no more (`KTableImpl.suppress`).
        topology.stand_in(node_name, table.sources)

    return evolve(
        table,
        sources=frozenset({node_name}),
        node=graph.add(node_name, write, table.node),
        key=definition.key,
        value=definition.value,
        send_old_values=_always,
        view=lambda: processors.suppressed_view(table.view(), store),
        store=None,
    )


def _wait_ms(table: TableParts, suppressed: Suppressed[Any]) -> int:
    """Return how long updates wait, after their own times or after the ends of their windows."""
    if not isinstance(suppressed, Suppressed):
        raise TypeError(
            f"suppress: suppressed={suppressed!r} is not a rule. Give Suppressed.until_time_limit(…) or "
            "Suppressed.until_window_closes()."
        )
    # Without a time of its own it waits for the grace of the windows above (KTableImpl.buildSuppress in Kafka).
    wait_ms = suppressed.wait_ms if suppressed.wait_ms is not None else table.closes_ms
    if wait_ms is None:
        raise TopologyError(
            f"suppress: the keys of {table.node.name} have no windows that could close. Suppress a windowed "
            "aggregation, or give Suppressed.until_time_limit(…)."
        )
    return wait_ms


def _operator(suppressed: Suppressed[Any], store: str, wait_ms: int) -> "processors.Suppress":
    return processors.Suppress(
        store=store,
        wait_ms=wait_ms,
        is_until_close=suppressed.wait_ms is None,
        max_records=suppressed.max_records,
        max_bytes=suppressed.max_bytes,
        fails_when_full=suppressed.shut_down_when_full,
    )


def _always(*, force: bool) -> bool:
    """Return that old values are sent: the buffer has them."""
    del force
    return True
