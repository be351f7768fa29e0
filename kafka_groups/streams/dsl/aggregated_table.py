"""Tables that an operator with a store makes."""

from typing import Any, Protocol

from kafka_groups.streams.dsl.materialized import history_of
from kafka_groups.streams.dsl.stream_parts import StreamParts
from kafka_groups.streams.dsl.table_parts import SendOldValues, TableParts
from kafka_groups.streams.processors.views import TableView
from kafka_groups.streams.state.stores import SessionDefinition, TableDefinition, WindowDefinition
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import Operator

__all__ = ["Aggregation", "aggregated_table", "sending_old_values"]

StoredRows = TableDefinition[Any, Any] | WindowDefinition[Any, Any] | SessionDefinition[Any, Any]


class Aggregation(Operator, Protocol):
    """An operator that can tell the old values of its changes, as its store has them."""

    send_old: bool


def sending_old_values(*operators: Aggregation) -> SendOldValues:
    """Return the function that makes a table of these operators tell old values."""

    def send_old_values(*, force: bool) -> bool:
        del force
        for operator in operators:
            # An aggregation always has a store, so old values cost nothing more.
            operator.send_old = True
        return True

    return send_old_values


def aggregated_table(
    stream: StreamParts,
    node_name: str,
    operator: Aggregation,
    definition: StoredRows,
    view: TableView,
    *,
    is_named: bool,
) -> TableParts:
    """Add the operator that aggregates a stream, with its store, and return the table that it makes.

    Args:
        stream: The stream, in partitions by the key.
        node_name: The name of the operator's node.
        operator: The operator.
        definition: Its store.
        view: Looks rows up in the store.
        is_named: Whether the program gave the store its name, so that queries can read it.
    """

    def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
        topology.add_operator(node_name, operator, parents)
        topology.add_state_store(definition, node_name)

    return TableParts(
        graph=stream.graph,
        node=stream.graph.add(node_name, write, stream.node),
        sources=stream.sources,
        key=definition.key,
        value=definition.value,
        send_old_values=sending_old_values(operator),
        view=lambda: view,
        store=definition.name if is_named else None,
        history_ms=history_of(definition),
    )
