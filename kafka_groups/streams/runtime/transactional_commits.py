"""Commits of a worker, exactly once: changelogs, outputs and offsets of all its tasks in one transaction (KIP-447)."""

import logging
from collections.abc import Collection, Iterable, Mapping

from attrs import frozen
from typing_extensions import override

from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.errors import (
    BrokerError,
    DeliveryFailedError,
    FencedInstanceIdError,
    FencedMemberEpochError,
    IllegalGenerationError,
    InvalidProducerEpochError,
    InvalidProducerIdMappingError,
    InvalidTxnStateError,
    KafkaGroupsError,
    OperationTimeoutError,
    OutOfOrderSequenceNumberError,
    ProducerFencedError,
    StaleMemberEpochError,
    TasksLostError,
    TransactionAbortableError,
    TransactionExpiredError,
    TransactionFailedError,
    UnknownMemberIdError,
    UnknownProducerIdError,
)
from kafka_groups.errors.causes import causes_of
from kafka_groups.errors.texts import counted, sentences
from kafka_groups.net.clock import Clock
from kafka_groups.records.interface import DataPlane
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.runtime.assigned import OwnedTask, TaskRole
from kafka_groups.streams.runtime.commits import Commits, positions_of
from kafka_groups.streams.runtime.output import WorkerOutput
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.runtime.worker_membership import WorkerMembership
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["TransactionalCommits"]

_log = logging.getLogger(__name__)

_MOST_FAILURES = 3
"""The transactions in a row that may fail at one place for a reason that comes again each time."""

_OVERCOME = (
    FencedInstanceIdError,
    FencedMemberEpochError,
    IllegalGenerationError,
    InvalidProducerEpochError,
    InvalidProducerIdMappingError,
    InvalidTxnStateError,
    OutOfOrderSequenceNumberError,
    ProducerFencedError,
    StaleMemberEpochError,
    TasksLostError,
    TransactionAbortableError,
    TransactionExpiredError,
    UnknownMemberIdError,
    UnknownProducerIdError,
)
"""Errors that are not retriable, and that a new producer or the next assignment overcomes, or a heartbeat explains."""


_FENCED = (InvalidProducerEpochError, ProducerFencedError)
"""Errors that say that another producer has the transactional id, or had it."""


