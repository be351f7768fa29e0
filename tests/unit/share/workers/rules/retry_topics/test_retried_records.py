"""Records of retry topics, as handlers see them."""

import pickle

import pytest
from attrs import evolve

from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.records import AnyRecord, DeserializedRecord, copied_record, delivery_of
from kafka_groups.share.workers.rules.origins import RecordOrigin
from kafka_groups.share.workers.rules.retry_topics.retried_records import origin_of, retried_record, retry_state_of
from kafka_groups.share.workers.rules.retry_topics.retry_headers import RetryHeadersError, RetryState
from kafka_groups.types import Header
from tests.unit.share.deliveries import acquired, batch, decoded

STATE = RetryState(
    group="shop",
    handler="invoice",
    origin=RecordOrigin("orders", 3, 1234, 17),
    attempts=2,
    retries=1,
    first_failure_ms=18,
    due_ms=19,
    error="ValueError",
)


def record_with(*headers: Header) -> AnyRecord:
    (delivery,) = decoded(Decoder(), acquired((4, 4, 2)), batch(4, 4))
    assert isinstance(delivery, DeliveredRecords)
    record = next(iter(delivery))
    copied = copied_record(record)
    return evolve(copied, raw=evolve(copied.raw, headers=list(headers))).in_delivery(delivery_of(record))


def test_handlers_see_the_own_headers_only() -> None:
    plain = record_with(("a", b"1"), *STATE.headers())
    record = retried_record(plain, "shop", "invoice")
    assert record.headers == [("a", b"1")]
    assert (record.key, record.value, record.offset, record.timestamp) == (
        plain.key,
        plain.value,
        plain.offset,
        plain.timestamp,
    )
    assert record.delivery_count == 2
    assert delivery_of(record) is delivery_of(plain)


def test_it_knows_its_attempts_and_its_origin() -> None:
    record = retried_record(record_with(*STATE.headers()), "shop", "invoice")
    assert retry_state_of(record) == STATE
    assert origin_of(record) == RecordOrigin("orders", 3, 1234, 17)
    assert str(origin_of(record)) == "orders-3@1234"


def test_the_origin_of_a_record_of_another_topic_is_its_own_place() -> None:
    record = record_with()
    assert retry_state_of(record) is None
    assert origin_of(record) == RecordOrigin(record.topic, record.partition, record.offset, record.timestamp)


def test_a_record_with_broken_headers_keeps_them_and_its_place() -> None:
    plain = record_with(("a", b"1"), *STATE.headers(), ("__retry.due", b"soon"))
    record = retried_record(plain, "shop", "invoice")
    assert record.headers == plain.headers
    assert origin_of(record) == RecordOrigin.of(plain)
    with pytest.raises(RetryHeadersError, match="is repeated"):
        retry_state_of(record)


def test_a_record_of_another_handler_is_broken() -> None:
    with pytest.raises(RetryHeadersError, match="handler 'invoice' of group 'shop', and handler 'pay'"):
        retry_state_of(retried_record(record_with(*STATE.headers()), "shop", "pay"))


def test_copies_keep_the_own_headers_whatever_their_names() -> None:
    own = [("a", b"1"), ("__retry.group", b"mine")]
    record = retried_record(record_with(*own, *STATE.headers()), "shop", "invoice")
    assert copied_record(record).raw.headers == own
    assert pickle.loads(pickle.dumps(record)).headers == own
    again = record.for_delivery(delivery_of(record))
    assert (again, again.retry_state, again.headers) == (record, STATE, own)
    assert isinstance(again, DeserializedRecord)
