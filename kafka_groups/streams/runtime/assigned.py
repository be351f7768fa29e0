"""The tasks that a worker has, and how far each of them is."""

import enum
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from attrs import define, field

from kafka_groups.net.clock import Clock
from kafka_groups.streams.engines.interface import TaskEngine
from kafka_groups.streams.errors import StateFilesError
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.streams.runtime.record_sensors import RecordSensors, measure_records
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.runtime.worker_sensors import TaskSensors
from kafka_groups.streams.state.engine import EngineStatus
from kafka_groups.streams.tasks.stream_task import StreamTask
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["OwnedTask", "Slice", "TaskPhase", "TaskRole", "enter_status", "noting_failure"]

_MOST_RECORDS: Final = 100
_LONGEST_MS: Final = 50
"""The longest slice, in records and in time."""


class TaskRole(enum.Enum):
    """The roles of a task in a member."""

    ACTIVE = "active"
    STANDBY = "standby"
    WARMUP = "warm-up"


class TaskPhase(enum.Enum):
    """The phases of a task."""

    CREATED = "created"
    RESTORING = "restoring"
    RUNNING = "running"


class Slice:
    """The length of a task's slices: the records that take about 50 ms, so that slow ones do not delay a commit.

    Attributes:
        records: The number of records of the next slice.
    """

    def __init__(self) -> None:
        self.records = 1

    def __repr__(self) -> str:
        return f"<Slice of {self.records} records>"

    def took(self, count: int, ms: int) -> None:
        """Note how long the processing of so many records took."""
        # Too slow: as many as fit into the time, by the speed of these. Fast and full: twice as many.
        if ms > _LONGEST_MS:
            self.records = min(max(count * _LONGEST_MS // ms, 1), _MOST_RECORDS)
        elif count == self.records:
            self.records = min(2 * count, _MOST_RECORDS)


@define(eq=False)
class OwnedTask:
    """A task of a worker.

    A standby or warm-up task stays in `RESTORING`: it follows its changelogs until it is given up or becomes active.

    Attributes:
        task: What processes its records and has its stores.
        engine: Keeps the committed state.
        role: What the worker does with it.
        beginning: The outage that keeps it from beginning, apart from those of other tasks.
        phase: How far it is.
        applied: For each partition of its changelogs the offset after the last record that its stores have.
        ends: Where its changelogs ended when the restoration began; for standby and warm-up tasks, when that was last
            heard.
        inputs: The source partitions that it reads.
        read_to_end: The inputs of which everything is fetched.
        committed: The offsets that the group has for its inputs, as far as this worker knows.
        leader_epochs: The leader epochs of the records before the offsets with which it begins. None: the group does
            not know.
        idle_since_ms: Since when it could process, but for a partition without records; None if it need not wait.
        is_dirty: Whether it has processed anything since the last commit.
        failure: Why its engine can be used no more, if it cannot: the task has to begin again.
        slice: How many records it processes before it is another task's turn.
        sensors: Its counts and times, for metrics.
        sources: Metrics of the records of each partition that it may read, for metrics.
    """

    task: StreamTask
    engine: TaskEngine
    role: TaskRole
    beginning: TaskTimeout
    phase: TaskPhase = TaskPhase.CREATED
    applied: dict[TopicPartition, int] = field(factory=dict)
    ends: dict[TopicPartition, int] = field(factory=dict)
    inputs: tuple[TopicPartition, ...] = ()
    read_to_end: set[TopicPartition] = field(factory=set)
    committed: dict[TopicPartition, int] = field(factory=dict)
    leader_epochs: dict[TopicPartition, int | None] = field(factory=dict)
    paused: set[TopicPartition] = field(factory=set)
    idle_since_ms: int | None = None
    is_dirty: bool = False
    failure: StateFilesError | None = None
    is_initialised: bool = False
    slice: Slice = field(factory=Slice)
    sensors: TaskSensors = field(factory=TaskSensors)
    sources: Mapping[TopicPartition, RecordSensors] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.sources = {queue.partition: RecordSensors() for queue in self.task.queues.values()}

    def measure_records(self, clock: Clock) -> None:
        """Measure each record from now on (`metrics.recording.level`)."""
        for queue in self.task.queues.values():
            measure_records(queue, self.task, self.sources[queue.partition], self.sensors.lateness, clock)

    @property
    def task_id(self) -> TaskId:
        """Its id."""
        return self.task.task_id

    @property
    def is_running(self) -> bool:
        """True if it processes records."""
        return self.phase is TaskPhase.RUNNING and self.failure is None

    @property
    def is_restored(self) -> bool:
        """True if the stores have everything that the changelogs had when the restoration began."""
        return all(self.applied.get(place, 0) >= end for place, end in self.ends.items())

    def left_to_restore(self) -> int:
        """Return how many offsets of the changelogs the stores lack of those that there were in the beginning."""
        return sum(max(end - self.applied.get(place, 0), 0) for place, end in self.ends.items())

    @property
    def is_told_to_leader(self) -> bool:
        """True if a member of a classic group tells its leader of the task's stores."""
        # As TaskManager.taskOffsetSums in Java: a task whose stores are open, with a sum of 0 while its changelogs are
        # empty, and before that if there was state on the disk. Stores without a changelog do not count.
        is_begun = self.phase is not TaskPhase.CREATED and bool(self.task.changelog_partitions)
        return is_begun or bool(self.applied)

    def position(self) -> TaskPosition:
        """Return the position of the task's stores, for the group."""
        # KIP-1071, "Cumulative task changelog end offsets": for a running task, the end is where its stores are.
        end = sum(max(end, self.applied.get(place, 0)) for place, end in self.ends.items())
        return TaskPosition(sum(self.applied.values()), end if self.ends else None, is_running=self.is_running)

    def close(self) -> None:
        """Close the processors, if they were prepared."""
        if self.is_initialised:
            self.is_initialised = False
            self.task.close()


@contextmanager
def noting_failure(task: OwnedTask) -> Iterator[None]:
    """Note with a task that its files have failed, and raise the error again."""
    try:
        yield
    except StateFilesError as error:
        task.failure = error
        raise


def enter_status(task: OwnedTask, status: EngineStatus) -> None:
    """Note what a task does with its engine. If its files cannot be written, it begins again."""
    try:
        with noting_failure(task):
            task.engine.set_status(status)
    except StateFilesError:
        return
