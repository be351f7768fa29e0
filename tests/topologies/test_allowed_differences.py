"""Where Python's driver differs from Java's on purpose. Each test shows what both do with the same records.

`docs/explanation/kafka-streams.md` lists these differences for users.
"""

import re
from collections.abc import Callable
from typing import cast

import pytest

from kafka_groups.serdes import time_windowed
from kafka_groups.streams import (
    JoinWindows,
    KStream,
    Optimization,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    TopologyError,
)
from tests.topologies.allowed import NOT_COMPARED, NOT_RESTARTED
from tests.topologies.catalogue import TWINS
from tests.topologies.catalogue.functions import LONG, TEXT, has_a, joined, letter, letter_of, ms, texts
from tests.topologies.catalogue.processing import HELD, Holding
from tests.topologies.catalogue.registry import Twin
from tests.topologies.catalogue.stream_joins import left, right, strict
from tests.topologies.catalogue.versioned import versioned
from tests.topologies.oracle import CACHED, UNCACHED, JavaOracle, RefusedTopologyError
from tests.topologies.scripts import Output, Pipe, Restart, Run, Script, Step, encoded
from tests.topologies.twin_runs import differences, run_twin

pytestmark = [pytest.mark.real_kafka, pytest.mark.xdist_group("java_topologies")]

Values = list[tuple[int, bytes | None]]
"""The number of a step and a value that it had."""


def records(topic: str, *values_and_times: tuple[str, int], key: str | None = "k") -> list[Pipe]:
    return [Pipe(topic, encoded(key), encoded(value), time_ms) for value, time_ms in values_and_times]


def values(run: Run, topic: str = "out") -> Values:
    assert run.error == ()
    return [(each.step, each.value) for each in run.outputs if each.topic == topic]


def of_builder(write: Callable[[StreamsBuilder], object], builder: StreamsBuilder | None = None) -> Topology:
    used = StreamsBuilder() if builder is None else builder
    write(used)
    return used.build()


def both(
    oracle: JavaOracle, name: str, topology: Topology, script: Script, topic: str = "out"
) -> tuple[Values, Values]:
    """The values of a topic without caches, of Java and of Python."""
    python = run_twin(Twin(lambda: topology), script, is_cached=False, does_as_java=False)
    return values(oracle.run(name, script, UNCACHED), topic), values(python, topic)


def compared(oracle: JavaOracle, name: str, script: Script, *, is_cached: bool) -> tuple[Run, Run]:
    """What Java and Python do with a topology of the catalogue."""
    assert (name, is_cached) in NOT_COMPARED
    java = oracle.run(name, script, CACHED if is_cached else UNCACHED)
    return java, run_twin(TWINS[name], script, is_cached=is_cached)


# --------------------------------------------------------------------------------------------- expired rows and windows


def window(key: str, start_ms: int) -> bytes:
    return encoded(key) + start_ms.to_bytes(8, "big")  # type: ignore[operator]


def session(key: str, start_ms: int, end_ms: int) -> bytes:
    return encoded(key) + end_ms.to_bytes(8, "big") + start_ms.to_bytes(8, "big")  # type: ignore[operator]


def last(run: Run) -> list[tuple[bytes | None, bytes | None]]:
    step = max(each.step for each in run.outputs)
    return [(each.key, each.value) for each in run.outputs if each.topic == "out" and each.step == step]


def test_sessions_that_expired_are_not_extended_with_a_cache(java_oracle: JavaOracle) -> None:
    script = records("in", ("one", 1258), ("two", 1330), ("three", 1300))
    java, python = compared(java_oracle, "session_count", script, is_cached=True)
    gone = (session("k", 1330, 1330), None)
    assert last(java) == [gone, (session("k", 1258, 1330), encoded(3))]
    assert last(python) == [gone, (session("k", 1300, 1330), encoded(2))]


def test_windows_that_expired_are_not_continued_with_a_cache(java_oracle: JavaOracle) -> None:
    script = [*records("in", ("a", 1740)), *records("in", ("b", 1860), key="d"), *records("other", ("keys", 1710))]
    java, python = compared(java_oracle, "cogroup_tumbling", script, is_cached=True)
    key = window("k", 1700)
    assert (last(java)[0][0], last(python)[0][0]) == (key, key)
    assert (last(java)[0][1], last(python)[0][1]) == (b",a-keys", b"-keys")


