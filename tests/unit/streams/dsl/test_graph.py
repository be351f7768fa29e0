"""Names of state, and operators of other builders."""

import inspect
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import KGroupedStream, KStream, KTable, StreamsBuilder, TimeWindows, TopologyError

TEXT = serdes.string


def stream(builder: StreamsBuilder, topic: str = "in") -> KStream[Any, Any]:
    return builder.stream(topic, key=TEXT, value=TEXT)


def unnamed(builder: StreamsBuilder) -> None:
    by_value = stream(builder).select_key(max, key=TEXT)
    by_value.group_by_key().reduce(max)
    by_value.join(builder.table("table", key=TEXT, value=TEXT), max)


def test_explicit_names_refuse_generated_names_of_state() -> None:
    builder = StreamsBuilder(explicit_names=True)
    unnamed(builder)
    with pytest.raises(TopologyError) as caught:
        builder.build()
    assert [line.partition(" has a generated name. ")[::2] for line in str(caught.value).splitlines()] == [
        ("Store KSTREAM-REDUCE-STATE-STORE-0000000002", "Give its operator `store=` (or `name=`, if it has no other)."),
        ("Store table-STATE-STORE-0000000007", "Give its operator `store=` (or `name=`, if it has no other)."),
        ("Repartition topic KSTREAM-REDUCE-STATE-STORE-0000000002-repartition", "Give its operator `name=`."),
        ("Repartition topic KSTREAM-KEY-SELECT-0000000001-repartition", "Give its operator `name=`."),
    ]


def test_explicit_names_leave_the_names_of_nodes_alone() -> None:
    builder = StreamsBuilder(explicit_names=True)
    by_value = stream(builder).select_key(max, key=TEXT)
    by_value.group_by_key().reduce(max, store="longest")
    by_value.join(builder.table("table", key=TEXT, value=TEXT, store="rows"), max, name="joining")
    assert list(builder.build().graph.repartition_topics) == ["longest-repartition", "joining-repartition"]


def test_the_name_of_another_operator_is_not_one_that_was_given_for_a_topic() -> None:
    builder = StreamsBuilder(explicit_names=True)
    rows = builder.table("table", key=TEXT, value=TEXT, store="by-value-rows")
    stream(builder).select_key(max, key=TEXT, name="by-value").join(rows, max)
    with pytest.raises(TopologyError, match=r"^Repartition topic by-value-repartition has a generated name"):
        builder.build()


def test_the_topics_and_store_of_a_foreign_key_join_need_a_name_too() -> None:
    # Kafka Streams 4.3.1 lets these through, though their names change like others.
    builder = StreamsBuilder(explicit_names=True)
    left, right = (builder.table(name, key=TEXT, value=TEXT, store=name) for name in ("left", "right"))
    left.join(right, max, on=max, store="joined", value=TEXT)
    with pytest.raises(TopologyError, match=r"KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-.* has a generated name"):
        builder.build()
    builder = StreamsBuilder(explicit_names=True)
    left, right = (builder.table(name, key=TEXT, value=TEXT, store=name) for name in ("left", "right"))
    left.join(right, max, on=max, store="joined", value=TEXT, name="joining")
    assert sorted(builder.build().graph.stores) == ["joined", "joining-subscription-store", "left", "right"]


def test_operators_of_two_builders_are_refused() -> None:
    one, other = StreamsBuilder(), StreamsBuilder()
    mine = stream(one)
    uses: tuple[Callable[[], object], ...] = (
        lambda: mine.merge(stream(other)),
        lambda: mine.join(other.table("table", key=TEXT, value=TEXT), max),
        lambda: mine.join(other.global_table("rows", key=TEXT, value=TEXT), max, on=max),
        lambda: mine.group_by_key().cogroup(max).cogroup(stream(other).group_by_key(), max).aggregate(str, value=TEXT),
    )
    for use in uses:
        with pytest.raises(TopologyError, match=r"of another builder. Use one builder for"):
            use()


WINDOWS = TimeWindows(timedelta(seconds=1), grace=timedelta(0))


@pytest.mark.parametrize(("left_open", "advice"), [
    (lambda read: read.group_by(max).count(), "group_by(…, key=serdes.…)"),
    (lambda read: read.group_by(max).reduce(max), "group_by(…, key=serdes.…)"),
    (lambda read: read.group_by(max).windowed_by(WINDOWS).count(), "group_by(…, key=serdes.…)"),
    (lambda read: read.select_key(max).group_by_key().count(), "select_key(…, key=serdes.…)"),
    (lambda read: read.map_values(len).group_by_key().reduce(max), "map_values(…, value=serdes.…)"),
    (lambda read: read.group_by_key().aggregate(int, max).filter(max, store="kept"), "aggregate(…, value=serdes.…)"),
    (lambda read: read.to_table().map_values(len).filter(max, store="kept"), "map_values(…, value=serdes.…)"),
    (lambda read: read.to_table().group_by(max).count(), "group_by(…, key=serdes.…)"),
    (lambda read: read.to_table().map_values(len).to_stream().to("out"), "map_values(…, value=serdes.…)"),
])  # fmt: skip
def test_a_missing_serde_is_asked_of_an_operator_that_takes_it(
    left_open: Callable[[KStream[Any, Any]], object], advice: str
) -> None:
    builder = StreamsBuilder()
    left_open(stream(builder))
    with pytest.raises(TopologyError, match=re.escape(f"Give it: {advice}.")) as caught:
        builder.build()
    for operator, keyword in re.findall(r"Give it: (\w+)\(…, (\w+)=", str(caught.value)):
        methods = [getattr(kind, operator) for kind in (KStream, KTable, KGroupedStream) if hasattr(kind, operator)]
        assert all(keyword in inspect.signature(method).parameters for method in methods)
