"""Random inputs for assignors of applications, and what becomes of them when an assignment is carried out.

The state that processes keep on disk is modelled, too: the state of a task stays in a process until it is cleaned up,
and one member of the process reports how far it is. Lags follow from that.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Set
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import attrs
from attrs import field, frozen

from kafka_groups.assignment.application.configs import LONGEST_LAG, AssignmentConfigs, RackAwareStrategy
from kafka_groups.assignment.application.process_ids import ProcessId
from kafka_groups.assignment.application.states import ACTIVE_LAG, UNKNOWN_LAG, ApplicationState, KafkaStreamsState
from kafka_groups.assignment.application.tasks import TaskInfo, TaskTopicPartition, in_task_order
from kafka_groups.types import TaskId, TopicPartition

__all__ = [
    "ApplicationCase",
    "Limits",
    "MemberCase",
    "ProcessCase",
    "SubtopologyCase",
    "changed",
    "random_application",
    "random_assignment",
    "with_several_owners",
]

Plan = Mapping[ProcessId, tuple[Set[TaskId], Set[TaskId]]]
"""The active and the standby tasks of processes."""

NOW: Final = datetime(2025, 1, 1, tzinfo=UTC)

_RACKS: Final = ("rack-a", "rack-b", "rack-c", "rack-d")
_TAG_VALUES: Final = {
    "zone": ("z1", "z2", "z3"),
    "cluster": ("k1", "k2"),
    "team": ("t1",),
    "disk": ("fast", "slow", "slower", "slowest"),
}
_HIGHEST_SUBTOPOLOGY: Final = 13


@frozen
class Limits:
    """How large an application may become.

    Attributes:
        processes: Most processes.
        tasks: Most tasks.
        members: Most members of a process.
        standbys: Most standby tasks of a task.
    """

    processes: int = 10
    tasks: int = 60
    members: int = 4
    standbys: int = 3


@frozen
class MemberCase:
    """A member of a process.

    Attributes:
        id: Its id in the group.
        owned: The active tasks of its partitions.
        sums: What it reports of tasks with changelogs: the sum of the next offsets, or -2 if the task is running.
    """

    id: str
    owned: frozenset[TaskId] = frozenset()
    sums: Mapping[TaskId, int] = field(factory=dict)


@frozen
class ProcessCase:
    """A process.

    Attributes:
        id: Its id.
        members: Its members; none if it is away.
        tags: Its client tags.
        rack: Its rack, or None.
        host: Its endpoint, or None.
        disk: The sum of the next changelog offsets of each task whose state it has.
    """

    id: ProcessId
    members: tuple[MemberCase, ...]
    tags: Mapping[str, str]
    rack: str | None
    host: tuple[str, int] | None
    disk: Mapping[TaskId, int] = field(factory=dict)

    @property
    def owned(self) -> set[TaskId]:
        """The tasks that are active in it."""
        return {task for member in self.members for task in member.owned}

    @property
    def sums(self) -> dict[TaskId, int]:
        """What its members report."""
        return {task: offset for member in self.members for task, offset in member.sums.items()}

    def as_state(self, ends: Mapping[TaskId, int], *, are_ends_known: bool) -> KafkaStreamsState:
        """Return it as an assignor sees it."""
        sums = self.sums
        active = self.owned | {task for task, offset in sums.items() if offset == ACTIVE_LAG}
        return KafkaStreamsState(
            process_id=self.id,
            consumer_client_ids=[member.id for member in self.members],
            previous_active_tasks=active,
            previous_standby_tasks=set(sums) - active,
            host_info=self.host,
            client_tags=self.tags,
            rack_id=self.rack,
            previous_by_consumer={member.id: member.sums.keys() for member in self.members},
            lags={task: _lag(sums.get(task), end) if are_ends_known else UNKNOWN_LAG for task, end in ends.items()},
        )


@frozen
class SubtopologyCase:
    """A sub-topology.

    Attributes:
        id: Its number.
        sources: The numbers of partitions of the topics that it reads.
        changelogs: The topics with the changes of its stores, each with a partition for each task. One may be a source.
    """

    id: int
    sources: Mapping[str, int]
    changelogs: tuple[str, ...]

    @property
    def tasks(self) -> tuple[TaskId, ...]:
        """Its tasks."""
        return tuple(TaskId(str(self.id), number) for number in range(max(self.sources.values())))

    def partitions(self, task: TaskId) -> dict[TopicPartition, tuple[bool, bool]]:
        """Return the partitions of a task: whether each is a source, and whether it is a changelog."""
        topics = [topic for topic, count in self.sources.items() if task.partition < count]
        names = dict.fromkeys([*topics, *self.changelogs])
        return {TopicPartition(name, task.partition): (name in self.sources, name in self.changelogs) for name in names}


@frozen
class ApplicationCase:
    """An application whose tasks are to be assigned.

    Attributes:
        subtopologies: Its sub-topologies.
        racks: The racks of the replicas of each partition; None if they are not known.
        processes: Those that are there.
        away: Those that were there and may come back, with their disks.
        ends: The sum of the ends of the changelogs of each task that has some.
        configs: The configuration.
        are_ends_known: False if the leader could not find out the ends.
        limits: How large it may become.
    """

    subtopologies: tuple[SubtopologyCase, ...]
    racks: Mapping[TopicPartition, frozenset[str] | None]
    processes: tuple[ProcessCase, ...]
    away: tuple[ProcessCase, ...]
    ends: Mapping[TaskId, int]
    configs: AssignmentConfigs
    are_ends_known: bool
    limits: Limits

    @property
    def tasks(self) -> tuple[TaskId, ...]:
        """All tasks, in the order of tasks."""
        return tuple(in_task_order(task for each in self.subtopologies for task in each.tasks))

    def as_state(self, now: datetime = NOW) -> ApplicationState:
        """Return it as an assignor sees it."""
        known = {each.id: each.as_state(self.ends, are_ends_known=self.are_ends_known) for each in self.processes}
        unknown = {id_: attrs.evolve(state, lags=None) for id_, state in known.items()}
        infos = {task: self._info(each, task) for each in self.subtopologies for task in each.tasks}
        return ApplicationState(infos, self.configs, now, lambda has_lags: known if has_lags else unknown)

    def _info(self, subtopology: SubtopologyCase, task: TaskId) -> TaskInfo:
        partitions = [
            TaskTopicPartition(partition, is_source, is_changelog, self.racks.get)
            for partition, (is_source, is_changelog) in subtopology.partitions(task).items()
        ]
        stores = frozenset(f"store-{number}" for number, _ in enumerate(subtopology.changelogs))
        return TaskInfo(task, bool(stores), stores, tuple(partitions))


def _lag(offset: int | None, end: int) -> int:
    if offset == ACTIVE_LAG:
        return ACTIVE_LAG
    return end if offset is None or offset > end else end - offset


# Making applications


def random_application(
    seed: int | str,
    *,
    most_processes: int = 10,
    most_tasks: int = 60,
    most_members: int = 4,
    most_standbys: int = 3,
) -> ApplicationCase:
    """Return the application of a seed: one that just starts, or one that has had up to three assignments."""
    rng = random.Random(f"application-{seed}")
    case = _fresh(rng, Limits(most_processes, most_tasks, most_members, most_standbys))
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        case = changed(case, rng, random_assignment(case, rng))
    return attrs.evolve(case, are_ends_known=rng.random() < 0.95)


def random_assignment(case: ApplicationCase, rng: random.Random) -> dict[ProcessId, tuple[set[TaskId], set[TaskId]]]:
    """Return an assignment that might come from anywhere: even or skewed, with or without holes and standby tasks."""
    plan: dict[ProcessId, tuple[set[TaskId], set[TaskId]]] = {each.id: (set(), set()) for each in case.processes}
    ids, skew = list(plan), rng.choice((0, 0, 1, 4))
    weights = [rng.random() ** skew + 1e-6 for _ in ids]
    hole, standbys = rng.choice((0.0, 0.0, 0.1, 0.5)), rng.choice((0, case.configs.num_standby_replicas))
    for number, task in enumerate(case.tasks):
        owner = rng.choices(ids, weights)[0] if skew else ids[number % len(ids)]
        if rng.random() >= hole:
            plan[owner][0].add(task)
        others = [id_ for id_ in ids if id_ != owner]
        for id_ in rng.sample(others, min(standbys, len(others))) if task in case.ends else ():
            plan[id_][1].add(task)
    return plan


def with_several_owners(case: ApplicationCase, rng: random.Random) -> ApplicationCase:
    """Return the application when members own tasks that others own, too, as after a rebalance that went wrong."""
    more = [frozenset(rng.sample(case.tasks, rng.randint(0, len(case.tasks)))) for _ in case.processes]
    processes = [
        attrs.evolve(each, members=(attrs.evolve(first, owned=first.owned | owned), *others))
        for each, owned in zip(case.processes, more, strict=True)
        for first, *others in [each.members]
    ]
    return attrs.evolve(case, processes=tuple(processes))


def _fresh(rng: random.Random, limits: Limits) -> ApplicationCase:
    subtopologies = _random_subtopologies(rng, limits.tasks)
    racks = _RACKS[: rng.randint(1, len(_RACKS))]
    share_with_rack = rng.choice((1.0, 1.0, 1.0, 0.95, 0.0))
    configs = _random_configs(rng, limits)
    case = ApplicationCase(
        subtopologies,
        {},
        _random_processes(rng, limits, racks if rng.random() < 0.8 else ()),
        (),
        {task: rng.choice((0, 50, 20_000, 10**9)) for each in subtopologies if each.changelogs for task in each.tasks},
        configs,
        True,
        limits,
    )
    return _with_racks(case, lambda: _random_racks(rng, racks) if rng.random() < share_with_rack else None)


def _random_subtopologies(rng: random.Random, most_tasks: int) -> tuple[SubtopologyCase, ...]:
    count = min(most_tasks, rng.choice((1, 1, 2, 3, 5, 12)))
    ids = sorted(rng.sample(range(_HIGHEST_SUBTOPOLOGY + 1), count))
    most = max(1, rng.choice((6, 20, most_tasks, most_tasks)) // count)
    most = min(most, most_tasks // count)
    same = rng.randint(1, most) if rng.random() < 0.3 else None
    stateless = rng.choice((0.0, 0.35, 0.35, 1.0 if rng.random() < 0.2 else 0.7))
    return tuple(_random_subtopology(rng, id_, same or rng.randint(1, most), rng.random() < stateless) for id_ in ids)


def _random_subtopology(rng: random.Random, id_: int, tasks: int, is_stateless: bool) -> SubtopologyCase:
    fewer = [tasks if rng.random() < 0.6 else rng.randint(1, tasks) for _ in range(rng.choice((0, 0, 1, 2)))]
    sources = {f"source-{id_}-{number}": count for number, count in enumerate([tasks, *fewer])}
    changelogs = [f"app-store-{id_}-{number}-changelog" for number in range(rng.choice((1, 1, 2)))]
    if rng.random() < 0.15:
        changelogs[-1] = f"source-{id_}-0"
    return SubtopologyCase(id_, sources, () if is_stateless else tuple(changelogs))


def _with_racks(case: ApplicationCase, racks: Callable[[], frozenset[str] | None]) -> ApplicationCase:
    found = dict(case.racks)
    for each in case.subtopologies:
        for task in each.tasks:
            found.update((partition, racks()) for partition in each.partitions(task) if partition not in found)
    return attrs.evolve(case, racks=found)


def _random_racks(rng: random.Random, racks: tuple[str, ...]) -> frozenset[str]:
    return frozenset(rng.sample(racks, min(len(racks), rng.choice((1, 1, 2, 3)))))


def _random_processes(rng: random.Random, limits: Limits, racks: tuple[str, ...]) -> tuple[ProcessCase, ...]:
    count = min(limits.processes, rng.choice((rng.randint(1, 4), rng.randint(1, limits.processes), limits.processes)))
    members = rng.choice((None, None, 1, rng.randint(1, limits.members)))
    has_tags, has_hosts = rng.random() < 0.6, rng.random() < 0.3
    ids = _random_ids(rng, count)
    return tuple(
        ProcessCase(
            id_,
            _random_members(rng, id_, members or rng.randint(1, limits.members)),
            _random_tags(rng) if has_tags else {},
            rng.choice(racks) if racks else None,
            (f"host-{number}", 8080) if has_hosts else None,
        )
        for number, id_ in enumerate(ids)
    )


def _random_ids(rng: random.Random, count: int) -> list[ProcessId]:
    """Return ids of which some begin with the same 64 bits, and some are small numbers."""
    high = rng.getrandbits(64) << 64
    numbers = [
        (rng.getrandbits(128), rng.getrandbits(128), high | rng.getrandbits(64), rng.randrange(1000))[rng.randrange(4)]
        for _ in range(count)
    ]
    return [ProcessId(UUID(int=number)) for number in dict.fromkeys(numbers)]


def _random_members(rng: random.Random, id_: ProcessId, count: int) -> tuple[MemberCase, ...]:
    return tuple(MemberCase(f"{id_}-{rng.randrange(16**8):08x}") for _ in range(count))


def _random_tags(rng: random.Random) -> dict[str, str]:
    return {key: rng.choice(values) for key, values in _TAG_VALUES.items() if rng.random() < 0.95}


def _random_configs(rng: random.Random, limits: Limits) -> AssignmentConfigs:
    costs = rng.choice(
        ((None, None), (None, None), (1, 10), (10, 1), (1, 0), (0, 1), (rng.randrange(100), None), (3, 3))
    )
    tags: Any = rng.sample(sorted(_TAG_VALUES), rng.choice((0, 0, 1, 2, 3)))
    return AssignmentConfigs(
        acceptable_recovery_lag=rng.choice((0, 100, 10_000, 10_000, LONGEST_LAG)),
        max_warmup_replicas=rng.choice((1, 2, 2, 5, 100)),
        num_standby_replicas=rng.randint(0, rng.choice((0, 1, limits.standbys))),
        probing_rebalance_interval_ms=rng.choice((60_000, 600_000)),
        rack_aware_assignment_tags=tags,
        rack_aware_traffic_cost=costs[0],
        rack_aware_non_overlap_cost=costs[1],
        rack_aware_assignment_strategy=rng.choice(list(RackAwareStrategy)),
    )


# Carrying assignments out


def changed(case: ApplicationCase, rng: random.Random, assignment: Plan) -> ApplicationCase:
    """Return the application after an assignment was carried out, time has passed, and something has happened to it."""
    case = _carried_out(case, rng, assignment)
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        case = rng.choice(_CHANGES)(case, rng)
    return case


def _carried_out(case: ApplicationCase, rng: random.Random, assignment: Plan) -> ApplicationCase:
    growth = rng.choice((0, 10, 1_000, 50_000, 10**7))
    ends = {task: end + rng.randint(0, growth) for task, end in case.ends.items()}
    after = attrs.evolve(case, ends=ends, are_ends_known=True)
    nothing: tuple[Set[TaskId], Set[TaskId]] = (frozenset(), frozenset())
    processes = [_after_working(after, each, rng, *assignment.get(each.id, nothing)) for each in case.processes]
    return attrs.evolve(after, processes=tuple(processes))


def _after_working(
    case: ApplicationCase, process: ProcessCase, rng: random.Random, active: Set[TaskId], standby: Set[TaskId]
) -> ProcessCase:
    kept = {task: offset for task, offset in process.disk.items() if rng.random() < 0.8}
    running = {task for task in in_task_order(active) if rng.random() < 0.85}
    disk = dict(kept)
    for task in in_task_order((active | standby) & case.ends.keys()):
        disk[task] = case.ends[task] if task in running else _restored(process.disk.get(task, 0), case.ends[task], rng)
    return _reporting(attrs.evolve(process, disk=disk), rng, active, running)


def _restored(offset: int, end: int, rng: random.Random) -> int:
    near = end - rng.choice((0, 0, 50, 100, 5_000))
    return max(0, min(end, rng.choice((near, near, (offset + end) // 2))))


def _reporting(process: ProcessCase, rng: random.Random, active: Set[TaskId], running: Set[TaskId]) -> ProcessCase:
    """Return a process whose members own the active tasks, and report the tasks on its disk, each by one member."""
    tasks = in_task_order(active | process.disk.keys())
    rng.shuffle(tasks)
    members = []
    for number, member in enumerate(process.members):
        mine = tasks[number :: len(process.members)]
        sums = {task: ACTIVE_LAG if task in running else process.disk[task] for task in mine if task in process.disk}
        members.append(MemberCase(member.id, frozenset(mine) & active, sums))
    return attrs.evolve(process, members=tuple(members))


def _restarted(process: ProcessCase, rng: random.Random, count: int) -> ProcessCase:
    members = _random_members(rng, process.id, count)
    return _reporting(attrs.evolve(process, members=members), rng, frozenset(), frozenset())


# What may happen


def _replaced(case: ApplicationCase, process: ProcessCase) -> ApplicationCase:
    processes = tuple(process if each.id == process.id else each for each in case.processes)
    return attrs.evolve(case, processes=processes)


def _without(case: ApplicationCase, gone: Iterable[ProcessCase]) -> ApplicationCase:
    ids = {each.id for each in gone}
    left = tuple(each for each in case.processes if each.id not in ids)
    away = tuple(attrs.evolve(each, members=()) for each in case.processes if each.id in ids)
    return attrs.evolve(case, processes=left, away=case.away + away) if left else case


def _processes_join(case: ApplicationCase, rng: random.Random) -> ApplicationCase:
    room = case.limits.processes - len(case.processes)
    if room < 1:
        return case
    racks = {each.rack for each in case.processes}
    some = _random_processes(rng, attrs.evolve(case.limits, processes=rng.randint(1, room)), ())
    known = {each.id for each in case.processes + case.away}
    new = [attrs.evolve(each, rack=rng.choice(sorted(racks, key=str))) for each in some if each.id not in known]
    return attrs.evolve(case, processes=case.processes + tuple(new))


def _process_leaves(case: ApplicationCase, rng: random.Random) -> ApplicationCase:
    return _without(case, [rng.choice(case.processes)])


def _rack_of_processes_fails(case: ApplicationCase, rng: random.Random) -> ApplicationCase:
    rack = rng.choice(case.processes).rack
    return _without(case, [each for each in case.processes if each.rack == rack])


def _rack_of_brokers_fails(case: ApplicationCase, rng: random.Random) -> ApplicationCase:
    gone = {rng.choice(_RACKS)}
    racks = {partition: racks and (racks - gone or racks) for partition, racks in case.racks.items()}
    return attrs.evolve(case, racks=racks)


def _process_returns(case: ApplicationCase, rng: random.Random) -> ApplicationCase:
    if not case.away or len(case.processes) >= case.limits.processes:
        return case
    process = rng.choice(case.away)
    back = _restarted(process, rng, rng.randint(1, case.limits.members))
    away = tuple(each for each in case.away if each.id != process.id)
    return attrs.evolve(case, processes=(*case.processes, back), away=away)


def _process_restarts(case: ApplicationCase, rng: random.Random) -> ApplicationCase:
    process = rng.choice(case.processes)
    return _replaced(case, _restarted(process, rng, len(process.members)))


def _member_joins(case: ApplicationCase, rng: random.Random) -> ApplicationCase:
    process = rng.choice(case.processes)
    if len(process.members) >= case.limits.members:
        return case
    return _replaced(case, attrs.evolve(process, members=process.members + _random_members(rng, process.id, 1)))


def _member_leaves(case: ApplicationCase, rng: random.Random) -> ApplicationCase:
    """Return the case without a member, whose state another member of its process reports."""
    process = rng.choice(case.processes)
    if len(process.members) == 1:
        return case
    gone, heir, *others = rng.sample(process.members, len(process.members))
    found = {task: process.disk[task] for task in gone.sums}
    members = (MemberCase(heir.id, heir.owned, {**heir.sums, **found}), *others)
    return _replaced(case, attrs.evolve(process, members=members))


def _is_configured(case: ApplicationCase, rng: random.Random) -> ApplicationCase:
    return attrs.evolve(case, configs=_random_configs(rng, case.limits))


def _partitions_are_added(case: ApplicationCase, rng: random.Random) -> ApplicationCase:
    chosen = rng.choice(case.subtopologies)
    room = case.limits.tasks - len(case.tasks)
    if room < 1:
        return case
    more = rng.randint(1, min(room, 5))
    sources = {topic: count + more for topic, count in chosen.sources.items()}
    grown = attrs.evolve(chosen, sources=sources)
    subtopologies = tuple(grown if each is chosen else each for each in case.subtopologies)
    ends = {task: case.ends.get(task, 0) for each in subtopologies if each.changelogs for task in each.tasks}
    known = list(case.racks.values())
    return _with_racks(attrs.evolve(case, subtopologies=subtopologies, ends=ends), lambda: rng.choice(known))


_CHANGES: Final[tuple[Callable[[ApplicationCase, random.Random], ApplicationCase], ...]] = (
    _processes_join,
    _processes_join,
    _process_leaves,
    _process_leaves,
    _rack_of_processes_fails,
    _rack_of_brokers_fails,
    _process_returns,
    _process_returns,
    _process_restarts,
    _member_joins,
    _member_leaves,
    _is_configured,
    _partitions_are_added,
)
