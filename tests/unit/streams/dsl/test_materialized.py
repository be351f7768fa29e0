"""Stores of operators: versioned ones, in each operator that has a store."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.errors import ConfigurationError
from kafka_groups.streams import KStream, KTable, StreamsBuilder, VersionedKeyValueStore, VersionedRecord, stores
from kafka_groups.streams.dsl.materialized import history_of
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT = serdes.string
KEPT = stores.versioned("kept", TEXT, TEXT, history=timedelta(seconds=1))
PLAIN = stores.key_value("plain", TEXT, TEXT)


def last(_old: str, new: str) -> str:
    return new


def last_of_key(_key: object, new: str, _old: str) -> str:
    return new


def both(left: str | None, right: str | None) -> str:
    return left or right or ""


OPERATORS: dict[str, Callable[[StreamsBuilder, Any], KTable[str, str]]] = {
    "table": lambda builder, store: builder.table("in", key=TEXT, value=TEXT, store=store),
    "to_table": lambda builder, store: stream(builder).to_table(store=store),
    "filter": lambda builder, store: table(builder).filter(lambda _key, _value: True, store=store),
    "filter_not": lambda builder, store: table(builder).filter_not(lambda _key, _value: False, store=store),
    "map_values": lambda builder, store: table(builder).map_values(lambda value: value, store=store),
    "transform_values": lambda builder, store: table(builder).transform_values(lambda _key, value: value, store=store),
    "join": lambda builder, store: joined(builder, lambda left, right: left.join(right, both, store=store)),
    "left_join": lambda builder, store: joined(builder, lambda left, right: left.left_join(right, both, store=store)),
    "outer_join": lambda builder, store: joined(builder, lambda left, right: left.outer_join(right, both, store=store)),
    "reduce": lambda builder, store: stream(builder).group_by_key().reduce(last, store=store),
    "aggregate": lambda builder, store: stream(builder).group_by_key().aggregate(str, last_of_key, store=store),
    "cogrouped": lambda builder, store: stream(builder).group_by_key().cogroup(last_of_key).aggregate(str, store=store),
    "reduce of a table": lambda builder, store: (
        table(builder).group_by(lambda key, value: (key, value), key=TEXT, value=TEXT).reduce(last, last, store=store)
    ),
    "foreign-key join": lambda builder, store: joined(
        builder, lambda left, right: left.join(right, both, on=lambda key, _value: key, store=store)
    ),
}


def stream(builder: StreamsBuilder) -> KStream[str, str]:
    return builder.stream("in", key=TEXT, value=TEXT)


def table(builder: StreamsBuilder) -> KTable[str, str]:
    return builder.table("in", key=TEXT, value=TEXT)


def joined(
    builder: StreamsBuilder, join: Callable[[KTable[str, str], KTable[str, str]], KTable[str, str]]
) -> KTable[str, str]:
    return join(table(builder), builder.table("other", key=TEXT, value=TEXT))


@pytest.mark.parametrize("word", OPERATORS)
def test_every_operator_with_a_store_can_have_a_versioned_one(word: str) -> None:
    builder = StreamsBuilder()
    OPERATORS[word](builder, KEPT).to_stream().to("out", key=TEXT, value=TEXT)
    topology = builder.build()
    with TopologyTestDriver(topology) as driver:
        if "other" in topology.describe():
            driver.input_topic("other", TEXT, TEXT).pipe("k", "x", timestamp_ms=10)
        records = driver.input_topic("in", TEXT, TEXT)
        records.pipe("k", "a", timestamp_ms=100)
        records.pipe("k", "b", timestamp_ms=200)
        store: VersionedKeyValueStore[str, str] = driver.store(KEPT)
        assert store.get("k") == VersionedRecord("b", 200, None)
        assert store.get("k", 150) == VersionedRecord("a", 100, 200)


def test_a_versioned_store_cannot_be_cached() -> None:
    with pytest.raises(ConfigurationError, match="table: caching=True with the versioned store 'kept', which cannot"):
        StreamsBuilder().table("in", key=TEXT, value=TEXT, store=KEPT, caching=True)


def test_an_operator_decides_about_the_changelog_of_a_versioned_store() -> None:
    builder = StreamsBuilder()
    builder.table("in", key=TEXT, value=TEXT, store=KEPT, changelog={"segment.bytes": "5"}, caching=False)
    (found,) = builder.build().graph.stores.values()
    assert found.definition.changelog == (("segment.bytes", "5"),)


def test_only_versioned_stores_have_a_history() -> None:
    assert (history_of(KEPT), history_of(PLAIN), history_of(None)) == (1_000, None, None)
