from random import Random

import pytest

from kafka_groups.cli.records.record_columns import ReadColumns, UncountedDeliveriesError, delivered_columns
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.share.delivery.columns import FIELDS
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.records import NO_SESSION
from kafka_groups.types import RecordRow, TopicIdPartition, random_uuid

ROWS: list[RecordRow] = [(3, b"a", b"x", 5, (("h", None),)), (4, None, None, -1, ()), (7, b"", b"z", 0, ())]
COLUMNS = ReadColumns("orders", 1, ROWS)


def test_records_that_were_read() -> None:
    assert list(COLUMNS.offsets()) == [3, 4, 7]
    assert list(COLUMNS.keys()) == [b"a", None, b""]
    assert list(COLUMNS.values()) == [b"x", None, b"z"]
    assert list(COLUMNS.times_ms()) == [5, None, 0]
    assert list(COLUMNS.headers()) == [(("h", None),), (), ()]
    with pytest.raises(UncountedDeliveriesError):
        COLUMNS.delivery_counts()


def test_a_part_of_the_records() -> None:
    assert [len(COLUMNS.first(most)) for most in (None, 5, 3, 2, 0)] == [3, 3, 3, 2, 0]
    assert list(COLUMNS.first(2).offsets()) == [3, 4]
    assert [len(COLUMNS.before(end)) for end in (8, 7, 5, 3, 0)] == [3, 2, 2, 0, 0]
    assert len(ReadColumns("orders", 1, []).before(5)) == 0


def delivery(*ranges: tuple[int, int, int]) -> DeliveredRecords:
    """Records of a batch of four, from offset 10 on, of which some were acquired."""
    headers = [[], [], [], [("h", b"1"), ("h", b"2")]]
    records = [NewRecord(b"v%d" % at, None if at % 2 else b"k", 100 + at, headers[at]) for at in range(4)]
    acquired = [AcquiredRecords(first_offset=a, last_offset=b, delivery_count=count) for a, b, count in ranges]
    found = DeliveredRecords(TopicIdPartition(random_uuid(Random(1)), 2, "orders"), NO_SESSION, acquired, 0)
    found.hand_out(iter_batches(build_batch(records, base_offset=10)))
    return found


def test_records_that_were_delivered() -> None:
    (found,) = delivered_columns(delivery((10, 13, 2)), FIELDS)
    assert (found.topic, found.partition, len(found)) == ("orders", 2, 4)
    assert list(found.offsets()) == [10, 11, 12, 13]
    assert list(found.keys()) == [b"k", None, b"k", None]
    assert list(found.values()) == [b"v0", b"v1", b"v2", b"v3"]
    assert list(found.times_ms()) == [100, 101, 102, 103]
    assert [list(each) for each in found.headers()] == [[], [], [], [("h", b"1"), ("h", b"2")]]
    assert list(found.delivery_counts()) == [2, 2, 2, 2]


def test_delivery_counts_may_differ() -> None:
    (found,) = delivered_columns(delivery((10, 10, 1), (12, 13, 3)), frozenset({"value"}))
    assert list(zip(found.offsets(), found.values(), found.delivery_counts(), strict=True)) == [
        (10, b"v0", 1),
        (12, b"v2", 3),
        (13, b"v3", 3),
    ]
    assert list(map(list, found.headers())) == [[], [], []]
