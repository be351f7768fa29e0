"""Acknowledge records for a driver, and report what the brokers confirmed or refused."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import define, field, frozen

from kafka_groups.errors import KafkaGroupsError, OperationTimeoutError
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.delivery.commits import CommitTicket
from kafka_groups.share.delivery.delivery import Delivery
from kafka_groups.share.delivery.records import AnyRecord, delivery_of
from kafka_groups.share.workers.rules.steps import AcknowledgeRecords
from kafka_groups.share.workers.running.operations import OperationTimes
from kafka_groups.types import RecordId, TopicIdPartition

__all__ = ["SentRecords", "WorkerCommits"]

_TRIES = 5

AnySettle = AcknowledgeRecords[AnyRecord]


@frozen(eq=False)
class SentRecords:
    """Acknowledged records on their way, as ranges: the records themselves need not stay in memory.

    Attributes:
        step: The step of the rules, without its records.
        ranges: Delivery, first and last offset of each range.
        count: The number of records.
    """

    step: AnySettle
    ranges: Sequence[tuple[Delivery, int, int]]
    count: int

    @property
    def places(self) -> Iterator[RecordId]:
        """The partition and offset of each record."""
        for delivery, first, last in self.ranges:
            yield from ((delivery.topic_partition, offset) for offset in range(first, last + 1))


@frozen
class _Commit:
    ticket: CommitTicket
    sent: Sequence[SentRecords]
    begun_s: float


@define
class WorkerCommits:
    """The acknowledgements of one consumer.

    Attributes:
        consumer: The consumer, in explicit mode.
        settled: Receives what was sent, the places of it that the broker refused, and the error or None.
        survive: Takes errors of the background that a commit raises; it raises those that end the worker.
        times: Takes how long the brokers took to answer.
    """

    consumer: AsyncKafkaShareConsumer[bytes, bytes]
    settled: Callable[[SentRecords, Sequence[RecordId], Exception | None], None]
    survive: Callable[[KafkaGroupsError], None]
    times: OperationTimes
    _unsent: list[AnySettle] = field(factory=list)
    _commits: list[_Commit] = field(factory=list)

    def add(self, step: AnySettle) -> None:
        """Keep records until `send` acknowledges them: a poll under way would send them before, without a result."""
        self._unsent.append(step)

    @property
    def has_unsent(self) -> bool:
        """True if something waits to be sent."""
        return bool(self._unsent)

    @property
    def is_waiting(self) -> bool:
        """True if brokers have not answered everything that was sent."""
        return bool(self._commits)

    def send(self, on_done: Callable[[], None], *, with_next_fetch: bool) -> None:
        """Acknowledge what was added, without waiting for the brokers."""
        sent = [_acknowledged(step) for step in self._unsent]
        self._unsent, begun_s = [], self.times.timer()
        ticket = self._ticket(with_next_fetch=with_next_fetch)
        # No try came through. An empty ticket has no results, so the records count as not answered: they are
        # redelivered, and those that succeeded are remembered.
        if ticket is None:
            self._report(_Commit(CommitTicket(), sent, begun_s))
            return
        ticket.on_done = on_done
        self._commits.append(_Commit(ticket, sent, begun_s))

    def _ticket(self, *, with_next_fetch: bool) -> CommitTicket | None:
        # A call of the consumer first raises errors that the background has met since the last one. They may be
        # several, and none of them is about these records, so the commit is tried again.
        for _ in range(_TRIES):
            try:
                return self.consumer.commit_async(with_next_fetch=with_next_fetch)
            except KafkaGroupsError as error:
                self.survive(error)
        return None

    def take_answers(self) -> None:
        """Report the commits that the brokers have answered."""
        if not any(commit.ticket.is_done for commit in self._commits):
            return
        answered = [commit for commit in self._commits if commit.ticket.is_done]
        self._commits = [commit for commit in self._commits if not commit.ticket.is_done]
        for commit in answered:
            self.times.settled(commit.begun_s, commit.ticket.results)
            self._report(commit)

    def give_up(self) -> None:
        """Report everything that is not answered as refused, because the consumer was closed."""
        commits, self._commits = self._commits, []
        for commit in commits:
            self._report(commit)

    def _report(self, commit: _Commit) -> None:
        results = commit.ticket.results
        for sent in commit.sent:
            # The broker answers for each partition. A partition without an answer may have been acknowledged or not. It
            # counts as refused, as a success that is remembered for nothing does no harm.
            error = _first_error(sent, results)
            refused = [] if error is None else _refused(sent, results)
            self.settled(sent, refused, error)


_UNANSWERED = OperationTimeoutError("the broker's answer is not known")
_Answers = Mapping[TopicIdPartition, Exception | None]


def _first_error(sent: SentRecords, answers: _Answers) -> Exception | None:
    for delivery, _, _ in sent.ranges:
        if (error := answers.get(delivery.topic_partition, _UNANSWERED)) is not None:
            return error
    return None


def _refused(sent: SentRecords, answers: _Answers) -> list[RecordId]:
    return [place for place in sent.places if answers.get(place[0], _UNANSWERED) is not None]


def _acknowledged(step: AnySettle) -> SentRecords:
    ranges = tuple(_ranges(step.records, is_run=step.is_run))
    for delivery, first, last in ranges:
        delivery.mark_open(first, last, step.kind)
    return SentRecords(AcknowledgeRecords((), step.kind, has_moved=step.has_moved), ranges, len(step.records))


def _ranges(records: Sequence[AnyRecord], *, is_run: bool) -> Iterator[tuple[Delivery, int, int]]:
    """Yield the ranges of consecutive offsets of records in a row. Those of one run need no look at each record."""
    first, last = records[0], records[-1]
    delivery = delivery_of(first)
    # The common case: a run without gaps is a range, whatever its length. Gaps are records that were not delivered, or
    # that could not be read, and must not be acknowledged with the others.
    if is_run and last.offset - first.offset == len(records) - 1:
        yield delivery, first.offset, last.offset
        return
    begin = end = first.offset
    for record in records[1:]:
        if delivery_of(record) is delivery and record.offset == end + 1:
            end = record.offset
            continue
        yield delivery, begin, end
        delivery, begin, end = delivery_of(record), record.offset, record.offset
    yield delivery, begin, end
