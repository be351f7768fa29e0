"""Joins of streams with streams, as the DSL writes them."""

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from kafka_groups.serdes import Serde
from kafka_groups.streams import processors
from kafka_groups.streams.dsl.graph import Graph, Missing, Slot
from kafka_groups.streams.dsl.optimization import Optimization
from kafka_groups.streams.dsl.stream_parts import StreamParts
from kafka_groups.streams.dsl.windows import JoinWindows
from kafka_groups.streams.state.stores import StoreDefinition, WindowDefinition
from kafka_groups.streams.state.unjoined import UnjoinedDefinition
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import Operator

__all__ = ["StreamJoinOptions", "join_streams", "refuse_options", "stream_join_options"]


@frozen(kw_only=True)
class StreamJoinOptions:
    """The keywords of a join of streams.

    Attributes:
        word: The operator.
        keeps_left: Whether left records without a partner are joined with None.
        keeps_right: Whether right records without a partner are joined with None.
        windows: The times at which records are joined.
        name: The beginning of the names of nodes and repartition topics, or None.
        store: The beginning of the names of the stores, or None.
        changelog: False for stores without a changelog; a mapping gives configs of their changelog topics.
        value: The serde of the results, or None.
    """

    word: str
    keeps_left: bool
    keeps_right: bool
    windows: JoinWindows
    name: str | None
    store: str | None
    changelog: bool | Mapping[str, str]
    value: Serde[Any] | None


def stream_join_options(
    word: str, *, windows: JoinWindows | None, on: object = None, **given: Any
) -> StreamJoinOptions:
    """Return the options of a join of streams.

    Raises:
        TypeError: There are no windows, or there is an argument for tables.
    """
    if not isinstance(windows, JoinWindows):
        raise TypeError(
            f"{word} of two streams needs `windows=JoinWindows(before=…, after=…, grace=…)`, the times at which to "
            f"join; it got {windows!r}."
        )
    if on is not None:
        raise TypeError("`on=` is for global tables. Streams are joined by key: change it with select_key.")
    keeps_left, keeps_right = word != "join", word == "outer_join"
    return StreamJoinOptions(word=word, keeps_left=keeps_left, keeps_right=keeps_right, windows=windows, **given)


def refuse_options(word: str, **given: object) -> None:
    """Refuse arguments that only joins of streams have.

    Raises:
        TypeError: One of them was given.
    """
    for keyword, argument in given.items():
        if argument is not None and argument is not True:
            raise TypeError(f"{word} with a table has no `{keyword}=`: it is for joins of two streams. Leave it out.")


def join_streams(
    left: StreamParts, right: StreamParts, joiner: "processors.KeyedJoiner", options: StreamJoinOptions
) -> StreamParts:
    """Add a join of streams, and return the stream of its results."""
    graph, word = left.graph, options.word
    sides = _partitioned(left, right, options)
    nodes = _JoinedStreams(sides, joiner, options, _StreamJoinNames.of(graph, options))
    parents = [side.node for side in sides]
    node = graph.add(
        nodes.names.merge, nodes.write, *parents, takes_null_keys=options.keeps_left or options.keeps_right
    )
    value: Slot = Missing(word, "value") if options.value is None else options.value
    return evolve(sides[0], node=node, sources=nodes.sources, value=value)


@frozen(kw_only=True)
class _StreamJoinNames:
    """The names of the nodes and stores of a join."""

    this_windowed: str
    other_windowed: str
    this: str
    other: str
    merge: str
    this_store: str
    other_store: str
    unjoined: str

    @classmethod
    def of(cls, graph: Graph, options: StreamJoinOptions) -> "_StreamJoinNames":
        """Return the names that were given, or the next ones. Given names take indices, too."""
        # The names and their order are those of KStreamImplJoin.join in Kafka, since they are in the names of
        # changelogs.
        windowed = [graph.new_name("KSTREAM-WINDOWED-") for _ in range(2)]
        this = graph.new_name("KSTREAM-OUTERTHIS-" if options.keeps_right else "KSTREAM-JOINTHIS-")
        other = graph.new_name("KSTREAM-OUTEROTHER-" if options.keeps_left else "KSTREAM-JOINOTHER-")
        merge, name, store = graph.new_name("KSTREAM-MERGE-"), options.name, options.store
        # A side is called outer if it gives results for records of the other side alone.
        this_word, other_word = ("outer-" if outer else "" for outer in (options.keeps_right, options.keeps_left))
        shared_word = "outer" if options.keeps_right else "left"
        index = this.rpartition("-")[2]
        return cls(
            this_windowed=windowed[0] if name is None else f"{name}-this-windowed",
            other_windowed=windowed[1] if name is None else f"{name}-other-windowed",
            this=this if name is None else f"{name}-{this_word}this-join",
            other=other if name is None else f"{name}-{other_word}other-join",
            merge=merge if name is None else f"{name}-merge",
            this_store=f"{this}-store" if store is None else f"{store}-{this_word}this-join-store",
            other_store=f"{other}-store" if store is None else f"{store}-{other_word}other-join-store",
            unjoined=f"KSTREAM-OUTERSHARED-{index}-store"
            if store is None
            else f"{store}-{shared_word}-shared-join-store",
        )


