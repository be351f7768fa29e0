"""Java's metadata of committed offsets is still what was recorded, and Java reads ours."""

from collections.abc import Iterator

import pytest

from kafka_groups.streams.tasks.commit_metadata import CommitMetadata
from tests.recording.java_commit_metadata import java_reading, java_writing, recorded
from tests.support.kafka.java_program import JavaProgram
from tests.support.kafka.kafka_classpath import streams_classpath_or_skip

pytestmark = [pytest.mark.real_kafka, pytest.mark.slow]


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaProgram]:
    directory = tmp_path_factory.mktemp("metadata")
    with JavaProgram("CommitMetadata", directory, streams_classpath_or_skip()) as driver:
        yield driver


def test_java_writes_and_reads_what_was_recorded(java: JavaProgram) -> None:
    written, read = recorded()
    for times in written:
        assert java_writing(java, times.partition_time_ms, times.processor_times_ms) == times.text
    for each in read:
        assert java_reading(java, each.text) == each


@pytest.mark.parametrize("times", [{}, {"a": 7, "Zürich ✈ 𝄞": -8}], ids=["plain", "with processors"])
def test_java_reads_ours(java: JavaProgram, times: dict[str, int]) -> None:
    ours = CommitMetadata(partition_time_ms=2**40, processor_times_ms=times)
    found = java_reading(java, ours.encode())
    assert found.partition_time_ms == 2**40
    assert {name: time for name, time in found.processor_times_ms.items() if time is not None} == dict(
        ours.processor_times_ms
    )
