"""Commits of a worker, exactly once: changelogs, outputs and offsets of all its tasks in one transaction (KIP-447)."""

import logging
from collections.abc import Collection, Iterable

from kafka_groups.errors import (
    BrokerError,
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
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.runtime.assigned import OwnedTask
from kafka_groups.streams.runtime.committing import Commits, offsets_of, positions_of

__all__ = ["TransactionalCommits"]

_log = logging.getLogger(__name__)

_MOST_FAILURES = 3
"""The transactions in a row that may fail at one place for a reason that comes again each time."""

_OVERCOME = (
    FencedMemberEpochError,
    IllegalGenerationError,
    InvalidProducerEpochError,
    InvalidProducerIdMappingError,
    InvalidTxnStateError,
    OutOfOrderSequenceNumberError,
    ProducerFencedError,
    StaleMemberEpochError,
    TransactionAbortableError,
    UnknownMemberIdError,
    UnknownProducerIdError,
)
"""Errors that are not retriable, and that a new producer or the next assignment overcomes."""


class TransactionalCommits(Commits):
    """Commits the tasks of a worker together, in the transaction that has their records.

    A transaction that fails is an error of `commit`. Then nothing of it has happened: call `forget`, renew the
    producer, and let the tasks begin again from what was committed. A commit to which the coordinators do not answer is
    pending, as one is whose records are not confirmed: nothing more may be written into its transaction.
    """

    _refusals = _expiries = 0

    def forget(self, error: TransactionFailedError, tasks: Collection[OwnedTask]) -> None:
        """Forget a pending commit, as its transaction is lost.

        Args:
            error: Why it is lost.
            tasks: The tasks of the worker.

        Raises:
            StreamsError: Several transactions in a row have failed, and the next ones would, too.
        """
        cause = error.__cause__
        is_refusal = isinstance(cause, BrokerError) and not (cause.retriable or isinstance(cause, _OVERCOME))
        self._refusals += is_refusal
        self._expiries += isinstance(cause, TransactionExpiredError)
        if self._refusals >= _MOST_FAILURES:
            raise StreamsError(
                f"The brokers have refused {self._refusals} transactions in a row, each of which was aborted. The last "
                f"time: {cause}. If it is about a record, it differs whenever it is processed, so that "
                "production_exception_handler cannot be asked: drop it before the sink, or correct the topic. "
                f"{_places(tasks)}"
            ) from error
        if self._expiries >= _MOST_FAILURES:
            raise StreamsError(
                f"{self._expiries} transactions in a row have lasted for too long. The last time: {cause}. Set "
                "transaction.timeout.ms of the producer to more than the longest time that your code takes for one "
                f"record. {_places(tasks)}"
            ) from error
        self._pending = []
        self._timeout.end()
        self._retries.end()
        self._flushes.end()

    async def hand_over(self, tasks: Collection[OwnedTask]) -> None:
        """Commit the offsets of committed tasks once more, with metadata that Java can read.

        librdkafka ends the metadata of offsets in a transaction with a NUL, for which Java would forget the times of
        partitions. Nothing but these times depends on this commit, so it is not repeated. The tasks must end now: a
        request that arrives late could move the offsets of a task that continues back.
        """
        offsets = {place: each for task in tasks if task.is_running for place, each in offsets_of(task).items()}
        if not offsets:
            return
        try:
            await self._member.commit(offsets)
        except KafkaGroupsError as error:
            _log.info("The next owner in Java may not know the times of partitions: %s", error)

    async def _conclude(self, tasks: Collection[OwnedTask]) -> bool:
        if any(task not in tasks for task in self._pending):
            raise TransactionFailedError("The worker has lost a task whose records are in the transaction.")
        if not await self._end_transaction(self._pending):
            return False
        self._pending = []
        return True

    async def _is_answered(self) -> bool:
        try:
            return await super()._is_answered()
        except TransactionFailedError:
            self._output.remember_refused()  # the handler is asked when they come again
            raise

    async def _end_transaction(self, tasks: Collection[OwnedTask]) -> bool:
        offsets = {place: each for task in tasks for place, each in offsets_of(task).items()}
        try:
            metadata = self._member.group_metadata()
            await self._plane.commit_transaction(offsets, metadata)
        except OperationTimeoutError as error:
            self._timeout.note("The commit is repeated", error)
            return False
        except TasksLostError as error:
            raise TransactionFailedError(f"The worker has lost its tasks: {error}") from error
        self._timeout.end()
        if any(_has_moved(task) for task in tasks):
            self._refusals = self._expiries = 0
            self._output.forget_refused()
        for task in tasks:
            self._committed(task)
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
