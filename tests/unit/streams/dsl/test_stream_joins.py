"""Joins of streams with streams, as the test driver runs them."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups import serdes
from kafka_groups.streams import ErrorResponse, JoinWindows, KStream, StreamsBuilder, Topology, TopologyError
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


def left_join(windows: JoinWindows) -> Topology:
    builder = StreamsBuilder()
    left, right = sides(builder)
    left.left_join(right, both, windows=windows).to("out", value=TEXT)
    return builder.build()


def outer_join(windows: JoinWindows) -> Topology:
    builder = StreamsBuilder()
    left, right = sides(builder)
    left.outer_join(right, both, windows=windows).to("out", value=TEXT)
    return builder.build()


def test_a_left_record_without_a_partner_comes_when_window_and_grace_are_over() -> None:
    records = [("left", "k", "l", 100), ("left", "x", "l", 125), ("left", "y", "l", 126)]
    assert results(left_join(joined_at(50, 20, grace_ms=5)), records[:2]) == []
    assert results(left_join(joined_at(50, 20, grace_ms=5)), records) == [("k", "l+None", 100)]


def test_a_right_record_without_a_partner_comes_after_the_time_before() -> None:
    records = [("right", "k", "r", 100), ("right", "x", "r", 155), ("right", "y", "r", 156)]
    assert results(outer_join(joined_at(50, 20, grace_ms=5)), records[:2]) == []
    assert results(outer_join(joined_at(50, 20, grace_ms=5)), records) == [("k", "None+r", 100)]


def test_a_record_that_met_a_partner_does_not_come_alone() -> None:
    records = [("left", "k", "l", 100), ("right", "k", "r", 110), ("left", "x", "l", 900)]
    assert results(outer_join(joined_at(50, 50)), records) == [("k", "l+r", 110)]


def test_a_record_whose_window_is_over_comes_alone_at_once_and_still_finds_late_partners() -> None:
    records = [("left", "x", "l", 100), ("left", "k", "late", 40), ("right", "k", "later", 45)]
    found = results(left_join(joined_at(50, 50, grace_ms=500)), records)
    assert found == [("k", "late+None", 40), ("k", "late+later", 45)]


def test_records_that_are_due_come_in_the_order_of_time_right_before_left_and_key() -> None:
    early = [("left", "b", "1", 7), ("right", "c", "2", 7), ("left", "a", "3", 7), ("right", "d", "4", 6)]
    found = results(outer_join(joined_at(10, 10)), [*early, ("left", "x", "l", 900)])
    assert found == [("d", "None+4", 6), ("c", "None+2", 7), ("a", "3+None", 7), ("b", "1+None", 7)]


def test_a_record_without_key_comes_alone_at_once_if_its_side_does() -> None:
    records = [("left", None, "l", 1), ("right", None, "r", 2), ("left", None, None, 3), ("right", "k", None, 4)]
    assert results(left_join(joined_at(1, 1)), records) == [(None, "l+None", 1)]
    assert results(outer_join(joined_at(1, 1)), records) == [(None, "l+None", 1), (None, "None+r", 2)]


def test_null_keys_get_through_the_repartition_topics_of_outer_joins() -> None:
    builder = StreamsBuilder()
    left, right = sides(builder)
    nothing: Any = None
    unknown = left.select_key(lambda _key, _value: nothing, key=TEXT)
    unknown.outer_join(right, both, windows=joined_at(5, 5)).to("out", value=TEXT)
    assert results(builder.build(), [("left", "x", "l", 1)]) == [(None, "l+None", 1)]


def test_records_wait_for_partners_over_a_restart() -> None:
    with TopologyTestDriver(outer_join(joined_at(10, 10))) as driver:
        lefts, rights = driver.input_topic("left", TEXT, TEXT), driver.input_topic("right", TEXT, TEXT)
        lefts.pipe("k", "met", timestamp_ms=5)
        lefts.pipe("k", "met too", timestamp_ms=5)
        lefts.pipe("j", "alone", timestamp_ms=5)
        driver.restart()
        rights.pipe("k", "r", timestamp_ms=6)
        lefts.pipe("x", "", timestamp_ms=900)
        found = [each.value for each in driver.output_topic("out", TEXT, TEXT).read_all()]
    assert found == ["met+r", "met too+r", "alone+None"]


def test_a_joiner_that_fails_ends_the_record_but_the_other_side_still_finds_it() -> None:
    def checked(left: str, right: str) -> str:
        if right == "bad":
            raise ValueError("bad value")
        return both(left, right)

    builder = StreamsBuilder()
    left, right = sides(builder)
    left.join(right, checked, windows=joined_at(10, 10)).to("out", value=TEXT)
    with TopologyTestDriver(builder.build(), processing_exception_handler=lambda *_: ErrorResponse.RESUME) as driver:
        rights = driver.input_topic("right", TEXT, TEXT)
        for value, time_ms in (("first", 4), ("bad", 5), ("unseen", 6)):
            rights.pipe("k", value, timestamp_ms=time_ms)
        driver.input_topic("left", TEXT, TEXT).pipe("k", "l", timestamp_ms=5)
        rights.pipe("k", "last", timestamp_ms=5)
        found = [each.value for each in driver.output_topic("out", TEXT, TEXT).read_all()]
    assert found == ["l+first", "l+last"]


def test_a_joiner_that_fails_for_a_record_alone_gets_it_again_with_later_records() -> None:
    asked: list[str] = []

    def checked(left: str, right: str | None) -> str:
        if right is None:
            asked.append(left)
            raise ValueError("no partner")
        return both(left, right)

    builder = StreamsBuilder()
    left, right = sides(builder)
    left.left_join(right, checked, windows=joined_at(10, 10)).to("out", value=TEXT)
    with TopologyTestDriver(builder.build(), processing_exception_handler=lambda *_: ErrorResponse.RESUME) as driver:
        lefts = driver.input_topic("left", TEXT, TEXT)
        for value, time_ms in (("first", 5), ("second", 100), ("third", 101), ("late", 100)):
            lefts.pipe(value, value, timestamp_ms=time_ms)
    assert asked == ["first", "first"]


def test_changelogs_of_windows_have_the_headers_of_their_records() -> None:
    with TopologyTestDriver(inner(joined_at(10, 10)), application_id="app") as driver:
        driver.input_topic("left", TEXT, TEXT).pipe("k", "l", timestamp_ms=5, headers=(("x", b"1"),))
        (logged,) = driver.records("app-KSTREAM-JOINTHIS-0000000004-store-changelog")
    assert (logged.key, logged.value, logged.headers) == (b"k\0\0\0\0\0\0\0\5\0\0\0\1", b"l", (("x", b"1"),))


# ------------------------------------------------------------------------------------------- against a naive join

Arrival = tuple[bool, str, int]
"""Whether a record is a left one, its key and its time."""

ARRIVALS = st.lists(st.tuples(st.booleans(), st.sampled_from(["a", "b"]), st.integers(0, 60)), max_size=25)
LONG_MS = 10_000


def naive_pairs(arrivals: list[Arrival], windows: JoinWindows) -> Iterator[tuple[int, int]]:
    """Yield the places of all pairs of a left and a right record whose times are in the window."""
    for left, (is_left, left_key, left_ms) in enumerate(arrivals):
        first_ms, last_ms = left_ms - windows.before_ms, left_ms + windows.after_ms
        for right, (is_other_left, right_key, right_ms) in enumerate(arrivals):
            if (is_left, is_other_left, right_key) == (True, False, left_key) and first_ms <= right_ms <= last_ms:
                yield left, right


def naive_alone(arrivals: list[Arrival], windows: JoinWindows) -> Iterator[int]:
    """Yield the places of the records that come alone: without a partner, or late and before all partners."""
    pairs = list(naive_pairs(arrivals, windows))
    newest_ms = -1
    for place, (is_left, _, time_ms) in enumerate(arrivals):
        newest_ms = max(newest_ms, time_ms)
        partners = [sum(pair) - place for pair in pairs if pair[not is_left] == place]
        is_late = time_ms + (windows.after_ms if is_left else windows.before_ms) < newest_ms
        if not partners or (is_late and min(partners) > place):
            yield place


def piped(arrivals: list[Arrival]) -> list[Piped]:
    """Each value is the place of its record; the last record is later than all windows."""
    records: list[Piped] = [
        ("left" if is_left else "right", key, str(place), time_ms)
        for place, (is_left, key, time_ms) in enumerate(arrivals)
    ]
    return [*records, ("right", "end", "end", 2 * LONG_MS)]


@given(ARRIVALS, st.integers(0, 15), st.integers(0, 15))
def test_all_joins_give_what_a_naive_join_gives(arrivals: list[Arrival], before_ms: int, after_ms: int) -> None:
    windows = joined_at(before_ms, after_ms, grace_ms=LONG_MS)
    pairs = sorted(f"{left}+{right}" for left, right in naive_pairs(arrivals, windows))
    alone = list(naive_alone(arrivals, windows))
    lefts = [f"{place}+None" for place in alone if arrivals[place][0]]
    rights = [f"None+{place}" for place in alone if not arrivals[place][0]]
    records = piped(arrivals)
    assert sorted(value for _, value, _ in results(inner(windows), records)) == pairs
    assert sorted(value for _, value, _ in results(left_join(windows), records)) == sorted(pairs + lefts)
    assert sorted(value for _, value, _ in results(outer_join(windows), records)) == sorted(pairs + lefts + rights)
