"""The tasks that a worker has, and how far each of them is."""

import enum
from collections.abc import Mapping

from attrs import define, field

from kafka_groups.net.clock import Clock
from kafka_groups.streams.member.rules.task_offsets import TaskPosition
from kafka_groups.streams.runtime.figures import TaskFigures
from kafka_groups.streams.runtime.record_figures import RecordFigures, measure_records
from kafka_groups.streams.runtime.shared_engine import SharedEngine
from kafka_groups.streams.runtime.slices import Slice
from kafka_groups.streams.runtime.task_timeout import TaskTimeout
from kafka_groups.streams.tasks.task import StreamTask
from kafka_groups.types import TaskId, TopicPartition

__all__ = ["OwnedTask", "TaskPhase", "TaskRole"]


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
        idle_since_ms: Since when it could process, but for a partition without records; None if it need not wait.
        is_dirty: Whether it has processed anything since the last commit.
        slice: How many records it processes before it is another task's turn.
        figures: Its counts and times, for metrics.
        sources: Figures of the records of each partition that it may read, for metrics.
    """

    task: StreamTask
    engine: SharedEngine
    role: TaskRole
    beginning: TaskTimeout
    phase: TaskPhase = TaskPhase.CREATED
    applied: dict[TopicPartition, int] = field(factory=dict)
    ends: dict[TopicPartition, int] = field(factory=dict)
    inputs: tuple[TopicPartition, ...] = ()
    read_to_end: set[TopicPartition] = field(factory=set)
    committed: dict[TopicPartition, int] = field(factory=dict)
    paused: set[TopicPartition] = field(factory=set)
    idle_since_ms: int | None = None
    is_dirty: bool = False
    is_initialised: bool = False
    slice: Slice = field(factory=Slice)
    figures: TaskFigures = field(factory=TaskFigures)
    sources: Mapping[TopicPartition, RecordFigures] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.sources = {queue.partition: RecordFigures() for queue in self.task.queues.values()}

    def measure_records(self, clock: Clock) -> None:
        """Measure each record from now on (`metrics.recording.level`)."""
        for queue in self.task.queues.values():
            measure_records(queue, self.task, self.sources[queue.partition], self.figures.lateness, clock)

    @property
    def task_id(self) -> TaskId:
        """Its id."""
        return self.task.task_id

    @property
    def is_running(self) -> bool:
        """True if it processes records."""
        return self.phase is TaskPhase.RUNNING

    @property
    def is_restored(self) -> bool:
        """True if the stores have everything that the changelogs had when the restoration began."""
        return all(self.applied.get(place, 0) >= end for place, end in self.ends.items())

    def note_written(self, written: Mapping[TopicPartition, int]) -> None:
        """Note how far the task's own changes have come in its changelogs."""
        for place in self.task.changelog_partitions:
            offset = written.get(place)
            if offset is not None:
                self.applied[place] = max(offset, self.applied.get(place, 0))

    def position(self) -> TaskPosition:
        """Return the position of the task's stores, for the group."""
        end = sum(max(end, self.applied.get(place, 0)) for place, end in self.ends.items())
        return TaskPosition(sum(self.applied.values()), end if self.ends else None)

    def close(self) -> None:
        """Close the processors, if they were prepared."""
        if self.is_initialised:
            self.is_initialised = False
            self.task.close()
