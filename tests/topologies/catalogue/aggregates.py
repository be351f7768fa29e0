"""Aggregations of streams and of tables."""

from kafka_groups.streams import CogroupedKStream, KGroupedStream, KTable, StreamsBuilder
from tests.topologies.catalogue.functions import (
    LIST,
    LONG,
    TEXT,
    added,
    by_length,
    by_letter,
    concatenated,
    has_a,
    joined,
    length_by_letter,
    letter,
    numbers,
    removed,
    start,
    subtracted,
    summed,
    swapped,
    table,
    texts,
    upper,
    without_it,
    words,
    zero,
)
from tests.topologies.catalogue.registry import Twins

__all__ = ["cogrouped", "grouped", "twins"]

twins = Twins()


def grouped(builder: StreamsBuilder) -> KGroupedStream[str, str]:
    """The stream of "in", grouped by its keys."""
    return texts(builder, "in").group_by_key()


def counts(counted: KTable[str, int]) -> None:
    """Write numbers."""
    counted.to_stream().to("out", value=LONG)


def out(aggregated: KTable[str, str]) -> None:
    """Write texts."""
    aggregated.to_stream().to("out", value=TEXT)


def listed(aggregated: KTable[str, list[str]]) -> None:
    """Write lists."""
    aggregated.to_stream().to("out", value=LIST)


def appended(_key: object, value: str, found: list[str]) -> list[str]:
    """The list that was given, with one more value."""
    found.append(value)
    return found


def taken(_key: object, value: str, found: list[str]) -> list[str]:
    """The list that was given, with one value less."""
    if value in found:
        found.remove(value)
    return found


def regrouped(rows: KTable[str, str]) -> None:
    """Group rows by the lengths of their values, so that each change moves a row from one group to another."""
    out(rows.group_by(by_length, key=TEXT, value=TEXT).aggregate(start, added, removed, value=TEXT))


def two(builder: StreamsBuilder) -> None:
    """Two aggregations of one group, and their join."""
    grouping = texts(builder, "in").flat_map_values(words, value=TEXT).group_by_key()
    counted = grouping.count(store="z-counts")
    reduced = grouping.reduce(concatenated, store="a-texts")
    reduced.to_stream().to("reduced")
    counts(counted)
    counted.join(reduced, joined, value=TEXT, store="both").to_stream().to("joined")


def table_aggregated_twice(builder: StreamsBuilder) -> None:
    """Both read the topic that the grouping names."""
    rows = table(builder, "table").group_by(by_letter, key=TEXT, value=TEXT, name="letters")
    counts(rows.count(name="counting", store="counts"))
    rows.reduce(concatenated, without_it).to_stream().to("reduced")


def cogroup(builder: StreamsBuilder) -> None:
    """Two streams in one aggregation."""
    other = texts(builder, "other").group_by_key()
    out(grouped(builder).cogroup(added).cogroup(other, removed).aggregate(start, value=TEXT))


def cogrouped(builder: StreamsBuilder) -> CogroupedKStream[str, str]:
    """Two streams, one of them repartitioned."""
    other = texts(builder, "other").group_by(letter, key=TEXT)
    return grouped(builder).cogroup(added).cogroup(other, removed)


