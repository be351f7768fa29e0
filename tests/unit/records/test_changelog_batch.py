import pytest

from kafka_groups.records.changelog_batch import ChangelogBatch
from kafka_groups.types import FetchedRecord, Headers
from tests.support.listed_records import changelog_batch

HEADERS: Headers = (("h", b"x"),)
RECORDS = [
    FetchedRecord(3, b"a", b"1", 10),
    FetchedRecord(4, None, b"2", 11),
    FetchedRecord(7, b"b", None, 12, HEADERS),
]


def test_columns_leave_out_records_without_a_key() -> None:
    assert changelog_batch(RECORDS) == ChangelogBatch([3, 7], [b"a", b"b"], [b"1", None], [10, 12], [(), HEADERS])
    assert changelog_batch(RECORDS[:2]).headers is None


@pytest.mark.parametrize(("offset", "count"), [(0, 0), (3, 0), (4, 1), (7, 1), (8, 2)])
def test_the_records_before_an_offset(offset: int, count: int) -> None:
    found = changelog_batch(RECORDS).before(offset)
    assert found == ChangelogBatch(
        [3, 7][:count], [b"a", b"b"][:count], [b"1", None][:count], [10, 12][:count], [(), HEADERS][:count]
    )
    assert changelog_batch(RECORDS[:1]).before(offset).headers is None
