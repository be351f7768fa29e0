"""Joins with tables, as the DSL writes them."""

from collections.abc import Callable
from typing import Any

from attrs import evolve, frozen

from kafka_groups.streams.dsl.graph import Graph, GraphNode, Missing, Slot
from kafka_groups.streams.dsl.materialized import StoreOptions, key_value_store
from kafka_groups.streams.dsl.repartitioning import Repartition, add_repartition
from kafka_groups.streams.dsl.table_parts import TableParts
from kafka_groups.streams.processors.lookup_joins import JoinSide, StreamTableJoin, TableJoin, joined_view
from kafka_groups.streams.processors.tables import TableMerge
from kafka_groups.streams.processors.views import TableView, stored_view
from kafka_groups.streams.topology.node_graph import NodeGraph

__all__ = ["Joiner", "StreamSide", "join_stream_with_table", "join_tables", "keyed"]

Joiner = Callable[[Any, Any, Any], Any]


def keyed(word: str, joiner: Any, with_key: Any) -> Joiner:
    """Return a joiner of key, left and right value.

    Raises:
        TypeError: Both functions were given, or none.
    """
    if (joiner is None) == (with_key is None):
        raise TypeError(f"{word} takes a function of both values, or `with_key=` one of key and both values. Give one.")
    found: Joiner = with_key if joiner is None else (lambda _key, left, right: joiner(left, right))
    return found


@frozen(kw_only=True)
class StreamSide:
    """A stream that is joined.

    Attributes:
        graph: The graph of its builder.
        node: Its node.
        sources: Names of the source nodes of its sub-topology.
        key: The serde of its keys.
        value: The serde of its values.
        is_repartitioned: Whether keys may have changed since the records were partitioned.
    """

    graph: Graph
    node: GraphNode
    sources: frozenset[str]
    key: Slot
    value: Slot
    is_repartitioned: bool

    def partitioned(self, word: str, name: str | None, *, keeps_null_keys: bool) -> "StreamSide":
        """Return the stream behind a repartition topic, if it needs one."""
        if not self.is_repartitioned:
            return self
        source = add_repartition(
            self.graph,
            self.node,
            Repartition(
                prefix=name or self.node.name,
                key=self.graph.need(self.key, word),
                value=self.graph.need(self.value, word),
                keeps_null_keys=keeps_null_keys,
            ),
        )
        return evolve(self, node=source, sources=frozenset({source.name}), is_repartitioned=False)


def join_stream_with_table(
    stream: StreamSide, table: TableParts, joiner: Joiner, *, keeps_unmatched: bool, name: str | None
) -> StreamSide:
    """Add a join of a stream with a table, and return the stream of its results."""
    word, prefix = ("left_join", "KSTREAM-LEFTJOIN-") if keeps_unmatched else ("join", "KSTREAM-JOIN-")
    graph = stream.graph
    side = stream.partitioned(word, name, keeps_null_keys=keeps_unmatched)
    node_name = graph.named(name, prefix)
    view = table.view()
    operator = StreamTableJoin(view, joiner, keeps_unmatched)
    sources = side.sources | table.sources

    def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
        topology.add_operator(node_name, operator, parents[:1], view.stores)
        topology.copartition(sources)

    node = graph.add(node_name, write, side.node, table.node)
    return evolve(side, node=node, sources=sources, value=Missing(word, "value"))


def join_tables(
    left: TableParts, right: TableParts, joiner: Joiner, needs: tuple[bool, bool], options: StoreOptions, **given: Any
) -> TableParts:
    """Add a join of tables by key, and return the table of its results.

    Args:
        left: The left table.
        right: The right table.
        joiner: Combines key and both values.
        needs: Whether there is no result without a left row, and without a right row.
        options: Those of the result's store.
        given: `name` of the node, and `value`, the serde of the results.
    """
    graph, name, value = left.graph, given["name"], given["value"]
    merge_name = graph.named(name, "KTABLE-MERGE-")
    definition = None
    if options.store is not None:
        definition = key_value_store(graph, "join", options, "", (left.key, value))
        value = definition.value
    this_name, other_name = _side_names(graph, name)
    needs_left, needs_right = needs
    if not (needs_left and needs_right):
        # A row that goes without ever having had a result is told from one that had by its old value.
        left.send_old_values(force=True)
        right.send_old_values(force=True)
    views = left.view(), right.view()
    sides = JoinSide(True, needs_left, needs_right), JoinSide(False, needs_right, needs_left)  # noqa: FBT003, of one class
    this = TableJoin(views[1], joiner, sides[0])
    other = TableJoin(views[0], joiner, sides[1])
    merge = TableMerge(None if definition is None else definition.name)
    sources = left.sources | right.sources

    def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
        topology.add_operator(this_name, this, [parents[0]], views[1].stores)
        topology.add_operator(other_name, other, [parents[1]], views[0].stores)
        topology.add_operator(merge_name, merge, [this_name, other_name])
        if definition is not None:
            topology.add_state_store(definition, merge_name)
        topology.copartition(sources)

    def send_old_values(*, force: bool) -> bool:
        del force
        left.send_old_values(force=True)
        right.send_old_values(force=True)
        this.send_old = other.send_old = merge.send_old = True
        return True

    def view() -> TableView:
        return joined_view(*views, joiner, sides[0]) if definition is None else stored_view(definition.name)

    return TableParts(
        graph=graph,
        node=graph.add(merge_name, write, left.node, right.node),
        sources=sources,
        key=left.key,
        value=value,
        send_old_values=send_old_values,
        view=view,
        store=None if definition is None else definition.name,
    )


def _side_names(graph: Graph, name: str | None) -> tuple[str, str]:
    this, other = graph.new_name("KTABLE-JOINTHIS-"), graph.new_name("KTABLE-JOINOTHER-")
    return (this, other) if name is None else (f"{name}-join-this", f"{name}-join-other")