@frozen
class _SentOffsets:
    """The offsets of one transaction. They stay the same until it ends, whatever is read in the meantime.

    Attributes:
        offsets: What is committed.
        logs: The numbers of the logs that the offsets are from (`PartitionQueue.log_number`).
    """

    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    logs: Mapping[TopicPartition, int]

    def current(self, task: OwnedTask) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets of a task without those of logs that are no more."""
        logs = _logs_of(task)
        return {place: self.offsets[place] for place in logs if self.logs.get(place) == logs[place]}

    def is_outdated(self, task: OwnedTask) -> bool:
        """Return whether a partition of a task has another log by now."""
        return any(self.logs.get(place, number) != number for place, number in _logs_of(task).items())


def _logs_of(task: OwnedTask) -> dict[TopicPartition, int]:
    return {queue.partition: queue.log_number for queue in task.task.queues.values()}


_NOTHING_SENT = _SentOffsets({}, {})


class TransactionalCommits(Commits):
    """Commits the tasks of a worker together, in the transaction that has their records.

    A transaction that fails is an error of `commit`. Then nothing of it has happened: call `forget`, renew the
    producer, and let the tasks begin again from what was committed. A commit to which the coordinators do not answer is
    pending, as one is whose records are not confirmed: nothing more may be written into its transaction but what
    follows from records that were refused.

    Offsets are sent before the flush, so that a commit takes two round trips: the last records and the offsets, then
    the end. A transaction that has offsets can still be aborted, and only `commit_transaction` ends it otherwise.

    Transactions may fail for reasons that pass until that has lasted for `task.timeout.ms`. As for Java's tasks
    (`AbstractTask.maybeInitTaskTimeoutOrThrow`), the time counts from the first failure, and progress ends it. Java
    forgets it when a task begins again, so that there such failures have no end.
    """

    _refusals = _expiries = 0

    def __init__(
        self,
        plane: DataPlane,
        member: WorkerMembership,
        output: WorkerOutput,
        clock: Clock,
        task_timeout_ms: int,
    ) -> None:
        super().__init__(plane, member, output, clock, task_timeout_ms)
        self._sent = _NOTHING_SENT
        self._failing = TaskTimeout(clock, task_timeout_ms, task_timeout_ms)  # each failure has its own line

    @property
    @override
    def is_urgent(self) -> bool:
        """True if a commit that is held back has to begin anyway, because its transaction would expire."""
        return self.is_held_back and self._plane.expires_soon

    @override
    async def forget(self, error: DeliveryFailedError | TransactionFailedError, tasks: Collection[OwnedTask]) -> None:
        await super().forget(error, tasks)
        # A new producer would fence the one that has the transactional id now. If that is the rightful one, because its
        # process has taken the member's instance id, this worker has to end instead.
        if any(isinstance(each, _FENCED) for each in causes_of(error)):
            await self._member.ask_group()

    def _check_transaction(self, error: TransactionFailedError, tasks: Collection[OwnedTask]) -> None:
        """Raise an error if the next transactions would fail, too, or have failed for too long."""
        cause = error.__cause__
        is_refusal = isinstance(cause, KafkaGroupsError) and not (cause.retriable or isinstance(cause, _OVERCOME))
        # One that the group held back says nothing about the next one.
        self._refusals += is_refusal and not self.is_held_back
        self._expiries += isinstance(cause, TransactionExpiredError) and not self.is_held_back
        if self._refusals >= _MOST_FAILURES:
            who = "The brokers have" if isinstance(cause, BrokerError) else "The producer has"
            text = f"{who} refused {counted(self._refusals, 'transaction')} in a row, and the worker aborted them"
            remedy = (
                "If it is about a record, that record is different each time it is processed, so the worker cannot ask "
                "production_exception_handler: drop the record before the sink, or correct the topic"
            )
            raise StreamsError(sentences(text, f"The last error: {cause}", remedy, _places(tasks))) from error
        if self._expiries >= _MOST_FAILURES:
            text = f"{counted(self._expiries, 'transaction')} in a row took longer than transaction.timeout.ms"
            remedy = (
                "Set transaction.timeout.ms of the producer to more than the longest time that your code takes for one "
                "record"
            )
            raise StreamsError(sentences(text, f"The last error: {cause}", remedy, _places(tasks))) from error
        self._failing.note("Transactions have failed again and again", error)

    async def _commit(self, tasks: Collection[OwnedTask]) -> bool:
        if not any(task.role is TaskRole.ACTIVE for task in tasks):
            self._failing.end()  # there is nothing any more that could make progress
        return await super()._commit(tasks)

    async def _conclude(self, tasks: Collection[OwnedTask]) -> bool:
        # The records of the lost task are in the transaction of all others, so it cannot be committed without them.
        if any(task not in tasks for task in self._pending):
            raise TransactionFailedError("The worker has lost a task whose records are in the transaction.")
        if not await self._end_transaction(self._pending):
            return False
        self._pending = []
        return True

    def _written(self, tasks: Collection[OwnedTask]) -> list[OwnedTask]:
        changed = super()._written(tasks)
        offsets = self._offsets(changed)
        logs = {place: number for task in changed for place, number in _logs_of(task).items() if place in offsets}
        self._sent = _SentOffsets(offsets, logs)
        return changed

    async def _flush(self) -> bool:
        # Again with each attempt, because the member may have another epoch by now.
        self._plane.send_offsets(self._sent.offsets, self._as_member())
        return await super()._flush()

    def _as_member(self) -> GroupMetadata:
        try:
            return self._member.group_metadata()
        except TasksLostError as error:
            # KIP-447: the coordinator fences the offsets by the member's epoch. With lost tasks, nothing of the
            # transaction may count.
            raise TransactionFailedError(f"The worker has lost its tasks: {error}") from error

    async def _is_answered(self) -> bool:
        try:
            return await super()._is_answered()
        except TransactionFailedError:
            self._output.remember_refused()  # the handler is asked when they come again
            raise

    async def _end_transaction(self, tasks: Collection[OwnedTask]) -> bool:
        try:
            await self._plane.commit_transaction(self._sent.offsets, self._as_member())
        except OperationTimeoutError as error:
            # The transaction may have been committed or not. Committing it again with the same offsets is safe, and the
            # only way to find out.
            self._timeout.note("The commit is repeated", error)
            return False
        self._timeout.end()
        # A transaction without records says nothing about those that were refused.
        if any(_has_moved(task) for task in tasks):
            self._refusals = self._expiries = 0
            self._failing.end()
            self._output.forget_refused()
        for task in tasks:
            self._committed(task, self._sent.current(task))
            # Where a task has begun in another log in the meantime is not committed.
            task.is_dirty |= self._sent.is_outdated(task)
        return True


def _places(tasks: Iterable[OwnedTask]) -> str:
    """Return where the tasks were that have processed records since the last commit, as a sentence."""
    moved = {task.task_id: task.committed for task in tasks if task.is_running and task.is_dirty}
    places = [
        f"{place.topic}-{place.partition} from offset {offset} on (task {task_id})"
        for task_id, committed in moved.items()
        for place, offset in committed.items()
    ]
    return f"It was about records of {', '.join(places)}." if places else ""


def _has_moved(task: OwnedTask) -> bool:
    """Return whether a task has processed records since the last commit, and not only fetched some."""
    return any(position != task.committed.get(place) for place, position in positions_of(task).items())
