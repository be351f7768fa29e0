"""Joins with tables, as the DSL writes them."""

from datetime import timedelta
from typing import Any

from attrs import evolve, frozen

from kafka_groups.admin.rules.group_topology.topology_builder import TopologyError
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.graph import Graph, Missing, Slot
from kafka_groups.streams.dsl.materialized import StoreOptions, history_of, key_value_store, view_of
from kafka_groups.streams.dsl.stream_parts import StreamParts
from kafka_groups.streams.dsl.table_parts import TableParts
from kafka_groups.streams.processors.views import TableView
from kafka_groups.streams.state.durations import milliseconds
from kafka_groups.streams.state.join_buffer import JoinBufferDefinition
from kafka_groups.streams.state.stores import TableDefinition
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import Operator

__all__ = ["join_stream_with_table", "join_tables", "keyed", "refuse_grace"]


def keyed(word: str, joiner: Any, with_key: Any) -> "processors.KeyedJoiner":
    """Return a joiner of key, left and right value.

    Raises:
        TypeError: Both functions were given, or none, or it cannot be called, or its call gives no value.
    """
    if (joiner is None) == (with_key is None):
        raise TypeError(f"{word} takes a function of both values, or `with_key=` one of key and both values. Give one.")
    check_functions(word, joiner=joiner, with_key=with_key)
    found: processors.KeyedJoiner = with_key if joiner is None else (lambda _key, left, right: joiner(left, right))
    return found


def refuse_grace(word: str, grace: timedelta | None, *, is_for_it: bool) -> None:
    """Refuse a grace where there is no table, or a global one.

    Raises:
        TypeError: One was given.
    """
    if grace is not None and not is_for_it:
        raise TypeError(
            f"{word}: grace={grace!r} is for joins with a versioned table. Leave it out; for a join of streams, "
            "windows= has a grace."
        )


def join_stream_with_table(
    stream: StreamParts,
    table: TableParts,
    joiner: "processors.KeyedJoiner",
    *,
    keeps_unmatched: bool,
    name: str | None,
    grace: timedelta | None = None,
) -> StreamParts:
    """Add a join of a stream with a table, and return the stream of its results.

    Raises:
        TopologyError: The table is of another builder.
        ConfigurationError: There is a grace, but the table is not versioned, or its history is shorter.
    """
    word, prefix = ("left_join", "KSTREAM-LEFTJOIN-") if keeps_unmatched else ("join", "KSTREAM-JOIN-")
    graph = stream.graph
    if table.graph is not graph:
        raise TopologyError(
            f"{word} of {stream.node.name!r} with a table of another builder. Use one builder for both."
        )
    # Only the stream is repartitioned. The table's topic is what its store is made of, so the stream has to be
    # partitioned like it (KStreamImpl.join in Kafka).
    side = stream.partitioned(word, name or graph.unnamed_topic(stream.node.name))
    node_name = graph.named(name, prefix)
    view = table.view()
    join = processors.StreamTableJoin(view, joiner, keeps_unmatched)
    operator: Operator = join
    sources = side.sources | table.sources
    buffer = None
    if grace is not None:
        buffer = JoinBufferDefinition(
            name=f"{node_name}-Buffer", key=graph.need(side.key, word), value=graph.need(side.value, word)
        )
        operator = processors.WaitingJoin(join, buffer.name, _grace_ms(word, table, grace))

    def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
        topology.add_operator(node_name, operator, parents, view.stores)
        if buffer is not None:
            topology.add_state_store(buffer, node_name)
        topology.copartition(sources)

    # Rows are looked up. They do not flow through the join, so the table's operator is not above it.
    node = graph.add(node_name, write, side.node, takes_null_keys=keeps_unmatched)
    return evolve(side, node=node, sources=sources, value=Missing(word, "value"))


def _grace_ms(word: str, table: TableParts, grace: timedelta) -> int:
    grace_ms = milliseconds(f"{word}: grace", grace)
    # KStreamImpl.doStreamTableJoin and StreamTableJoinNode.writeToTopology in Kafka.
    if table.history_ms is None:
        raise ConfigurationError(
            f"{word}: grace={grace!r} is for versioned tables, and {table.node.name} is not one. Give it "
            "store=stores.versioned(…), or leave the grace out."
        )
    if table.history_ms < grace_ms:
        raise ConfigurationError(
            f"{word}: grace={grace!r} is longer than the history of {table.node.name}, which is {table.history_ms} ms. "
            "Give the store a history of at least that."
        )
    return grace_ms


