"""Streams of records, and the operators on them."""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import IO, Any, Generic, TypeVar, overload

from attrs import evolve

from kafka_groups.serdes import Serde
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.branched import BranchedKStream, SplitStream
from kafka_groups.streams.dsl.global_table import GlobalKTable, join_stream_with_global_table
from kafka_groups.streams.dsl.graph import Slot
from kafka_groups.streams.dsl.grouped import KGroupedStream
from kafka_groups.streams.dsl.grouping import Grouping
from kafka_groups.streams.dsl.lookup_joins import join_stream_with_table, keyed, refuse_grace
from kafka_groups.streams.dsl.materialized import StoreOptions
from kafka_groups.streams.dsl.repartition import Repartition, add_repartition
from kafka_groups.streams.dsl.stream_arguments import flat_map_values_with_key, one_of, slot_of, writer_of
from kafka_groups.streams.dsl.stream_joins import join_streams, refuse_options, stream_join_options
from kafka_groups.streams.dsl.stream_parts import StreamParts
from kafka_groups.streams.dsl.table import KTable, table_of_stream
from kafka_groups.streams.dsl.used_stores import UsedStores
from kafka_groups.streams.dsl.windows import JoinWindows
from kafka_groups.streams.state.stores import Changelog, StoreDefinition, TableDefinition
from kafka_groups.streams.topology.context import Processor
from kafka_groups.streams.topology.fixed_keys import FixedKeyProcessor
from kafka_groups.streams.topology.functions import check_functions
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import Operator, Partitioner, SinkNode, TopicName
from kafka_groups.streams.topology.partitioning import default_partitioner
from kafka_groups.streams.topology.records import Record
from kafka_groups.streams.topology.topology_arguments import check_kind
from kafka_groups.streams.topology.user_processors import user_operator

__all__ = ["KStream"]

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")
V3 = TypeVar("V3")