twins.dsl("count", lambda builder: counts(grouped(builder).count()))
twins.dsl("count_named", lambda builder: counts(grouped(builder).count(name="counting", store="counts")))
twins.dsl("count_uncached", lambda builder: counts(grouped(builder).count(store="counts", caching=False)))
twins.dsl("count_unlogged", lambda builder: counts(grouped(builder).count(store="counts", changelog=False)))
twins.dsl(
    "count_logged_otherwise",
    lambda builder: counts(
        grouped(builder).count(store="counts", changelog={"segment.bytes": "1000000", "cleanup.policy": "delete"})
    ),
)
twins.dsl(
    "count_by_word",
    lambda builder: counts(
        texts(builder, "in")
        .flat_map_values(words, value=TEXT)
        .group_by(lambda _key, word: word, key=TEXT)
        .count(store="counts")
    ),
)
twins.dsl(
    "words_count",
    lambda builder: counts(texts(builder, "in").flat_map_values(words, value=TEXT).group_by_key().count()),
)
twins.dsl("two_aggregates", two)
twins.dsl(
    "count_by_letter", lambda builder: counts(texts(builder, "in").group_by(letter, key=TEXT, name="letters").count())
)
twins.dsl(
    "count_after_map",
    lambda builder: counts(
        texts(builder, "in").map(swapped, key=TEXT, value=TEXT).filter(has_a).group_by_key().count()
    ),
)
twins.dsl("reduce", lambda builder: out(grouped(builder).reduce(concatenated)))
twins.dsl("reduce_named", lambda builder: out(grouped(builder).reduce(concatenated, name="reducing", store="last")))
twins.dsl("aggregate", lambda builder: out(grouped(builder).aggregate(start, added, value=TEXT)))
twins.dsl(
    "aggregate_numbers",
    lambda builder: counts(numbers(builder, "numbers").group_by_key().aggregate(zero, summed, value=LONG)),
)
twins.dsl(
    "aggregate_to_null",
    lambda builder: out(
        grouped(builder).aggregate(
            start,
            lambda key, value, old: None if value == "bad" else added(key, value, old),  # type: ignore[arg-type, return-value]
            value=TEXT,
        )
    ),
)
twins.dsl("aggregate_changes_argument", lambda builder: listed(grouped(builder).aggregate(list, appended, value=LIST)))
twins.dsl("cogroup", cogroup)
twins.dsl(
    "cogroup_repartitioned",
    lambda builder: out(cogrouped(builder).aggregate(start, value=TEXT, name="both", store="together")),
)
twins.dsl(
    "table_count",
    lambda builder: counts(table(builder, "table").group_by(by_letter, key=TEXT, value=TEXT).count()),
)
twins.dsl(
    "table_reduce",
    lambda builder: out(
        table(builder, "table").group_by(by_letter, key=TEXT, value=TEXT).reduce(concatenated, without_it)
    ),
)
twins.dsl(
    "table_aggregate",
    lambda builder: out(
        table(builder, "table")
        .group_by(by_letter, key=TEXT, value=TEXT, name="letters")
        .aggregate(start, added, removed, value=TEXT, store="by-letter")
    ),
)
twins.dsl("table_aggregated_twice", table_aggregated_twice)
twins.dsl(
    "table_aggregate_numbers",
    lambda builder: counts(
        table(builder, "table")
        .group_by(length_by_letter, key=TEXT, value=LONG)
        .aggregate(zero, summed, subtracted, value=LONG)
    ),
)
twins.dsl(
    "table_aggregate_changes_argument",
    lambda builder: listed(
        table(builder, "table").group_by(by_letter, key=TEXT, value=TEXT).aggregate(list, appended, taken, value=LIST)
    ),
)
twins.dsl(
    "table_count_of_counts",
    lambda builder: counts(
        grouped(builder)
        .count()
        .group_by(lambda key, count: (f"n{count}", key), key=TEXT, value=TEXT)
        .count(store="counts")
    ),
)
twins.dsl("aggregate_then_group", lambda builder: regrouped(grouped(builder).aggregate(start, added, value=TEXT)))
twins.dsl("reduce_then_group", lambda builder: regrouped(grouped(builder).reduce(concatenated)))
twins.dsl(
    "words_then_group",
    lambda builder: regrouped(
        texts(builder, "in").flat_map_values(words, value=TEXT).group_by_key().reduce(concatenated)
    ),
)
twins.dsl(
    "cogroup_then_group",
    lambda builder: regrouped(grouped(builder).cogroup(added).aggregate(start, value=TEXT, store="together")),
)
twins.dsl(
    "table_aggregate_then_group",
    lambda builder: regrouped(
        table(builder, "table").group_by(by_letter, key=TEXT, value=TEXT).aggregate(start, added, removed, value=TEXT)
    ),
)
twins.dsl(
    "table_reduce_then_group",
    lambda builder: regrouped(
        table(builder, "table").group_by(by_letter, key=TEXT, value=TEXT).reduce(concatenated, without_it)
    ),
)
twins.dsl(
    "table_aggregate_of_filtered",
    lambda builder: out(
        table(builder, "table")
        .filter(has_a)
        .map_values(upper, value=TEXT)
        .group_by(by_letter, key=TEXT, value=TEXT)
        .aggregate(start, added, removed, value=TEXT)
    ),
)
