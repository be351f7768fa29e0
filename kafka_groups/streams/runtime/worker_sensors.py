"""Counts and times of a worker and its tasks, for their metrics. They cost time per turn, never per record."""

from attrs import define, field

from kafka_groups.client.windows import EventCount, Windows
from kafka_groups.net.clock import Clock

__all__ = ["StepSensors", "TaskSensors", "WorkerSensors"]


@define
class StepSensors:
    """One step of a worker's turns.

    Attributes:
        done: What the step did: polls, records, commits or punctuations.
        latencies: How long one of them took, in ms.
        spent: How long the step took in each turn, in ms.
    """

    done: EventCount = field(factory=EventCount)
    latencies: Windows = field(factory=Windows)
    spent: Windows = field(factory=Windows)
    _spent_ms: int = 0

    def took(self, count: int, begun_ms: int, now_ms: int) -> None:
        """Note that the step did something in this turn, or nothing."""
        self._spent_ms += now_ms - begun_ms
        if count:
            self.done.add(count, now_ms)
            self.latencies.record((now_ms - begun_ms) / count, now_ms)

    def end_turn(self, now_ms: int) -> None:
        """Note that the turn ends."""
        self.spent.record(self._spent_ms, now_ms)
        self._spent_ms = 0


@define
class TaskSensors:
    """Metrics of one task.

    Attributes:
        processed: The records that it has processed.
        latencies: How long a record took, in ms, on average over those that were processed together.
        spent: How long these took together, in ms.
        dropped: The records that it has dropped, noted with each commit.
        lateness: How far each record is behind stream time, in ms; at the level DEBUG.
    """

    processed: EventCount = field(factory=EventCount)
    latencies: Windows = field(factory=Windows)
    spent: Windows = field(factory=Windows)
    dropped: EventCount = field(factory=EventCount)
    lateness: Windows = field(factory=Windows)

    def took(self, count: int, begun_ms: int, now_ms: int) -> None:
        """Note that it has processed records."""
        if count:
            self.processed.add(count, now_ms)
            self.latencies.record((now_ms - begun_ms) / count, now_ms)
            self.spent.record(now_ms - begun_ms, now_ms)

    def note_dropped(self, total: int, now_ms: int) -> None:
        """Note how many records it has dropped since it began."""
        if total > self.dropped.total:
            self.dropped.add(total - self.dropped.total, now_ms)


class WorkerSensors:
    """Metrics of one worker. Its thread notes them, and any thread may read them.

    Attributes:
        start_ms: When it was made, in ms since 1970.
        poll: Polls. They take the time that the worker waits for records, too.
        poll_records: The records of each poll.
        process: Records.
        commit: Commits that changed anything.
        punctuate: Tasks that punctuated by wall-clock time.
        turns: How long turns took, with the wait before, in ms.
        created: Tasks that it has got.
        closed: Tasks that it has given up.
        restored: Records that it has read from changelogs and global topics.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.start_ms = clock.wall_ms()
        self.poll, self.process, self.commit, self.punctuate = (StepSensors() for _ in range(4))
        self.poll_records = Windows()
        self.turns = Windows()
        self.created, self.closed, self.restored = EventCount(), EventCount(), EventCount()
        self._ended_ms = clock.now_ms()

    def __repr__(self) -> str:
        return f"<WorkerSensors: {self.process.done.total} records>"

    def polled(self, count: int, begun_ms: int, turn_ms: int) -> None:
        """Note a poll.

        Args:
            count: Its records.
            begun_ms: When it began.
            turn_ms: When this turn began. The worker waited from the last one to this moment.
        """
        now_ms = self._clock.now_ms()
        self.poll.took(1, begun_ms - (turn_ms - self._ended_ms), now_ms)
        self.poll_records.record(count, now_ms)

    def processed(self, count: int, begun_ms: int) -> None:
        """Note that tasks processed records."""
        self.process.took(count, begun_ms, self._clock.now_ms())

    def committed(self, count: int, begun_ms: int) -> None:
        """Note a commit of some tasks; of none, it only took time."""
        self.commit.took(min(count, 1), begun_ms, self._clock.now_ms())

    def punctuated(self, count: int, begun_ms: int) -> None:
        """Note that some tasks punctuated."""
        self.punctuate.took(count, begun_ms, self._clock.now_ms())

    def end_turn(self) -> None:
        """Note that a turn ends."""
        now_ms = self._clock.now_ms()
        for step in (self.poll, self.process, self.commit, self.punctuate):
            step.end_turn(now_ms)
        self.turns.record(now_ms - self._ended_ms, now_ms)
        self._ended_ms = now_ms
