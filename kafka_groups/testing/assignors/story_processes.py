"""The processes of an application in a story, and the state on their disks."""

import random
from collections.abc import Iterable, Mapping

from attrs import define, field

from kafka_groups.assignment.application.neutral import MemberInput
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ACTIVE_LAG
from kafka_groups.assignment.application.task_assignor import AssignedMember
from kafka_groups.types import TaskId

__all__ = ["StoryProcess", "process_id_for"]

_NO_TASKS = AssignedMember(frozenset(), frozenset(), frozenset())


def process_id_for(name: str, life: int, seed: int) -> ProcessId:
    """Return the id of a process. It is another one after the process has lost its disk."""
    return ProcessId.random(random.Random(f"{seed}-{name}-{life}"))


@define(eq=False, kw_only=True)
class StoryProcess:
    """A process.

    Attributes:
        name: Its name in the story.
        id: Its id in the group.
        rack: Its rack, or None.
        tags: Its client tags.
        members: What each of its threads has, by member id. Empty while the process is away.
        disk: How many changelog records it has of each task whose state it has, used or not.
        life: How often it has lost its disk.
        failed_with: The rack whose failure took it away, or None.
        threads: The number of its threads, also while it is away.
    """

    name: str
    id: ProcessId
    rack: str | None = None
    tags: Mapping[str, str] = field(factory=dict)
    members: dict[str, AssignedMember] = field(factory=dict)
    disk: dict[TaskId, int] = field(factory=dict)
    life: int = 0
    failed_with: str | None = None
    threads: int = 1

    @property
    def is_away(self) -> bool:
        """True if it is not in the group."""
        return not self.members

    @property
    def active_tasks(self) -> frozenset[TaskId]:
        """The tasks that it runs, or is restoring in order to run them."""
        return frozenset().union(*(each.active_tasks for each in self.members.values()))

    @property
    def standby_tasks(self) -> frozenset[TaskId]:
        """The tasks of which it keeps a copy up to date."""
        return frozenset().union(*(each.standby_tasks for each in self.members.values()))

    def start(self, threads: int) -> None:
        """Start it, with threads that have no tasks yet."""
        self.members = {}
        self.failed_with = None
        self.resize(threads)

    def resize(self, threads: int) -> None:
        """Start or end threads. Those that stay keep their tasks."""
        self.threads = threads
        ids = [f"{self.name}-{number}" for number in range(1, threads + 1)]
        self.members = {id_: self.members.get(id_, _NO_TASKS) for id_ in ids}

    def stop(self) -> None:
        """End it. Its state stays on its disk."""
        self.members = {}

    def take(self, assigned: Mapping[str, AssignedMember]) -> None:
        """Give its threads their tasks."""
        self.members = {id_: assigned.get(id_, _NO_TASKS) for id_ in self.members}

    def lags(self, ends: Mapping[TaskId, int]) -> dict[TaskId, int]:
        """Return how many records it lacks of each changelog, as KIP-924 has it: -2 for tasks that are running here.

        Args:
            ends: The number of records of each changelog.
        """
        active = self.active_tasks
        lags = {task: end - self.disk.get(task, 0) for task, end in ends.items()}
        return {task: ACTIVE_LAG if not lag and task in active else lag for task, lag in lags.items()}

    def inputs(self, topics: Iterable[str]) -> dict[str, MemberInput]:
        """Return its threads as an assignment gets them. The first one reports state that nobody uses.

        Args:
            topics: The topics that the application reads.
        """
        unused = frozenset(self.disk) - self.active_tasks - self.standby_tasks
        names, found = frozenset(topics), {}
        for number, (id_, had) in enumerate(self.members.items()):
            found[id_] = MemberInput(
                process_id=self.id,
                active_tasks=had.active_tasks,
                standby_tasks=had.standby_tasks if number else had.standby_tasks | unused,
                topics=names,
                owned_partitions=had.partitions,
                rack_id=self.rack,
                client_tags=self.tags,
            )
        return found
