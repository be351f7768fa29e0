"""Tables: the last value of each key, and the operators on them."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from attrs import evolve

from kafka_groups.serdes import Serde
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.foreign_keys import ForeignKeyJoin, check_no_partitioners, join_by_foreign_key
from kafka_groups.streams.dsl.graph import Graph, GraphNode, Missing, Slot
from kafka_groups.streams.dsl.grouping import Grouping
from kafka_groups.streams.dsl.lazy_store import LazyStore
from kafka_groups.streams.dsl.lookup_joins import TablesToJoin, join_tables, keyed
from kafka_groups.streams.dsl.materialized import StoreOptions, history_of, key_value_store, view_of
from kafka_groups.streams.dsl.optimization import Optimization
from kafka_groups.streams.dsl.stream_parts import StreamParts
from kafka_groups.streams.dsl.suppression import Suppressed, suppress_table
from kafka_groups.streams.dsl.table_parts import TableParts
from kafka_groups.streams.dsl.used_stores import UsedStores
from kafka_groups.streams.processors.views import TableView, computed_view
from kafka_groups.streams.state.stores import (
    Changelog,
    KeyValueDefinition,
    StoreDefinition,
    TableDefinition,
    VersionedDefinition,
)
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import Partitioner, SourceNode
from kafka_groups.streams.topology.topology_arguments import check_kind

if TYPE_CHECKING:
    from kafka_groups.streams.dsl.grouped_table import KGroupedTable
    from kafka_groups.streams.dsl.stream import KStream

__all__ = ["KTable", "add_table_source", "table_of_stream"]

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")
V3 = TypeVar("V3")


_NO_STORES = UsedStores("", ())


class KTable(Generic[K, V]):
    """A table: the last value of each key. Made by `StreamsBuilder.table`, `to_table` and aggregations."""

    def __init__(self, parts: TableParts) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return f"<KTable {self.parts.node.name}>"

    @property
    def store_name(self) -> str | None:
        """The name of the store that queries can read, or None."""
        return self.parts.store

    def to_stream(self, *, name: str | None = None) -> "KStream[K, V]":
        """Return the updates of the table as records. A deleted row is a record with a null value."""
        from kafka_groups.streams.dsl.stream import KStream  # noqa: PLC0415, streams and tables become each other

        node_name = self.parts.graph.named(name, "KTABLE-TOSTREAM-")

        def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
            topology.add_operator(node_name, processors.TableToStream(), parents)

        node = self.parts.graph.add(node_name, write, self.parts.node)
        return KStream(self._stream(node))

    def filter(
        self,
        predicate: Callable[[K, V], bool],
        *,
        name: str | None = None,
        store: str | TableDefinition[K, V] | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> "KTable[K, V]":
        """Keep the rows for which a predicate of key and value is true."""
        return self._filtered(predicate, name, StoreOptions(store, caching, changelog), keeps=True)

    def filter_not(
        self,
        predicate: Callable[[K, V], bool],
        *,
        name: str | None = None,
        store: str | TableDefinition[K, V] | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> "KTable[K, V]":
        """Keep the rows for which a predicate of key and value is false."""
        return self._filtered(predicate, name, StoreOptions(store, caching, changelog), keeps=False)

    def map_values(
        self,
        function: Callable[[V], V2] | None = None,
        *,
        with_key: Callable[[K, V], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
        store: str | TableDefinition[K, V2] | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> "KTable[K, V2]":
        """Replace each value by a function of it, or of key and value."""
        slot: Slot = value if value is not None else Missing("map_values", "value")
        if isinstance(store, KeyValueDefinition | VersionedDefinition):
            slot = store.value
        check_functions("map_values", function=function, with_key=with_key)
        given = function
        if (function is None) == (with_key is None):
            raise TypeError("map_values takes a function of the value, or `with_key=`. Give one of them.")
        apply: Any = with_key if given is None else (lambda _key, old: given(old))
        return self._computed(
            "map_values",
            "KTABLE-MAPVALUES-",
            processors.TableMapValues(apply),
            slot,
            StoreOptions(store, caching, changelog),
            name=name,
        )

    def transform_values(
        self,
        function: Callable[..., V2],
        *,
        stores: Iterable[StoreDefinition | str] = (),
        value: Serde[V2] | None = None,
        name: str | None = None,
        store: str | TableDefinition[K, V2] | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> "KTable[K, V2]":
        """Replace each value by a function of key, value and stores. It gets deleted rows, too, with None as value.

        Args:
            function: Gets key, value and the stores, and returns the new value; None deletes the row.
            stores: The stores that it uses, by definition or name.
            value: The serde of the new values.
            name: The node's name.
            store: A name or definition of the result's store, to query it.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        check_functions("transform_values", function=function)
        used = UsedStores("transform_values", stores)
        operator = processors.TableTransformValues(function, used.names)
        slot: Slot = value if value is not None else Missing("transform_values", "value")
        if isinstance(store, KeyValueDefinition | VersionedDefinition):
            slot = store.value
        options = StoreOptions(store, caching, changelog)
        prefix = "KTABLE-TRANSFORMVALUES-"
        return self._computed("transform_values", prefix, operator, slot, options, name=name, used=used)

    @overload
    def join(
        self,
        other: "KTable[K, V3]",
        joiner: Callable[[V, V3], V2] | None = None,
        *,
        with_key: Callable[[K, V, V3], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
        store: str | TableDefinition[K, V2] | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> "KTable[K, V2]": ...
    @overload
    def join(
        self,
        other: "KTable[K2, V3]",
        joiner: Callable[[V, V3], V2] | None = None,
        *,
        on: Callable[[K, V], K2 | None],
        partitioner: Partitioner | None = None,
        other_partitioner: Partitioner | None = None,
        with_key: Callable[[K, V, V3], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
        store: str | TableDefinition[K, V2] | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> "KTable[K, V2]": ...
    def join(
        self,
        other: "KTable[Any, Any]",
        joiner: Callable[[Any, Any], Any] | None = None,
        *,
        on: Callable[[Any, Any], Any] | None = None,
        partitioner: Partitioner | None = None,
        other_partitioner: Partitioner | None = None,
        with_key: Callable[[Any, Any, Any], Any] | None = None,
        value: Serde[Any] | None = None,
        name: str | None = None,
        store: str | TableDefinition[Any, Any] | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> "KTable[K, Any]":
        """Return the table of the keys that have a row in both tables.

        Args:
            other: The other table. Without `on`, both need the same number of partitions.
            joiner: Combines the values of both rows.
            on: Joins by a foreign key (KIP-213): gets key and value of a row of this table, and returns the key of the
                other's row, or None for no row. Keys and values of both tables need serdes.
            partitioner: With `on`: the partitioner by which this table's topic was written, if that is not the default
                one. It gets None as value.
            other_partitioner: The same for the other table's topic.
            with_key: Combines this table's key and the values of both rows.
            value: The serde of the results.
            name: The node's name, or with `on` the prefix of the names of all its nodes, topics and stores.
            store: A name or definition of the result's store, to query it.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        joined, options = keyed("join", joiner, with_key), StoreOptions(store, caching, changelog)
        partitioners = partitioner, other_partitioner
        if on is not None:
            return self._joined_on(
                other, joined, on, value, options, name, partitioners=partitioners, keeps_unmatched=False
            )
        check_no_partitioners("join", partitioners)
        return self._joined(self._beside(other, joined, needs_left=True, needs_right=True), value, options, name)

    @overload
    def left_join(
        self,
        other: "KTable[K, V3]",
        joiner: Callable[[V, V3 | None], V2] | None = None,
        *,
        with_key: Callable[[K, V, V3 | None], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
        store: str | TableDefinition[K, V2] | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> "KTable[K, V2]": ...
    @overload
    def left_join(
        self,
        other: "KTable[K2, V3]",
        joiner: Callable[[V, V3 | None], V2] | None = None,
        *,
        on: Callable[[K, V], K2 | None],
        partitioner: Partitioner | None = None,
        other_partitioner: Partitioner | None = None,
        with_key: Callable[[K, V, V3 | None], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
        store: str | TableDefinition[K, V2] | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> "KTable[K, V2]": ...
    def left_join(
        self,
        other: "KTable[Any, Any]",
        joiner: Callable[[Any, Any], Any] | None = None,
        *,
        on: Callable[[Any, Any], Any] | None = None,
        partitioner: Partitioner | None = None,
        other_partitioner: Partitioner | None = None,
        with_key: Callable[[Any, Any, Any], Any] | None = None,
        value: Serde[Any] | None = None,
        name: str | None = None,
        store: str | TableDefinition[Any, Any] | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> "KTable[K, Any]":
        """Return the table of the keys of this table, with the other's rows where there are any.

        Args:
            other: The other table. Without `on`, both need the same number of partitions.
            joiner: Combines the values of both rows; the right one may be None.
            on: Joins by a foreign key (KIP-213): gets key and value of a row of this table, and returns the key of the
                other's row, or None for no row. Keys and values of both tables need serdes.
            partitioner: With `on`: the partitioner by which this table's topic was written, if that is not the default
                one. It gets None as value.
            other_partitioner: The same for the other table's topic.
            with_key: Combines this table's key and the values of both rows.
            value: The serde of the results.
            name: The node's name, or with `on` the prefix of the names of all its nodes, topics and stores.
            store: A name or definition of the result's store, to query it.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        joined, options = keyed("left_join", joiner, with_key), StoreOptions(store, caching, changelog)
        partitioners = partitioner, other_partitioner
        if on is not None:
            return self._joined_on(
                other, joined, on, value, options, name, partitioners=partitioners, keeps_unmatched=True
            )
        check_no_partitioners("left_join", partitioners)
        return self._joined(self._beside(other, joined, needs_left=True, needs_right=False), value, options, name)

    def outer_join(
        self,
        other: "KTable[K, V3]",
        joiner: Callable[[V | None, V3 | None], V2] | None = None,
        *,
        with_key: Callable[[K, V | None, V3 | None], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
        store: str | TableDefinition[K, V2] | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> "KTable[K, V2]":
        """Return the table of the keys that have a row in one of the tables or in both.

        Args:
            other: The other table. Both need the same number of partitions.
            joiner: Combines the values of both rows; one of them may be None.
            with_key: Combines key and the values of both rows.
            value: The serde of the results.
            name: The node's name.
            store: A name or definition of the result's store, to query it.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        joined = keyed("outer_join", joiner, with_key)
        tables = self._beside(other, joined, needs_left=False, needs_right=False)
        return self._joined(tables, value, StoreOptions(store, caching, changelog), name)

    def group_by(
        self,
        function: Callable[[K, V], tuple[K2, V2]],
        *,
        key: Serde[K2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
    ) -> "KGroupedTable[K2, V2]":
        """Group the rows by new keys, to aggregate them.

        Args:
            function: Gets key and value of a row, and returns the new key and the value to aggregate. A row whose new
                key is None is left out.
            key: The serde of the new keys.
            value: The serde of the values to aggregate.
            name: The node's name, and the beginning of the repartition topic's name.
        """
        from kafka_groups.streams.dsl.grouped_table import KGroupedTable  # noqa: PLC0415, it makes tables

        check_functions("group_by", function=function)
        # A change takes its old value out of its old group, so the table has to tell it (KTableImpl.groupBy in Kafka).
        self.parts.send_old_values(force=True)
        node_name = self.parts.graph.named(name, "KTABLE-SELECT-")
        is_versioned = self.parts.history_ms is not None

        def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
            topology.add_operator(node_name, processors.RegroupTable(function, is_versioned), parents)

        rows = evolve(
            self._stream(self.parts.graph.add(node_name, write, self.parts.node)),
            key=key if key is not None else Missing("group_by", "key"),
            value=value if value is not None else Missing("group_by", "value"),
        )
        return KGroupedTable(Grouping(rows, name))

    def _stream(self, node: GraphNode) -> StreamParts:
        parts = self.parts
        return StreamParts(graph=parts.graph, node=node, sources=parts.sources, key=parts.key, value=parts.value)

    def suppress(
        self,
        suppressed: Suppressed[K],
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
        changelog: Changelog = True,
    ) -> "KTable[K, V]":
        """Hold updates back, and forward only the last one of each key (KIP-328).

        Joins see the rows as they were before the updates that wait.

        Args:
            suppressed: The time to wait, and what to do when too many updates wait.
            key: The serde of the keys, if it is not known.
            value: The serde of the values, if it is not known.
            name: The node's name. That of its buffer is this with `-store`.
            changelog: False for a buffer that is lost with its worker; a mapping gives configs of the changelog topic.

        Raises:
            TypeError: `suppressed` is not a `Suppressed`.
            TopologyError: It waits until windows close, but the keys are not windowed.
        """
        given = evolve(
            self.parts,
            key=self.parts.key if key is None else key,
            value=self.parts.value if value is None else value,
        )
        return KTable(suppress_table(given, suppressed, name, changelog))

    def _joined(
        self, tables: TablesToJoin, value: Serde[Any] | None, options: StoreOptions, name: str | None
    ) -> "KTable[K, Any]":
        slot: Slot = Missing("join", "value") if value is None else value
        return KTable(join_tables(tables, options, slot, name))

    def _beside(
        self, other: "KTable[K, Any]", joiner: "processors.KeyedJoiner", *, needs_left: bool, needs_right: bool
    ) -> TablesToJoin:
        check_kind("join: other", other, KTable, "a table")
        return TablesToJoin(
            left=self.parts, right=other.parts, joiner=joiner, needs_left=needs_left, needs_right=needs_right
        )

    def _joined_on(
        self,
        other: "KTable[Any, Any]",
        joiner: Callable[[Any, Any, Any], Any],
        on: Callable[[Any, Any], Any],
        value: Any,
        options: StoreOptions,
        name: str | None,
        *,
        partitioners: tuple[Partitioner | None, Partitioner | None],
        keeps_unmatched: bool,
    ) -> "KTable[K, Any]":
        check_kind("join: other", other, KTable, "a table")
        slot: Slot = Missing("join", "value") if value is None else value
        join = ForeignKeyJoin(
            on=on,
            joiner=joiner,
            keeps_unmatched=keeps_unmatched,
            value=slot,
            options=options,
            name=name,
            partitioners=partitioners,
        )
        return KTable(join_by_foreign_key(self.parts, other.parts, join))

    def _filtered(self, predicate: Any, name: str | None, options: StoreOptions, *, keeps: bool) -> "KTable[K, V]":
        check_functions("filter" if keeps else "filter_not", predicate=predicate)
        # Where old values are free, changes from nothing to nothing are dropped.
        operator = processors.TableFilter(
            predicate,
            keeps=keeps,
            send_old=self.parts.send_old_values(force=False),
            is_versioned=self.parts.history_ms is not None,
        )
        return self._computed("filter", "KTABLE-FILTER-", operator, self.parts.value, options, name=name)

    def _computed(
        self,
        word: str,
        prefix: str,
        operator: "processors.TableFilter | processors.TableMapValues | processors.TableTransformValues",
        value: Slot,
        options: StoreOptions,
        *,
        name: str | None,
        used: UsedStores = _NO_STORES,
    ) -> "KTable[K, Any]":
        graph = self.parts.graph
        definition = None
        if options.store is not None:
            definition = key_value_store(graph, word, options, "", (self.parts.key, value))
            operator.store = definition.name
        elif options.caching is not None:
            graph.new_store_name(prefix)  # as Java does for a store without a name, which it then leaves out
        node_name = graph.named(name, prefix)

        def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
            used.writer(node_name, operator)(topology, parents)
            if definition is not None:
                topology.add_state_store(definition, node_name)

        def send_old_values(*, force: bool) -> bool:
            # With a store, the old value is in it. Without one it is computed from the old value of the table above,
            # which may have to have a store for that (KTableImpl.enableSendingOldValues in Kafka).
            if definition is not None or self.parts.send_old_values(force=force):
                operator.send_old = True
            return operator.send_old

        def view() -> TableView:
            if definition is not None:
                return view_of(definition)
            return computed_view(self.parts.view(), operator.compute, used.names)

        node = graph.add(node_name, write, self.parts.node)
        found = evolve(self.parts, node=node, value=value, send_old_values=send_old_values, view=view)
        # Without a store of its own it is as versioned as the table above.
        history_ms = self.parts.history_ms if definition is None else history_of(definition)
        store = None if definition is None else definition.name
        return KTable(evolve(found, store=store, history_ms=history_ms))


def table_of_stream(stream: StreamParts, options: StoreOptions, *, name: str | None) -> KTable[Any, Any]:
    """Make a stream a table of the last value of each key."""
    graph, serdes = stream.graph, (stream.key, stream.value)
    node_name = graph.named(name, "KSTREAM-TOTABLE-")
    is_named = options.store is not None
    # Here the node takes its index before the store (KStreamImpl.toTable in Kafka).
    default_name = "" if is_named else graph.new_store_name("KSTREAM-TOTABLE-")
    # A table's rows have to be in the partition of their key, or a key would have rows in several tasks.
    side = stream.partitioned("to_table", node_name)
    operator = processors.TableSource(store=None)
    lazily = LazyStore(operator, lambda: key_value_store(graph, "to_table", options, default_name, serdes))
    if is_named:
        lazily.open()

    def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
        topology.add_operator(node_name, operator, parents)
        if lazily.definition is not None:
            topology.add_state_store(lazily.definition, node_name)

    node = graph.add(node_name, write, side.node)
    return KTable(lazily.parts(graph, node, side.sources, serdes))


def add_table_source(graph: Graph, source: SourceNode, options: StoreOptions, *, name: str | None) -> KTable[Any, Any]:
    """Add a table that reads a topic."""
    topic = source.topics[0]
    is_named = options.store is not None
    # The store takes its index before the two nodes (MaterializedInternal and InternalStreamsBuilder.table in Kafka).
    default_name = "" if is_named else graph.new_store_name(f"{topic}-")
    serdes = (source.key, source.value)
    reads_source = Optimization.SOURCE_TOPICS_AS_CHANGELOGS in graph.optimization
    source_name = (
        graph.new_name("KSTREAM-SOURCE-") if name is None else graph.named(f"{name}-source", "KSTREAM-SOURCE-")
    )
    table_name = graph.named(name, "KTABLE-SOURCE-")
    operator = processors.TableSource(store=None)
    lazily = LazyStore(operator, lambda: key_value_store(graph, "table", options, default_name, serdes))
    if is_named:
        lazily.open()

    def write(topology: NodeGraph, _parents: tuple[str, ...]) -> None:
        topology.add_node(evolve(source, name=source_name))
        topology.add_operator(table_name, operator, [source_name])
        if lazily.definition is not None:
            # With this optimization the topic has every change that a changelog would have, and is read to the end when
            # a task starts. A store without a changelog is not restored at all, so it does not use the topic either.
            source_topic = topic if reads_source and lazily.definition.changelog is not None else None
            topology.add_state_store(lazily.definition, table_name, source_topic=source_topic)

    node = graph.add(table_name, write)
    return KTable(lazily.parts(graph, node, frozenset({source_name}), serdes))
