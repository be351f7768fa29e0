"""Suppression by time, by windows that close, and by the size of the buffer."""

from datetime import timedelta

from kafka_groups.streams import KTable, StreamsBuilder, Suppressed
from tests.topologies.catalogue.aggregates import grouped
from tests.topologies.catalogue.functions import (
    TEXT,
    added,
    by_letter,
    concatenated,
    has_a,
    merged,
    ms,
    removed,
    start,
    table,
)
from tests.topologies.catalogue.registry import Twins
from tests.topologies.catalogue.windowed import (
    hopping,
    session,
    session_texts,
    sliding_with_grace,
    timed,
    timed_texts,
    tumbling,
    tumbling_with_grace,
)

__all__ = ["twins"]

LIMIT = ms(60)

twins = Twins()


def reduced(builder: StreamsBuilder) -> KTable[str, str]:
    """A table of texts."""
    return grouped(builder).reduce(concatenated)


def limited(builder: StreamsBuilder, suppressed: Suppressed[str]) -> None:
    """A table that is suppressed."""
    reduced(builder).suppress(suppressed).to_stream().to("out", value=TEXT)


def until_limit(limit: timedelta = LIMIT) -> Suppressed[str]:
    """Wait for a time."""
    return Suppressed.until_time_limit(limit)


twins.dsl(
    "suppress_tumbling",
    lambda builder: timed(
        grouped(builder).windowed_by(tumbling_with_grace()).count().suppress(Suppressed.until_window_closes())
    ),
)
twins.dsl(
    "suppress_hopping_named",
    lambda builder: timed(
        grouped(builder).windowed_by(hopping()).count().suppress(Suppressed.until_window_closes(), name="closed")
    ),
)
twins.dsl(
    "suppress_session",
    lambda builder: session_texts(
        grouped(builder)
        .windowed_by(session())
        .aggregate(start, added, merged, value=TEXT)
        .suppress(Suppressed.until_window_closes())
    ),
)
twins.dsl(
    "suppress_sliding",
    lambda builder: timed_texts(
        grouped(builder)
        .windowed_by(sliding_with_grace())
        .aggregate(start, added, value=TEXT)
        .suppress(Suppressed.until_window_closes())
    ),
)
twins.dsl("suppress_time_limit", lambda builder: limited(builder, until_limit()))
twins.dsl("suppress_records", lambda builder: limited(builder, Suppressed.until_time_limit(LIMIT, max_records=2)))
twins.dsl("suppress_bytes", lambda builder: limited(builder, Suppressed.until_time_limit(LIMIT, max_bytes=250)))
twins.dsl(
    "suppress_records_fail",
    lambda builder: timed(
        grouped(builder).windowed_by(tumbling()).count().suppress(Suppressed.until_window_closes(max_records=3))
    ),
)
twins.dsl(
    "suppress_table",
    lambda builder: table(builder, "table").suppress(until_limit()).to_stream().to("out", value=TEXT),
)
twins.dsl(
    "suppress_unlogged",
    lambda builder: reduced(builder).suppress(until_limit(), changelog=False).to_stream().to("out", value=TEXT),
)
twins.dsl(
    "suppress_then_group",
    lambda builder: (
        reduced(builder)
        .suppress(until_limit())
        .group_by(by_letter, key=TEXT, value=TEXT)
        .aggregate(start, added, removed, value=TEXT)
        .to_stream()
        .to("out", value=TEXT)
    ),
)
twins.dsl(
    "suppress_then_filter",
    lambda builder: (
        reduced(builder)
        .suppress(Suppressed.until_time_limit(ms(0), max_records=1))
        .filter(has_a)
        .to_stream()
        .to("out", value=TEXT)
    ),
)
