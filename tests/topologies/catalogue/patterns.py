"""Sources that read all topics whose names match a pattern."""

import re

from kafka_groups.streams import KStream, Optimization, StreamsBuilder, Topology
from tests.topologies.catalogue.functions import LONG, TEXT, concatenated, has_a, joined, letter, table, texts, upper
from tests.topologies.catalogue.registry import Twins
from tests.topologies.catalogue.stream_joins import strict

__all__ = ["twins"]

twins = Twins()


def matching(builder: StreamsBuilder, pattern: str = "in|left") -> KStream[str, str]:
    """A stream of all topics whose names match."""
    return builder.stream(re.compile(pattern), key=TEXT, value=TEXT)


def twice(builder: StreamsBuilder) -> None:
    """Two streams of one pattern."""
    matching(builder).to("one")
    matching(builder).filter(has_a).to("two")


def with_flag(builder: StreamsBuilder) -> None:
    """A pattern that ignores case."""
    matching(builder).to("one")
    matching(builder, "(?i)RIGHT|THIRD").to("two")


def grouped(builder: StreamsBuilder) -> None:
    """New keys, with all optimizations."""
    first = matching(builder).select_key(letter, key=TEXT)
    first.group_by_key().count().to_stream().to("one", value=LONG)
    first.group_by_key().reduce(concatenated).to_stream().to("two")


def of_others(builder: StreamsBuilder) -> None:
    """A pattern beside a name."""
    texts(builder, "in").to("one")
    matching(builder, "left|right").to("two")


def merged(builder: StreamsBuilder) -> None:
    """A pattern merged with a name."""
    both = matching(builder).merge(texts(builder, "right"))
    both.group_by_key().reduce(concatenated).to_stream().to("out")


def repartitioned(builder: StreamsBuilder) -> None:
    """New keys behind a pattern."""
    matching(builder).select_key(letter, key=TEXT).group_by_key().count().to_stream().to("out", value=LONG)


def stream_join(builder: StreamsBuilder) -> None:
    """A join of two patterns."""
    matching(builder).join(matching(builder, "right|third"), joined, windows=strict()).to("out", value=TEXT)


def by_hand() -> Topology:
    """A pattern and a name, node by node."""
    topology = Topology().add_source("source", re.compile("in|left"), key=TEXT, value=TEXT)
    topology.add_source("named", "other", key=TEXT, value=TEXT)
    return topology.add_sink("sink", "out", parents=["source", "named"], key=TEXT, value=TEXT)


def of_own() -> Topology:
    """A pattern that matches a topic that the topology writes."""
    topology = Topology().add_source("source", "in", key=TEXT, value=TEXT)
    topology.add_sink("within", "left-2", parents=["source"], key=TEXT, value=TEXT)
    topology.add_source("pattern", re.compile("left.*"), key=TEXT, value=TEXT)
    return topology.add_sink("sink", "out", parents=["pattern"], key=TEXT, value=TEXT)


def after_name(builder: StreamsBuilder) -> None:
    """A pattern that matches a topic that is read."""
    texts(builder, "in").to("one")
    matching(builder).to("two")


def before_name(builder: StreamsBuilder) -> None:
    """The same in the other order."""
    matching(builder).to("two")
    texts(builder, "in").to("one")


def with_own_table(builder: StreamsBuilder) -> None:
    """A pattern that matches the topic of a table."""
    matching(builder, "in|table").to("two")
    table(builder, "table").to_stream().to("one")


def offset_resets(builder: StreamsBuilder) -> None:
    """Two places to begin."""
    matching(builder).to("one")
    builder.stream(re.compile("in|left"), key=TEXT, value=TEXT, offset_reset="latest").to("two")


def with_own_repartition(builder: StreamsBuilder) -> None:
    """A pattern that matches the name of a repartition topic."""
    matching(builder, ".*-repartition").to("two")
    texts(builder, "in").repartition(name="again").to("one")


twins.dsl("pattern", lambda builder: matching(builder).map_values(upper, value=TEXT).to("out"))
twins.dsl("pattern_twice", twice)
twins.dsl("pattern_of_one_topic", lambda builder: matching(builder, "[i]n").to("out"))
twins.dsl("pattern_with_flag", with_flag)
twins.dsl(
    "pattern_named",
    lambda builder: builder.stream(re.compile("in|left"), key=TEXT, value=TEXT, name="mine").to("out"),
)
twins.dsl(
    "pattern_counted",
    lambda builder: matching(builder).group_by_key().count(store="counts").to_stream().to("out", value=LONG),
)
twins.dsl("pattern_repartitioned", repartitioned)
twins.dsl("pattern_rewritten", grouped, optimization=Optimization.ALL)
twins.dsl("pattern_merged", merged)
twins.dsl("pattern_joined", stream_join)
twins.dsl(
    "pattern_with_table",
    lambda builder: matching(builder).left_join(table(builder, "table"), joined).to("out", value=TEXT),
)
twins.dsl("pattern_to_table", lambda builder: matching(builder).to_table(store="rows").to_stream().to("out"))
twins.dsl("pattern_of_others", of_others)
twins.by_hand("hand_made_pattern", by_hand)
twins.by_hand("hand_made_pattern_of_own", of_own)
twins.dsl("pattern_refused_after_name", after_name)
twins.dsl("pattern_refused_before_name", before_name)
twins.dsl("pattern_refused_table", with_own_table)
twins.dsl("pattern_refused_offset_resets", offset_resets)
twins.dsl("pattern_refused_repartition", with_own_repartition)
