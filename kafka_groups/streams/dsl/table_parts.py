"""The parts of a table in the graph."""

from collections.abc import Callable
from typing import Protocol

from attrs import frozen

from kafka_groups.streams.dsl.graph import Graph, GraphNode, Slot
from kafka_groups.streams.processors.views import TableView

__all__ = ["SendOldValues", "TableParts"]


class SendOldValues(Protocol):
    """Makes a table tell the old values of its changes."""

    def __call__(self, *, force: bool) -> bool:
        """Return whether it does. Unless forced, it makes no store for that."""


@frozen(kw_only=True)
class TableParts:
    """A table.

    Attributes:
        graph: The graph of its builder.
        node: Its node.
        sources: Names of the source nodes of its sub-topology.
        key: The serde of its keys.
        value: The serde of its values.
        send_old_values: Makes it tell old values.
        view: Looks its rows up. It gets a store if it cannot compute them.
        store: The name of the store that queries can read, or None.
        closes_ms: How long after the end of its key's window an update may come, or None if keys have no windows.
        history_ms: How long before its time the table knows its rows, or None if it is not versioned.
    """

    graph: Graph
    node: GraphNode
    sources: frozenset[str]
    key: Slot
    value: Slot
    send_old_values: SendOldValues
    view: Callable[[], TableView]
    store: str | None
    closes_ms: int | None = None
    history_ms: int | None = None
