"""Repartition topics that let null keys through, or drop them (KIP-962)."""

from kafka_groups.streams import KStream, KTable, StreamsBuilder
from tests.topologies.catalogue.functions import TEXT, has_a, joined, letter, table, texts, upper
from tests.topologies.catalogue.registry import Twins
from tests.topologies.catalogue.stream_joins import strict

__all__ = ["twins"]

twins = Twins()


def repartitioned(builder: StreamsBuilder, topic: str = "in") -> KStream[str, str]:
    """A stream behind a topic that was asked for."""
    return texts(builder, topic).repartition(name="first")


def rows(builder: StreamsBuilder) -> KTable[str, str]:
    """The table to join with."""
    return table(builder, "table")


def to_left_join(builder: StreamsBuilder) -> None:
    """Null keys reach a left join."""
    repartitioned(builder).left_join(rows(builder), joined).to("out", value=TEXT)


def to_outer_join(builder: StreamsBuilder) -> None:
    """Null keys reach an outer join."""
    read = repartitioned(builder)
    read.outer_join(texts(builder, "right"), joined, windows=strict()).to("out", value=TEXT)


def to_global_left_join(builder: StreamsBuilder) -> None:
    """Null keys reach a left join with a global table, behind another operator."""
    peeked = repartitioned(builder).peek(lambda _key, _value: None)
    rows_of_all = builder.global_table("global", key=TEXT, value=TEXT)
    peeked.left_join(rows_of_all, joined, on=letter).to("out", value=TEXT)


def to_inner_join(builder: StreamsBuilder) -> None:
    """No null keys without a left or outer join."""
    repartitioned(builder).join(rows(builder), joined).to("out", value=TEXT)


def to_table_left_join(builder: StreamsBuilder) -> None:
    """Tables have no null keys, so their joins make no difference."""
    repartitioned(builder).to_table().left_join(rows(builder), joined).to_stream().to("out", value=TEXT)


def to_another_branch(builder: StreamsBuilder) -> None:
    """A left join in one branch lets null keys into the other, too."""
    read = repartitioned(builder)
    read.to("copied")
    read.map_values(upper, value=TEXT).left_join(rows(builder), joined).to("out", value=TEXT)


def behind_two_topics(builder: StreamsBuilder) -> None:
    """A left join below a second topic."""
    second = repartitioned(builder).filter(has_a).repartition(name="second")
    second.left_join(rows(builder), joined).to("out", value=TEXT)


def above_a_count(builder: StreamsBuilder) -> None:
    """A topic that a count implies, with a left join of the counts."""
    renamed = texts(builder, "in").select_key(lambda key, _value: key, key=TEXT)
    counts = renamed.group_by_key(name="counted").count(store="counts").to_stream()
    counts.left_join(rows(builder), lambda count, row: f"{count}+{'null' if row is None else row}").to(
        "out", value=TEXT
    )


def of_the_table(builder: StreamsBuilder) -> None:
    """Rows that are looked up do not flow through the left join."""
    read = texts(builder, "in")
    read.left_join(repartitioned(builder, "other").to_table(store="kept"), joined).to("out", value=TEXT)


twins.dsl("null_keys_to_left_join", to_left_join)
twins.dsl("null_keys_to_outer_join", to_outer_join)
twins.dsl("null_keys_to_global_left_join", to_global_left_join)
twins.dsl("null_keys_to_inner_join", to_inner_join)
twins.dsl("null_keys_to_table_left_join", to_table_left_join)
twins.dsl("null_keys_to_another_branch", to_another_branch)
twins.dsl("null_keys_behind_two_topics", behind_two_topics)
twins.dsl("null_keys_above_a_count", above_a_count)
twins.dsl("null_keys_of_the_table", of_the_table)
