"""Records and batches as values: pickling, indexing, slicing, equality."""

import copy
import json
import pickle
from typing import Any

import pytest

from kafka_groups.errors import DeliveryFailedError, IllegalStateError, RecordDeserializationError
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from kafka_groups.share import ShareRecords
from kafka_groups.share.delivery.commits import CommitTicket
from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.types import AcknowledgeType, TopicPartition
from tests.unit.share.deliveries import acquired, batch, decoded
from tests.unit.share.fetching import Bench

PUBLIC = (
    "topic", "partition", "offset", "key", "value", "headers", "timestamp", "timestamp_type", "delivery_count",
    "raw_key", "raw_value",
)  # fmt: skip


def batch_of(delivery: DeliveredRecords, blob: bytes, **decoder: Any) -> ShareRecords[Any, Any]:
    decoded(Decoder(**decoder), delivery, blob)
    return ShareRecords([delivery])


def ten(**decoder: Any) -> ShareRecords[Any, Any]:
    return batch_of(acquired((0, 5, 1), (6, 9, 3)), batch(0, 9), **decoder)


def seen(record: AnyRecord) -> list[Any]:
    return [getattr(record, name) for name in PUBLIC]


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_record_survives_pickling(protocol: int) -> None:
    log = build_batch([NewRecord(value=b"v", key=None, timestamp_ms=7, headers=[("h", b"1"), ("h", None)])], 3)
    (record,) = batch_of(acquired((3, 3, 4)), log)
    copied = pickle.loads(pickle.dumps(record, protocol))
    assert copied == record
    assert seen(copied) == seen(record)
    assert repr(copied) == repr(record)


def test_a_deserialized_record_keeps_its_objects() -> None:
    (record,) = batch_of(
        acquired((0, 0)), build_batch([NewRecord(value=b'{"a": 1}')], 0), value_deserializer=json.loads
    )
    copied = pickle.loads(pickle.dumps(record))
    assert copied.value == {"a": 1}
    assert copied.error is None


def no(raw: bytes) -> bytes:
    raise ValueError(raw)


def test_a_record_that_could_not_be_deserialized_keeps_its_error() -> None:
    (record,) = batch_of(acquired((0, 0)), batch(0, 0), value_deserializer=no)
    copied = pickle.loads(pickle.dumps(record))
    assert (copied.value, copied.raw_value) == (None, b"v0")
    assert isinstance(copied.error, RecordDeserializationError)
    assert (str(copied.error), copied.error.offset, copied.error.value) == (str(record.error), 0, b"v0")


def test_errors_with_more_than_a_message_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(DeliveryFailedError("x", failed=2, unanswered=3)))
    assert (str(error), error.failed, error.unanswered) == ("x", 2, 3)


def test_a_batch_survives_pickling() -> None:
    records = ten()
    copied = pickle.loads(pickle.dumps(records))
    assert copied == records
    assert len(copied) == 10
    assert list(map(seen, copied)) == list(map(seen, records))
    assert copied.partitions() == {TopicPartition("orders", 0)}
    assert pickle.loads(pickle.dumps(ShareRecords())) == ShareRecords()


def test_a_copy_holds_no_lock() -> None:
    bench = Bench(acknowledgement_mode="explicit", prefetch_batches=0)
    (record,) = bench.delivered((0, 0))
    copied = pickle.loads(pickle.dumps(record))
    with pytest.raises(IllegalStateError, match="or is a copy"):
        bench.application.acknowledge(copied, AcknowledgeType.ACCEPT)
    assert not bench.application.renew(copied, CommitTicket())
    bench.application.acknowledge_offset(
        TopicPartition(copied.topic, copied.partition), copied.offset, AcknowledgeType.ACCEPT
    )
    assert copy.deepcopy(record) == record


def test_batches_index_and_slice() -> None:
    records = ten()
    assert records[0].offset == 0
    assert records[-1].value == b"v9"
    assert [record.offset for record in records[2:5]] == [2, 3, 4]
    assert [record.offset for record in records[::-3]] == [9, 6, 3, 0]
    assert records[3] is records[3]
    assert records[3] in records
    with pytest.raises(IndexError):
        records[10]
    assert [record.offset for record in reversed(list(records))] == list(range(9, -1, -1))


def test_what_was_indexed_can_be_acknowledged() -> None:
    bench = Bench(acknowledgement_mode="explicit", prefetch_batches=0)
    bench.begin()
    bench.fetched(bench.fetch(), (0, 2))
    records = bench.end()
    bench.application.acknowledge(records[1], AcknowledgeType.ACCEPT)
    (counts,) = records.acknowledgements().values()
    assert counts == {AcknowledgeType.ACCEPT: 1}


def test_equality_is_by_value() -> None:
    assert list(ten()) == list(ten())
    assert ten() == ten()
    first, again = ten()[0], batch_of(acquired((0, 0, 5)), batch(0, 0))[0]
    assert first == again  # the same record, delivered more often
    assert hash(first) == hash(again)
    assert first != ten()[1]
    assert first != batch_of(acquired((0, 0)), build_batch([NewRecord(value=b"other", key=b"k")], 0))[0]
    assert first != b"v0"
    assert ten() != ten()[:]
    assert ten() != batch_of(acquired((0, 8)), batch(0, 9))
    assert {first, again} == {first}
    assert hash(ten()) == hash(ten())
