"""Global stores: every worker loads all of their topics before it processes anything, and follows them."""

from collections.abc import Mapping

from kafka_groups.data_plane.polled import PolledRecords
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.net.clock import Clock
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.runtime.output import WorkerOutput
from kafka_groups.streams.runtime.plane import DataPlane
from kafka_groups.streams.runtime.restore_listeners import RestoreEvents
from kafka_groups.streams.runtime.settings import WorkerSettings
from kafka_groups.streams.runtime.shared_engine import SharedEngine
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.state.store import StateStore
from kafka_groups.streams.tasks.task import StreamTask
from kafka_groups.streams.topology.subtopologies import NodeGroup
from kafka_groups.types import FetchedRecord, TaskId, TopicPartition

__all__ = ["GlobalStores"]


class GlobalStores:
    """The tasks that fill global stores, one for each of their sub-topologies.

    Attributes:
        is_open: Whether the stores are there, and being loaded. Tasks that read them can only be made then.
    """

    def __init__(
        self, settings: WorkerSettings, plane: DataPlane, output: WorkerOutput, clock: Clock, events: RestoreEvents
    ) -> None:
        self._events = events
        self._settings = settings.tasks
        self._groups = [group for group in settings.groups().values() if group.is_global]
        self._plane = plane
        self._output = output
        self._tasks: dict[str, StreamTask] = {}
        self._all: list[StreamTask] = []
        self._engines: dict[TaskId, SharedEngine] = {}
        self._missing: dict[TopicPartition, int] = {}
        self._lost: set[TopicPartition] = set()
        self._starts, self._restarts = (TaskTimeout(clock, settings.task_timeout_ms) for _ in range(2))
        self.is_open = not self._groups

    def __repr__(self) -> str:
        return f"<GlobalStores: {len(self.states)} stores, {len(self._missing)} partitions to load>"

    @property
    def states(self) -> Mapping[str, StateStore]:
        """The stores by name."""
        return {name: state for task in self._all for name, state in task.states.items()}

    def engine_of(self, store: str) -> SharedEngine | None:
        """Return the engine of a store, or None if that is not a global one."""
        found = (self._engines[task.task_id] for task in self._all if store in task.states)
        return next(found, None)

    @property
    def is_loaded(self) -> bool:
        """True if they have everything that their topics had at the start."""
        return self.is_open and not self._missing

    async def begin(self, wall_ms: int) -> None:
        """Begin to load, if that has not happened yet and the brokers answer.

        Raises:
            StreamsError: A topic does not exist.
            KafkaGroupsError: The brokers refused, or did not answer for too long.
        """
        if self.is_open or not self._starts.may_try:
            return
        try:
            counts = await self._plane.partition_counts()
            places = {group.number: _partitions(group, counts) for group in self._groups}
            bounds = await self._plane.bounds([place for found in places.values() for place in found])
        except KafkaGroupsError as error:
            self._starts.note("Global stores cannot be loaded yet", error)
            return
        self._starts.end()
        for group in self._groups:
            self._open(group, places[group.number])
        await self._load(bounds, wall_ms)

    async def _load(self, bounds: Mapping[TopicPartition, tuple[int, int]], wall_ms: int) -> None:
        self._missing = {place: end for place, (begin, end) in bounds.items() if end > begin}
        self.is_open = True
        for task in self._all:
            task.init(wall_ms)
        for place, (begin, end) in bounds.items():
            self._events.restoring(place, list(self._tasks[place.topic].states), begin, end)
            if place not in self._missing:
                self._events.complete(place)
        await self._plane.assign_restoring({place: begin for place, (begin, _end) in bounds.items()})

    def _open(self, group: NodeGroup, places: list[TopicPartition]) -> None:
        task_id, engine = TaskId(str(group.number), 0), SharedEngine()
        task = StreamTask(task_id, group, self._settings, engine, self._output, {}, partitions=places)
        self._engines[task_id] = engine
        self._all.append(task)
        self._tasks.update(dict.fromkeys((place.topic for place in places), task))

    def take(self, polled: PolledRecords, wall_ms: int) -> None:
        """Process the records of global topics among those that were polled."""
        for place, records in polled.batches.items():
            if place.topic in self._tasks:
                self._process(place, records, wall_ms)
                self._events.restored(place, records[-1].offset, len(records))
                self._reached(place, records[-1].offset + 1)
        for place, end in polled.ends.items():
            self._reached(place, end)
        self._lost.update(place for place in polled.out_of_range if place.topic in self._tasks)

    async def skip_lost(self) -> None:
        """Continue with the first record that there is, where records were deleted before they were read.

        Raises:
            KafkaGroupsError: The brokers refused, or did not answer for too long.
        """
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
        """Close the processors."""
        for task in self._all:
            task.close()

    def _process(self, place: TopicPartition, records: list[FetchedRecord], wall_ms: int) -> None:
        task = self._tasks[place.topic]
        task.add(place.topic, records, place.partition)
        while task.process(wall_ms):
            pass
        task.flush()
        task.commit_states()

    def _reached(self, place: TopicPartition, offset: int) -> None:
        if offset >= self._missing.get(place, offset + 1):
            del self._missing[place]
            self._events.complete(place)


def _partitions(group: NodeGroup, counts: Mapping[str, int]) -> list[TopicPartition]:
    """Return the partitions that fill a group's stores."""
    topics = [topic for source in group.sources for topic in source.topics]
    for topic in topics:
        if topic not in counts:
            raise StreamsError(f"Topic {topic!r} of a global store does not exist. Create it first.")
    return [TopicPartition(topic, at) for topic in topics for at in range(counts[topic])]
