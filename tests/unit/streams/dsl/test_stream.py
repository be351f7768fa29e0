"""Operators of streams, as the test driver runs them."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups import serdes
from kafka_groups.streams import (
    ErrorContext,
    ErrorResponse,
    KStream,
    Record,
    StreamsBuilder,
    StreamsError,
    TopologyError,
    extractors,
)
from kafka_groups.streams.topology.nodes import TimestampExtractor
from kafka_groups.testing.topology_driver import TopologyTestDriver

Stream = KStream[str, str]
Change = Callable[[Stream], Stream]

CHANGES: dict[str, tuple[Change, list[tuple[str | None, str | None]]]] = {
    "filter": (lambda s: s.filter(lambda _, v: "a" in v), [("k", "ab"), ("n", "a")]),
    "filter_not": (lambda s: s.filter_not(lambda _, v: "a" in v), [("k", "b c")]),
    "map": (lambda s: s.map(lambda k, v: (v, k), key=serdes.string, value=serdes.string),
            [("ab", "k"), ("b c", "k"), ("a", "n")]),
    "map_values": (lambda s: s.map_values(str.upper, value=serdes.string), [("k", "AB"), ("k", "B C"), ("n", "A")]),
    "map_values with key": (lambda s: s.map_values(with_key=lambda k, v: k + v, value=serdes.string),
                            [("k", "kab"), ("k", "kb c"), ("n", "na")]),
    "flat_map": (lambda s: s.flat_map(lambda k, v: [(w, k) for w in v.split()], key=serdes.string, value=serdes.string),
                 [("ab", "k"), ("b", "k"), ("c", "k"), ("a", "n")]),
    "flat_map_values": (lambda s: s.flat_map_values(str.split, value=serdes.string),
                        [("k", "ab"), ("k", "b"), ("k", "c"), ("n", "a")]),
    "select_key": (lambda s: s.select_key(lambda _, v: v[0], key=serdes.string),
                   [("a", "ab"), ("b", "b c"), ("a", "a")]),
    "merge": (lambda s: s.merge(s.filter(lambda k, _: k == "n")), [("k", "ab"), ("k", "b c"), ("n", "a"), ("n", "a")]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_each_operator_changes_records(name: str) -> None:
    change, expected = CHANGES[name]
    builder = StreamsBuilder()
    change(builder.stream("in", key=serdes.string, value=serdes.string)).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        into = driver.input_topic("in", serdes.string, serdes.string)
        for key, value in (("k", "ab"), ("k", "b c"), ("n", "a")):
            into.pipe(key, value, timestamp_ms=5, headers=[("h", b"1")])
        found = driver.output_topic("out", serdes.string, serdes.string).read_all()
    assert [(record.key, record.value) for record in found] == expected
    assert {(record.timestamp_ms, record.headers) for record in found} == {(5, (("h", b"1"),))}


def test_peek_passes_records_on_and_foreach_ends_them() -> None:
    seen: list[tuple[str, str]] = []
    builder = StreamsBuilder()
    stream = builder.stream("in", key=serdes.string, value=serdes.string)
    stream.peek(lambda k, v: seen.append((k, v))).foreach(lambda k, v: seen.append((v, k)))
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", serdes.string, serdes.string).pipe("k", "v")
    assert seen == [("k", "v"), ("v", "k")]


def test_siblings_of_a_node_that_fails_go_on() -> None:
    failures: list[tuple[ErrorContext, Record[Any, Any], str]] = []

    def resume(context: ErrorContext, record: Record[Any, Any], error: Exception) -> ErrorResponse:
        failures.append((context, record, str(error)))
        return ErrorResponse.RESUME

    builder = StreamsBuilder()
    stream = builder.stream("in", key=serdes.string, value=serdes.string)
    stream.map_values(int, value=serdes.int64).to("numbers")
    stream.map_values(len, value=serdes.int64).to("lengths")
    with TopologyTestDriver(builder.build(), processing_exception_handler=resume) as driver:
        driver.input_topic("in", serdes.string, serdes.string).pipe("k", "one", timestamp_ms=7)
        assert driver.records("numbers") == ()
        assert [record.value for record in driver.output_topic("lengths", serdes.string, serdes.int64).read_all()] == [
            3
        ]
    ((context, record, text),) = failures
    assert (context.node, context.topic, context.offset, context.timestamp_ms) == (
        "KSTREAM-MAPVALUES-0000000001",
        "in",
        0,
        7,
    )
    assert (record.key, record.value) == ("k", "one")
    assert "invalid literal" in text


def test_without_a_handler_the_error_names_node_place_and_cause() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=serdes.string, value=serdes.string).map_values(str.upper, value=serdes.string).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        into = driver.input_topic("in", serdes.string, serdes.string)
        with pytest.raises(
            StreamsError, match=r"MAPVALUES-0000000001 in task 0_0 failed at in-0 offset 0.*value was null"
        ):
            into.pipe("k", None)


def test_a_wrong_type_for_a_sink_names_node_type_and_serde() -> None:
    builder = StreamsBuilder()
    wrong: Any = serdes.int64
    builder.stream("in", key=serdes.string, value=serdes.string).to("out", value=wrong)
    with (
        TopologyTestDriver(builder.build()) as driver,
        pytest.raises(StreamsError, match=r"KSTREAM-SINK-0000000001.*serdes\.int64 cannot serialise 'v' \(str\)"),
    ):
        driver.input_topic("in", serdes.string, serdes.string).pipe("k", "v")


def test_build_names_the_operator_that_left_a_serde_unknown_and_the_one_that_needs_it() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=serdes.string, value=serdes.string).map_values(len).to("out")
    with pytest.raises(TopologyError, match=r"to needs the serde of its values, which map_values left unknown"):
        builder.build()


def test_a_stream_is_split_by_the_first_predicate_that_is_true() -> None:
    builder = StreamsBuilder()
    tiers = builder.stream("in", key=serdes.string, value=serdes.string).split(name="tier-")
    tiers.branch(lambda _, v: "a" in v, name="a").to("with-a")
    tiers.branch(lambda _, v: "b" in v).to("with-b")
    tiers.default_branch(name="rest").to("rest")
    with pytest.raises(ValueError, match="'tier-' has a default branch already"):
        tiers.default_branch()
    with TopologyTestDriver(builder.build()) as driver:
        into = driver.input_topic("in", serdes.string, serdes.string)
        for value in ("ab", "b", "c"):
            into.pipe("k", value)
        assert [[r.value for r in driver.records(topic)] for topic in ("with-a", "with-b", "rest")] == [
            [b"ab"], [b"b"], [b"c"],
        ]  # fmt: skip


def test_process_values_keeps_keys() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=serdes.string, value=serdes.string)
    stream.process_values(lambda record: [record.with_key("other")], value=serdes.string).to("out")
    with (
        TopologyTestDriver(builder.build()) as driver,
        pytest.raises(StreamsError, match=r"got the key .k. and returned .other."),
    ):
        driver.input_topic("in", serdes.string, serdes.string).pipe("k", "v")


def test_print_writes_label_key_and_value(capsys: pytest.CaptureFixture[str]) -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=serdes.string, value=serdes.string).print(label="seen")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in", serdes.string, serdes.string).pipe("k", "v")
    assert capsys.readouterr().out == "[seen]: k, v\n"


def test_records_that_cannot_be_decoded_are_skipped_by_their_handler_or_fail_with_their_place() -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=serdes.string, value=serdes.int64).to("out")
    topology = builder.build()
    refused: list[tuple[str, int, Any]] = []

    def skip(context: ErrorContext, record: Record[Any, Any], _error: Exception) -> ErrorResponse:
        refused.append((context.node, context.offset, record.value))
        return ErrorResponse.RESUME

    with TopologyTestDriver(topology, deserialization_exception_handler=skip) as driver:
        into = driver.input_topic("in", serdes.string, serdes.bytes_)
        into.pipe("k", b"short")
        into.pipe("k", bytes(8))
        assert [record.value for record in driver.records("out")] == [bytes(8)]
    assert refused == [("KSTREAM-SOURCE-0000000000", 0, b"short")]
    with (
        TopologyTestDriver(topology) as driver,
        pytest.raises(
            StreamsError, match=r"KSTREAM-SOURCE-0000000000 in task 0_0 cannot decode in-0 offset 0.*5 bytes"
        ),
    ):
        driver.input_topic("in", serdes.string, serdes.bytes_).pipe("k", b"short")


def test_ready_extractors_decide_about_negative_timestamps_and_may_take_the_clock() -> None:
    def times(extractor: TimestampExtractor) -> list[int]:
        builder = StreamsBuilder()
        builder.stream("in", key=serdes.string, value=serdes.string, timestamp=extractor).to("out")
        with TopologyTestDriver(builder.build(), wall_ms=77) as driver:
            into = driver.input_topic("in", serdes.string, serdes.string)
            for timestamp_ms in (5, -1, 3):
                into.pipe("k", "v", timestamp_ms=timestamp_ms)
            return [record.timestamp_ms for record in driver.records("out")]

    assert times(extractors.skip_invalid) == [5, 3]
    assert times(extractors.use_partition_time_on_invalid) == [5, 5, 3]
    assert times(extractors.wall_clock) == [77, 77, 77]
    with pytest.raises(StreamsError, match="in-0 offset 1 has the timestamp -1"):
        times(extractors.fail_on_invalid)


def test_records_for_which_a_partitioner_chooses_no_partition_count_as_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", key=serdes.string, value=serdes.string)
    stream.to("out", partitioner=lambda _topic, _key, value, _count: [0] if value == "kept" else [], name="chosen")
    with TopologyTestDriver(builder.build()) as driver:
        for value in ("kept", "gone"):
            driver.input_topic("in", serdes.string, serdes.string).pipe("k", value)
        assert driver.dropped_records == {"chosen": 1}
        assert len(driver.records("out")) == 1
    assert "its partitioner chose no partition" in caplog.text
