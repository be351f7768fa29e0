"""Commits of a worker, at least once: changelogs and outputs first, then the offsets, then the stores."""

import logging
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet

from attrs import evolve

from kafka_groups.errors import (
    DeliveryFailedError,
    KafkaGroupsError,
    OperationTimeoutError,
    TasksLostError,
    TransactionFailedError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.net.clock import Clock
from kafka_groups.records.interface import DataPlane
from kafka_groups.streams.errors import StateFilesError
from kafka_groups.streams.runtime.assigned import OwnedTask, noting_failure
from kafka_groups.streams.runtime.commit_gate import CommitGate
from kafka_groups.streams.runtime.lost_changelogs import warn_of_replaced
from kafka_groups.streams.runtime.output import WorkerOutput
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.runtime.worker_membership import WorkerMembership
from kafka_groups.streams.state.topic_ids import forgotten_ids
from kafka_groups.streams.tasks.commit_metadata import bounded_metadata
from kafka_groups.streams.tasks.queues import PartitionQueue
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["Commits", "may_begin_again", "offsets_of", "positions_of"]

_log = logging.getLogger(__name__)

_QUIET_MS = 5_000
"""Slow brokers take longer than a slice for a commit. That is an outage only if it lasts."""

_PAUSE_MS = 100
"""The time between two looks at what the last commit waits for."""

_DELETED_MS = 2_000
"""The time in which a source that was deleted may be made again. Offsets of one that stays away are not committed."""

_FLUSH_SLICE_MS = 500
"""The time in which a worker waits for the producer and does nothing else."""


def may_begin_again(error: DeliveryFailedError | TransactionFailedError) -> bool:
    """Return True if tasks may begin again from their last commit after this error of a commit.

    They may not if records were refused for good, or are not confirmed and the time is up.
    """
    return isinstance(error, TransactionFailedError) or (error.failed > 0 and error.retriable)


class Commits:
    """Commits the tasks of a worker together.

    An error of the flush never commits offsets. A commit that fails because brokers do not answer is repeated, until
    that has lasted for `task.timeout.ms`. While the brokers have not confirmed its records, it is pending. No commit
    begins while the group rebalances, but those that cannot wait.
    """

    def __init__(
        self,
        plane: DataPlane,
        member: WorkerMembership,
        output: WorkerOutput,
        clock: Clock,
        task_timeout_ms: int,
    ) -> None:
        self._plane = plane
        self._member = member
        self._output = output
        self._clock = clock
        self._pending: list[OwnedTask] = []
        self._gate = CommitGate(member)
        self._flushes = TaskTimeout(clock, task_timeout_ms, _QUIET_MS)
        self._retries, self._timeout = (TaskTimeout(clock, task_timeout_ms) for _ in range(2))
        self._deleted_since_ms: int | None = None  # since when the group has refused offsets of unknown topics

    @property
    def is_pending(self) -> bool:
        """True if a commit waits for the brokers. Process nothing until `commit` has ended it."""
        return bool(self._pending)

    @property
    def is_repeated(self) -> bool:
        """True if the last commit failed and will be repeated: the group did not answer, or records are pending."""
        return self._timeout.is_outage or self.is_pending

    @property
    def is_held_back(self) -> bool:
        """True if the group rebalances, so that the last commit that was not urgent could not begin."""
        return self._gate.is_closed

    @property
    def is_urgent(self) -> bool:
        """True if a commit that is held back has to begin anyway."""
        return False

    @property
    def may_repeat(self) -> bool:
        """True if the group did not take the last offsets, and it is time to offer them again."""
        return self._timeout.is_question_due

    async def commit(self, tasks: Collection[OwnedTask], *, is_urgent: bool = False) -> bool:
        """Commit tasks, or continue a pending commit. Blocks briefly.

        Return False if that did not succeed now, because tasks are lost, brokers do not answer or the group rebalances.

        Requests for a commit are answered then, also if it did not succeed: the interval decides about the next one.

        Args:
            tasks: The tasks.
            is_urgent: Whether it begins although the group rebalances, because tasks end.

        Raises:
            DeliveryFailedError: A change of a store or a dead letter was refused, or records are not confirmed for too
                long.
            StreamsError: A record of a sink was refused.
            TasksLostError: The coordinator has refused the member. The tasks have to begin again.
            KafkaGroupsError: The group refused the offsets, or no broker answered for too long.
        """
        is_done = await self._gated(tasks, is_urgent=is_urgent or self.is_urgent)
        for task in tasks:
            task.task.is_commit_requested = False
        return is_done

    async def _gated(self, tasks: Collection[OwnedTask], *, is_urgent: bool) -> bool:
        if not self._timeout.may_try or not await self._gate.enter(is_urgent=is_urgent):
            return False
        try:
            is_done = await self._commit(tasks)
        except BaseException:  # then the commit has ended: tasks begin again, or the worker does not go on
            await self._gate.leave()
            raise
        if not self._pending:
            await self._gate.leave()
        return is_done

    async def _commit(self, tasks: Collection[OwnedTask]) -> bool:
        # A pending commit goes on with the tasks and records that it began with. Nothing was processed since.
        if not self._pending:
            self._pending = self._written(tasks)
        if not self._pending:
            # Also if a commit before has failed: the tasks that it was for are gone, and nothing is left to repeat.
            self._timeout.end()
            return True
        return await self._flush() and await self._conclude(tasks)

    async def _conclude(self, tasks: Collection[OwnedTask]) -> bool:
        """Commit the offsets of the pending tasks, whose records the brokers have, as far as they are still there."""
        # A task that was lost in between belongs to somebody else, who has begun at the offset before.
        flushed, self._pending = [task for task in self._pending if task in tasks], []
        return await self._commit_offsets(flushed)

    async def forget(self, error: DeliveryFailedError | TransactionFailedError, tasks: Collection[OwnedTask]) -> None:
        """Forget a pending commit that has failed, so that its records are processed again.

        Java does the same with a task whose records are not written for a reason that may pass
        (`TaskCorruptedException` of `RecordCollectorImpl`): others of the partition may have been written behind them.

        Args:
            error: Why.
            tasks: The tasks of the worker.

        Raises:
            KafkaGroupsError: Repeating does not help, or that has lasted for `task.timeout.ms`.
        """
        # There are two kinds of failures: records that were not written, which may be retried for a while, and a
        # transaction.
        if isinstance(error, DeliveryFailedError):
            self._retries.note("Records were not written", error)
        else:
            self._check_transaction(error, tasks)
            self._retries.end()
        await self.drop_pending()

    async def drop_pending(self) -> None:
        """Forget a pending commit, so that its records are processed again."""
        await self._gate.leave()
        self._pending = []
        self._timeout.end()
        self._flushes.end()

    def _check_transaction(self, error: TransactionFailedError, tasks: Collection[OwnedTask]) -> None:
        """Raise an error if the next transactions would fail, too, or have failed for too long.

        Without transactions, none can fail.
        """
        raise error

    async def finish(self, tasks: Collection[OwnedTask], timeout_s: float | None) -> None:
        """Commit tasks, and wait until the brokers have confirmed all records and the group has the offsets.

        Args:
            tasks: The tasks.
            timeout_s: Longest wait, in seconds, which an answer of the group may exceed by some seconds.
                `task.timeout.ms` limits it, too.

        Raises:
            OperationTimeoutError: The time is up.
            KafkaGroupsError: As for `commit`.
        """
        begun_ms = self._clock.now_ms()
        while not await self.commit(tasks, is_urgent=True) and self.is_repeated:
            if timeout_s is not None and self._clock.now_ms() - begun_ms >= timeout_s * 1_000:
                why = "the brokers have not confirmed its records" if self._pending else "the group did not answer"
                raise OperationTimeoutError(
                    f"The worker gave up its last commit after {timeout_s:g} s, because {why}. Records since the "
                    "commit before will be processed again."
                )
            await self._plane.rest(_PAUSE_MS)  # records that have arrived would end a wait at once

    def _written(self, tasks: Collection[OwnedTask]) -> list[OwnedTask]:
        """Write the changes of tasks, and return those that have any."""
        changed = [task for task in tasks if task.is_running and (task.is_dirty or _has_skipped(task))]
        for task in changed:
            with noting_failure(task):
                task.task.flush()
                task.task.log(self._output)
        return changed

    async def _flush(self) -> bool:
        """Return True if the brokers have all records, but for those that are skipped."""
        if not self._retries.may_try:
            return False
        # The decision about a refused record may write another one, such as a dead letter, which has to be flushed,
        # too.
        while True:
            is_answered = await self._is_answered()
            settled = self._output.settle()
            if settled.retried is not None:
                self._retries.note("Records are written again", settled.retried)
            if not is_answered or settled.retried is not None:
                return False
            if not settled.count:  # otherwise there may be dead letters
                self._retries.end()
                return True

    async def _is_answered(self) -> bool:
        try:
            await self._plane.flush(_FLUSH_SLICE_MS)
        except DeliveryFailedError as error:
            if error.failed:
                raise
            self._flushes.note("A commit waits for the brokers", error)
            return False
        self._flushes.end()
        return True

    async def _commit_offsets(self, tasks: Collection[OwnedTask]) -> bool:
        offsets = self._offsets(tasks)
        for place in self._plane.changed(offsets) | self._deleted(offsets):
            del offsets[place]
        try:
            await self._member.commit(offsets, self._plane.topic_ids(offsets))
        except TasksLostError as error:
            # There are three cases. The coordinator has refused the member, so another one may have the tasks. They
            # must not write their changes once more, behind those of their next owner, and wait until the member has
            # heard more (StreamThread.handleTaskMigrated in Kafka Streams).
            self._timeout.end()
            if error.__cause__ is not None:
                raise
            # The tasks are not the member's any more: the next event says so, and committing again is no use.
            _log.warning("Not committed: %s", error)
            return False
        except KafkaGroupsError as error:
            # Or the group does not answer. The records are flushed, so only the offsets are committed again
            # (`task.timeout.ms`).
            self._note_deleted(error)
            self._timeout.note("The commit is repeated", error)
            return False
        self._timeout.end()
        self._deleted_since_ms = None
        for task in tasks:
            self._committed(task, offsets)
        return True

    def _note_deleted(self, error: KafkaGroupsError) -> None:
        if not isinstance(error, UnknownTopicIdError | UnknownTopicOrPartitionError):
            self._deleted_since_ms = None
        elif self._deleted_since_ms is None:
            self._deleted_since_ms = self._clock.now_ms()

    def _deleted(self, offsets: Iterable[TopicPartition]) -> AbstractSet[TopicPartition]:
        """Return the partitions whose topics were deleted and not made again.

        No group takes their offsets, and closing or giving up a task must not wait for that. Java's consumer repeats
        the commit until its time is up.
        """
        since_ms = self._deleted_since_ms
        if since_ms is None or self._clock.now_ms() - since_ms < _DELETED_MS:
            return frozenset()
        missing = self._plane.missing(offsets)
        if missing:
            places = ", ".join(map(str, sorted(missing)))
            _log.warning("The offsets of %s are not committed, because their topics were deleted.", places)
        return missing

    def _offsets(self, tasks: Iterable[OwnedTask]) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets to commit, with the leader epochs of the records before them (KIP-320)."""
        offsets = {place: each for task in tasks for place, each in offsets_of(task).items()}
        epochs = self._plane.leader_epochs({place: each.offset for place, each in offsets.items()})
        return {place: evolve(each, leader_epoch=epochs.get(place)) for place, each in offsets.items()}

    def _committed(self, task: OwnedTask, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        # Last, when the offsets are committed: stores that were ahead of them would apply the same records twice.
        task.committed.update({place: offsets[place].offset for place in task.inputs if place in offsets})
        replaced = self._replaced(task)
        reached = self._reached(task)
        task.is_dirty = False
        try:
            with noting_failure(task):
                # Stores that outlived their changelog have more than the new one, and keep it: a position of the new
                # one is noted, and no id, so that nothing is thrown away at the next start.
                task.task.commit_states(reached, forgotten_ids(replaced))
        except StateFilesError:
            # The group has the offsets, and the changelogs have the changes. So the task begins again from what its
            # stores have, and reads the rest from there. The other tasks are not concerned.
            return
        task.applied.update(reached)

    def _replaced(self, task: OwnedTask) -> set[str]:
        """Return the changelogs of a task that were made again while it wrote to them, and warn about them."""
        replaced = self._plane.replaced & self._plane.written.keys()
        places = [place for place in task.task.changelog_partitions if place in replaced]
        warn_of_replaced(task, places)
        return {place.topic for place in places}

    def _reached(self, task: OwnedTask) -> dict[TopicPartition, int]:
        """Return the positions of the task's stores in the changelogs that this commit has moved."""
        places, written = task.task.changelog_partitions, self._plane.written
        own = {place: written[place] for place in places if place in written}
        # An offset says nothing about a later commit that writes nothing to the changelog, which may have been emptied
        # since.
        self._plane.forget_written(own)
        # A source that serves as changelog has the changes already, as far as its records are processed.
        return {**own, **{place: task.committed[place] for place in places if place in task.committed}}


def _has_skipped(task: OwnedTask) -> bool:
    """Return whether records were skipped since the last commit: that moves the position, and processes nothing."""
    return any(queue.position != task.committed.get(queue.partition, queue.position) for queue in _queues(task))


def positions_of(task: OwnedTask) -> dict[TopicPartition, int]:
    """Return the offsets of the next records to process."""
    return {queue.partition: offset for queue in _queues(task) if (offset := queue.committable) is not None}


def offsets_of(task: OwnedTask) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return the offsets to commit for a task, with the times of its partitions and operators."""
    times_ms = task.task.operator_times_ms
    return {
        queue.partition: OffsetAndMetadata(offset, metadata=bounded_metadata(queue.time_ms, times_ms))
        for queue in _queues(task)
        if (offset := queue.committable) is not None
    }


def _queues(task: OwnedTask) -> Iterable[PartitionQueue]:
    # An offset of a topic that was deleted says nothing about the one that has its name now, for which it would count.
    return (queue for queue in task.task.queues.values() if not queue.is_former)
