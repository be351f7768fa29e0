"""Which records get letters, what letters say, and how they are divided into batches."""

import pytest

from kafka_groups.broker.share_partitions.dead_letters import (
    DeadLetterReason,
    DeadLetterRun,
    DeliveryEnds,
    LetterSource,
    RecordCopy,
    first_batch,
    runs_left_over,
    runs_of_change,
)
from kafka_groups.broker.share_partitions.delivery_limits import DeliveryLimits
from kafka_groups.broker.share_partitions.record_state import RecordEvent, RecordState
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.record_builder import build_batch
from tests.support.broker.share_state import batch_of

E, R = RecordEvent, DeadLetterReason
SOURCE = LetterSource("invoices", "orders", 3)
ARCHIVING, ARCHIVED = RecordState.ARCHIVING, RecordState.ARCHIVED
ROOMY = 1_048_588


def acked(first: int, last: int, *kinds: int) -> AcknowledgementBatch:
    return AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=kinds)


@pytest.mark.parametrize(
    ("event", "count", "with_queue", "without"),
    [
        (E.ACCEPT, 1, E.ACCEPT, E.ACCEPT),
        (E.GAP, 1, E.GAP, E.GAP),
        (E.RELEASE, 4, E.RELEASE, E.RELEASE),
        (E.RELEASE, 5, E.DEAD_LETTER, E.EXHAUST),
        (E.REJECT, 1, E.DEAD_LETTER, E.REJECT),
        (E.RENEW, 5, E.RENEW, E.RENEW),
    ],
)
def test_how_a_delivery_ends(event: RecordEvent, count: int, with_queue: RecordEvent, without: RecordEvent) -> None:
    queued = DeliveryEnds.of(ShareGroupConfig(errors_deadletterqueue_topic_name="dlq.x"))
    assert queued.event(event, count) is with_queue
    assert DeliveryEnds.of(ShareGroupConfig()).event(event, count) is without


def test_a_change_of_acknowledgements_has_a_run_for_each_reason() -> None:
    batches = (batch_of(0, 0, RecordState.ACKNOWLEDGED, 5), batch_of(1, 4, ARCHIVING, 5), batch_of(5, 5, ARCHIVED, 5))
    assert runs_of_change(batches, (acked(0, 3, 1, 3, 3, 2), acked(4, 4, 2), acked(5, 5, 0))) == (
        DeadLetterRun(1, 2, 5, R.REJECTED),
        DeadLetterRun(3, 4, 5, R.EXHAUSTED),
    )


def test_what_nobody_acknowledged_was_at_the_limit() -> None:
    assert runs_of_change((batch_of(1, 4, ARCHIVING, 5),), ()) == (DeadLetterRun(1, 4, 5, R.EXHAUSTED),)


def test_a_new_leader_knows_the_reason_by_the_delivery_count() -> None:
    batches = (batch_of(0, 1, ARCHIVING, 1), batch_of(2, 2, ARCHIVED, 1), batch_of(3, 3, ARCHIVING, 5))
    assert runs_left_over(batches, DeliveryLimits(5)) == (
        DeadLetterRun(0, 1, 1, R.REJECTED),
        DeadLetterRun(3, 3, 5, R.EXHAUSTED),
    )


def test_a_letter_names_its_record_and_the_reason() -> None:
    batch = first_batch(SOURCE, DeadLetterRun(7, 7, 2, R.REJECTED), {7: RecordCopy(b"k", b"v", 9)}, ROOMY, 42)
    assert (batch.first, batch.last) == (7, 7)
    [letter] = batch.letters
    assert (letter.key, letter.value, letter.timestamp_ms) == (b"k", b"v", 42)
    assert tuple(letter.headers) == (
        ("__dlq.errors.topic", b"orders"),
        ("__dlq.errors.partition", b"3"),
        ("__dlq.errors.offset", b"7"),
        ("__dlq.errors.group", b"invoices"),
        ("__dlq.errors.delivery.count", b"2"),
        ("__dlq.errors.message", b"Offset rejected by client."),
    )


def test_a_batch_has_as_many_letters_as_fit_to_the_byte() -> None:
    run = DeadLetterRun(0, 9, 1, R.EXHAUSTED)
    three = len(build_batch(first_batch(SOURCE, DeadLetterRun(0, 2, 1, R.EXHAUSTED), {}, ROOMY, 0).letters))
    assert first_batch(SOURCE, run, {}, three, 0).last == 2
    assert first_batch(SOURCE, run, {}, three - 1, 0).last == 1


def test_a_letter_that_does_not_fit_is_a_batch_of_its_own() -> None:
    assert first_batch(SOURCE, DeadLetterRun(0, 9, 1, R.EXHAUSTED), {}, 10, 0).last == 0


def test_a_batch_copies_no_more_bytes_than_it_may_have() -> None:
    copies = {offset: RecordCopy(None, b"v", 400) for offset in range(3)}  # most of it are headers
    assert first_batch(SOURCE, DeadLetterRun(0, 2, 1, R.REJECTED), copies, 1_000, 0).last == 1