def test_windows_that_expired_count_as_dropped_with_a_cache(java_oracle: JavaOracle) -> None:
    script = [*records("in", ("a", 1163)), *records("other", ("keys", 1334), ("kit", 1370), ("kin", 1230))]
    java, python = compared(java_oracle, "cogroup_sliding", script, is_cached=True)
    # Java also counts the window that begins behind the expired record.
    assert (java.dropped, python.dropped) == (2, 1)


@pytest.mark.parametrize("name", sorted(name for name, is_cached in NOT_COMPARED if is_cached))
def test_without_a_cache_expired_rows_are_gone_for_both(java_oracle: JavaOracle, name: str) -> None:
    topic = java_oracle.describe(name).inputs[0]
    script = records(topic, ("one", 1258), ("two", 1330), ("three", 1300), ("four", 1450), ("five", 1290))
    assert differences(java_oracle.run(name, script, UNCACHED), run_twin(TWINS[name], script, is_cached=False)) == []


def test_windows_are_emitted_on_close_although_time_has_jumped(java_oracle: JavaOracle) -> None:
    script = records("in", ("a", 2957), ("b", 3310))
    java, python = compared(java_oracle, "tumbling_on_close_unkept", script, is_cached=False)
    assert values(java) == []
    assert values(python) == [(1, encoded(1))]


# --------------------------------------------------------------------------------------------------------------- joins


def test_records_of_one_instant_are_joined(java_oracle: JavaOracle) -> None:
    windows = JoinWindows(before=ms(0), after=ms(0), grace=ms(0))
    topology = of_builder(lambda b: left(b).join(right(b), joined, windows=windows).to("out", value=TEXT))
    script = [*records("left", ("a", 10)), *records("right", ("b", 10)), *records("left", ("c", 11))]
    java, python = both(java_oracle, "join_at_one_instant", topology, script)
    assert java == []
    assert python == [(1, b"a+b")]


def left_self_join(builder: StreamsBuilder) -> None:
    read: KStream[str, str] = left(builder)
    read.left_join(read, joined, windows=strict()).to("out", value=TEXT)


def test_records_without_a_partner_are_not_lost_by_an_optimization(java_oracle: JavaOracle) -> None:
    topology = of_builder(left_self_join, StreamsBuilder(optimization=Optimization.SINGLE_STORE_SELF_JOINS))
    script = [*records("left", ("alone", 10), key=None), *records("left", ("a", 20))]
    java, python = both(java_oracle, "left_self_join", topology, script)
    plain, _ = both(java_oracle, "left_self_join_of_two_stores", topology, script)
    assert java == [(1, b"a+a")]
    assert python == plain == [(0, b"alone+null"), (1, b"a+a")]


def foreign_key_join_of_one_stream(builder: StreamsBuilder) -> None:
    read = texts(builder, "in")
    rows = read.map_values(lambda value: value if "b" in value else cast("str", None), value=TEXT).to_table()
    read.to_table().join(rows, joined, on=lambda _, value: letter_of(value), value=TEXT).to_stream().to("out")


@pytest.mark.parametrize("is_cached", [False, True], ids=["uncached", "cached"])
def test_a_result_does_not_outlive_its_right_row(java_oracle: JavaOracle, *, is_cached: bool) -> None:
    # The second record changes the left row, and deletes the right row before that knows of the change.
    script = records("in", ("ab", 10), ("apple", 20), key="a")
    topology = of_builder(foreign_key_join_of_one_stream)
    java = java_oracle.run("foreign_key_join_of_one_stream", script, CACHED if is_cached else UNCACHED)
    python = run_twin(Twin(lambda: topology), script, is_cached=is_cached, does_as_java=False)
    assert values(java) == [(0, b"ab+ab")]
    assert values(python) == [(0, b"ab+ab"), (1, None)]


# ------------------------------------------------------------------------------------------------- what is built at all


def two_counts_below_a_filter(builder: StreamsBuilder) -> None:
    filtered = texts(builder, "in").select_key(letter, key=TEXT).filter(has_a)
    for topic in ("one", "two"):
        filtered.group_by_key().count().to_stream().to(topic, value=LONG)


def test_repartition_topics_are_merged_below_a_filter(java_oracle: JavaOracle) -> None:
    topology = of_builder(two_counts_below_a_filter, StreamsBuilder(optimization=Optimization.MERGED_REPARTITIONS))
    script = records("in", ("a", 10), ("b", 20), ("ab", 30))
    with pytest.raises(RefusedTopologyError, match="Found a null keyChangingChild node"):
        java_oracle.run("two_counts_below_a_filter", script)
    assert len(topology.graph.repartition_topics) == 1
    for topic in ("one", "two"):
        java, python = both(java_oracle, "two_counts_below_a_filter_plain", topology, script, topic)
        assert python == java == [(0, encoded(1)), (2, encoded(2))]


