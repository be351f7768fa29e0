"""Properties of the task assignor `sticky`, each against a plain statement of it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import ceil

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.assignment import (
    DescribedSubtopology,
    GroupAssignorConfigs,
    MemberAssignment,
    MemberAssignments,
    StickyGroupAssignor,
    StreamsGroupSpec,
    StreamsMemberSpec,
    TasksBySubtopology,
    TopologyDescriber,
    check_assignment,
)
from kafka_groups.types import TaskId

Task = tuple[str, int]

NOTHING = MemberAssignment()


@st.composite
def groups(draw: st.DrawFn, least: int = 1) -> tuple[StreamsGroupSpec, TopologyDescriber]:
    """Groups with any previous tasks and any state, also such as no assignor would have made.

    Four bytes say all about a task: hypothesis is faster with few draws.
    """
    subtopology = st.builds(DescribedSubtopology, st.integers(0, 12), st.booleans())
    topology = TopologyDescriber(draw(st.dictionaries(st.sampled_from("012"), subtopology, max_size=3)))
    processes = draw(st.lists(st.integers(1, 4).map("p{}".format), min_size=least, max_size=8))
    tasks = list(topology.tasks())
    drawn = draw(st.binary(min_size=4 * len(tasks), max_size=4 * len(tasks)))
    codes = [int.from_bytes(drawn[at : at + 4]) for at in range(0, len(drawn), 4)]
    members = {}
    for number, process_id in enumerate(processes):
        coded = list(zip(tasks, codes, strict=True))
        active = [task for task, code in coded if code % 9 == number or code >> 28 == number]
        standby = [task for task, code in coded if code >> 4 + number & 1]
        stored = {task: code >> number & 3 for task, code in coded if code >> 12 + number & 1}
        members[f"m{number}"] = StreamsMemberSpec(
            process_id,
            active_tasks=by_subtopology(active),
            standby_tasks=by_subtopology(standby),
            task_offsets={
                id_: {p: stored[TaskId(id_, p)] for p in found} for id_, found in by_subtopology(stored).items()
            },
        )
    return StreamsGroupSpec(members, GroupAssignorConfigs(draw(st.integers(0, 3)))), topology


def by_subtopology(tasks: Iterable[Task]) -> dict[str, set[int]]:
    grouped: dict[str, set[int]] = {}
    for subtopology_id, partition in tasks:
        grouped.setdefault(subtopology_id, set()).add(partition)
    return grouped


def flat(tasks: TasksBySubtopology) -> Iterator[Task]:
    return ((subtopology_id, partition) for subtopology_id, partitions in tasks.items() for partition in partitions)


def assign(group: StreamsGroupSpec, topology: TopologyDescriber) -> Mapping[str, MemberAssignment]:
    return StickyGroupAssignor().assign(group, topology).members


def owners(assigned: Mapping[str, MemberAssignment]) -> dict[Task, str]:
    return {task: member for member, mine in assigned.items() for task in flat(mine.active_tasks)}


def having(group: StreamsGroupSpec, assigned: Mapping[str, MemberAssignment]) -> StreamsGroupSpec:
    """The same group with an assignment as the previous one."""
    members = {}
    for name, spec in group.members.items():
        mine = assigned.get(name, NOTHING)
        members[name] = evolve(spec, active_tasks=mine.active_tasks, standby_tasks=mine.standby_tasks)
    return evolve(group, members=members)


@given(groups())
def test_every_task_has_exactly_one_active_owner(given_: tuple[StreamsGroupSpec, TopologyDescriber]) -> None:
    group, topology = given_
    assigned = assign(group, topology)
    assert assigned.keys() == group.members.keys()
    holders = Counter(task for mine in assigned.values() for task in flat(mine.active_tasks))
    assert holders == dict.fromkeys(topology.tasks(), 1)


@given(groups())
def test_no_process_has_a_task_twice(given_: tuple[StreamsGroupSpec, TopologyDescriber]) -> None:
    group, topology = given_
    copies = Counter(
        (group.members[member].process_id, task)
        for member, mine in assign(group, topology).items()
        for tasks in (mine.active_tasks, mine.standby_tasks)
        for task in flat(tasks)
    )
    assert set(copies.values()) <= {1}


@given(groups())
def test_each_stateful_task_has_all_standby_tasks_that_are_possible(
    given_: tuple[StreamsGroupSpec, TopologyDescriber],
) -> None:
    group, topology = given_
    processes = {spec.process_id for spec in group.members.values()}
    possible = min(group.configs.num_standby_replicas, len(processes) - 1)
    standbys = Counter(task for mine in assign(group, topology).values() for task in flat(mine.standby_tasks))
    stateful = [task for task in topology.tasks() if topology.subtopologies[task[0]].is_stateful]
    assert standbys == (dict.fromkeys(stateful, possible) if possible else {})


@given(groups())
def test_numbers_of_active_tasks_differ_by_one_at_most(given_: tuple[StreamsGroupSpec, TopologyDescriber]) -> None:
    group, topology = given_
    assigned = assign(group, topology)
    loads = {member: len(list(flat(mine.active_tasks))) for member, mine in assigned.items()}
    assert max(loads.values()) - min(loads.values()) <= 1
    by_process: dict[str, list[int]] = {}
    for member, spec in group.members.items():
        by_process.setdefault(spec.process_id, []).append(loads[member])
    per_member = [sum(each) / len(each) for each in by_process.values()]
    assert max(per_member) - min(per_member) <= 1


@given(groups())
def test_as_many_tasks_as_possible_stay_with_their_owners(
    given_: tuple[StreamsGroupSpec, TopologyDescriber],
) -> None:
    """Every member keeps an equal share of what it had, and as many members as there are tasks left keep one more."""
    group, topology = given_
    had = {task: member for member, spec in group.members.items() for task in flat(spec.active_tasks)}
    group = having(group, {m: MemberAssignment(by_subtopology([t for t in had if had[t] == m])) for m in group.members})
    now = owners(assign(group, topology))
    share, left = divmod(len(now), len(group.members))
    counts = Counter(had.values())
    possible = sum(min(count, share) for count in counts.values())
    possible += min(left, sum(count > share for count in counts.values()))
    assert sum(now[task] == member for task, member in had.items()) == possible


@given(groups())
def test_a_second_run_moves_nothing(given_: tuple[StreamsGroupSpec, TopologyDescriber]) -> None:
    group, topology = given_
    first = assign(group, topology)
    assert assign(having(group, first), topology) == first


@given(groups(least=2), st.data())
def test_a_member_that_leaves_and_returns_moves_no_more_than_its_share(
    given_: tuple[StreamsGroupSpec, TopologyDescriber], data: st.DataObject
) -> None:
    group, topology = given_
    settled = assign(group, topology)
    gone = data.draw(st.sampled_from(sorted(group.members)))
    rest = having(evolve(group, members={m: spec for m, spec in group.members.items() if m != gone}), settled)
    without = assign(rest, topology)
    left, before = owners(without), owners(settled)
    assert all(left[task] == owner for task, owner in before.items() if owner != gone)
    returned = owners(assign(having(group, without), topology))
    most = ceil(len(before) / len(group.members))
    assert sum(returned[task] != left[task] for task in left) <= most


@given(groups(least=2), st.data())
def test_a_process_with_one_member_gets_its_own_tasks_back_by_their_state(
    given_: tuple[StreamsGroupSpec, TopologyDescriber], data: st.DataObject
) -> None:
    """If nobody else has copies, a restart gives back what the member had: the others take it over and return it."""
    group, topology = given_
    group = StreamsGroupSpec({name: StreamsMemberSpec(name) for name in group.members})
    settled = assign(group, topology)
    gone = data.draw(st.sampled_from(sorted(group.members)))
    rest = having(evolve(group, members={m: spec for m, spec in group.members.items() if m != gone}), settled)
    without = having(group, assign(rest, topology))
    offsets = {id_: dict.fromkeys(tasks, 10) for id_, tasks in settled[gone].active_tasks.items()}
    back = evolve(without, members={**without.members, gone: StreamsMemberSpec(gone, task_offsets=offsets)})
    assert set(flat(assign(back, topology)[gone].active_tasks)) <= set(flat(settled[gone].active_tasks))


@given(groups())
def test_the_assignment_passes_the_check_and_does_not_depend_on_the_order_of_members(
    given_: tuple[StreamsGroupSpec, TopologyDescriber],
) -> None:
    group, topology = given_
    assigned = assign(group, topology)
    check_assignment(MemberAssignments(assigned), group, topology)
    backwards = evolve(group, members=dict(reversed(list(group.members.items()))))
    assert assign(backwards, topology) == assigned
