"""An application in a story: its tasks, its processes, and how state is restored while time passes."""

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from attrs import define, field, frozen

from kafka_groups.assignment.application.configs import AssignmentConfigs
from kafka_groups.assignment.application.neutral import ApplicationInput
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.task_assignor import AssignedMember
from kafka_groups.assignment.application.tasks import TaskInfo
from kafka_groups.testing.assignors.story_group import StoryGroup
from kafka_groups.testing.assignors.story_processes import StoryProcess
from kafka_groups.testing.assignors.subtopologies import StorySubtopology
from kafka_groups.types import TaskId

__all__ = ["CopiedState", "StoryApplication"]

_BEGINNING: Final = datetime(2030, 1, 1, tzinfo=UTC)


@frozen
class CopiedState:
    """The state that processes have restored while time passed.

    Attributes:
        records: The records that they have copied.
        restoring_seconds: How long active tasks could not run because their state was being restored, summed over
            tasks.
    """

    records: int
    restoring_seconds: float


@define(eq=False)
class StoryApplication:
    """The application.

    Attributes:
        restore_rate: How many records a process copies per second, of each task that it restores.
        group: Its processes.
        subtopologies: Its sub-topologies, by id.
        ends: The number of changelog records of each task with state that has run.
        owners: The name of the process in which each task was active last.
        now: The time.
    """

    restore_rate: int
    group: StoryGroup
    subtopologies: dict[str, StorySubtopology] = field(factory=dict)
    ends: dict[TaskId, int] = field(factory=dict)
    owners: dict[TaskId, str] = field(factory=dict)
    now: datetime = _BEGINNING

    @property
    def tasks(self) -> dict[TaskId, TaskInfo]:
        """Its tasks, as assignors see them."""
        found: dict[TaskId, TaskInfo] = {}
        for each in self.subtopologies.values():
            found.update(each.infos(self.group.failed_racks))
        return found

    def as_input(self, configs: AssignmentConfigs) -> ApplicationInput:
        """Return it as an assignment gets it."""
        topics = [topic for each in self.subtopologies.values() for topic in each.topics]
        lags = self._lags()
        return ApplicationInput(
            members={id_: member for each in self.group.present for id_, member in each.inputs(topics).items()},
            tasks=self.tasks,
            configs=configs,
            now=self.now,
            lags=lambda: lags,
        )

    def carry_out(self, assigned: Mapping[str, AssignedMember]) -> None:
        """Give members their tasks. Those that have never run begin with their state complete."""
        for process in self.group.present:
            process.take(assigned)
            self.owners.update(dict.fromkeys(process.active_tasks, process.name))
            for task in process.active_tasks - self.ends.keys():
                if self.subtopologies[task.subtopology_id].is_stateful:
                    self.ends[task] = self.subtopologies[task.subtopology_id].records
                    process.disk[task] = self.ends[task]

    def restoring(self) -> Iterator[tuple[StoryProcess, TaskId, int]]:
        """Yield the active and standby tasks that lack records, with their processes and the number of these."""
        for process in self.group.present:
            for task in (process.active_tasks | process.standby_tasks) & self.ends.keys():
                lag = self.ends[task] - process.disk.get(task, 0)
                if lag:
                    yield process, task, lag

    def seconds_to_restore(self) -> int:
        """Return how long it takes until all processes have the state of their tasks, if nothing is written."""
        return max((math.ceil(lag / self.restore_rate) for _, _, lag in self.restoring()), default=0)

    def advance(self, seconds: float) -> CopiedState:
        """Let time pass: processes copy state, and running tasks write."""
        self.now += timedelta(seconds=seconds)
        done = [self._advance(task, seconds) for task in self.ends]
        return CopiedState(sum(each.records for each in done), sum(each.restoring_seconds for each in done))

    def _lags(self) -> dict[ProcessId, dict[TaskId, int]]:
        stateful = (each for each in self.subtopologies.values() if each.is_stateful)
        ends = {task: self.ends.get(task, 0) for each in stateful for task in each.task_ids}
        return {each.id: each.lags(ends) for each in self.group.present}

    def _advance(self, task: TaskId, seconds: float) -> CopiedState:
        copied, waiting = 0, 0.0
        for process in (each for each in self.group.present if task in each.active_tasks):
            waiting = min(seconds, self._lag(task, process) / self.restore_rate)
            copied += self._copy(task, process, seconds)
            if not self._lag(task, process):
                rate = self.subtopologies[task.subtopology_id].writes_per_second
                self.ends[task] += int(rate * (seconds - waiting))
                process.disk[task] = self.ends[task]
        copies = [each for each in self.group.present if task in each.standby_tasks]
        return CopiedState(copied + sum(self._copy(task, each, seconds) for each in copies), waiting)

    def _copy(self, task: TaskId, process: StoryProcess, seconds: float) -> int:
        copied = min(self._lag(task, process), int(self.restore_rate * seconds))
        process.disk[task] = process.disk.get(task, 0) + copied
        return copied

    def _lag(self, task: TaskId, process: StoryProcess) -> int:
        return self.ends[task] - process.disk.get(task, 0)
