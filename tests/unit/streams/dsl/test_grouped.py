"""Aggregations of streams, as the test driver runs them."""

import pytest

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder, Topology, stores
from kafka_groups.streams.state.stores import Changelog, KeyValueDefinition
from kafka_groups.testing.topology_driver import TopologyTestDriver

COUNTS = stores.key_value("counts", serdes.string, serdes.int64)


def word_count() -> Topology:
    builder = StreamsBuilder()
    posts = builder.stream("posts", key=serdes.string, value=serdes.string)
    words = posts.flat_map_values(str.split)
    counts = words.group_by(lambda _, word: word, key=serdes.string, value=serdes.string).count(store=COUNTS)
    counts.to_stream().to("word-counts")
    return builder.build()


def test_words_are_counted_through_a_repartition_topic() -> None:
    with TopologyTestDriver(word_count()) as driver:
        posts = driver.input_topic("posts", serdes.string, serdes.string)
        counts = driver.output_topic("word-counts", serdes.string, serdes.int64)
        posts.pipe("ann", "to be or not to be", timestamp_ms=0)
        assert [(r.key, r.value) for r in counts.read_all()][-1] == ("be", 2)
        assert driver.store(COUNTS).get("to") == 2
        assert list(driver.store(COUNTS).all()) == [("be", 2), ("not", 1), ("or", 1), ("to", 2)]
        assert [record.key for record in driver.records("test-counts-repartition")] == [
            b"to", b"be", b"or", b"not", b"to", b"be",
        ]  # fmt: skip


@pytest.mark.parametrize(("cache", "expected"), [(0, ["a", "ab", "abc"]), (1000, ["abc"])])
def test_a_cache_forwards_the_last_update_of_a_commit(cache: int, expected: list[str]) -> None:
    builder = StreamsBuilder()
    letters = builder.stream("in", key=serdes.string, value=serdes.string).flat_map_values(list, value=serdes.string)
    letters.group_by_key().reduce(lambda old, new: old + new, store="joined").to_stream().to("out")
    with TopologyTestDriver(builder.build(), statestore_cache_max_bytes=cache) as driver:
        driver.input_topic("in", serdes.string, serdes.string).pipe("k", "abc")
        found = driver.output_topic("out", serdes.string, serdes.string).read_all()
    assert [record.value for record in found] == expected


def test_an_aggregator_that_changes_its_argument_does_not_change_what_went_downstream() -> None:
    def add(_key: str, value: str, found: list[str]) -> list[str]:
        found.append(value)
        return found

    builder = StreamsBuilder()
    values = serdes.of(list, lambda v: ",".join(v).encode(), lambda b: b.decode().split(","))
    seen: list[list[str]] = []
    grouped = builder.stream("in", key=serdes.string, value=serdes.string).group_by_key()
    grouped.aggregate(list[str], add, value=values).to_stream().foreach(lambda _, v: seen.append(v))
    with TopologyTestDriver(builder.build(), statestore_cache_max_bytes=0) as driver:
        into = driver.input_topic("in", serdes.string, serdes.string)
        for value in "abc":
            into.pipe("k", value)
    assert seen == [["a"], ["a", "b"], ["a", "b", "c"]]


@pytest.mark.parametrize(
    ("changelog", "configs"),
    [
        (None, {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}),
        (False, None),
        (
            {"segment.bytes": "1000", "cleanup.policy": "delete"},
            {"cleanup.policy": "delete", "message.timestamp.type": "CreateTime", "segment.bytes": "1000"},
        ),
    ],
)
@pytest.mark.parametrize("store", ["counts", COUNTS])
def test_a_changelog_is_left_out_or_configured_where_the_store_is_used(
    store: str | KeyValueDefinition[str, int], changelog: Changelog | None, configs: dict[str, str] | None
) -> None:
    builder = StreamsBuilder()
    posts = builder.stream("posts", key=serdes.string, value=serdes.string)
    posts.group_by_key().count(store=store, changelog=changelog)
    (part,) = builder.build().group_topology("app").subtopologies
    assert [(topic.name, dict(topic.configs)) for topic in part.changelogs] == (
        [] if configs is None else [("app-counts-changelog", configs)]
    )