def foreign_key_join(name: str | None) -> Topology:
    builder = StreamsBuilder(explicit_names=True)
    one, other = (builder.table(topic, key=TEXT, value=TEXT, store=topic) for topic in ("table", "other-table"))
    kept = one.join(other, joined, on=lambda _, value: letter_of(value), name=name, store="both", value=TEXT)
    kept.to_stream().to("out")
    return builder.build()


def test_explicit_names_are_asked_for_foreign_key_joins(java_oracle: JavaOracle) -> None:
    java = java_oracle.describe("foreign_key_join_without_a_name").text
    assert "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000008" in java
    with pytest.raises(TopologyError, match="KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000008 has a generated name"):
        foreign_key_join(None)
    assert foreign_key_join("joining").describe() == java_oracle.describe("foreign_key_join_with_a_name").text


def test_streams_of_one_topic_need_one_serde(java_oracle: JavaOracle) -> None:
    java = java_oracle.describe("streams_with_two_serdes").text
    assert java.count("Source: ") == 1  # the second stream gets what the first one's serdes read
    builder = StreamsBuilder()
    builder.stream("in", key=TEXT, value=TEXT).to("one")
    builder.stream("in", key=TEXT, value=LONG).to("two")
    with pytest.raises(TopologyError, match=r"stream\('in'\) is read twice, with value="):
        builder.build()


def test_windows_of_a_table_that_was_a_stream_cannot_close(java_oracle: JavaOracle) -> None:
    script = records("in", ("a", 10), ("b", 20), ("c", 300))
    assert values(java_oracle.run("suppressed_behind_to_table", script)) == [(2, encoded(2))]
    windows = TimeWindows(ms(100), grace=ms(70))
    counts = texts(StreamsBuilder(), "in").group_by_key().windowed_by(windows).count()
    again = counts.to_stream().to_table(key=time_windowed(TEXT, ms(100)), value=LONG)
    with pytest.raises(TopologyError, match=r"have no windows that could close\. Suppress a windowed aggregation"):
        again.suppress(Suppressed.until_window_closes())


# --------------------------------------------------------------------------------------------------- tasks and commits


def held_behind_repartition(builder: StreamsBuilder) -> None:
    behind = texts(builder, "in").filter(has_a).repartition()
    behind.process(factory=Holding, stores=(HELD,), key=TEXT, value=TEXT).to("out")


def test_each_subtopology_has_its_own_stream_time(java_oracle: JavaOracle) -> None:
    script = records("in", ("a", 10), ("b", 200), ("a", 210))
    java, python = both(java_oracle, "stream_time_behind_repartition", of_builder(held_behind_repartition), script)
    # Java's driver has one task, whose time moves with records that don't come through the repartition topic, too.
    assert java == [(1, b"a@200")]
    assert python == [(0, b"a@10"), (2, b"a@210")]


def changelog(run: Run) -> list[Output]:
    return [each for each in run.outputs if each.is_changelog]


def test_a_commit_logs_each_key_once(java_oracle: JavaOracle) -> None:
    script = records("in", ("a b c", 10))
    java = java_oracle.run("words_count", script, UNCACHED)
    python = run_twin(TWINS["words_count"], script, is_cached=False)
    assert [each.value for each in changelog(java)] == [encoded(1), encoded(2), encoded(3)]
    assert [each.value for each in changelog(python)] == [encoded(3)]
    assert values(java) == values(python) == [(0, encoded(1)), (0, encoded(2)), (0, encoded(3))]


def test_rows_of_stores_with_duplicates_are_numbered_on_after_a_restart(java_oracle: JavaOracle) -> None:
    script: list[Step] = [*records("in", ("a", 10)), Restart(), *records("in", ("b", 10))]
    java = java_oracle.run("process_window_duplicates", script, UNCACHED)
    python = run_twin(TWINS["process_window_duplicates"], script, is_cached=False)
    # In Java, the second record replaces the first one in the changelog, so the next restart would lose it.
    assert [(each.key or b"")[-4:] for each in changelog(java)] == [b"\0\0\0\1", b"\0\0\0\1"]
    assert [(each.key or b"")[-4:] for each in changelog(python)] == [b"\0\0\0\1", b"\0\0\0\2"]


# ----------------------------------------------------------------------------------------------------- versioned stores


