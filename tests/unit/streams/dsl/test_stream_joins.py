"""Joins of streams with streams, as the test driver runs them."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from kafka_groups import serdes
from kafka_groups.streams import JoinWindows, KStream, StreamsBuilder, Topology, TopologyError
from kafka_groups.testing.topology_driver import TopologyTestDriver

TEXT = serdes.string

Piped = tuple[str, str | None, str | None, int]
"""Topic, key, value and time of a record."""


def joined_at(before_ms: int, after_ms: int, grace_ms: int = 0) -> JoinWindows:
    before, after, grace = (timedelta(milliseconds=ms) for ms in (before_ms, after_ms, grace_ms))
    return JoinWindows(before=before, after=after, grace=grace)


def both(left: str | None, right: str | None) -> str:
    return f"{left}+{right}"


def sides(builder: StreamsBuilder) -> tuple[KStream[str, str], KStream[str, str]]:
    return builder.stream("left", key=TEXT, value=TEXT), builder.stream("right", key=TEXT, value=TEXT)


def inner(windows: JoinWindows) -> Topology:
    builder = StreamsBuilder()
    left, right = sides(builder)
    left.join(right, both, windows=windows).to("out", value=TEXT)
    return builder.build()


def results(topology: Topology, records: Sequence[Piped]) -> list[tuple[str | None, str, int]]:
    """Pipe records, and return key, value and time of those that come out."""
    with TopologyTestDriver(topology) as driver:
        for topic, key, value, time_ms in records:
            driver.input_topic(topic, TEXT, TEXT).pipe(key, value, timestamp_ms=time_ms)
        return [(each.key, each.value, each.timestamp_ms) for each in driver.output_topic("out", TEXT, TEXT).read_all()]


def test_records_of_equal_keys_are_joined_up_to_both_bounds_of_the_window() -> None:
    found = results(
        inner(joined_at(10, 20)),
        [("left", "k", "l", 100), ("left", "j", "x", 100)]
        + [("right", "k", f"r{ms}", ms) for ms in (89, 90, 100, 120, 121)],
    )
    assert found == [("k", "l+r90", 100), ("k", "l+r100", 100), ("k", "l+r120", 120)]


def test_results_come_in_the_order_of_the_other_sides_times_and_arrivals() -> None:
    rights = [("right", "k", "b", 7), ("right", "k", "a", 5), ("right", "k", "c", 7)]
    found = results(inner(joined_at(10, 10)), [*rights, ("left", "k", "l", 6)])
    assert found == [("k", "l+a", 6), ("k", "l+b", 7), ("k", "l+c", 7)]


def test_a_record_without_key_or_value_is_not_joined() -> None:
    records = [("left", None, "l", 1), ("left", "k", None, 1), ("right", None, "r", 1), ("right", "k", "r", 1)]
    assert results(inner(joined_at(1, 1)), records) == []


def test_a_negative_bound_puts_the_whole_window_on_one_side() -> None:
    rights = [("right", "k", f"r{ms}", ms) for ms in (99, 105, 110, 111)]
    found = results(inner(joined_at(-5, 10, grace_ms=9)), [*rights, ("left", "k", "l", 100)])
    assert [value for _, value, _ in found] == ["l+r105", "l+r110"]


def test_records_of_the_same_time_are_joined_in_a_window_without_length() -> None:
    records = [("left", "k", "l", 5), ("right", "k", "early", 4), ("right", "k", "r", 5)]
    assert results(inner(joined_at(0, 0)), records) == [("k", "l+r", 5)]


def test_a_late_record_finds_what_the_other_side_still_keeps() -> None:
    records = [("right", "k", "r0", 0), ("right", "k", "r9", 9), ("left", "k", "l", 100), ("left", "k", "late", 5)]
    assert results(inner(joined_at(10, 10)), records) == [("k", "late+r0", 5), ("k", "late+r9", 9)]


def test_a_stream_is_joined_with_itself() -> None:
    builder = StreamsBuilder()
    left, _ = sides(builder)
    left.join(left, both, windows=joined_at(5, 5)).to("out", value=TEXT)
    found = results(builder.build(), [("left", "k", "a", 1), ("left", "k", "b", 2)])
    assert sorted(value for _, value, _ in found) == ["a+a", "a+b", "b+a", "b+b"]


def test_the_joiner_can_have_the_key() -> None:
    builder = StreamsBuilder()
    left, right = sides(builder)
    joined = left.join(right, with_key=lambda key, one, two: f"{key}:{one}:{two}", windows=joined_at(5, 5), value=TEXT)
    joined.to("out")
    assert results(builder.build(), [("left", "k", "l", 1), ("right", "k", "r", 2)]) == [("k", "k:l:r", 2)]


def test_streams_whose_keys_changed_are_repartitioned_and_given_names_are_used() -> None:
    builder = StreamsBuilder()
    left, right = sides(builder)
    by_letter = left.select_key(lambda _, value: value[0])
    other = right.map(lambda _, value: (value[0], value), key=TEXT, value=TEXT)
    pairs = by_letter.join(
        other, both, windows=joined_at(5, 5), name="pair", store="pairs", changelog={"retention.ms": "1"}
    )
    pairs.to("out", value=TEXT)
    topology = builder.build()
    group = topology.group_topology("app").subtopologies[-1]
    assert group.copartition_groups == (frozenset({"app-pair-left-repartition", "app-pair-right-repartition"}),)
    changelogs = {each.name: dict(each.configs) for each in group.changelogs}
    assert sorted(changelogs) == ["app-pairs-other-join-store-changelog", "app-pairs-this-join-store-changelog"]
    assert {configs["cleanup.policy"] for configs in changelogs.values()} == {"delete"}
    assert {configs["retention.ms"] for configs in changelogs.values()} == {"1"}
    assert results(topology, [("left", "x", "al", 1), ("right", "y", "ar", 2)]) == [("a", "al+ar", 2)]


def test_stores_without_a_changelog_are_not_logged() -> None:
    builder = StreamsBuilder()
    left, right = sides(builder)
    left.join(right, both, windows=joined_at(5, 5), changelog=False).to("out", value=TEXT)
    assert not builder.build().group_topology("app").subtopologies[0].changelogs


def test_an_unknown_serde_is_reported_with_the_operator_that_takes_it() -> None:
    builder = StreamsBuilder()
    left, right = sides(builder)
    left.map_values(str.upper).join(right, both, windows=joined_at(5, 5)).to("out", value=TEXT)
    with pytest.raises(TopologyError, match=r"join needs .* values.*Give it: map_values\(…, value=serdes"):
        builder.build()


def test_keywords_for_another_kind_of_join_are_refused() -> None:
    builder = StreamsBuilder()
    left, right = sides(builder)
    table = builder.table("rows", key=TEXT, value=TEXT)
    with pytest.raises(TypeError, match=r"needs `windows=JoinWindows"):
        left.join(right, both)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="`on=` is for global tables"):
        left.join(right, both, windows=joined_at(5, 5), on=lambda key, _: key)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="with a table has no `windows=`"):
        left.join(table, both, windows=joined_at(5, 5))  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="with a table has no `changelog=`"):
        left.join(table, both, changelog=False)  # type: ignore[call-overload]
