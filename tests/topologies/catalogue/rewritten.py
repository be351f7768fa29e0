"""Topologies that an optimization changes, and one whose state has only names that were given."""

from kafka_groups.streams import Optimization, StreamsBuilder
from tests.topologies.catalogue.functions import (
    LONG,
    TEXT,
    concatenated,
    has_a,
    joined,
    letter,
    table,
    texts,
    upper,
)
from tests.topologies.catalogue.registry import Twins
from tests.topologies.catalogue.stream_joins import graceful, self_join, strict

__all__ = ["twins"]

twins = Twins()


def joined_with_table(builder: StreamsBuilder) -> None:
    """A table that has a store of its own."""
    read = texts(builder, "in")
    read.join(builder.table("table", key=TEXT, value=TEXT, store="kept"), joined).to("out", value=TEXT)


def several_repartitions(builder: StreamsBuilder) -> None:
    """Three uses of one new key."""
    new_key = texts(builder, "in").select_key(letter, key=TEXT)
    new_key.group_by_key().count(store="counts").to_stream().to("counted", value=LONG)
    shouts = new_key.map_values(upper, value=TEXT).group_by_key(name="shouts")
    shouts.reduce(concatenated).to_stream().to("reduced")
    pairs = new_key.filter(has_a).join(texts(builder, "right"), joined, windows=graceful())
    pairs.to("out", value=TEXT)


def everything(builder: StreamsBuilder) -> None:
    """All that can be rewritten."""
    several_repartitions(builder)
    texts(builder, "other").left_join(table(builder, "table"), joined).to("joined", value=TEXT)
    own = texts(builder, "self")
    own.join(own, joined, windows=strict()).to("selves", value=TEXT)


def named(builder: StreamsBuilder) -> None:
    """Names for all state."""
    new_key = builder.stream("in", key=TEXT, value=TEXT, name="reading").select_key(letter, key=TEXT, name="by-letter")
    counted = new_key.group_by_key(name="letters").count(name="counting", store="counts")
    counted.to_stream(name="counted").to("counted", value=LONG, name="counted-sink")
    other = builder.stream("right", key=TEXT, value=TEXT, name="reading-right")
    pairs = new_key.left_join(other, joined, windows=graceful(), name="pairing", store="pairs")
    pairs.to("out", value=TEXT, name="out-sink")


twins.dsl("source_as_changelog", joined_with_table, optimization=Optimization.SOURCE_TOPICS_AS_CHANGELOGS)
twins.dsl("merged_repartitions", several_repartitions, optimization=Optimization.MERGED_REPARTITIONS)
twins.dsl("single_store_self_join", self_join, optimization=Optimization.SINGLE_STORE_SELF_JOINS)
twins.dsl("all_rewrites", everything, optimization=Optimization.ALL)
twins.dsl("all_rewrites_named", named, optimization=Optimization.ALL)
twins.dsl(
    "all_rewrites_table",
    lambda builder: table(builder, "table").filter(has_a).to_stream().to("out"),
    optimization=Optimization.ALL,
)
twins.dsl("no_rewrites", everything)
twins.dsl("explicit_names", named, explicit_names=True)
twins.dsl("explicit_names_missing", everything, explicit_names=True)