def test_versions_that_a_store_refuses_are_not_logged(java_oracle: JavaOracle) -> None:
    script = records("table", ("new", 1000), ("kept", 900), ("refused", 899))
    log = "app-table-versions-changelog"
    java, python = both(java_oracle, "versioned_table", TWINS["versioned_table"].build(), script, log)
    assert java == [(0, b"new"), (1, b"kept"), (2, b"refused")]
    assert python == [(0, b"new"), (1, b"kept")]


def test_a_deleted_value_does_not_come_back_with_a_restart(java_oracle: JavaOracle) -> None:
    late: list[Step] = [Pipe("table", b"k", None, 10_917), *records("table", ("deleted", 10_890))]
    script = [*late, *records("table", ("new", 11_020), key="other"), Restart(), *records("in", ("asked", 11_044))]
    name = "versioned_stream_left_join"
    java, python = both(java_oracle, name, TWINS[name].build(), script)
    # Java looks at the newest time of a batch first, and forgets the tombstone, as its segment is over by then.
    assert java == [(4, b"k=asked+deleted")]
    assert python == [(4, b"k=asked+null")]


def test_a_join_with_grace_waits_after_a_restart_too(java_oracle: JavaOracle) -> None:
    before = [*records("table", ("row", 1_000)), *records("in", ("a", 1_100))]
    script: list[Step] = [*before, Restart(), *records("in", ("b", 1_120), ("c", 1_300))]
    name = "versioned_grace_join"
    assert name in NOT_RESTARTED
    java, python = both(java_oracle, name, TWINS[name].build(), script)
    # Java takes bytes of the key for the time of what it restores. Then all others are late, and "a" is never joined.
    assert java == [(3, b"b+row"), (4, b"c+row")]
    assert python == [(4, b"a+row"), (4, b"b+row")]


def test_a_left_join_with_grace_takes_null_keys(java_oracle: JavaOracle) -> None:
    script = records("in", ("a", 1_100), key=None)
    name = "null_keys_of_a_join_with_grace"
    java = java_oracle.run(name, script, UNCACHED)
    assert "NullPointerException: key cannot be null" in java.error[-1]

    def build(builder: StreamsBuilder) -> None:
        joined_rows = texts(builder, "in").left_join(versioned(builder, "table"), joined, grace=ms(60))
        joined_rows.to("out", value=TEXT)

    python = run_twin(Twin(lambda: of_builder(build)), script, is_cached=False)
    assert values(python) == [(0, b"a+null")]


# ------------------------------------------------------------------------------------------------------------- patterns


def matching(builder: StreamsBuilder, pattern: str, flags: int = 0) -> KStream[str, str]:
    return builder.stream(re.compile(pattern, flags), key=TEXT, value=TEXT)


def test_a_pattern_that_matches_a_global_topic_is_refused_in_either_order(java_oracle: JavaOracle) -> None:
    assert "topics: in|left" in java_oracle.describe("pattern_below_global_table").text

    def write(builder: StreamsBuilder) -> None:
        builder.global_table("in", key=TEXT, value=TEXT)
        matching(builder, "in|left").to("out")

    with pytest.raises(TopologyError, match="'in\\|left', and with them topic 'in'"):
        of_builder(write)


def test_two_nodes_with_one_pattern_are_refused(java_oracle: JavaOracle) -> None:
    assert java_oracle.describe("pattern_of_two_nodes").text.count("topics: in|left") == 2
    topology = Topology().add_source("one", re.compile("in|left"), key=TEXT, value=TEXT)
    with pytest.raises(TopologyError, match="'two' and 'one' both read the topics that match"):
        topology.add_source("two", re.compile("in|left"), key=TEXT, value=TEXT)


def test_the_flags_of_a_pattern_count(java_oracle: JavaOracle) -> None:
    script = records("in", ("x", 0))
    java = java_oracle.run("pattern_with_flag_of_java", script, UNCACHED)
    assert "Unknown topic: in" in java.error[0]
    topology = of_builder(lambda builder: matching(builder, "IN", re.IGNORECASE).to("out"))
    assert values(run_twin(Twin(lambda: topology), script, is_cached=False)) == [(0, b"x")]


def test_a_topic_of_two_patterns_is_refused(java_oracle: JavaOracle) -> None:
    script = records("left", ("x", 0))
    java = java_oracle.run("patterns_in_common", script, UNCACHED)
    assert len(values(java, "one")) + len(values(java, "two")) == 1

    def write(builder: StreamsBuilder) -> None:
        matching(builder, "in|left").to("one")
        matching(builder, "left|right").to("two")

    python = run_twin(Twin(lambda: of_builder(write)), script, is_cached=False)
    assert "'left' matches the pattern" in python.error[0]
