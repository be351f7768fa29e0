"""Acknowledge records for a driver, and report what the brokers confirmed or refused."""

from collections.abc import Callable, Collection, Mapping, Sequence

from attrs import define, field

from kafka_groups.errors import KafkaGroupsError, OperationTimeoutError
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.delivery.commits import CommitTicket
from kafka_groups.share.delivery.records import AnyRecord, delivery_of
from kafka_groups.share.workers.rules.steps import SettleRecords
from kafka_groups.types import AcknowledgeType, TopicIdPartition

__all__ = ["WorkerCommits"]

_TRIES = 5

AnySettle = SettleRecords[AnyRecord]
Errors = Mapping[TopicIdPartition, Exception | None]
Settled = Callable[[AnySettle, Sequence[AnyRecord], Exception | None], None]
"""Receives what was settled, the records of it that the broker refused, and the error."""


@define
class _Commit:
    ticket: CommitTicket
    settles: list[AnySettle]


@define
class WorkerCommits:
    """The acknowledgements of one consumer.

    Attributes:
        consumer: The consumer, in explicit mode.
        settled: Receives the results.
        survive: Takes errors of the background that a commit raises; it raises those that end the worker.
    """

    consumer: AsyncKafkaShareConsumer[bytes, bytes]
    settled: Settled
    survive: Callable[[KafkaGroupsError], None]
    _marked: list[AnySettle] = field(factory=list)
    _commits: list[_Commit] = field(factory=list)

    def mark(self, settle: AnySettle) -> None:
        """Acknowledge records locally. `send` sends it."""
        _mark(settle.records, settle.kind)
        self._marked.append(settle)

    @property
    def has_marked(self) -> bool:
        """True if something waits to be sent."""
        return bool(self._marked)

    @property
    def is_waiting(self) -> bool:
        """True if brokers have not answered everything that was sent."""
        return bool(self._commits)

    def send(self, on_done: Callable[[], None], *, with_next_fetch: bool) -> None:
        """Send what was marked, without waiting."""
        marked, self._marked = self._marked, []
        ticket = self._sent(with_next_fetch=with_next_fetch)
        if ticket is None:
            self._report(_Commit(CommitTicket(), marked))
            return
        ticket.on_done = on_done
        self._commits.append(_Commit(ticket, marked))

    def _sent(self, *, with_next_fetch: bool) -> CommitTicket | None:
        for _ in range(_TRIES):
            try:
                return self.consumer.commit_async(with_next_fetch=with_next_fetch)
            except KafkaGroupsError as error:
                self.survive(error)
        return None

    def take_answers(self) -> None:
        """Report the commits that the brokers have answered."""
        if not self._commits or not any(commit.ticket.is_done for commit in self._commits):
            return
        answered = [commit for commit in self._commits if commit.ticket.is_done]
        self._commits = [commit for commit in self._commits if not commit.ticket.is_done]
        for commit in answered:
            self._report(commit)

    def give_up(self) -> None:
        """Report everything that is not answered as refused, because the consumer was closed."""
        commits, self._commits = self._commits, []
        for commit in commits:
            self._report(commit)

    def _report(self, commit: _Commit) -> None:
        results = commit.ticket.results
        for settle in commit.settles:
            errors = {place: results.get(place, _UNANSWERED) for place in _partitions(settle.records)}
            error = next((error for error in errors.values() if error is not None), None)
            refused = [] if error is None else _of_failed(settle.records, errors)
            self.settled(settle, refused, error)


def _partitions(records: Sequence[AnyRecord]) -> Collection[TopicIdPartition]:
    """Return the partitions of records. Runs of one delivery need no look at each record."""
    first, last = delivery_of(records[0]), delivery_of(records[-1])
    if first is last and records[-1].offset - records[0].offset == len(records) - 1:
        return (first.topic_partition,)
    return {delivery_of(record).topic_partition for record in records}


def _of_failed(records: Sequence[AnyRecord], errors: Errors) -> list[AnyRecord]:
    return [record for record in records if errors[delivery_of(record).topic_partition] is not None]


_UNANSWERED = OperationTimeoutError("the broker's answer is not known")


def _mark(records: Sequence[AnyRecord], kind: AcknowledgeType) -> None:
    first, last = records[0], records[-1]
    delivery = delivery_of(first)
    if delivery is delivery_of(last) and last.offset - first.offset == len(records) - 1:
        delivery.mark_open(first.offset, last.offset, kind)
        return
    for record in records:
        delivery_of(record).mark_open(record.offset, record.offset, kind)
