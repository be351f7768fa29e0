"""Headers of dead letters, and the memory of copies."""

from uuid import UUID

from attrs import evolve

from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.records import AnyRecord, CopiedRecord, copied_record, delivery_of
from kafka_groups.share.workers.rules.dead_letter_headers import (
    CopiedRecords,
    dead_letter_headers,
    makes_dead_letters,
    record_id,
)
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.retry_topics.retried_records import retried_record
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryState
from kafka_groups.share.workers.rules.steps import OpenRecord
from kafka_groups.types import RecordId, TopicIdPartition
from tests.unit.share.deliveries import PARTITION, acquired, batch, decoded

OTHER = TopicIdPartition(UUID(int=78), 0, "orders")


def test_the_headers_are_those_of_kafkas_own_queues() -> None:
    (delivery,) = decoded(Decoder(), acquired((4, 5, 3)), batch(4, 5))
    assert isinstance(delivery, DeliveredRecords)
    record = list(delivery)[1]
    assert record_id(record) == (PARTITION, 5)
    assert dict(dead_letter_headers(record, "g", "failed")) == {
        "__dlq.errors.topic": b"orders",
        "__dlq.errors.partition": b"0",
        "__dlq.errors.offset": b"5",
        "__dlq.errors.group": b"g",
        "__dlq.errors.delivery.count": b"3",
        "__dlq.errors.message": b"failed",
    }


def test_a_dead_letter_from_a_retry_topic_names_the_first_record_and_all_attempts() -> None:
    (delivery,) = decoded(Decoder(), acquired((4, 5, 1)), batch(4, 5))
    assert isinstance(delivery, DeliveredRecords)
    plain = list(delivery)[1]
    state = RetryState(
        group="g",
        handler="handle",
        origin=RecordOrigin("payments", 3, 1234, 17),
        attempts=4,
        retries=4,
        first_failure_ms=18,
        due_ms=19,
    )
    raw = copied_record(plain).raw
    headers = [("own", b"1"), *state.headers()]
    written = CopiedRecord(evolve(raw, headers=headers), None, None, None).in_delivery(delivery_of(plain))
    record = retried_record(written, "g", "handle")
    opened: OpenRecord[AnyRecord] = OpenRecord(record, record_id(record), 1, attempts=2, reason="gave up", state=state)
    letter = makes_dead_letters("dead", "g")(opened)
    assert letter.topic == "dead"
    assert letter.headers[0] == ("own", b"1")
    assert dict(letter.headers[1:]) == {
        "__dlq.errors.topic": b"payments",
        "__dlq.errors.partition": b"3",
        "__dlq.errors.offset": b"1234",
        "__dlq.errors.group": b"g",
        "__dlq.errors.delivery.count": b"1",
        "__dlq.errors.message": b"gave up",
        "__dlq.errors.attempts": b"6",
    }


def test_any_reason_fits_into_a_header() -> None:
    (delivery,) = decoded(Decoder(), acquired((4, 5, 3)), batch(4, 5))
    assert isinstance(delivery, DeliveredRecords)
    record = next(iter(delivery))

    def message(reason: str) -> bytes | None:
        return dict(dead_letter_headers(record, "g", reason))["__dlq.errors.message"]

    assert message("no file \udcff.txt") == b"no file \\udcff.txt"
    assert message(2_000_000 * "x") == 2_000 * b"x"


def test_copies_are_remembered_by_topic_id_and_offset() -> None:
    copied = CopiedRecords()
    copied.add([(PARTITION, 1)])
    assert (PARTITION, 1) in copied
    assert (PARTITION, 2) not in copied
    assert (OTHER, 1) not in copied


def test_the_oldest_copies_are_forgotten() -> None:
    copied = CopiedRecords()
    places: list[RecordId] = [(PARTITION, offset) for offset in range(10_001)]
    copied.add(places[:1])
    copied.add(places[1:])
    assert places[0] not in copied
    assert all(place in copied for place in places[1:])
