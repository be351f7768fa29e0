"""Restoration: the stores of tasks are filled from their changelogs, a slice in each turn of the worker."""

import logging
from collections.abc import Mapping
from uuid import UUID

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import Clock
from kafka_groups.records.interface import DataPlane, PolledBatch, PolledRecords
from kafka_groups.streams.errors import StateFilesError
from kafka_groups.streams.runtime.assigned import OwnedTask, TaskPhase, TaskRole, enter_status, noting_failure
from kafka_groups.streams.runtime.gathered_records import LOADED_BESIDE, LOADED_RECORDS, GatheredBatch, GatheredRecords
from kafka_groups.streams.runtime.lost_changelogs import LostChangelogs
from kafka_groups.streams.runtime.restore_listeners import RestoreEvents, SuspendReason
from kafka_groups.streams.runtime.restore_progress import RestoreProgress
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.runtime.worker_membership import WorkerMembership
from kafka_groups.streams.state.engine import EngineStatus
from kafka_groups.streams.state.topic_ids import ids_in, replaced_topics, topic_id_notes
from kafka_groups.streams.tasks.commit_metadata import read_commit_metadata
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["Restoration"]

_log = logging.getLogger(__name__)

_ENDLESS_MS = 1 << 62
"""Nothing but the reported lag depends on the ends of changelogs, so no outage is too long for that question."""

_ENDS_MS = 5_000
"""The time between two questions where changelogs end that standby and warm-up tasks have not read to their ends."""


