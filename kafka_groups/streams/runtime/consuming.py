"""The source partitions of running tasks: where they begin, whose records are whose, and which are paused."""

import logging
from collections.abc import Mapping

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.errors.texts import counted
from kafka_groups.net.clock import Clock
from kafka_groups.records.interface import NOTHING, DataPlane, LogChange, PolledRecords
from kafka_groups.streams.errors import StateFilesError
from kafka_groups.streams.runtime.assigned import OwnedTask, TaskPhase, enter_status, noting_failure
from kafka_groups.streams.runtime.settings import WorkerSettings
from kafka_groups.streams.runtime.start_offsets import OffsetResets, reset_offsets
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.state.engine import EngineStatus
from kafka_groups.streams.state.position import inputs_in
from kafka_groups.streams.tasks.queues import PartitionQueue
from kafka_groups.types import TopicPartition

__all__ = ["Consuming"]

_log = logging.getLogger(__name__)

_PAUSE_FACTOR, _RESUME_FACTOR = 4, 0.5
"""Pausing drops what was prefetched, so it is rare: pause far above the limit, and resume below it."""


class Consuming:
    """Gives the records of source partitions to the tasks that process them.

    While brokers do not answer, it waits for up to `task.timeout.ms`.
    """

    def __init__(self, plane: DataPlane, settings: WorkerSettings, clock: Clock) -> None:
        self._plane = plane
        self._resets = OffsetResets(settings.tasks.topology, settings.tasks.application_id, settings.offset_reset)
        self._pause_at = settings.buffered_records * _PAUSE_FACTOR
        self._resume_at = settings.buffered_records * _RESUME_FACTOR
        self._readers: dict[TopicPartition, OwnedTask] = {}
        self._lost: dict[TopicPartition, TaskTimeout] = {}
        self._changed: dict[TopicPartition, LogChange] = {}
        self._clock, self._timeout_ms = clock, settings.task_timeout_ms
        self._polls = TaskTimeout(clock, settings.task_timeout_ms)

    def __repr__(self) -> str:
        return f"<Consuming {len(self._readers)} partitions>"

    async def start(self, task: OwnedTask, wall_ms: int) -> None:
        """Read the sources of a task from its committed offsets.

        Raises:
            StreamsError: There is no offset, and the source's rule is to fail.
            KafkaGroupsError: The brokers did not answer, or refused.
        """
        starts = {place: task.committed[place] for place in task.inputs if place in task.committed}
        known = {place: task.leader_epochs.get(place) for place in starts}
        epochs = {place: epoch for place, epoch in known.items() if epoch is not None}
        # A partition without a committed offset: a new group, or an offset that has expired (StreamThread.resetOffsets
        # in Java).
        missing = [place for place in task.inputs if place not in starts]
        if missing:
            starts |= await self._reset(task, missing, wall_ms)
        self._readers.update(dict.fromkeys(task.inputs, task))
        await self._plane.assign(starts, epochs)
        _note_start(task, starts)
        task.phase = TaskPhase.RUNNING
        enter_status(task, EngineStatus.ACTIVE)

    async def stop(self, task: OwnedTask) -> None:
        """Read the sources of a task no more."""
        places = [place for place, reader in self._readers.items() if reader is task]
        for place in places:
            self._lost.pop(place, None)
            self._changed.pop(place, None)
            del self._readers[place]
        if places:
            await self._plane.unassign(places)

    async def read(self, most: int, wall_ms: int) -> int:
        """Hand over the records that have arrived. Return their number.

        Raises:
            StreamsError: An offset is out of range, and the source's rule is to fail.
            KafkaGroupsError: The brokers refused, or did not answer for too long.
        """
        polled = await self._polled(most)
        if polled:
            self._take(polled)
        if self._lost:
            await self._begin_again(wall_ms)
        await self._pause_full(polled)
        return polled.count

    async def _polled(self, most: int) -> PolledRecords:
        try:
            polled = await self._plane.poll(most)
            is_answered = bool(polled) or await self._is_answered()
        except KafkaGroupsError as error:
            self._polls.note("Waiting for records", error)
            return NOTHING
        if is_answered:
            self._polls.end()
        return polled

    async def _is_answered(self) -> bool:
        """Ask for bounds if there was an outage and no record came since, as there may be none for a long time."""
        if not self._polls.is_question_due or not self._readers:
            return False
        await self._plane.bounds(self._readers)
        return True

    def _take(self, polled: PolledRecords) -> None:
        for place, batch in polled.batches.items():
            task = self._readers[place]
            task.task.add(place.topic, batch.rows())
            task.read_to_end.discard(place)
            task.is_dirty = True  # also if the records are skipped
        for place in polled.ends:
            self._readers[place].read_to_end.add(place)
        for place in polled.out_of_range:
            self._readers[place].paused.discard(place)
            self._lost[place] = TaskTimeout(self._clock, self._timeout_ms)
        for place, change in polled.changes.items():
            self._note_change(place, change)

    def _note_change(self, place: TopicPartition, change: LogChange) -> None:
        """Commit no offset of a log that is no more. What was read of it is processed before the task continues."""
        task = self._readers[place]
        self._changed[place] = change
        self._queue(place).leave_log(change.diverges_at)
        task.read_to_end.discard(place)
        task.committed.pop(place, None)  # so that nothing is purged by it either

    def _queue(self, place: TopicPartition) -> PartitionQueue:
        return self._readers[place].task.queues[place.topic, place.partition]

    async def resume_emptied(self) -> None:
        """Fetch again from partitions whose records have been processed."""
        for task in dict.fromkeys(self._readers.values()):
            done = [
                place for place in task.paused if len(task.task.queues[place.topic, place.partition]) <= self._resume_at
            ]
            if done:
                task.paused.difference_update(done)
                task.is_dirty = True  # also if all that waited was skipped
                await self._plane.resume(done)

    async def _pause_full(self, polled: PolledRecords) -> None:
        for place in polled.batches.keys() - self._lost.keys():
            task = self._readers[place]
            # Kafka Streams pauses a partition above buffered.records.per.partition, too, so that a task that waits for
            # one partition does not fill the memory with another.
            if place not in task.paused and len(task.task.queues[place.topic, place.partition]) >= self._pause_at:
                task.paused.add(place)
                await self._plane.pause([place])

    async def _begin_again(self, wall_ms: int) -> None:
        for place, outage in sorted(self._lost.items(), key=lambda each: each[0]):
            if not outage.may_try or (place in self._changed and len(self._queue(place))):
                continue
            try:
                await self._begin_again_in(place, wall_ms)
            except KafkaGroupsError as error:
                outage.note(f"{place} does not have the next offset any more, and its bounds are unknown", error)
                return  # the attempt may have taken a second: the others have their turn
            del self._lost[place]

    async def _begin_again_in(self, place: TopicPartition, wall_ms: int) -> None:
        if (change := self._changed.get(place)) is not None:
            await self._begin_in_other_log(place, change, wall_ms)
            del self._changed[place]
            return
        task = self._readers[place]
        starts = await self._reset(task, [place], wall_ms)
        _log.warning(
            "%s does not have the next offset any more. Task %s continues at offset %d, by the rule of its "
            "source (offset_reset).",
            place,
            task.task_id,
            starts[place],
        )
        await self._plane.assign(starts)

    async def _begin_in_other_log(self, place: TopicPartition, change: LogChange, wall_ms: int) -> None:
        task, queue = self._readers[place], self._queue(place)
        if change.diverges_at is None:
            start = (await self._reset(task, [place], wall_ms))[place]
            _log.warning(
                "The topic of %s was deleted and made again. Task %s had read the old one up to offset %d, and "
                "continues at offset %d of the new one, by the rule of its source (offset_reset).",
                place, task.task_id, change.position, start,
            )  # fmt: skip
        else:
            # Java's consumer goes on there, too, if there is a rule for offsets that are out of range
            # (SubscriptionState.maybeCompleteValidation). The rule itself would read the whole topic again, or skip
            # records.
            begin, _end = (await self._plane.bounds([place]))[place]
            start = queue.position = max(change.diverges_at, begin)
            _log.warning(
                "%s has lost records that were read: its log was truncated. Task %s had read it up to offset %d, and "
                "continues at offset %d, where the log is another one.",
                place, task.task_id, change.position, start,
            )  # fmt: skip
        queue.enter_log()
        task.is_dirty = True
        await self._plane.assign({place: start})

    async def _reset(self, task: OwnedTask, places: list[TopicPartition], wall_ms: int) -> dict[TopicPartition, int]:
        starts = await reset_offsets(self._plane, self._resets, places, wall_ms)
        for place, start in starts.items():
            queue = task.task.queues[place.topic, place.partition]
            # Records that wait have a lower offset, which is the one to commit.
            if not len(queue):
                queue.position = start  # committed, so that another worker begins at the same offset
        task.is_dirty = True
        return starts


def _note_start(task: OwnedTask, starts: Mapping[TopicPartition, int]) -> None:
    """Note that the stores of a task, which are restored, have everything before these offsets.

    Warns about stores that have not, because there is no changelog from which the rest could be restored. If the files
    cannot be written, that is noted with the task.
    """
    known = inputs_in(task.engine.notes)
    # An engine without notes has no files from before: whoever deleted them has logged it.
    behind = sum(max(start - known[place], 0) for place, start in starts.items() if place in known)
    if behind and task.task.unlogged_stores:
        _warn_of_lost(task, behind)
    try:
        with noting_failure(task):
            task.task.begin_at(starts)
    except StateFilesError:
        return  # the task begins again


def _warn_of_lost(task: OwnedTask, behind: int) -> None:
    names = ", ".join(task.task.unlogged_stores)
    _log.warning(
        "The stores of task %s without a changelog (%s) lack the changes of up to %s, which the group has committed: "
        "the process was killed before it had stored them, or another process had the task in the meantime.",
        task.task_id,
        names,
        counted(behind, "record"),
    )
