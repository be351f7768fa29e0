"""Records of changelogs that wait for a load."""

import pytest

from kafka_groups.streams.runtime.gathered_records import LOADED_BYTES, LOADED_RECORDS, GatheredRecords
from kafka_groups.types import FetchedRecord, TopicPartition
from tests.support.listed_records import ListedRecords, changelog_batch

PLACE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


def records(count: int, first: int = 0, value: bytes | None = b"v") -> ListedRecords:
    return ListedRecords(FetchedRecord(first + at, b"k", value, 0) for at in range(count))


def test_records_are_taken_once_in_their_order() -> None:
    gathered = GatheredRecords()
    gathered.add(PLACE, records(2), 0)
    gathered.add(OTHER, records(1), 0)
    gathered.add(PLACE, records(2, first=2), 0)
    taken = gathered.take(PLACE)
    assert taken is not None
    assert (taken.records.offsets, taken.next_offset) == ([0, 1, 2, 3], 4)
    assert gathered.take(PLACE) is None
    gathered.forget([OTHER])
    assert gathered.take(OTHER) is None


def test_records_without_a_key_only_move_the_offset() -> None:
    gathered = GatheredRecords()
    gathered.add(PLACE, ListedRecords([FetchedRecord(7, None, b"v", 0)]), 0)
    assert gathered.is_full(PLACE, 1)
    taken = gathered.take(PLACE)
    assert taken is not None
    assert (len(taken.records), taken.next_offset) == (0, 8)


@pytest.mark.parametrize("with_headers", [(), (0,), (1,), (0, 1)])
def test_columns_are_joined_with_the_headers_of_any(with_headers: tuple[int, ...]) -> None:
    gathered = GatheredRecords()
    made = [
        FetchedRecord(at, b"k%d" % at, None if at else b"v", at, (("h", b"%d" % at),) if at in with_headers else ())
        for at in range(2)
    ]
    for each in made:
        gathered.add(PLACE, ListedRecords([each]), 0)
    taken = gathered.take(PLACE)
    assert taken is not None
    assert taken.records == changelog_batch(made)


def test_enough_records_are_a_load() -> None:
    gathered = GatheredRecords()
    assert not gathered.is_full(PLACE, 3)
    gathered.add(PLACE, records(2), 0)
    assert not gathered.is_full(PLACE, 3)
    gathered.add(PLACE, records(1, first=2), 0)
    assert gathered.is_full(PLACE, 3)


def test_a_few_large_records_are_a_load() -> None:
    gathered, large = GatheredRecords(), bytes(LOADED_BYTES // 2)
    gathered.add(PLACE, records(1, value=large), 0)
    gathered.add(PLACE, records(1, value=None), 0)
    assert not gathered.is_full(PLACE, LOADED_RECORDS)
    gathered.add(PLACE, records(1, value=large), 0)
    assert gathered.is_full(PLACE, LOADED_RECORDS)


def test_no_record_waits_for_longer_than_half_a_second() -> None:
    gathered = GatheredRecords()
    gathered.add(PLACE, records(1), 100)
    gathered.add(OTHER, records(1), 300)
    gathered.add(PLACE, records(1), 599)
    assert gathered.due(599) == []
    assert gathered.due(600) == [PLACE]
    assert gathered.due(800) == [PLACE, OTHER]


@pytest.mark.parametrize("value", [b"", bytes(LOADED_BYTES // 1_000)])
def test_the_largest_partitions_are_due_if_all_together_have_too_many_records(value: bytes) -> None:
    count = LOADED_RECORDS - 1 if not value else 999
    gathered = GatheredRecords()
    places = [TopicPartition("t", at) for at in range(5)]
    for place in places[:4]:
        gathered.add(place, records(count, value=value), 0)
    assert gathered.due(0) == []
    gathered.add(places[4], records(count + 1, value=value), 0)
    assert gathered.due(0) == [places[4]]
