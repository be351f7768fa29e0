"""Joins of streams with streams."""

from kafka_groups.streams import JoinWindows, KStream, StreamsBuilder
from tests.topologies.catalogue.functions import (
    TEXT,
    by_letter,
    joined,
    joined_with_key,
    letter,
    ms,
    numbers,
    texts,
    upper,
    words,
)
from tests.topologies.catalogue.processing import stamped
from tests.topologies.catalogue.registry import Twins

__all__ = ["graceful", "left", "right", "self_join", "strict", "twins"]

twins = Twins()


def left(builder: StreamsBuilder) -> KStream[str, str]:
    """The left side."""
    return texts(builder, "left")


def right(builder: StreamsBuilder) -> KStream[str, str]:
    """The right side."""
    return texts(builder, "right")


def strict(before: int = 50, after: int = 50) -> JoinWindows:
    """Without grace."""
    return JoinWindows(before=ms(before), after=ms(after), grace=ms(0))


def graceful(before: int = 50, after: int = 50) -> JoinWindows:
    """With grace."""
    return JoinWindows(before=ms(before), after=ms(after), grace=ms(40))


def out(stream: KStream[str, str]) -> None:
    """Write texts."""
    stream.to("out", value=TEXT)


def self_join(builder: StreamsBuilder) -> None:
    """A stream with itself."""
    read = left(builder)
    out(read.join(read, joined, windows=graceful()))


twins.dsl("stream_join", lambda builder: out(left(builder).join(right(builder), joined, windows=strict())))
twins.dsl(
    "stream_join_with_key",
    lambda builder: out(left(builder).join(right(builder), with_key=joined_with_key, windows=graceful())),
)
twins.dsl("stream_left_join", lambda builder: out(left(builder).left_join(right(builder), joined, windows=strict())))
twins.dsl(
    "stream_left_join_grace",
    lambda builder: out(left(builder).left_join(right(builder), joined, windows=graceful())),
)
twins.dsl("stream_outer_join", lambda builder: out(left(builder).outer_join(right(builder), joined, windows=strict())))
twins.dsl(
    "stream_outer_join_grace",
    lambda builder: out(left(builder).outer_join(right(builder), joined, windows=graceful())),
)
twins.dsl(
    "stream_join_after", lambda builder: out(left(builder).join(right(builder), joined, windows=strict(before=0)))
)
twins.dsl(
    "stream_outer_join_before",
    lambda builder: out(left(builder).outer_join(right(builder), joined, windows=graceful(after=-10))),
)
twins.dsl(
    "stream_left_join_after",
    lambda builder: out(left(builder).left_join(right(builder), joined, windows=strict(before=10))),
)
twins.dsl(
    "stream_join_named",
    lambda builder: out(
        left(builder).outer_join(right(builder), joined, windows=graceful(), name="pair", store="pair-stores")
    ),
)
twins.dsl(
    "stream_join_repartitioned",
    lambda builder: out(
        left(builder)
        .select_key(letter, key=TEXT)
        .left_join(right(builder).map(by_letter, key=TEXT, value=TEXT), joined, windows=graceful())
    ),
)
twins.dsl(
    "stream_join_repartitioned_named",
    lambda builder: out(
        left(builder)
        .select_key(letter, key=TEXT)
        .join(
            right(builder).map(by_letter, key=TEXT, value=TEXT),
            joined,
            windows=graceful(),
            name="pair",
            store="pair-stores",
        )
    ),
)
twins.dsl("stream_self_join", self_join)
twins.dsl(
    "stream_join_three",
    lambda builder: out(
        left(builder)
        .join(right(builder), joined, windows=graceful(), value=TEXT)
        .left_join(texts(builder, "third"), joined, windows=graceful())
    ),
)


def _words(read: KStream[str, str], topic: str) -> KStream[str, str]:
    """Words that go through a topic of their own, so that many records of one time wait in one task."""
    return read.flat_map_values(words, value=TEXT).repartition(name=topic)


def equal_times_joined(builder: StreamsBuilder) -> None:
    """Records of equal times wait in two queues."""
    read = texts(builder, "in")
    first, second = _words(read, "first"), _words(read.map_values(upper, value=TEXT), "second")
    out(first.join(second, joined, windows=strict()))


def equal_times_merged(builder: StreamsBuilder) -> None:
    """Records of equal times, and later ones, wait in four queues."""
    read = texts(builder, "in")
    later = read.process(stamped, key=TEXT, value=TEXT).repartition(name="later")
    first, second = _words(read, "first"), _words(read.map_values(upper, value=TEXT), "second")
    out(first.merge(second).merge(later).merge(_words(read, "third")))


twins.dsl("equal_times_joined", equal_times_joined)
twins.dsl("equal_times_merged", equal_times_merged)
twins.dsl(
    "stream_join_numbers",
    lambda builder: out(left(builder).outer_join(numbers(builder, "numbers"), joined, windows=graceful())),
)
twins.dsl(
    "stream_join_unlogged",
    lambda builder: out(left(builder).left_join(right(builder), joined, windows=graceful(), changelog=False)),
)
