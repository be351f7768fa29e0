"""Reducers and aggregators whose results are None at times, which deletes the row or the window."""

from typing import cast

from kafka_groups.streams import KGroupedStream, StreamsBuilder
from tests.topologies.catalogue.functions import (
    TEXT,
    added,
    concatenated,
    letter_of,
    merged,
    start,
    table,
    texts,
    without_it,
)
from tests.topologies.catalogue.registry import Twins
from tests.topologies.catalogue.windowed import (
    LONG_TIME,
    session,
    session_texts,
    sliding_with_grace,
    timed_texts,
    tumbling,
)

__all__ = ["twins"]

twins = Twins()


def source(builder: StreamsBuilder) -> KGroupedStream[str, str]:
    """The stream that is aggregated."""
    return texts(builder, "in").group_by_key()


def reduced_text(aggregate: str, value: str) -> str:
    """Both texts, or None."""
    return cast("str", None) if value.startswith("b") else concatenated(aggregate, value)


def added_text(key: str, value: str | None, aggregate: str) -> str:
    """The text with one more value, or None."""
    return cast("str", None) if value is None or value.startswith("b") else added(key, value, aggregate)


def reduced_table(builder: StreamsBuilder) -> None:
    """The rows of a table under new keys."""
    grouped = table(builder, "table").group_by(lambda _, value: (letter_of(value), value), key=TEXT, value=TEXT)
    grouped.reduce(reduced_text, without_it).to_stream().to("out")


twins.dsl("null_reduce", lambda builder: source(builder).reduce(reduced_text).to_stream().to("out"))
twins.dsl("null_reduce_of_table", reduced_table)
twins.dsl(
    "null_tumbling",
    lambda builder: timed_texts(
        source(builder).windowed_by(tumbling()).reduce(reduced_text, store="kept", retention=LONG_TIME)
    ),
)
twins.dsl(
    "null_sliding",
    lambda builder: timed_texts(
        source(builder)
        .windowed_by(sliding_with_grace())
        .aggregate(start, added_text, value=TEXT, store="kept", retention=LONG_TIME)
    ),
)
twins.dsl(
    "null_session",
    lambda builder: session_texts(
        source(builder)
        .windowed_by(session())
        .aggregate(start, added_text, merged, value=TEXT, store="kept", retention=LONG_TIME)
    ),
)