class _JoinedStreams:
    """The nodes and stores of a join."""

    def __init__(
        self,
        sides: list[StreamParts],
        joiner: "processors.KeyedJoiner",
        options: StreamJoinOptions,
        names: _StreamJoinNames,
    ) -> None:
        self.names = names
        self.sources = sides[0].sources | sides[1].sources
        self._options, self._sides, self._joiner = options, sides, joiner
        self._has_single_store = Optimization.SINGLE_STORE_SELF_JOINS in sides[0].graph.optimization
        self._has_unjoined = options.keeps_left or options.keeps_right

    def write(self, topology: NodeGraph, parents: tuple[str, ...]) -> None:
        """Add them."""
        # Both sides have the same operator above them, so one store has the records of both
        # (InternalStreamsBuilder.rewriteSingleStoreSelfJoin in Kafka). Left and outer joins have results that one store
        # cannot tell: Java's are wrong then.
        if self._has_single_store and parents[0] == parents[1] and not self._has_unjoined:
            self._write_self_join(topology, parents[0])
        else:
            self._write_sides(topology, parents)
        # Equal keys have to be in partitions of equal number on both sides, also if both are repartitioned.
        topology.copartition(self.sources)

    def _write_self_join(self, topology: NodeGraph, parent: str) -> None:
        names, windows = self.names, self._options.windows
        reach = processors.JoinReach(windows.before_ms, windows.after_ms)
        topology.add_state_store(_window_store(names.this_store, self._sides[0], self._options))
        topology.add_operator(
            names.this_windowed, processors.JoinedSide(names.this_store, keeps_first=True), [parent], [names.this_store]
        )
        retention_ms = windows.retention_ms
        join = processors.SelfJoin(store=names.this_store, joiner=self._joiner, reach=reach, retention_ms=retention_ms)
        topology.add_operator(names.merge, join, [names.this_windowed], [names.this_store])

    def _write_sides(self, topology: NodeGraph, parents: tuple[str, ...]) -> None:
        names = self.names
        this_stores, other_stores = [names.this_store], [names.other_store]
        unjoined = [names.unjoined] if self._has_unjoined else []
        for definition in self._definitions():
            topology.add_state_store(definition)
        topology.add_operator(names.this_windowed, processors.JoinedSide(names.this_store), parents[:1], this_stores)
        topology.add_operator(names.other_windowed, processors.JoinedSide(names.other_store), parents[1:], other_stores)
        topology.add_operator(names.this, self._left(), [names.this_windowed], other_stores + unjoined)
        topology.add_operator(names.other, self._right(), [names.other_windowed], this_stores + unjoined)
        topology.add_operator(names.merge, processors.PassThrough(), [names.this, names.other])

    def _left(self) -> Operator:
        windows = self._options.windows
        join = processors.StreamJoin(
            other=self.names.other_store,
            joiner=self._joiner,
            is_left=True,
            reach=processors.JoinReach(windows.before_ms, windows.after_ms),
        )
        return self._kept(join, keeps_own=self._options.keeps_left)

    def _right(self) -> Operator:
        windows = self._options.windows
        join = processors.StreamJoin(
            other=self.names.this_store,
            joiner=self._joiner,
            is_left=False,
            # The right side looks the other way: what is after for a left record is before for a right one.
            reach=processors.JoinReach(windows.after_ms, windows.before_ms),
        )
        return self._kept(join, keeps_own=self._options.keeps_right)

    def _kept(self, join: "processors.StreamJoin", *, keeps_own: bool) -> Operator:
        if not self._has_unjoined:
            return join
        grace_ms = self._options.windows.grace_ms
        return processors.OuterStreamJoin(
            join=join, unjoined=self.names.unjoined, keeps_own=keeps_own, grace_ms=grace_ms
        )

    def _definitions(self) -> Iterator[StoreDefinition]:
        names, options, (left, right) = self.names, self._options, self._sides
        yield _window_store(names.this_store, left, options)
        yield _window_store(names.other_store, right, options)
        if self._has_unjoined:
            left_value, right_value = (side.graph.need(side.value, options.word) for side in self._sides)
            yield UnjoinedDefinition(
                name=names.unjoined, left=left_value, right=right_value, changelog=options.changelog
            )


def _partitioned(left: StreamParts, right: StreamParts, options: StreamJoinOptions) -> list[StreamParts]:
    """Return both streams with their serdes, each behind a repartition topic if it needs one."""
    # Both sides have the same keys, so one serde is enough for both.
    key = right.key if isinstance(left.key, Missing) else left.key
    word, name, found = options.word, options.name, []
    for side, which in ((left, "left"), (right, "right")):
        key_serde = side.graph.need(key if isinstance(side.key, Missing) else side.key, word)
        known = evolve(side, key=key_serde, value=side.graph.need(side.value, word))
        # Without a name, the topic has the name of the operator that changed the key (KStreamImpl.repartitionForJoin in
        # Kafka), so that joins below it can share it.
        prefix = side.graph.unnamed_topic(side.node.name) if name is None else f"{name}-{which}"
        found.append(known.partitioned(word, prefix))
    return found


def _window_store(name: str, side: StreamParts, options: StreamJoinOptions) -> WindowDefinition[Any, Any]:
    graph = side.graph
    return WindowDefinition(
        name=name,
        key=graph.need(side.key, options.word),
        value=graph.need(side.value, options.word),
        size_ms=options.windows.size_ms,
        retention_ms=options.windows.retention_ms,
        # A key may have several records with one timestamp, and each of them is joined. So the changelog cannot be
        # compacted (StreamJoinedStoreFactory in Kafka).
        retain_duplicates=True,
        starts_before_records=True,
        # A cache would keep only the last of such records.
        caching=False,
        changelog=options.changelog,
    )
