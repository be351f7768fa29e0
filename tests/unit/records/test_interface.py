from kafka_groups.records.interface import NOTHING, LogChange, PolledRecords
from kafka_groups.types import FetchedRecord, TopicPartition
from tests.support.listed_records import ListedRecords, changelog_batch

PLACE = TopicPartition("t", 0)
RECORDS = [FetchedRecord(3, b"a", b"1", 10), FetchedRecord(7, b"b", None, 12)]


def test_records_that_are_parsed_already_are_a_polled_batch() -> None:
    listed = ListedRecords(RECORDS)
    assert (len(listed), listed.next_offset) == (2, 8)
    assert listed.rows() == listed.records() == RECORDS
    assert listed.columns() == changelog_batch(RECORDS)


def test_a_poll_with_any_news_is_true() -> None:
    assert not NOTHING
    assert not NOTHING.count
    assert PolledRecords({PLACE: ListedRecords(RECORDS)}, {}).count == 2
    assert PolledRecords({}, {PLACE: 3})
    assert PolledRecords({}, {}, (PLACE,), {PLACE: LogChange(3)})
