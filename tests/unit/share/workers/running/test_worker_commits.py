"""Acknowledging the records of a step: those and no others, in whatever order they come."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.delivery.commits import CommitTicket
from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.workers.rules.steps import AcknowledgeRecords
from kafka_groups.share.workers.running.operations import OperationTimes
from kafka_groups.share.workers.running.worker_commits import SentRecords, WorkerCommits
from kafka_groups.types import AcknowledgeType, RecordId
from tests.unit.share.deliveries import PARTITION, acquired, batch, decoded

FIRST, LAST = 4, 9


class Consumer:
    """Sends acknowledgements that nobody answers."""

    def commit_async(self, *, with_next_fetch: bool = False) -> CommitTicket:
        """Send them."""
        return CommitTicket()


def sent_places(offsets: Sequence[int], *, is_run: bool = False) -> list[RecordId]:
    """Acknowledge some records of a delivery, and return what was sent."""
    (delivery,) = decoded(Decoder(), acquired((FIRST, LAST, 1)), batch(FIRST, LAST))
    assert isinstance(delivery, DeliveredRecords)
    records = {record.offset: record for record in delivery}
    places: list[RecordId] = []

    def settled(sent: SentRecords, _refused: Sequence[RecordId], _error: Exception | None) -> None:
        places.extend(sent.places)

    consumer = cast("AsyncKafkaShareConsumer[Any, Any]", Consumer())
    commits = WorkerCommits(consumer, settled, lambda error: None, OperationTimes("g", lambda: 0.0))
    commits.add(AcknowledgeRecords([records[offset] for offset in offsets], AcknowledgeType.ACCEPT, is_run=is_run))
    commits.send(lambda: None, with_next_fetch=False)
    commits.give_up()
    return places


@pytest.mark.parametrize("offsets", [(4,), (4, 5, 6), (4, 6), (4, 9, 6), (6, 4, 8), (9, 8, 7), (4, 8, 7, 9, 5)])
def test_no_record_between_others_is_acknowledged(offsets: Sequence[int]) -> None:
    assert sorted(sent_places(offsets)) == sorted((PARTITION, offset) for offset in offsets)


def test_a_run_is_one_range() -> None:
    assert sent_places((5, 6, 7), is_run=True) == [(PARTITION, offset) for offset in (5, 6, 7)]


def test_a_run_with_gaps_is_read_record_by_record() -> None:
    assert sent_places((5, 7), is_run=True) == [(PARTITION, 5), (PARTITION, 7)]
