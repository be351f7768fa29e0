"""Joins whose copartition groups leave out sources, or overlap."""

from kafka_groups.streams import KStream, KTable, StreamsBuilder, Suppressed
from tests.topologies.catalogue.aggregates import cogrouped
from tests.topologies.catalogue.functions import TEXT, joined, letter, ms, start, table, texts
from tests.topologies.catalogue.registry import Twins
from tests.topologies.catalogue.stream_joins import strict

__all__ = ["twins"]

twins = Twins()


def source(builder: StreamsBuilder) -> KStream[str, str]:
    """The stream of the topic "in"."""
    return texts(builder, "in")


def suppressed(rows: KTable[str, str]) -> KTable[str, str]:
    """A table whose updates wait."""
    return rows.suppress(Suppressed.until_time_limit(ms(50)))


def suppressed_table(builder: StreamsBuilder) -> None:
    """A stream with a suppressed table."""
    source(builder).join(suppressed(table(builder, "table")), joined).to("out", value=TEXT)


def suppressed_count(builder: StreamsBuilder) -> None:
    """A stream with suppressed counts, which come through a repartition topic."""
    read = source(builder)
    counts = texts(builder, "other").select_key(letter, key=TEXT).group_by_key().count()
    held = counts.suppress(Suppressed.until_time_limit(ms(50)))
    read.join(held, "{}+{}".format).to("out", value=TEXT)


def suppressed_tables(builder: StreamsBuilder) -> None:
    """Two suppressed tables."""
    held = suppressed(table(builder, "table")).join(suppressed(table(builder, "other-table")), joined)
    held.to_stream().to("out", value=TEXT)


def with_cogroup(builder: StreamsBuilder) -> None:
    """A stream with streams that are aggregated together."""
    left = texts(builder, "left")
    left.join(cogrouped(builder).aggregate(start, value=TEXT, store="together"), joined).to("out", value=TEXT)


def shared_topic(builder: StreamsBuilder) -> None:
    """Three joins of one new key."""
    by_letter = source(builder).select_key(letter, key=TEXT)
    by_letter.join(table(builder, "table"), joined).to("one", value=TEXT)
    by_letter.left_join(table(builder, "other-table"), joined).to("two", value=TEXT)
    by_letter.join(texts(builder, "right"), joined, windows=strict()).to("three", value=TEXT)


def merged_source(builder: StreamsBuilder) -> None:
    """A join of the second stream of a topic."""
    source(builder).to("copied")
    source(builder).join(table(builder, "table"), joined).to("out", value=TEXT)


def chain(builder: StreamsBuilder) -> None:
    """Two joins, and one that has a source of each."""
    one, other = source(builder), texts(builder, "other")
    one.join(table(builder, "table"), joined).to("one", value=TEXT)
    other.join(table(builder, "other-table"), joined).to("two", value=TEXT)
    one.join(other, joined, windows=strict()).to("three", value=TEXT)


def repartitioned(builder: StreamsBuilder) -> None:
    """A topic that was asked for."""
    source(builder).repartition(name="first").join(table(builder, "table"), joined).to("out", value=TEXT)


twins.dsl("copartitioned_suppressed", suppressed_table)
twins.dsl("copartitioned_suppressed_count", suppressed_count)
twins.dsl("copartitioned_suppressed_tables", suppressed_tables)
twins.dsl("copartitioned_cogroup", with_cogroup)
twins.dsl("copartitioned_shared_topic", shared_topic)
twins.dsl("copartitioned_merged_source", merged_source)
twins.dsl("copartitioned_chain", chain)
twins.dsl("copartitioned_repartitioned", repartitioned)