class KStream(Generic[K, V]):
    """A stream of records. Made by `StreamsBuilder.stream` and by operators."""

    def __init__(self, parts: StreamParts) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return f"<KStream {self.parts.node.name}>"

    def filter(self, predicate: Callable[[K, V], bool], *, name: str | None = None) -> "KStream[K, V]":
        """Keep the records for which a predicate of key and value is true."""
        check_functions("filter", predicate=predicate)
        return self._below("KSTREAM-FILTER-", processors.Filter(predicate), name, keeps_records=True)

    def filter_not(self, predicate: Callable[[K, V], bool], *, name: str | None = None) -> "KStream[K, V]":
        """Keep the records for which a predicate of key and value is false."""
        check_functions("filter_not", predicate=predicate)
        return self._below("KSTREAM-FILTER-", processors.Filter(predicate, keeps=False), name, keeps_records=True)

    def map(
        self,
        function: Callable[[K, V], tuple[K2, V2]],
        *,
        key: Serde[K2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
    ) -> "KStream[K2, V2]":
        """Replace each record by the pair that a function of key and value returns."""
        check_functions("map", function=function)
        slots = slot_of(key, "map", "key"), slot_of(value, "map", "value")
        return self._below("KSTREAM-MAP-", processors.Map(function), name, slots, changes_key=True)

    def flat_map(
        self,
        function: Callable[[K, V], Iterable[tuple[K2, V2]]],
        *,
        key: Serde[K2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
    ) -> "KStream[K2, V2]":
        """Replace each record by the pairs that a function of key and value returns."""
        check_functions("flat_map", yields=True, function=function)
        slots = slot_of(key, "flat_map", "key"), slot_of(value, "flat_map", "value")
        return self._below("KSTREAM-FLATMAP-", processors.FlatMap(function), name, slots, changes_key=True)

    def map_values(
        self,
        function: Callable[[V], V2] | None = None,
        *,
        with_key: Callable[[K, V], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
    ) -> "KStream[K, V2]":
        """Replace each value by a function of it, or of key and value."""
        operator: Operator = one_of("map_values", function, with_key, processors.MapValues, processors.MapValuesWithKey)
        return self._below(
            "KSTREAM-MAPVALUES-", operator, name, (self.parts.key, slot_of(value, "map_values", "value"))
        )

    def flat_map_values(
        self,
        function: Callable[[V], Iterable[V2]] | None = None,
        *,
        with_key: Callable[[K, V], Iterable[V2]] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
    ) -> "KStream[K, V2]":
        """Replace each value by those that a function of it, or of key and value, returns."""
        operator: Operator = one_of(
            "flat_map_values", function, with_key, processors.FlatMapValues, flat_map_values_with_key
        )
        slots = self.parts.key, slot_of(value, "flat_map_values", "value")
        return self._below("KSTREAM-FLATMAPVALUES-", operator, name, slots)

    def select_key(
        self, function: Callable[[K, V], K2], *, key: Serde[K2] | None = None, name: str | None = None
    ) -> "KStream[K2, V]":
        """Replace each key by a function of key and value."""
        check_functions("select_key", function=function)
        slots = slot_of(key, "select_key", "key"), self.parts.value
        return self._below("KSTREAM-KEY-SELECT-", processors.SelectKey(function), name, slots, changes_key=True)

    def peek(self, action: Callable[[K, V], object], *, name: str | None = None) -> "KStream[K, V]":
        """Call a function with key and value of each record, and pass the record on."""
        check_functions("peek", action=action)
        return self._below("KSTREAM-PEEK-", processors.Peek(action), name, keeps_records=True)

    def foreach(self, action: Callable[[K, V], object], *, name: str | None = None) -> None:
        """Call a function with key and value of each record."""
        check_functions("foreach", action=action)
        self._below("KSTREAM-FOREACH-", processors.Foreach(action), name)

    def merge(self, other: "KStream[K, V]", *, name: str | None = None) -> "KStream[K, V]":
        """Return a stream of the records of both. There is no order between them."""
        check_kind("merge: other", other, KStream, "a stream. A table becomes one by to_stream")
        node_name = self.parts.graph.named(name, "KSTREAM-MERGE-")
        write = writer_of(node_name, processors.PassThrough())
        node = self.parts.graph.add(node_name, write, self.parts.node, other.parts.node, keeps_records=True)
        mine, theirs = self.parts, other.parts
        # Keys are in the right partitions only if both streams have them there (KStreamImpl.merge in Kafka).
        needs_partitioning = mine.needs_partitioning or theirs.needs_partitioning
        sources = mine.sources | theirs.sources
        return KStream(evolve(mine, node=node, sources=sources, needs_partitioning=needs_partitioning))

    def process(
        self,
        function: Callable[..., Iterable[Record[K2, V2]] | None] | None = None,
        *,
        factory: Callable[[], Processor[K, V, K2, V2]] | None = None,
        stores: Iterable[StoreDefinition | str] = (),
        key: Serde[K2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
    ) -> "KStream[K2, V2]":
        """Process records with code of your own that may use stores.

        Args:
            function: Gets a record and the stores, and returns or yields the records to pass on.
            factory: Makes a `Processor` for each task, in place of a function.
            stores: The stores that it uses, by definition or name.
            key: The serde of the new keys.
            value: The serde of the new values.
            name: The node's name.
        """
        used = UsedStores("process", stores)
        operator = user_operator("process", function, factory, used.names)
        # Unlike other operators, these two take no index if there is a name (KStreamImpl.process in Kafka).
        node_name = self.parts.graph.new_name("KSTREAM-PROCESSOR-") if name is None else name
        # Code of the user's may forward any key, so records are repartitioned before the next operator that needs keys
        # (KStreamImpl.process in Kafka).
        node = self.parts.graph.add(node_name, used.writer(node_name, operator), self.parts.node, changes_key=True)
        slots = slot_of(key, "process", "key"), slot_of(value, "process", "value")
        return KStream(evolve(self.parts, node=node, key=slots[0], value=slots[1], needs_partitioning=True))

    def process_values(
        self,
        function: Callable[..., Iterable[Record[K, V2]] | None] | None = None,
        *,
        factory: Callable[[], FixedKeyProcessor[K, V, V2]] | None = None,
        stores: Iterable[StoreDefinition | str] = (),
        value: Serde[V2] | None = None,
        name: str | None = None,
    ) -> "KStream[K, V2]":
        """Process records with code of your own that keeps their keys, so that no repartitioning follows.

        Args:
            function: Gets a record and the stores, and returns or yields records with the same key.
            factory: Makes a `FixedKeyProcessor` for each task, in place of a function.
            stores: The stores that it uses, by definition or name.
            value: The serde of the new values.
            name: The node's name.
        """
        used = UsedStores("process_values", stores)
        node_name = self.parts.graph.new_name("KSTREAM-PROCESSVALUES-") if name is None else name
        operator = user_operator("process_values", function, factory, used.names, keeps_key=True)
        # The key stays (KIP-820), so the stream is partitioned as before.
        node = self.parts.graph.add(node_name, used.writer(node_name, operator), self.parts.node)
        return KStream(evolve(self.parts, node=node, value=slot_of(value, "process_values", "value")))

    def print(self, *, label: str | None = None, file: IO[str] | None = None, name: str | None = None) -> None:
        """Print each record as `[label]: key, value`.

        Args:
            label: Stands before each record; the node's name by default.
            file: Where to write; standard output by default.
            name: The node's name.
        """
        node_name = self.parts.graph.named(name, "KSTREAM-PRINTER-")
        shown = label or self.parts.node.name
        self.parts.graph.add(
            node_name, writer_of(node_name, processors.Foreach(processors.printer(shown, file))), self.parts.node
        )

    def split(self, *, name: str | None = None) -> "BranchedKStream[K, V, KStream[K, V]]":
        """Split the stream by predicates. Records go to the first branch whose predicate is true.

        Args:
            name: The node's name. The names of the branches begin with it.
        """
        return BranchedKStream(SplitStream(self.parts, self.parts.graph.named(name, "KSTREAM-BRANCH-"), KStream))

    def repartition(
        self,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        partitions: int | None = None,
        partitioner: Partitioner | None = None,
        name: str | None = None,
    ) -> "KStream[K, V]":
        """Send the records through a topic of the application's own, so that equal keys come into one partition.

        Records with null keys are dropped, unless a left or outer join of a stream follows below.

        Args:
            key: The serde of keys.
            value: The serde of values.
            partitions: The topic's number of partitions. None: derived from the topics that flow into it.
            partitioner: A function of topic, key, value and number of partitions.
            name: The beginning of the topic's name.
        """
        graph = self.parts.graph
        prefix = graph.new_name("KSTREAM-REPARTITION-") if name is None else name
        stream = self._given(key, value)
        node, source = add_repartition(
            graph,
            self.parts.node,
            Repartition(
                prefix=prefix,
                key=graph.need(stream.key, "repartition"),
                value=graph.need(stream.value, "repartition"),
                partitions=partitions,
                partitioner=partitioner,
            ),
        )
        return KStream(evolve(stream, node=node, sources=frozenset({source}), needs_partitioning=False))

    def to_table(
        self,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        store: str | TableDefinition[K, V] | None = None,
        name: str | None = None,
        caching: bool | None = None,
        changelog: Changelog | None = None,
    ) -> KTable[K, V]:
        """Return the table of the last value of each key. Null values delete their rows; null keys are dropped.

        Args:
            key: The serde of keys.
            value: The serde of values.
            store: A name or definition of the table's store, to query it.
            name: The node's name.
            caching: False to forward every update.
            changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        """
        return table_of_stream(self._given(key, value), StoreOptions(store, caching, changelog), name=name)

    @overload
    def join(
        self,
        other: "KStream[K, V3]",
        joiner: Callable[[V, V3], V2] | None = None,
        *,
        windows: JoinWindows,
        with_key: Callable[[K, V, V3], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
        store: str | None = None,
        changelog: bool | Mapping[str, str] = True,
    ) -> "KStream[K, V2]": ...
    @overload
    def join(
        self,
        other: KTable[K, V3],
        joiner: Callable[[V, V3], V2] | None = None,
        *,
        with_key: Callable[[K, V, V3], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
        grace: timedelta | None = None,
    ) -> "KStream[K, V2]": ...
    @overload
    def join(
        self,
        other: GlobalKTable[K2, V3],
        joiner: Callable[[V, V3], V2] | None = None,
        *,
        on: Callable[[K, V], K2 | None],
        with_key: Callable[[K, V, V3], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
    ) -> "KStream[K, V2]": ...
    def join(
        self,
        other: "KStream[Any, Any] | KTable[Any, Any] | GlobalKTable[Any, Any]",
        joiner: Callable[[Any, Any], Any] | None = None,
        *,
        windows: JoinWindows | None = None,
        on: Callable[[Any, Any], Any] | None = None,
        with_key: Callable[[Any, Any, Any], Any] | None = None,
        value: Serde[Any] | None = None,
        name: str | None = None,
        store: str | None = None,
        changelog: bool | Mapping[str, str] = True,
        grace: timedelta | None = None,
    ) -> "KStream[K, Any]":
        """Join each record with those of a stream at about the same time, or with a table's row, of the same key.

        Records without a partner are dropped.

        Args:
            other: A stream or table. It needs the same number of partitions, unless it is a global table.
            joiner: Combines the values of record and partner.
            windows: The times at which records of two streams are joined.
            on: The row's key from key and value of a record. Global tables need it.
            with_key: Combines the record's key and both values.
            value: The serde of the results.
            name: The node's name, or the beginning of those of streams, and of the repartition topics' names.
            store: The beginning of the names of the stores in which both streams wait for partners.
            changelog: False for stores that are lost with their worker; a mapping gives configs of their topics.
            grace: How long records wait for late rows of a versioned table, by their own times (KIP-923).

        Raises:
            TypeError: There are two joiners or none, or a keyword that is for others than `other`.
            ConfigurationError: There is a grace, but the table is not versioned, or its history is shorter.
        """
        joined = keyed("join", joiner, with_key)
        refuse_grace("join", grace, is_for_it=isinstance(other, KTable))
        if isinstance(other, KStream):
            options = stream_join_options(
                "join", windows=windows, on=on, value=value, name=name, store=store, changelog=changelog
            )
            return KStream(join_streams(self.parts, other.parts, joined, options))
        refuse_options("join", windows=windows, store=store, changelog=changelog)
        return self._looking_up(other, joined, on, keeps_unmatched=False, value=value, name=name, grace=grace)

    @overload
    def left_join(
        self,
        other: "KStream[K, V3]",
        joiner: Callable[[V, V3 | None], V2] | None = None,
        *,
        windows: JoinWindows,
        with_key: Callable[[K, V, V3 | None], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
        store: str | None = None,
        changelog: bool | Mapping[str, str] = True,
    ) -> "KStream[K, V2]": ...
    @overload
    def left_join(
        self,
        other: KTable[K, V3],
        joiner: Callable[[V, V3 | None], V2] | None = None,
        *,
        with_key: Callable[[K, V, V3 | None], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
        grace: timedelta | None = None,
    ) -> "KStream[K, V2]": ...
    @overload
    def left_join(
        self,
        other: GlobalKTable[K2, V3],
        joiner: Callable[[V, V3 | None], V2] | None = None,
        *,
        on: Callable[[K, V], K2 | None],
        with_key: Callable[[K, V, V3 | None], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
    ) -> "KStream[K, V2]": ...
    def left_join(
        self,
        other: "KStream[Any, Any] | KTable[Any, Any] | GlobalKTable[Any, Any]",
        joiner: Callable[[Any, Any], Any] | None = None,
        *,
        windows: JoinWindows | None = None,
        on: Callable[[Any, Any], Any] | None = None,
        with_key: Callable[[Any, Any, Any], Any] | None = None,
        value: Serde[Any] | None = None,
        name: str | None = None,
        store: str | None = None,
        changelog: bool | Mapping[str, str] = True,
        grace: timedelta | None = None,
    ) -> "KStream[K, Any]":
        """Join records as `join` does, and those that have no partner with None.

        With a stream, the result with None comes when the times of later records show that window and grace are over.

        Args:
            other: A stream or table. It needs the same number of partitions, unless it is a global table.
            joiner: Combines the values of record and partner; the latter may be None.
            windows: The times at which records of two streams are joined.
            on: The row's key from key and value of a record. Global tables need it.
            with_key: Combines the record's key and both values.
            value: The serde of the results.
            name: The node's name, or the beginning of those of streams, and of the repartition topics' names.
            store: The beginning of the names of the stores in which both streams wait for partners.
            changelog: False for stores that are lost with their worker; a mapping gives configs of their topics.
            grace: How long records wait for late rows of a versioned table, by their own times (KIP-923).

        Raises:
            TypeError: There are two joiners or none, or a keyword that is for others than `other`.
            ConfigurationError: There is a grace, but the table is not versioned, or its history is shorter.
        """
        joined = keyed("left_join", joiner, with_key)
        refuse_grace("left_join", grace, is_for_it=isinstance(other, KTable))
        if isinstance(other, KStream):
            options = stream_join_options(
                "left_join", windows=windows, on=on, value=value, name=name, store=store, changelog=changelog
            )
            return KStream(join_streams(self.parts, other.parts, joined, options))
        refuse_options("left_join", windows=windows, store=store, changelog=changelog)
        return self._looking_up(other, joined, on, keeps_unmatched=True, value=value, name=name, grace=grace)

    def outer_join(
        self,
        other: "KStream[K, V3]",
        joiner: Callable[[V | None, V3 | None], V2] | None = None,
        *,
        windows: JoinWindows,
        with_key: Callable[[K, V | None, V3 | None], V2] | None = None,
        value: Serde[V2] | None = None,
        name: str | None = None,
        store: str | None = None,
        changelog: bool | Mapping[str, str] = True,
    ) -> "KStream[K, V2]":
        """Join records of two streams as `join` does, and those of both that have no partner with None.

        Such a result comes when the times of later records show that window and grace are over.

        Args:
            other: A stream with the same number of partitions.
            joiner: Combines both values, one of which may be None.
            windows: The times at which records are joined.
            with_key: Combines the key and both values.
            value: The serde of the results.
            name: The beginning of the names of the nodes and of the repartition topics.
            store: The beginning of the names of the stores in which both streams wait for partners.
            changelog: False for stores that are lost with their worker; a mapping gives configs of their topics.

        Raises:
            TypeError: There are two joiners or none, or no windows.
        """
        joined = keyed("outer_join", joiner, with_key)
        options = stream_join_options(
            "outer_join", windows=windows, value=value, name=name, store=store, changelog=changelog
        )
        check_kind("outer_join: other", other, KStream, "a stream")
        return KStream(join_streams(self.parts, other.parts, joined, options))

    def to(
        self,
        topic: str | TopicName,
        *,
        key: Serde[K] | None = None,
        value: Serde[V] | None = None,
        partitioner: Partitioner | None = None,
        name: str | None = None,
    ) -> None:
        """Write the records to a topic, or to the one that a function of key, value and context returns.

        Args:
            topic: The topic, or the function.
            key: The serde of keys.
            value: The serde of values.
            partitioner: A function of topic, key, value and number of partitions, which returns a partition, several,
                or None for the default: the hash of the key's bytes, as Java's clients compute it. All windows of a
                key go to one partition.
            name: The name of the sink.
        """
        node_name = self.parts.graph.named(name, "KSTREAM-SINK-")
        key_serde = key if key is not None else self.parts.graph.need(self.parts.key, "to")
        value_serde = value if value is not None else self.parts.graph.need(self.parts.value, "to")
        # Keys with a window are partitioned by their inner key, so that all windows of a key are together
        # (WindowedStreamPartitioner in Kafka).
        chosen = partitioner if partitioner is not None else default_partitioner(key_serde)
        sink = SinkNode(name=node_name, parents=(), topic=topic, key=key_serde, value=value_serde, partitioner=chosen)

        def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
            topology.add_node(evolve(sink, parents=parents))

        self.parts.graph.add(node_name, write, self.parts.node)

    def group_by_key(
        self, *, key: Serde[K] | None = None, value: Serde[V] | None = None, name: str | None = None
    ) -> KGroupedStream[K, V]:
        """Group the records by their keys, to aggregate them."""
        return KGroupedStream(Grouping(self._given(key, value), name))

    def group_by(
        self,
        function: Callable[[K, V], K2],
        *,
        key: Serde[K2] | None = None,
        value: Serde[V] | None = None,
        name: str | None = None,
    ) -> KGroupedStream[K2, V]:
        """Group the records by a function of key and value, to aggregate them."""
        check_functions("group_by", function=function)
        node_name = self.parts.graph.named(name, "KSTREAM-KEY-SELECT-")
        node = self.parts.graph.add(
            node_name, writer_of(node_name, processors.SelectKey(function)), self.parts.node, changes_key=True
        )
        # Grouping by a function always repartitions, also if the function returns the old key: nobody can tell
        # (KStreamImpl.groupBy in Kafka).
        stream = evolve(self._given(slot_of(key, "group_by", "key"), value), node=node, needs_partitioning=True)
        return KGroupedStream(Grouping(stream, name))

    def _given(self, key: Slot | None, value: Slot | None) -> StreamParts:
        parts = self.parts
        return evolve(parts, key=parts.key if key is None else key, value=parts.value if value is None else value)

    def _looking_up(
        self,
        other: KTable[Any, Any] | GlobalKTable[Any, Any],
        joiner: "processors.KeyedJoiner",
        on: Callable[[Any, Any], Any] | None,
        *,
        keeps_unmatched: bool,
        value: Serde[Any] | None,
        name: str | None,
        grace: timedelta | None,
    ) -> "KStream[K, Any]":
        if isinstance(other, GlobalKTable):
            parts = join_stream_with_global_table(
                self.parts, other, joiner, on, keeps_unmatched=keeps_unmatched, name=name
            )
        # A table has rows only for the keys of its own partition, so a record can only be joined with the row of its
        # own key.
        elif on is not None:
            raise TypeError(
                "`on=` is for global tables. Change the key with select_key, or read the table as a global one."
            )
        else:
            check_kind("join: other", other, KTable, "a stream or table")
            parts = join_stream_with_table(
                self.parts, other.parts, joiner, keeps_unmatched=keeps_unmatched, name=name, grace=grace
            )
        return KStream(parts if value is None else evolve(parts, value=value))

    def _below(
        self,
        prefix: str,
        operator: Operator,
        name: str | None,
        slots: tuple[Slot, Slot] | None = None,
        *,
        changes_key: bool = False,
        keeps_records: bool = False,
    ) -> "KStream[Any, Any]":
        node_name = self.parts.graph.named(name, prefix)
        node = self.parts.graph.add(
            node_name,
            writer_of(node_name, operator),
            self.parts.node,
            changes_key=changes_key,
            keeps_records=keeps_records,
        )
        key, value = (self.parts.key, self.parts.value) if slots is None else slots
        # The mark stays until a repartition topic removes it: operators that keep keys do not bring records into other
        # partitions.
        needs_partitioning = changes_key or self.parts.needs_partitioning
        return KStream(evolve(self.parts, node=node, key=key, value=value, needs_partitioning=needs_partitioning))
