"""Timestamp extractors that fail: the error names the record and the remedy."""

import pytest

from kafka_groups import serdes
from kafka_groups.streams import SourceRecord, StreamsBuilder, StreamsError, extractors
from kafka_groups.streams.topology.nodes import TimestampExtractor
from kafka_groups.testing.topology_driver import TopologyTestDriver


def pipe(extractor: TimestampExtractor, *values: str, timestamp_ms: int = 0) -> None:
    builder = StreamsBuilder()
    builder.stream("in", key=serdes.string, value=serdes.string, name="read").to("out")
    with TopologyTestDriver(builder.build(), timestamp=extractor) as driver:
        topic = driver.input_topic("in", serdes.string, serdes.string)
        for value in values:
            topic.pipe("k", value, timestamp_ms=timestamp_ms)


def test_an_exception_of_an_extractor_names_the_record() -> None:
    def from_value(record: SourceRecord, _partition_time_ms: int) -> int:
        return int(str(record.value))

    with pytest.raises(StreamsError) as raised:
        pipe(from_value, "1", "x")
    text = str(raised.value)
    assert text.startswith("The timestamp extractor of read in task 0_0 failed at in-0 offset 1: ValueError: ")
    assert "or -1 to drop the record" in text
    assert isinstance(raised.value.__cause__, ValueError)


@pytest.mark.parametrize("result", [None, 1.5, "7"])
def test_a_result_that_is_no_integer_names_the_record(result: object) -> None:
    with pytest.raises(StreamsError, match=r"failed at in-0 offset 0: TypeError: .* in ms since 1970"):
        pipe(lambda _record, _partition_time_ms: result, "x")  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("extractor", [extractors.fail_on_invalid, extractors.use_partition_time_on_invalid])
def test_ready_extractors_name_the_record_and_another_extractor(extractor: TimestampExtractor) -> None:
    with pytest.raises(StreamsError, match=r"in-0 offset 0 has the timestamp -1.* such as extractors\.skip_invalid"):
        pipe(extractor, "x", timestamp_ms=-1)


@pytest.mark.parametrize("extractor", [extractors.fail_on_invalid, extractors.use_partition_time_on_invalid])
def test_the_error_of_a_ready_extractor_is_not_its_own_cause(extractor: TimestampExtractor) -> None:
    with pytest.raises(StreamsError) as raised:
        pipe(extractor, "x", timestamp_ms=-1)
    assert raised.value.__cause__ is None
