"""Joins of streams with streams, as the DSL writes them."""

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from kafka_groups.serdes import Serde
from kafka_groups.streams.dsl.graph import Graph, Missing, Slot
from kafka_groups.streams.dsl.stream_parts import StreamParts
from kafka_groups.streams.dsl.windows import JoinWindows
from kafka_groups.streams.processors.lookup_joins import KeyedJoiner
from kafka_groups.streams.processors.stateless import PassThrough
from kafka_groups.streams.processors.stream_joins import JoinedSide, JoinReach, StreamJoin
from kafka_groups.streams.state.stores import WindowDefinition
from kafka_groups.streams.topology.node_graph import NodeGraph

__all__ = ["StreamJoinOptions", "join_streams", "refuse_options", "stream_join_options"]


@frozen(kw_only=True)
class StreamJoinOptions:
    """The keywords of a join of streams.

    Attributes:
        word: The operator.
        windows: The times at which records are joined.
        name: The beginning of the names of nodes and repartition topics, or None.
        store: The beginning of the names of the stores, or None.
        changelog: False for stores without a changelog; a mapping gives configs of their changelog topics.
        value: The serde of the results, or None.
    """

    word: str
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
    return StreamJoinOptions(word=word, windows=windows, **given)


def refuse_options(word: str, **given: object) -> None:
    """Refuse arguments that only joins of streams have.

    Raises:
        TypeError: One of them was given.
    """
    for keyword, argument in given.items():
        if argument is not None and argument is not True:
            raise TypeError(f"{word} with a table has no `{keyword}=`: it is for joins of two streams. Leave it out.")


def join_streams(left: StreamParts, right: StreamParts, joiner: KeyedJoiner, options: StreamJoinOptions) -> StreamParts:
    """Add a join of streams, and return the stream of its results."""
    graph, word = left.graph, options.word
    left, right = _partitioned(left, right, options)
    names = _StreamJoinNames.of(graph, options)
    definitions = [
        _window_store(graph, name, side, options)
        for name, side in ((names.this_store, left), (names.other_store, right))
    ]
    windows, sources = options.windows, left.sources | right.sources
    this = StreamJoin(
        other=names.other_store,
        joiner=joiner,
        is_left=True,
        reach=JoinReach(windows.before_ms, windows.after_ms),
    )
    other = StreamJoin(
        other=names.this_store,
        joiner=joiner,
        is_left=False,
        reach=JoinReach(windows.after_ms, windows.before_ms),
    )

    def write(topology: NodeGraph, parents: tuple[str, ...]) -> None:
        for definition in definitions:
            topology.add_state_store(definition)
        topology.add_operator(names.this_windowed, JoinedSide(names.this_store), parents[:1], [names.this_store])
        topology.add_operator(names.other_windowed, JoinedSide(names.other_store), parents[1:], [names.other_store])
        topology.add_operator(names.this, this, [names.this_windowed], [names.other_store])
        topology.add_operator(names.other, other, [names.other_windowed], [names.this_store])
        topology.add_operator(names.merge, PassThrough(), [names.this, names.other])
        topology.copartition(sources)

    node = graph.add(names.merge, write, left.node, right.node)
    value: Slot = Missing(word, "value") if options.value is None else options.value
    return evolve(left, node=node, sources=sources, value=value)


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

    @classmethod
    def of(cls, graph: Graph, options: StreamJoinOptions) -> "_StreamJoinNames":
        """Return the names that were given, or the next ones. Given names take indices, too."""
        windowed = [graph.new_name("KSTREAM-WINDOWED-") for _ in range(2)]
        this, other = graph.new_name("KSTREAM-JOINTHIS-"), graph.new_name("KSTREAM-JOINOTHER-")
        merge, name, store = graph.new_name("KSTREAM-MERGE-"), options.name, options.store
        return cls(
            this_windowed=windowed[0] if name is None else f"{name}-this-windowed",
            other_windowed=windowed[1] if name is None else f"{name}-other-windowed",
            this=this if name is None else f"{name}-this-join",
            other=other if name is None else f"{name}-other-join",
            merge=merge if name is None else f"{name}-merge",
            this_store=f"{this}-store" if store is None else f"{store}-this-join-store",
            other_store=f"{other}-store" if store is None else f"{store}-other-join-store",
        )


def _partitioned(left: StreamParts, right: StreamParts, options: StreamJoinOptions) -> list[StreamParts]:
    """Return both streams with their serdes, each behind a repartition topic if it needs one."""
    key = right.key if isinstance(left.key, Missing) else left.key
    word, name, found = options.word, options.name, []
    for side, which in ((left, "left"), (right, "right")):
        key_serde = _known(side.graph, key if isinstance(side.key, Missing) else side.key, word)
        known = evolve(side, key=key_serde, value=_known(side.graph, side.value, word))
        found.append(known.partitioned(word, side.node.name if name is None else f"{name}-{which}"))
    return found


def _known(graph: Graph, slot: Slot, word: str) -> Serde[Any]:
    return graph.need(slot, word, giver=slot.operator if isinstance(slot, Missing) else None)


def _window_store(graph: Graph, name: str, side: StreamParts, options: StreamJoinOptions) -> WindowDefinition[Any, Any]:
    return WindowDefinition(
        name=name,
        key=graph.need(side.key, options.word),
        value=graph.need(side.value, options.word),
        size_ms=options.windows.size_ms,
        retention_ms=options.windows.retention_ms,
        retain_duplicates=True,
        caching=False,
        changelog=options.changelog,
    )
