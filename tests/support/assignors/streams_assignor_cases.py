"""Random inputs for task assignors: streams groups that change and are assigned again after each change.

The state that processes keep on disk is modelled, too: a task's state stays where the task was until somebody cleans it
up, and members report how far it is.
"""

import random
from collections.abc import Callable

from attrs import define, field

from kafka_groups.assignment import (
    DescribedSubtopology,
    GroupAssignorConfigs,
    MemberAssignment,
    MemberAssignments,
    StreamsGroupSpec,
    StreamsMemberSpec,
    TopologyDescriber,
)

Task = tuple[str, int]

MOST_MEMBERS = 60
MOST_PROCESSES = 12
MOST_TASKS = 300
MOST_STANDBYS = 2


@define
class ChangingGroup:
    """A streams group with its topology, its previous assignment, and the state that its processes have.

    Attributes:
        weights: How many members each process tends to have, relative to the others.
        process_of: The process of each member.
        state: The offset of each task's state, by process. Processes that are away keep theirs.
        offset: The end of all changelogs. It grows with every step.
        reports: Whether members report task offsets at all.
    """

    topology: TopologyDescriber
    standbys: int
    weights: dict[str, int]
    reports: bool
    process_of: dict[str, str] = field(factory=dict)
    assigned: dict[str, MemberAssignment] = field(factory=dict)
    state: dict[str, dict[Task, int]] = field(factory=dict)
    offset: int = 0
    _joined: int = 0

    def spec(self) -> StreamsGroupSpec:
        """The input for assignors."""
        first_of: dict[str, str] = {}
        for member_id, process_id in self.process_of.items():
            first_of.setdefault(process_id, member_id)
        members = {}
        for member_id, process_id in self.process_of.items():
            had = self.assigned.get(member_id, MemberAssignment())
            offsets = self._offsets(process_id) if self.reports and first_of[process_id] == member_id else {}
            members[member_id] = StreamsMemberSpec(
                process_id, active_tasks=had.active_tasks, standby_tasks=had.standby_tasks, task_offsets=offsets
            )
        return StreamsGroupSpec(members, GroupAssignorConfigs(self.standbys))

    def _offsets(self, process_id: str) -> dict[str, dict[int, int]]:
        offsets: dict[str, dict[int, int]] = {}
        for (subtopology_id, partition), offset in self.state.get(process_id, {}).items():
            offsets.setdefault(subtopology_id, {})[partition] = offset
        return offsets

    def take(self, assignment: MemberAssignments, rng: random.Random) -> None:
        """Make an assignment the previous one. Processes bring the state of their tasks up to date."""
        self.assigned = dict(assignment.members)
        self.offset += 1000
        for member_id, mine in self.assigned.items():
            state = self.state.setdefault(self.process_of[member_id], {})
            for tasks, lag in ((mine.active_tasks, 0), (mine.standby_tasks, rng.randrange(100))):
                for id_, partitions in tasks.items():
                    if self.topology.subtopologies[id_].is_stateful:
                        state.update({(id_, partition): self.offset - lag for partition in partitions})

    def change(self, rng: random.Random) -> None:
        """Have something happen to the group."""
        rng.choice(_CHANGES)(self, rng)

    def join(self, rng: random.Random) -> None:
        """A member joins, in whichever process."""
        if len(self.process_of) < MOST_MEMBERS:
            process_ids = list(self.weights)
            self.join_process(rng.choices(process_ids, [self.weights[id_] for id_ in process_ids])[0], rng)

    def join_process(self, process_id: str, rng: random.Random) -> None:
        """A member joins in a process."""
        self._joined += 1
        self.process_of[f"{rng.randrange(16**8):08x}-{self._joined}"] = process_id

    def leave(self, rng: random.Random) -> None:
        """A member leaves."""
        if len(self.process_of) > 1:
            gone = rng.choice(list(self.process_of))
            del self.process_of[gone]
            self.assigned.pop(gone, None)

    def lose_process(self, rng: random.Random) -> None:
        """All members of a process leave; it keeps its state."""
        gone = rng.choice(list(self.process_of.values()))
        if len(set(self.process_of.values())) > 1:
            for member_id in [id_ for id_, process_id in self.process_of.items() if process_id == gone]:
                del self.process_of[member_id]
                self.assigned.pop(member_id, None)

    def start_process(self, rng: random.Random) -> None:
        """A process that is away comes back, with as many members as it may have."""
        away = [id_ for id_ in self.weights if id_ not in self.process_of.values()]
        if away:
            process_id = rng.choice(away)
            for _ in range(min(self.weights[process_id], MOST_MEMBERS - len(self.process_of))):
                self.join_process(process_id, rng)

    def restart_process(self, rng: random.Random) -> None:
        """All members of a process leave and as many others join, before the group is assigned again."""
        process_id = rng.choice(list(self.process_of.values()))
        members = [id_ for id_, other in self.process_of.items() if other == process_id]
        for member_id in members:
            del self.process_of[member_id]
            self.assigned.pop(member_id, None)
            self.join_process(process_id, rng)

    def clean_up(self, rng: random.Random) -> None:
        """A process deletes the state of tasks that it does not have."""
        process_id = rng.choice(list(self.weights))
        mine = [
            self.assigned[id_] for id_, other in self.process_of.items() if other == process_id and id_ in self.assigned
        ]
        owned = {
            (id_, partition)
            for each in mine
            for tasks in (each.active_tasks, each.standby_tasks)
            for id_, partitions in tasks.items()
            for partition in partitions
        }
        state = self.state.get(process_id, {})
        self.state[process_id] = {task: offset for task, offset in state.items() if task in owned}

    def configure(self, rng: random.Random) -> None:
        """Somebody changes the number of standby tasks."""
        self.standbys = rng.randint(0, MOST_STANDBYS)


def random_group(rng: random.Random) -> ChangingGroup:
    """A group that was never assigned."""
    subtopologies = rng.randint(1, 5)
    most = rng.choice((10, 60, MOST_TASKS)) // subtopologies
    topology = TopologyDescriber(
        {
            str(number): DescribedSubtopology(rng.randint(1, max(1, most)), rng.random() < 0.7)
            for number in range(subtopologies)
        }
    )
    weights = {
        f"process-{rng.randrange(16**6):06x}": rng.choice((1, 1, 2, 4, 10))
        for _ in range(rng.randint(1, MOST_PROCESSES))
    }
    group = ChangingGroup(topology, rng.randint(0, MOST_STANDBYS), weights, reports=rng.random() < 0.7)
    for _ in range(rng.choice((rng.randint(1, 6), rng.randint(1, MOST_MEMBERS)))):
        group.join(rng)
    return group


_CHANGES: tuple[Callable[[ChangingGroup, random.Random], None], ...] = (
    ChangingGroup.join,
    ChangingGroup.join,
    ChangingGroup.leave,
    ChangingGroup.leave,
    ChangingGroup.lose_process,
    ChangingGroup.start_process,
    ChangingGroup.start_process,
    ChangingGroup.restart_process,
    ChangingGroup.clean_up,
    ChangingGroup.configure,
)
