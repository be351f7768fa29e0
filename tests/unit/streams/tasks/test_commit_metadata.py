"""Metadata of committed offsets: what Java writes is read, and Java reads what is written."""

import base64

import pytest

from kafka_groups.streams.tasks.commit_metadata import CommitMetadata, bounded_metadata, read_commit_metadata
from tests.recording.java_commit_metadata import Reading, Writing, recorded

WRITTEN, READ = recorded()


@pytest.mark.parametrize("given", WRITTEN, ids=str)
def test_what_java_wrote_is_read(given: Writing) -> None:
    assert read_commit_metadata(given.text) == CommitMetadata(
        partition_time_ms=given.partition_time_ms, processor_times_ms=given.processor_times_ms
    )


@pytest.mark.parametrize("given", [each for each in WRITTEN if len(each.processor_times_ms) == 1], ids=str)
def test_the_bytes_are_those_of_java(given: Writing) -> None:
    metadata = CommitMetadata(partition_time_ms=given.partition_time_ms, processor_times_ms=given.processor_times_ms)
    assert metadata.encode() == given.text


@pytest.mark.parametrize("given", [each for each in WRITTEN if not each.processor_times_ms], ids=str)
def test_without_times_of_processors_they_are_those_of_older_releases_of_java(given: Writing) -> None:
    written = base64.b64decode(CommitMetadata(partition_time_ms=given.partition_time_ms).encode())
    by_java = base64.b64decode(given.text)
    assert (written[0], by_java[0]) == (1, 2)
    assert written[1:] == by_java[1:]


def test_the_times_of_several_processors_are_read_again() -> None:
    metadata = CommitMetadata(partition_time_ms=5, processor_times_ms={"b": 1, "a": -2, "ü": 3})
    assert read_commit_metadata(metadata.encode()) == metadata


@pytest.mark.parametrize("given", READ, ids=str)
def test_any_text_means_what_it_means_to_java(given: Reading) -> None:
    found = read_commit_metadata(given.text)
    assert found.partition_time_ms == given.partition_time_ms
    if found.problem is None:
        assert {name: found.processor_times_ms.get(name) for name in given.processor_times_ms} == (
            given.processor_times_ms
        )
    else:
        assert set(given.processor_times_ms.values()) == {None}


@pytest.mark.parametrize("given", WRITTEN, ids=str)
def test_the_nul_of_librdkafka_is_not_part_of_the_text(given: Writing) -> None:
    assert read_commit_metadata(given.text + "\0") == read_commit_metadata(given.text)


@pytest.mark.parametrize("text", [None, "", "\0"])
def test_an_offset_without_metadata_has_no_time_and_is_not_a_problem(text: str | None) -> None:
    assert read_commit_metadata(text) == CommitMetadata(partition_time_ms=-1)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("committed by hand", "committed by hand"),
        ("AwAAAAAAAAEC", "its version is 3, and this client supports 1 and 2"),
        ("AgAAAAAAAAEC/////w==", "it has -1 times"),
        ("AgAAAAAAAAECAAAAAf////8=", "a name has -1 bytes"),
    ],
)
def test_metadata_of_others_is_a_problem_to_log(text: str, why: str) -> None:
    problem = read_commit_metadata(text).problem
    assert problem is not None
    assert why in problem
    assert repr(text) in problem


def test_times_of_more_operators_than_a_broker_takes_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    few = {f"time:operator-{number}": number for number in range(20)}
    assert read_commit_metadata(bounded_metadata(7, few)).processor_times_ms == few
    many = {f"time:operator-{number}": number for number in range(200)}
    found = read_commit_metadata(bounded_metadata(7, many))
    assert (found.partition_time_ms, found.processor_times_ms) == (7, {})
    assert "The times of 200 operators do not fit" in caplog.text
