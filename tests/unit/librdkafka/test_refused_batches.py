"""Records that librdkafka gives up together, because of one of them."""

import pytest

from kafka_groups.errors import (
    InvalidRecordError,
    KafkaGroupsError,
    MessageTooLargeError,
    TopicAuthorizationFailedError,
)
from kafka_groups.librdkafka.refused_batches import refused_together
from kafka_groups.records.interface import UnwrittenRecord
from kafka_groups.records.producing.refusal_texts import too_large


def refused(error: KafkaGroupsError, *values: bytes, partition: int = 0) -> list[UnwrittenRecord]:
    return [UnwrittenRecord("totals", b"k", value, 0, (), partition, error, value) for value in values]


def test_records_that_are_refused_together_say_so_and_the_largest_comes_first() -> None:
    first, *others = refused_together(refused(MessageTooLargeError("too large"), b"a", b"large", b"c"))
    assert first.value == b"large"
    assert [each.value for each in others] == [b"a", b"c"]
    assert str(first.error) == (
        "too large. It is one of 3 records for totals-0 that were refused together: librdkafka gives up a whole batch, "
        "and does not say which record is wrong. The largest of them has 6 bytes. If the topic takes records of that "
        "size, its limit is too low for the batch."
    )


def test_a_remedy_that_the_error_says_is_not_told_twice() -> None:
    first, _ = refused_together(refused(too_large("totals-0 takes no record of 501 bytes"), b"a", b"b"))
    assert first.error.says_remedy


@pytest.mark.parametrize(
    "records",
    [
        refused(InvalidRecordError("alone"), b"a"),
        refused(InvalidRecordError("alone"), b"a") + refused(InvalidRecordError("alone"), b"b", partition=1),
        refused(TopicAuthorizationFailedError("no"), b"a", b"b"),
    ],
)
def test_records_that_are_wrong_one_by_one_keep_their_errors(records: list[UnwrittenRecord]) -> None:
    assert refused_together(records) == records
