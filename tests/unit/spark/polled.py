"""Records as a poll returns them, and a consumer that takes acknowledgements, for tests without a broker."""

from typing import Any

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.commits import CommitResult, CommitTicket
from kafka_groups.share.delivery.decoding import Decoder
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.share_records import AnyRecords, ShareRecords, deliveries_of
from kafka_groups.types import ConsumerState
from tests.unit.share.deliveries import acquired, batch, decoded

Range = tuple[int, int, int]


def polled(*ranges: Range) -> AnyRecords:
    """One delivery with these ranges of (first offset, last offset, delivery count)."""
    return ShareRecords([delivery(*ranges)])


def delivery(*ranges: Range) -> DeliveredRecords:
    (made,) = decoded(Decoder(), acquired(*ranges), b"".join(batch(first, last) for first, last, _ in ranges))
    assert isinstance(made, DeliveredRecords)
    return made


class Broker:
    """Takes what was decided about records that it knows; a stand-in for a consumer with a leader behind it.

    Args:
        records: What it delivered.

    Attributes:
        answers_late: Whether commits are answered only when somebody waits for them.
    """

    def __init__(self, records: AnyRecords) -> None:
        self.records = records
        self.sent: list[dict[int, int]] = []
        self.refusal: KafkaGroupsError | None = None
        self.background: list[KafkaGroupsError] = []
        self.has_fetched = True
        self.state = ConsumerState.ACTIVE
        self.more: list[AnyRecords] = []
        self.answers_late = False
        self._unanswered: list[tuple[CommitTicket, CommitResult]] = []

    def assignment(self) -> frozenset[object]:
        return frozenset({0})

    def poll(self, timeout: float | None = None, *, hold: bool = False) -> AnyRecords:
        if self.background:
            raise self.background.pop(0)
        return ShareRecords()

    def commit_async(self, *, with_next_fetch: bool = False) -> CommitTicket:
        results = self._taken()
        ticket = CommitTicket(is_urgent=not with_next_fetch)
        ticket.expect(len(results))
        self._unanswered.append((ticket, results))
        if not self.answers_late:
            self._answer()
        return ticket

    def commit_sync(self) -> CommitResult:
        results = self._taken()
        self._answer()
        return results

    def _answer(self) -> None:
        for ticket, results in self._unanswered:
            for partition, error in results.items():
                ticket.settle(partition, error)
        self._unanswered.clear()

    def _taken(self) -> CommitResult:
        if self.background:
            raise self.background.pop(0)
        taken: dict[int, int] = {}
        results: dict[Any, KafkaGroupsError | None] = {}
        for part in (part for records in (self.records, *self.more) for part in deliveries_of(records)):
            marks = part.take_acknowledged()
            decided = {part.first_offset + at: mark for at, mark in enumerate(marks) if mark <= m.RENEW}
            if decided:
                results[part.topic_partition] = self.refusal
            taken |= decided
        if taken:
            self.sent.append(taken)
        return results

    @property
    def decisions(self) -> dict[int, int]:
        """Offset → acknowledgement type, of all commits."""
        return {offset: kind for commit in self.sent for offset, kind in commit.items()}
