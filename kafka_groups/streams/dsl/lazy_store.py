"""Stores of tables that have one only if somebody needs it."""

from collections.abc import Callable
from typing import Any

from kafka_groups.streams import processors
from kafka_groups.streams.dsl.graph import Graph, GraphNode, Slot
from kafka_groups.streams.dsl.materialized import history_of, view_of
from kafka_groups.streams.dsl.table_parts import TableParts
from kafka_groups.streams.state.stores import TableDefinition

__all__ = ["LazyStore"]


class LazyStore:
    """The store of a table that has one only if somebody needs it."""

    def __init__(
        self,
        operator: "processors.TableSource | processors.TableMerge",
        define: Callable[[], TableDefinition[Any, Any]],
    ) -> None:
        self._operator = operator
        self._define = define
        self.definition: TableDefinition[Any, Any] | None = None

    def open(self) -> TableDefinition[Any, Any]:
        """Give the table its store."""
        # Most tables of topics are only turned into a stream or filtered, and a store would cost a changelog: the first
        # operator that looks rows up, or needs old values, makes it (KTableSource.materialize in Kafka).
        if self.definition is None:
            self.definition = self._define()
            self._operator.store = self.definition.name
        return self.definition

    def parts(self, graph: Graph, node: GraphNode, sources: frozenset[str], serdes: tuple[Slot, Slot]) -> TableParts:
        """Return the parts of the table."""
        return TableParts(
            graph=graph,
            node=node,
            sources=sources,
            key=serdes[0],
            value=serdes[1],
            send_old_values=self.send_old_values,
            view=lambda: view_of(self.open()),
            store=self._operator.store,
            # A versioned store was named by the program, so it is there by now.
            history_ms=history_of(self.definition),
        )

    def send_old_values(self, *, force: bool) -> bool:
        """Make the table tell old values, with a store if that is forced."""
        # A table from a topic has no old values without a store (KTableImpl.enableSendingOldValues in Kafka). If that
        # is not forced, it tells them only when somebody else needs the store.
        if force:
            self.open()
        self._operator.send_old = self.definition is not None
        return self._operator.send_old