@frozen(kw_only=True)
class TablesToJoin:
    """Two tables that are joined by key.

    Attributes:
        left: The left table.
        right: The right table.
        joiner: Combines key and both values.
        needs_left: Whether there is no result without a left row.
        needs_right: Whether there is no result without a right row.
    """

    left: TableParts
    right: TableParts
    joiner: "processors.KeyedJoiner"
    needs_left: bool
    needs_right: bool

    @property
    def sources(self) -> frozenset[str]:
        """The source nodes of both."""
        return self.left.sources | self.right.sources

    @property
    def closes_ms(self) -> int | None:
        """The time after which keys' windows close in the result, if both tables have them."""
        if self.left.closes_ms is None or self.right.closes_ms is None:
            return None
        # A result is final when both windows have closed (GraphGraceSearchUtil.findAndVerifyWindowGrace in Kafka takes
        # the longer grace, too).
        return max(self.left.closes_ms, self.right.closes_ms)

    @property
    def left_side(self) -> "processors.JoinSide":
        """The left side as its operator sees it."""
        return processors.JoinSide(
            is_left=True,
            needs_own=self.needs_left,
            needs_other=self.needs_right,
            is_versioned=self.left.history_ms is not None,
        )

    @property
    def right_side(self) -> "processors.JoinSide":
        """The right side as its operator sees it."""
        return processors.JoinSide(
            is_left=False,
            needs_own=self.needs_right,
            needs_other=self.needs_left,
            is_versioned=self.right.history_ms is not None,
        )

    def send_old_values(self) -> None:
        """Make both tables tell the old values of their changes."""
        self.left.send_old_values(force=True)
        self.right.send_old_values(force=True)


def join_tables(tables: TablesToJoin, options: StoreOptions, value: Slot, name: str | None) -> TableParts:
    """Add a join of tables, and return the table of its results.

    Args:
        tables: The tables.
        options: Those of the result's store.
        value: The serde of the results, if no definition of a store has it.
        name: The node's name.
    """
    graph = tables.left.graph
    merge_name = graph.named(name, "KTABLE-MERGE-")
    definition = None
    if options.store is not None:
        # Only a name or definition gives the result a store. Otherwise its rows are computed from those of both tables
        # (KTableImpl.doJoin in Kafka).
        definition = key_value_store(graph, "join", options, "", (tables.left.key, value))
        value = definition.value
    # KTableImpl.doJoin in Kafka also asks for old values in a left or outer join.
    if not (tables.needs_left and tables.needs_right):
        # The old value of a deleted row shows whether it ever had a result.
        tables.send_old_values()
    nodes = _JoinNodes(tables, merge_name, _side_names(graph, name), definition)
    return TableParts(
        graph=graph,
        node=graph.add(merge_name, nodes.write, tables.left.node, tables.right.node),
        sources=tables.sources,
        key=tables.left.key,
        value=value,
        send_old_values=nodes.send_old_values,
        view=nodes.view,
        store=None if definition is None else definition.name,
        closes_ms=tables.closes_ms,
        history_ms=history_of(definition),
    )


class _JoinNodes:
    """The three nodes of a join of tables: one for the changes of each side, and one that merges their results."""

    def __init__(
        self,
        tables: TablesToJoin,
        merge_name: str,
        side_names: tuple[str, str],
        definition: TableDefinition[Any, Any] | None,
    ) -> None:
        self._tables = tables
        self._merge_name = merge_name
        self._side_names = side_names
        self._definition = definition
        self._views = tables.left.view(), tables.right.view()
        self._this = processors.TableJoin(self._views[1], tables.joiner, tables.left_side)
        self._other = processors.TableJoin(self._views[0], tables.joiner, tables.right_side)
        self._merge = processors.TableMerge(None if definition is None else definition.name, has_old_values=True)

    def write(self, topology: NodeGraph, parents: tuple[str, ...]) -> None:
        """Add the nodes to a topology."""
        this, other = self._side_names
        topology.add_operator(this, self._this, [parents[0]], self._views[1].stores)
        topology.add_operator(other, self._other, [parents[1]], self._views[0].stores)
        topology.add_operator(self._merge_name, self._merge, [this, other])
        if self._definition is not None:
            topology.add_state_store(self._definition, self._merge_name)
        topology.copartition(self._tables.sources)

    def send_old_values(self, *, force: bool) -> bool:
        """Make the nodes tell old values. Both tables get stores for that."""
        del force
        self._tables.send_old_values()
        self._this.send_old = self._other.send_old = self._merge.send_old = True
        return True

    def view(self) -> TableView:
        """Return how to look rows of the result up."""
        if self._definition is not None:
            return view_of(self._definition)
        return processors.joined_view(*self._views, self._tables.joiner, self._tables.left_side)


def _side_names(graph: Graph, name: str | None) -> tuple[str, str]:
    this, other = graph.new_name("KTABLE-JOINTHIS-"), graph.new_name("KTABLE-JOINOTHER-")
    return (this, other) if name is None else (f"{name}-join-this", f"{name}-join-other")
