"""Global stores: every worker loads all of their topics before it processes anything, and follows them.

Those on disk are in one environment of the worker, together with their positions in their topics: a restart reads only
what is new.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Final
from uuid import UUID

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.errors.texts import sentences, text_of
from kafka_groups.net.clock import Clock
from kafka_groups.records.interface import DataPlane, LogChange, PolledRecords
from kafka_groups.streams.engines.interface import EngineFactory, TaskEngine
from kafka_groups.streams.engines.open_files import OpenFiles
from kafka_groups.streams.engines.questions import token_of
from kafka_groups.streams.errors import CorruptedStateError, StateDiskError, StateFilesError, StreamsError
from kafka_groups.streams.runtime.output import WorkerOutput
from kafka_groups.streams.runtime.restore_listeners import RestoreEvents, SuspendReason
from kafka_groups.streams.runtime.restore_progress import RestoreProgress
from kafka_groups.streams.runtime.settings import WorkerSettings
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.state.engine import NO_POSITIONS, EngineStatus, Positions
from kafka_groups.streams.state.state_store import StateStore
from kafka_groups.streams.state.topic_ids import ids_in, replaced_topics, topic_id_notes
from kafka_groups.streams.tasks.stream_task import StreamTask
from kafka_groups.streams.topology.subtopologies import NodeGroup
from kafka_groups.types import RecordRow, TaskId, TopicPartition

__all__ = ["GlobalStores"]

_log = logging.getLogger(__name__)

_NAME = "the global stores"
_GAINED_NAME = "new partitions of global topics"

_ENDLESS_MS: Final = 1 << 62
"""A disk may be full for any time, as for the stores of tasks."""

_Bounds = Mapping[TopicPartition, tuple[int, int]]


class GlobalStores:
    """The tasks that fill global stores, one for each of their sub-topologies.

    Attributes:
        is_open: Whether the stores are there, and being loaded. Tasks that read them can only be made then.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of a worker
        self,
        settings: WorkerSettings,
        factory: EngineFactory,
        plane: DataPlane,
        output: WorkerOutput,
        clock: Clock,
        events: RestoreEvents,
        progress: RestoreProgress,
    ) -> None:
        self._events = events
        self._progress = progress
        self._applied: dict[TopicPartition, int] = {}
        self._settings = settings.tasks
        self._groups = [group for group in settings.groups().values() if group.is_global]
        definitions = [place.definition for group in self._groups for place in group.stores]
        self._persistent = {each.name for each in definitions if each.persistent}
        self._plane = plane
        self._output = output
        self._tasks: dict[str, StreamTask] = {}
        self._all: list[StreamTask] = []
        self._factory = factory
        self._engine: TaskEngine | None = None
        self._kept: set[str] = set()  # the topics whose positions outlast the worker
        self._unsaved: dict[TopicPartition, int] = {}  # what the engine does not have yet of that
        self._unsaved_ids: dict[str, UUID] = {}  # which topics the first of those positions belong to
        self._missing: dict[TopicPartition, int] = {}
        self._gained: dict[TopicPartition, int] = {}
        self._lost: set[TopicPartition] = set()
        self._changes: dict[TopicPartition, LogChange] = {}
        self._starts, self._restarts, self._growth = (TaskTimeout(clock, settings.task_timeout_ms) for _ in range(3))
        self._openings, self._writes = (TaskTimeout(clock, _ENDLESS_MS) for _ in range(2))
        self.is_open = not self._groups

    def __repr__(self) -> str:
        return f"<GlobalStores: {len(self.states)} stores, {len(self._missing)} partitions to load>"

    @property
    def states(self) -> Mapping[str, StateStore]:
        """The stores by name."""
        return {name: state for task in self._all for name, state in task.states.items()}

    def engine_of(self, store: str) -> tuple[TaskId, TaskEngine] | None:
        """Return the task and the engine of a store, or None if that is not a global one."""
        found = [task.task_id for task in self._all if store in task.states]
        return (found[0], self._engine) if found and self._engine is not None else None

    @property
    def engine(self) -> TaskEngine | None:
        """The engine that has them now; None before they are there, and if there are none."""
        return self._engine if self._all else None

    def open_files(self) -> list[OpenFiles]:
        """Return the files of the stores on disk, for processes that read them: the same ones for each task."""
        if self._engine is None or (place := self._engine.place) is None:
            return []
        return [OpenFiles(task.task_id, *place, self._on_disk(task), 0, token_of(self._engine)) for task in self._all]

    def _on_disk(self, task: StreamTask) -> frozenset[str]:
        return frozenset(task.states.keys() & self._persistent)

    @property
    def is_damaged(self) -> bool:
        """True if they have to begin without what there is: their files are damaged, or a topic is another one now."""
        return bool(self._changes) or (self._engine is not None and self._engine.is_damaged)

    @property
    def is_loaded(self) -> bool:
        """True if they have everything that their topics had at the start."""
        return self.is_open and not self._missing

    @property
    def obstacle(self) -> str | None:
        """The reason why they are not loaded; None if they are."""
        if self.is_loaded:
            return None
        if not self.is_open:
            if self._engine is None:
                return self._openings.obstacle or "global stores wait until their files can be opened"
            return self._starts.obstacle or "the topics of global stores have not been found yet"
        topics = sorted({place.topic for place in self._missing})
        return f"global stores are being loaded from {', '.join(topics)}"

    async def begin(self, wall_ms: int) -> None:
        """Begin to load, if that has not happened yet and the brokers answer.

        Raises:
            StreamsError: A topic does not exist.
            KafkaGroupsError: The brokers refused, or did not answer for too long.
        """
        if self.is_open or not self._starts.may_try or not self._openings.may_try:
            return
        engine = self._opened()
        if engine is None:
            return
        try:
            counts = await self._plane.partition_counts()
            places = {group.number: _partitions(group, counts) for group in self._groups}
            # Others write these topics: a transaction of theirs may stay open, and what follows it is not readable yet.
            # Ids before bounds, as for tasks.
            ids = await self._plane.ask_topic_ids(self._kept)
            bounds = await self._plane.stable_bounds([place for found in places.values() for place in found])
        except KafkaGroupsError as error:
            self._starts.note("Global stores cannot be loaded yet", error)
            return
        self._starts.end()
        known = self._positions()
        replaced = replaced_topics(engine.notes, ids)
        lost = [
            place
            for place, (begin, end) in bounds.items()
            if place.topic in replaced or not begin <= known.get(place, begin) <= end
        ]
        if lost:
            _log.warning(
                "%s: the records after those that the global stores have were deleted, or the topic was created again. "
                "The global stores are emptied and filled from what there is.",
                ", ".join(map(str, sorted(lost))),
            )
            self._wipe(engine)
            return
        try:
            engine.set_status(EngineStatus.ACTIVE)
        except StateDiskError as error:
            self._openings.note("Global stores cannot be opened yet", error)
            return
        self._unsaved_ids = {topic: id_ for topic, id_ in ids.items() if topic not in ids_in(engine.notes)}
        for group in self._groups:
            self._open(group, engine, places[group.number])
        await self._load(self._left_of(bounds), wall_ms)

    def _opened(self) -> TaskEngine | None:
        """Return the engine, or None if it cannot be opened yet."""
        if self._engine is not None:
            return self._engine
        found = [place for group in self._groups for place in group.stores]
        stores = {place.source_topic: place.definition for place in found if place.source_topic is not None}
        try:
            self._engine = self._factory.open_global(stores)
        except StateDiskError as error:
            self._openings.note("Global stores cannot be opened yet", error)
            return None
        self._openings.end()
        self._kept = {topic for topic, definition in stores.items() if definition.persistent}
        return self._engine

    def _wipe(self, engine: TaskEngine) -> None:
        """Begin without what there is: rows that were deleted in the meantime would stay forever."""
        self._engine = None
        engine.close()
        try:
            self._factory.wipe_global()
        except StateDiskError as error:
            self._openings.note("Global stores cannot be emptied yet", error)

    async def start_over(self, error: StateFilesError) -> None:
        """Begin without what there is, after `is_damaged`. The tasks that read it must have ended.

        Args:
            error: The reason.
        """
        engine = self._engine
        if engine is None:
            return
        _log.warning(sentences(text_of(error), "The global stores are emptied and filled again from their topics"))
        await self._plane.unassign_restoring(self._applied)
        for place, offset in self._applied.items():
            self._events.stop(place, offset, offset, SuspendReason.MIGRATED)
        for name in (_NAME, _GAINED_NAME):
            self._progress.stop(name)
        tasks, self._all, self._tasks = self._all, [], {}
        self._applied, self._unsaved, self._missing, self._gained, self._lost = {}, {}, {}, {}, set()
        self._changes, self._unsaved_ids = {}, {}
        self._writes.end()
        self.is_open = False
        self._wipe(engine)
        _close(tasks)

    def _positions(self) -> Positions:
        """Return how far the stores on disk are. One that is in memory now may have been on disk before."""
        known = NO_POSITIONS if self._engine is None else self._engine.positions
        return {place: at for place, at in known.items() if place.topic in self._kept}

    def _left_of(self, bounds: _Bounds) -> _Bounds:
        """Return bounds that begin behind what the stores have."""
        known = self._positions()
        return {place: (max(begin, known.get(place, begin)), end) for place, (begin, end) in bounds.items()}

    async def _load(self, bounds: _Bounds, wall_ms: int) -> None:
        # Only partitions with records have to be waited for.
        self._missing = {place: end for place, (begin, end) in bounds.items() if end > begin}
        self.is_open = True
        for task in self._all:
            task.init(wall_ms)
        self._applied = {place: begin for place, (begin, _end) in bounds.items()}
        told = ", ".join(f"store {', '.join(task.states)} from {topic}" for topic, task in self._tasks.items())
        self._progress.begin(_NAME, told, lambda: self._left(self._missing))
        await self._read(bounds)

    async def _read(self, bounds: _Bounds) -> None:
        for place, (begin, end) in bounds.items():
            self._events.restoring(place, list(self._tasks[place.topic].states), begin, end)
            if begin == end:
                self._events.complete(place)
        await self._plane.assign_restoring({place: begin for place, (begin, _end) in bounds.items()})

    def _left(self, ends: Mapping[TopicPartition, int]) -> int:
        return sum(end - self._applied[place] for place, end in ends.items())

    def _open(self, group: NodeGroup, engine: TaskEngine, places: list[TopicPartition]) -> None:
        task_id = TaskId(str(group.number), 0)
        task = StreamTask(task_id, group, self._settings, engine, self._output, {}, partitions=places)
        self._all.append(task)
        self._tasks.update(dict.fromkeys((place.topic for place in places), task))

    async def follow_growth(self, counts: Mapping[str, int]) -> None:
        """Read the partitions that global topics have gained, while the tasks continue.

        Raises:
            KafkaGroupsError: The brokers refused, or did not answer for too long.
        """
        places = (TopicPartition(topic, at) for topic in self._tasks for at in range(counts.get(topic, 0)))
        new = [place for place in places if (place.topic, place.partition) not in self._tasks[place.topic].queues]
        # Kafka Streams reads the partitions that a global topic had when the application started, and no others.
        if not new or not self._growth.may_try:
            return
        try:
            # Others write these topics, as at the start. The process before may have known the partitions.
            bounds = self._left_of(await self._plane.stable_bounds(new))
        except KafkaGroupsError as error:
            self._growth.note("The bounds of new partitions of global topics are unknown", error)
            return
        self._growth.end()
        _log.info("Global stores read partitions that their topics have gained: %s", ", ".join(map(str, new)))
        for place in new:
            self._tasks[place.topic].gain([place])
        self._gained.update({place: end for place, (begin, end) in bounds.items() if end > begin})
        self._applied.update({place: begin for place, (begin, _end) in bounds.items()})
        told = ", ".join(f"store {', '.join(self._tasks[place.topic].states)} from {place}" for place in new)
        self._progress.begin(_GAINED_NAME, told, lambda: self._left(self._gained), is_awaited=False)
        await self._read(bounds)

    def take(self, polled: PolledRecords, wall_ms: int) -> None:
        """Process the records of global topics among those that were polled."""
        for place, batch in polled.batches.items():
            if place.topic in self._tasks:
                rows = batch.rows()
                last, *_ = rows[-1]
                self._process(place, rows, last, wall_ms)
                self._events.restored(place, last, len(rows))
                self._reached(place, last + 1, len(rows))
        # The end may come without a record, after markers of transactions.
        for place, end in polled.ends.items():
            self._reached(place, end)
        self._lost.update(place for place in polled.out_of_range if place.topic in self._tasks)
        self._changes.update({place: each for place, each in polled.changes.items() if place.topic in self._tasks})

    async def skip_lost(self) -> None:
        """Continue with the first record that there is, where records were deleted before they were read.

        Raises:
            CorruptedStateError: A topic was deleted and made again, or truncated: the stores have rows that are not in
                it. Java's global thread ends, and empties them (`InvalidOffsetException` in `GlobalStreamThread`).
            KafkaGroupsError: The brokers refused, or did not answer for too long.
        """
        if self._changes:
            told = [change.described(place) for place, change in sorted(self._changes.items())]
            raise CorruptedStateError(" ".join(told))
        # Records of a global topic that were deleted have no other copy. What the stores have of them stays.
        if not self._lost or not self._restarts.may_try:
            return
        try:
            bounds = await self._plane.bounds(self._lost)
        except KafkaGroupsError as error:
            self._restarts.note("The bounds of global topics are unknown", error)
            return
        await self._plane.assign_restoring({place: begin for place, (begin, _end) in bounds.items()})
        self._lost.clear()
        self._restarts.end()

    def close(self) -> None:
        """Close the processors, all of them if some fail."""
        if self._engine is None:
            self._factory.give_up_global()
        else:
            self._engine.close()  # views of the stores raise errors from now on
        _close(self._all)

    def _process(self, place: TopicPartition, rows: Sequence[RecordRow], last: int, wall_ms: int) -> None:
        task = self._tasks[place.topic]
        task.add(place.topic, rows, place.partition)
        while task.process_slice(wall_ms, len(rows)):
            pass
        task.flush()
        if place.topic in self._kept:
            self._unsaved[place] = last + 1
        self._save()

    def save_again(self) -> None:
        """Write what the disk has refused.

        Raises:
            CorruptedStateError: The files are damaged.
        """
        if self._writes.is_outage:
            self._save()

    def _save(self) -> None:
        """Move what was processed into the committed state, with the positions after it: a batch at once, or nothing.

        If the disk is full, what is new stays in memory, where tasks see it, and is written when there is room.

        Raises:
            CorruptedStateError: The files are damaged.
        """
        if not self._writes.may_try:
            return
        for task in self._all:
            # Each topic is that of one task, so that its rows and its positions are together.
            positions = {place: at for place, at in self._unsaved.items() if self._tasks[place.topic] is task}
            topics = self._unsaved_ids.keys() & {place.topic for place in positions}
            try:
                task.commit_states(positions, topic_id_notes({topic: self._unsaved_ids[topic] for topic in topics}))
            except StateDiskError as error:
                self._writes.note("What is new in global stores is not on disk yet", error)
                return
            for place in positions:
                del self._unsaved[place]
            for topic in topics:
                del self._unsaved_ids[topic]
        self._writes.end()

    def _reached(self, place: TopicPartition, offset: int, count: int = 0) -> None:
        for name, ends in ((_NAME, self._missing), (_GAINED_NAME, self._gained)):
            if place not in ends:
                continue
            self._applied[place] = max(self._applied[place], offset)
            if offset >= ends[place]:
                del ends[place]
                self._events.complete(place)
            self._progress.took(name, count)


def _close(tasks: Sequence[StreamTask]) -> None:
    with ExitStack() as stack:
        for task in reversed(tasks):
            stack.callback(task.close)


def _partitions(group: NodeGroup, counts: Mapping[str, int]) -> list[TopicPartition]:
    """Return the partitions that fill a group's stores."""
    topics = [topic for source in group.sources for topic in source.topics]
    for topic in topics:
        if topic not in counts:
            raise StreamsError(f"Topic {topic!r} of a global store does not exist. Create it first.")
    return [TopicPartition(topic, at) for topic in topics for at in range(counts[topic])]