class Restoration:
    """Reads the changelogs of tasks that do not run: active ones up to their ends, standby and warm-up ones on and on.

    The committed offsets are asked for before the ends of the changelogs: a record whose offset is committed is in the
    changelog before.
    """

    def __init__(
        self, plane: DataPlane, member: WorkerMembership, clock: Clock, events: RestoreEvents, progress: RestoreProgress
    ) -> None:
        self._events = events
        self._progress = progress
        self._plane = plane
        self._member = member
        self._clock = clock
        self._readers: dict[TopicPartition, OwnedTask] = {}
        self._behind: set[TopicPartition] = set()  # what standby and warm-up tasks may not have read to its end
        self._asked_ms = 0
        self._asking = TaskTimeout(clock, _ENDLESS_MS)
        self._is_paused = False
        self._losses = LostChangelogs()
        self._gathered = GatheredRecords()

    def __repr__(self) -> str:
        return f"<Restoration of {len(set(map(id, self._readers.values())))} tasks>"

    async def begin(self, task: OwnedTask) -> str | None:
        """Begin to restore a task. Return a reason if its stores and its changelog do not fit together, otherwise None.

        They do not if the changelog has lost records that the stores do not have, ends before what they have, was
        deleted and created again, or is another one than before.

        Raises:
            TasksLostError: The member has lost the task.
            KafkaGroupsError: The brokers did not answer, or refused.
        """
        if others := _other_changelogs(task):
            return f"The files of task {task.task_id} are of stores with other changelogs: {', '.join(others)}."
        # Only an active task begins to read at the committed offsets. Window stores need the committed times to know
        # what has expired.
        if task.role is TaskRole.ACTIVE or task.task.keeps_windows:
            known = await self._member.committed(task.inputs)
            for place, each in known.items():
                if each is not None:
                    _committed(task, place, each)
        places = self._followed(task)
        # Ids before bounds: if a topic is created again between the two questions, the older id costs a restoration the
        # next time. The newer one would hide that the position is that of the older topic.
        ids = await self._plane.ask_topic_ids({place.topic for place in task.task.saved(dict.fromkeys(places, 0))})
        bounds = await self._bounds(task, places)
        # There are two cases in which the stores do not fit: the changelog has deleted records that they lack, or it
        # ends before what they have, because it was made anew. Kafka Streams calls both a corrupted task
        # (TaskCorruptedException). It does not notice a new changelog that has grown past the position, as its
        # checkpoint files have no ids.
        if not all(begin <= task.applied.get(place, begin) <= end for place, (begin, end) in bounds.items()):
            return _lost_records(task)
        if replaced := replaced_topics(task.engine.notes, ids):
            return f"{', '.join(replaced)} was deleted and created again since task {task.task_id} has stored its rows."
        _note_ids(task, ids)
        self._losses.check(task, bounds)
        fresh = {place: begin for place, (begin, end) in bounds.items() if place not in task.applied and begin < end}
        kept = await self._first_kept(task, fresh)
        task.ends = {place: self._end(task, place, *bounds[place]) for place in places}
        self._asked_ms = self._clock.now_ms()
        task.phase = TaskPhase.RESTORING
        enter_status(task, EngineStatus.RESTORING if task.role is TaskRole.ACTIVE else EngineStatus.STANDBY)
        starts = {place: task.applied.setdefault(place, kept.get(place, bounds[place][0])) for place in places}
        if task.role is TaskRole.ACTIVE:
            starts = {place: start for place, start in starts.items() if start < task.ends[place]}
        self._tell_begin(task)
        await self._read(task, starts)
        return None

    async def _bounds(self, task: OwnedTask, places: list[TopicPartition]) -> Mapping[TopicPartition, tuple[int, int]]:
        """Return the bounds of changelogs: to restore a store, its own transactions that are open must have ended.

        A source that serves as changelog is written by others, whose transactions may stay open for long. It is
        restored up to its last stable offset. What was processed behind it, as consumers of uncommitted records do, is
        processed again.
        """
        sources = [place for place in places if place in task.inputs]
        own = await self._plane.bounds([place for place in places if place not in task.inputs])
        stable = await self._plane.stable_bounds(sources)
        for place in task.committed.keys() & stable.keys():
            task.committed[place] = min(task.committed[place], stable[place][1])
        return {**own, **stable}

    async def _first_kept(self, task: OwnedTask, begins: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return where to begin in changelogs of windows, so that no record is read whose window has expired.

        That follows from the times of operators that were committed. The times of the changelog's records would not do:
        the log has those of transactions that were aborted, and the markers have the time of the wall clock.
        """
        known = {place: task.task.restored_since_ms(place.topic) for place in begins}
        firsts = await self._plane.offsets_for_times(
            {place: max(since_ms, 0) for place, since_ms in known.items() if since_ms is not None}
        )
        return {place: max(first, begins[place]) for place, first in firsts.items()}

    def _tell_begin(self, task: OwnedTask) -> None:
        is_active = task.role is TaskRole.ACTIVE
        read = {place.topic: ", ".join(task.task.stores_of(place.topic)) for place in task.ends}
        told = ", ".join(f"store {names} from {topic}" for topic, names in read.items())
        self._progress.begin(_name(task), told, task.left_to_restore, is_awaited=is_active)
        for place, end in task.ends.items():
            stores = task.task.stores_of(place.topic)
            if is_active:
                self._events.restoring(place, stores, task.applied[place], end)
                self._tell_restored(task, place, 0)
            else:
                self._events.following(place, stores, task.applied[place])

    def take(self, polled: PolledRecords, *, is_beside: bool = False) -> int:
        """Gather the records of changelogs among those that were polled. Return their number.

        Many are loaded at once, before stores see them: a store that reads what it has finds all that came earlier.

        Args:
            polled: The records.
            is_beside: Whether tasks run, which wait for a load.
        """
        count = 0
        most = LOADED_BESIDE if is_beside else LOADED_RECORDS
        for place in dict.fromkeys([*polled.batches, *polled.ends]):
            task = self._readers.get(place)
            if task is not None and task.failure is None:
                batch = polled.batches.get(place)
                count += 0 if batch is None else len(batch)
                self._gather(task, place, batch, polled.ends.get(place), most)
        for place in self._gathered.due(self._clock.now_ms()):
            self._load(self._readers[place], place, None)
        return count

    def load_gathered(self, task: OwnedTask) -> None:
        """Load what is gathered for a task, so that it is not read again if its stores are kept."""
        for place in [place for place, reader in self._readers.items() if reader is task]:
            self._load(task, place, None)

    def _gather(
        self, task: OwnedTask, place: TopicPartition, batch: PolledBatch | None, end: int | None, most: int
    ) -> None:
        has_all = False
        if batch is not None:
            self._gathered.add(place, batch, self._clock.now_ms())
            if task.role is TaskRole.ACTIVE:
                has_all = batch.next_offset >= task.ends[place]
            else:
                self._behind.add(place)
        if end is not None or has_all or self._gathered.is_full(place, most):
            self._load(task, place, end)

    def _load(self, task: OwnedTask, place: TopicPartition, end: int | None) -> None:
        gathered = self._gathered.take(place)
        if task.failure is not None or (end is None and gathered is None):
            return
        is_active = task.role is TaskRole.ACTIVE
        try:
            with noting_failure(task):
                applied = self._apply(task, place, gathered) if gathered is not None else 0
        except StateFilesError:
            return  # its position has not moved, so what comes next must not be applied
        if end is not None:
            self._reached(task, place, end)
        if is_active:
            self._tell_restored(task, place, applied)
        elif gathered is not None and applied:
            known_end = max(task.ends[place], task.applied[place])
            self._events.loaded(place, task.task_id, gathered.next_offset - 1, applied, known_end)
        self._progress.took(_name(task), applied)

    def _tell_restored(self, task: OwnedTask, place: TopicPartition, count: int) -> None:
        self._events.restored(place, task.applied[place] - 1, count)
        if task.applied[place] >= task.ends[place]:
            self._events.complete(place)

    def _reached(self, task: OwnedTask, place: TopicPartition, end: int) -> None:
        task.applied[place] = max(task.applied[place], end)
        # An active task restores up to where the changelog ended in the beginning. Nobody else writes to it any more.
        if task.role is not TaskRole.ACTIVE:
            task.ends[place] = end
            self._behind.discard(place)

    async def follow_ends(self) -> None:
        """Ask where the changelogs end that standby and warm-up tasks are behind in, if it is time to.

        The group learns the lag of those tasks from it.

        Raises:
            KafkaGroupsError: The brokers refused.
        """
        now_ms = self._clock.now_ms()
        if not self._behind or now_ms - self._asked_ms < _ENDS_MS or not self._asking.may_try:
            return
        try:
            bounds = await self._plane.bounds(self._behind)
        except KafkaGroupsError as error:
            self._asking.note("The ends of changelogs are unknown", error)
            return
        self._asking.end()
        self._asked_ms = now_ms
        for place, (_begin, end) in bounds.items():
            self._readers[place].ends[place] = end

    def lost(self, polled: PolledRecords) -> list[tuple[OwnedTask, str]]:
        """Return the tasks whose changelogs do not have the next record any more, each with the reason to wipe it."""
        for place, change in polled.changes.items():
            if place in self._readers:
                _log.warning("%s", change.described(place))
        lost = [self._readers[place] for place in polled.out_of_range if place in self._readers]
        return [(task, _lost_records(task)) for task in lost]

    def stop(self, task: OwnedTask, then: TaskRole | None) -> None:
        """Tell the listeners that a task ends in its role, unless standby becomes warm-up or the other way round."""
        self._progress.stop(_name(task))
        # Java's listeners know standby and active only, so a standby task that becomes a warm-up one has not ended for
        # them.
        if then is None or TaskRole.ACTIVE in {task.role, then}:
            reason = SuspendReason.PROMOTED if then is TaskRole.ACTIVE else SuspendReason.MIGRATED
            for place, end in task.ends.items():
                position = task.applied[place]
                self._events.stop(place, position, max(position, end), reason)

    def remember(self, task: OwnedTask) -> None:
        """Remember how far a task that ends has come in its changelogs, to warn if these have lost records later on."""
        self._losses.remember(task)

    async def end(self, task: OwnedTask) -> None:
        """Read the changelogs of a task no more."""
        places = [place for place, reader in self._readers.items() if reader is task]
        for place in places:
            del self._readers[place]
        self._gathered.forget(places)
        self._behind.difference_update(places)
        if places and not self._is_paused:
            await self._plane.unassign_restoring(places)

    async def pause(self) -> None:
        """Read no changelog for now."""
        if not self._is_paused and self._readers:
            for place, task in self._readers.items():
                self._load(task, place, None)
            await self._plane.unassign_restoring(list(self._readers))
            self._behind.update(place for place, task in self._readers.items() if task.role is not TaskRole.ACTIVE)
        self._is_paused = True

    async def resume(self) -> None:
        """Read the changelogs again, from where the stores are."""
        if self._is_paused and self._readers:
            await self._plane.assign_restoring({place: task.applied[place] for place, task in self._readers.items()})
        self._is_paused = False

    async def is_answered(self, outage: TaskTimeout) -> bool:
        """Ask for bounds of changelogs if there was an outage and no record came since. Return whether they are known.

        Raises:
            KafkaGroupsError: The brokers did not answer, or refused.
        """
        if not outage.is_question_due or not self._readers:
            return False
        await self._plane.bounds(self._readers)
        return True

    async def _read(self, task: OwnedTask, starts: Mapping[TopicPartition, int]) -> None:
        if starts:
            self._readers.update(dict.fromkeys(starts, task))
            if task.role is not TaskRole.ACTIVE:
                self._behind.update(starts)
            if not self._is_paused:
                await self._plane.assign_restoring(starts)

    @staticmethod
    def _followed(task: OwnedTask) -> list[TopicPartition]:
        """Return the partitions to read. A source that serves as changelog has to wait for the committed offset."""
        # Java's standby tasks follow such a source up to the group's committed offset
        # (StoreChangelogReader.maybeUpdateLimitOffsetsForStandbyChangelogs). Ours would have to ask for it again and
        # again, for records that an active task reads soon enough.
        places = task.task.changelog_partitions
        return [place for place in places if task.role is TaskRole.ACTIVE or place not in task.inputs]

    @staticmethod
    def _end(task: OwnedTask, place: TopicPartition, begin: int, end: int) -> int:
        # Records of a source behind the committed offset are not processed yet, so the store must not have them.
        return min(task.committed.get(place, begin), end) if place in task.inputs else end

    @staticmethod
    def _apply(task: OwnedTask, place: TopicPartition, gathered: GatheredBatch) -> int:
        records, reached = gathered
        if place in task.inputs:  # records after the committed offset will be processed
            reached = min(reached, task.ends[place])
            records = records.before(reached)
        reached = max(task.applied[place], reached)
        task.task.apply(place, records, reached)
        task.applied[place] = reached
        return len(records)


def _other_changelogs(task: OwnedTask) -> list[str]:
    """Return the changelogs in the files of a task that none of its stores has any more, as its topology has changed.

    Nobody knows which of the rows in the stores came from them. A classic group takes an application with another
    topology; in a streams group there are none.
    """
    known = {place.topic for place in task.task.changelog_partitions}
    return sorted({place.topic for place in task.engine.positions} - known)


def _lost_records(task: OwnedTask) -> str:
    """Return the reason why the stores of a task do not fit to changelogs that have lost records."""
    return f"The changelogs of task {task.task_id} do not have the next records any more."


def _note_ids(task: OwnedTask, ids: Mapping[str, UUID]) -> None:
    """Note which changelogs the positions belong to. If the files cannot be written, the task begins again."""
    known = ids_in(task.engine.notes)
    if all(topic in known for topic in ids):
        return
    try:
        with noting_failure(task):
            task.engine.commit({}, notes=topic_id_notes(ids))
    except StateFilesError:
        return


def _name(task: OwnedTask) -> str:
    role = "" if task.role is TaskRole.ACTIVE else f"{task.role.value} "
    return f"{role}task {task.task_id}"


def _committed(task: OwnedTask, place: TopicPartition, found: OffsetAndMetadata) -> None:
    """Note the times that were committed, and for a task that processes records the offset with its leader epoch."""
    metadata = read_commit_metadata(found.metadata)
    if metadata.problem is not None:
        _log.warning("%s: %s", place, metadata.problem)
    task.task.resume_operator_times(metadata.processor_times_ms)
    if task.role is TaskRole.ACTIVE:
        task.committed[place] = found.offset
        task.leader_epochs[place] = found.leader_epoch
        task.task.resume_time(place, metadata.partition_time_ms)
