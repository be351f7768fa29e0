"""Joins with tables."""

from kafka_groups.streams import GlobalKTable, KStream, KTable, StreamsBuilder
from tests.topologies.catalogue.functions import (
    TEXT,
    added,
    by_letter,
    concatenated,
    has_a,
    joined,
    joined_with_key,
    letter,
    letter_of,
    removed,
    start,
    table,
    texts,
    upper,
)
from tests.topologies.catalogue.registry import Twins

__all__ = ["twins"]

twins = Twins()


def source(builder: StreamsBuilder) -> KStream[str, str]:
    """The stream of the topic "in"."""
    return texts(builder, "in")


def rows(builder: StreamsBuilder) -> KTable[str, str]:
    """The left or the only table."""
    return table(builder, "table")


def other(builder: StreamsBuilder) -> KTable[str, str]:
    """The right table."""
    return table(builder, "other-table")


def global_rows(builder: StreamsBuilder) -> GlobalKTable[str, str]:
    """A global table."""
    return builder.global_table("global", key=TEXT, value=TEXT)


def out(stream: KStream[str, str]) -> None:
    """Write texts."""
    stream.to("out", value=TEXT)


def rows_out(found: KTable[str, str]) -> None:
    """Write the rows of a table."""
    out(found.to_stream())


def table_self_join(builder: StreamsBuilder) -> None:
    """A table with itself."""
    read = rows(builder)
    rows_out(read.join(read, joined))


def by_value(_key: str, value: str) -> str:
    """A foreign key."""
    return letter_of(value)


def by_key(_topic: str, key: str | None, value: None, partitions: int) -> int | None:
    """A partition by the length of the key, without the value."""
    return None if key is None or value is not None else len(key) % partitions


def grouped_by_letter(found: KTable[str, str]) -> None:
    """Aggregate rows by their first letters."""
    rows_out(found.group_by(by_letter, key=TEXT, value=TEXT).aggregate(start, added, removed, value=TEXT))


twins.dsl("stream_table_join", lambda builder: out(source(builder).join(rows(builder), joined)))
twins.dsl(
    "stream_table_join_with_key", lambda builder: out(source(builder).join(rows(builder), with_key=joined_with_key))
)
twins.dsl("stream_table_left_join", lambda builder: out(source(builder).left_join(rows(builder), joined)))
twins.dsl(
    "stream_table_join_repartitioned",
    lambda builder: out(source(builder).select_key(letter, key=TEXT).join(rows(builder), joined)),
)
twins.dsl(
    "stream_table_left_join_named",
    lambda builder: out(
        source(builder).select_key(letter, key=TEXT).left_join(rows(builder), joined, name="by-letter")
    ),
)
twins.dsl(
    "stream_table_join_filtered",
    lambda builder: out(source(builder).join(rows(builder).filter(has_a).map_values(upper, value=TEXT), joined)),
)
twins.dsl(
    "stream_table_join_counted",
    lambda builder: out(source(builder).join(texts(builder, "other").group_by_key().count(), joined)),
)
twins.dsl(
    "stream_table_join_twice",
    lambda builder: out(source(builder).join(rows(builder), joined).left_join(table(builder, "third"), joined)),
)
twins.dsl("global_join", lambda builder: out(source(builder).join(global_rows(builder), joined, on=letter)))
twins.dsl("global_left_join", lambda builder: out(source(builder).left_join(global_rows(builder), joined, on=letter)))
twins.dsl(
    "global_join_by_key",
    lambda builder: out(
        source(builder).join(
            global_rows(builder), with_key=joined_with_key, on=lambda key, _value: key, name="looking-up"
        )
    ),
)
twins.dsl(
    "global_join_kept",
    lambda builder: out(
        source(builder).left_join(builder.global_table("global", key=TEXT, value=TEXT, store="kept"), joined, on=letter)
    ),
)
twins.dsl("table_join", lambda builder: rows_out(rows(builder).join(other(builder), joined)))
twins.dsl("table_left_join", lambda builder: rows_out(rows(builder).left_join(other(builder), joined)))
twins.dsl("table_outer_join", lambda builder: rows_out(rows(builder).outer_join(other(builder), joined)))
twins.dsl(
    "table_join_materialized",
    lambda builder: rows_out(rows(builder).join(other(builder), joined, value=TEXT, name="joining", store="both")),
)
twins.dsl(
    "table_left_join_materialized",
    lambda builder: rows_out(rows(builder).left_join(other(builder), joined, value=TEXT, store="both")),
)
twins.dsl(
    "table_outer_join_materialized",
    lambda builder: rows_out(rows(builder).outer_join(other(builder), joined, value=TEXT, store="both")),
)
twins.dsl("table_self_join", table_self_join)
twins.dsl(
    "table_join_three",
    lambda builder: rows_out(
        rows(builder).join(other(builder), joined, value=TEXT).outer_join(table(builder, "third"), joined)
    ),
)
twins.dsl(
    "table_join_filtered",
    lambda builder: rows_out(
        rows(builder)
        .filter(has_a)
        .left_join(other(builder).map_values(upper, value=TEXT), joined, value=TEXT)
        .filter(lambda _key, value: len(value) > 3)
    ),
)
twins.dsl(
    "table_join_then_group",
    lambda builder: grouped_by_letter(rows(builder).outer_join(other(builder), joined, value=TEXT)),
)
twins.dsl(
    "table_join_counted",
    lambda builder: rows_out(
        source(builder).group_by_key().count().join(texts(builder, "other").group_by_key().reduce(concatenated), joined)
    ),
)
twins.dsl("foreign_key_join", lambda builder: rows_out(rows(builder).join(other(builder), joined, on=by_value)))
twins.dsl(
    "foreign_key_left_join", lambda builder: rows_out(rows(builder).left_join(other(builder), joined, on=by_value))
)
twins.dsl(
    "foreign_key_join_materialized",
    lambda builder: rows_out(rows(builder).join(other(builder), joined, on=by_value, value=TEXT, store="both")),
)
twins.dsl(
    "foreign_key_left_join_named",
    lambda builder: rows_out(
        builder.table("table", key=TEXT, value=TEXT, store="kept").left_join(
            other(builder), joined, on=by_value, value=TEXT, name="lookup", store="both"
        )
    ),
)
twins.dsl(
    "foreign_key_join_then_group",
    lambda builder: grouped_by_letter(rows(builder).left_join(other(builder), joined, on=by_value, value=TEXT)),
)
twins.dsl(
    "foreign_key_join_partitioned",
    lambda builder: rows_out(
        rows(builder).join(other(builder), joined, on=by_value, partitioner=by_key, other_partitioner=by_key)
    ),
)
twins.dsl(
    "foreign_key_left_join_partitioned",
    lambda builder: rows_out(
        rows(builder).left_join(other(builder), joined, on=by_value, other_partitioner=by_key, name="lookup")
    ),
)
twins.dsl(
    "foreign_key_join_of_counts",
    lambda builder: rows_out(rows(builder).join(source(builder).group_by_key().count(), joined, on=by_value)),
)
