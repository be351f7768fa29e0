"""Several streams of the same topics, and topics that cannot be read twice."""

from kafka_groups.streams import KStream, Optimization, StreamsBuilder
from tests.topologies.catalogue.functions import LONG, TEXT, concatenated, has_a, joined, letter, table, texts, upper
from tests.topologies.catalogue.registry import Twins
from tests.topologies.catalogue.stream_joins import strict

__all__ = ["twins"]

twins = Twins()


def source(builder: StreamsBuilder) -> KStream[str, str]:
    """A stream of the topic "in"."""
    return texts(builder, "in")


def two_uses(builder: StreamsBuilder) -> None:
    """Three streams, one of which is grouped."""
    source(builder).map_values(upper, value=TEXT).to("one")
    source(builder).filter(has_a).to("two")
    source(builder).select_key(letter, key=TEXT).group_by_key().count().to_stream().to("three", value=LONG)


def named(builder: StreamsBuilder) -> None:
    """The first name is that of the source."""
    builder.stream("in", key=TEXT, value=TEXT, name="first").to("one")
    builder.stream("in", key=TEXT, value=TEXT, name="second").filter(has_a).to("two")


def of_two_topics(builder: StreamsBuilder) -> None:
    """The same topics in another order."""
    builder.stream("in", "other", key=TEXT, value=TEXT).to("one")
    builder.stream("other", "in", key=TEXT, value=TEXT).filter(has_a).to("two")


def with_itself(builder: StreamsBuilder) -> None:
    """Each record comes once."""
    read = source(builder)
    read.merge(read).to("out")


def stream_join(builder: StreamsBuilder) -> None:
    """A join of two streams of one topic."""
    source(builder).join(source(builder), joined, windows=strict()).to("out", value=TEXT)


def grouped(builder: StreamsBuilder) -> None:
    """New keys, with all optimizations."""
    first = source(builder).select_key(letter, key=TEXT)
    first.group_by_key().count().to_stream().to("one", value=LONG)
    other = source(builder).select_key(letter, key=TEXT)
    other.left_join(table(builder, "table"), joined).to("two", value=TEXT)
    first.group_by_key().reduce(concatenated).to_stream().to("three")


def overlapping(builder: StreamsBuilder) -> None:
    """Two streams that have one topic in common."""
    source(builder).to("one")
    builder.stream("in", "other", key=TEXT, value=TEXT).to("two")


def stream_and_table(builder: StreamsBuilder) -> None:
    """A stream and a table of one topic."""
    source(builder).to("one")
    table(builder, "in").to_stream().to("two")


def offset_resets(builder: StreamsBuilder) -> None:
    """Two places to begin."""
    source(builder).to("one")
    builder.stream("in", key=TEXT, value=TEXT, offset_reset="latest").to("two")


twins.dsl("sources_merged", two_uses)
twins.dsl("sources_merged_named", named)
twins.dsl("sources_merged_of_two_topics", of_two_topics)
twins.dsl("sources_merged_into_one", lambda builder: source(builder).merge(source(builder)).to("out"))
twins.dsl("merge_with_itself", with_itself)
twins.dsl("sources_merged_joined", stream_join)
twins.dsl("sources_merged_self_join", stream_join, optimization=Optimization.SINGLE_STORE_SELF_JOINS)
twins.dsl("sources_merged_rewritten", grouped, optimization=Optimization.ALL)
twins.dsl("sources_refused_overlapping", overlapping)
twins.dsl("sources_refused_stream_and_table", stream_and_table)
twins.dsl("sources_refused_offset_resets", offset_resets)
