"""Our assignor `sticky` of streams groups against Kafka's own class: never worse, from the same previous assignments.

A chain is a group that changes 20 times. Each step begins with what Kafka's class assigned in the step before, and both
assign the tasks. They cannot always be the same: Kafka's class sometimes moves tasks although the group did not change,
and sometimes leaves a member with two or three active tasks more than another one.
"""

import random
from collections.abc import Iterator, Mapping

import pytest
from attrs import frozen

from kafka_groups.assignment import (
    MemberAssignment,
    MemberAssignments,
    StickyGroupAssignor,
    TasksBySubtopology,
    check_assignment,
)
from tests.support.assignors.streams_assignor_cases import ChangingGroup, Task, random_group
from tests.support.kafka.kafka_classpath import libs_or_skip
from tests.support.kafka.kafka_streams_assignor import KafkaStreamsAssignor

STEPS = 20
SEED = 1071

pytestmark = [pytest.mark.real_kafka, pytest.mark.timeout(900)]


@frozen
class AssignmentCosts:
    """What an assignment is worth.

    Attributes:
        process_moves: Active tasks that a process takes over from another one, whose member is still there.
        moves: Active tasks that a member takes over from another one.
        spread: The largest difference between the numbers of active tasks of two members.
        standbys: Standby tasks.
    """

    process_moves: int
    moves: int
    spread: int
    standbys: int


@frozen
class Step:
    """One change of a chain.

    Attributes:
        chain: The number of the chain, which is a part of its seed.
    """

    chain: int
    number: int
    ours: AssignmentCosts
    kafkas: AssignmentCosts


@pytest.fixture(
    scope="module",
    params=[pytest.param(20, marks=pytest.mark.slow), pytest.param(1_000, marks=pytest.mark.long)],
    ids="{} chains".format,
)
def steps(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    with KafkaStreamsAssignor(tmp_path_factory.mktemp("java"), libs_or_skip()) as kafka:
        return [step for chain in range(request.param) for step in _chain(chain, kafka)]


def _chain(chain: int, kafka: KafkaStreamsAssignor) -> Iterator[Step]:
    rng = random.Random(f"{SEED}-{chain}")
    group = random_group(rng)
    for number in range(STEPS):
        spec = group.spec()
        ours, kafkas = (assignor.assign(spec, group.topology) for assignor in (StickyGroupAssignor(), kafka))
        check_assignment(ours, spec, group.topology)
        yield Step(chain, number, _costs(group, ours), _costs(group, kafkas))
        group.take(kafkas, rng)
        group.change(rng)


def _costs(group: ChangingGroup, assignment: MemberAssignments) -> AssignmentCosts:
    members, process_of = assignment.members, group.process_of
    before, now = _owners(group.assigned), _owners(members)
    moved = [(before[task], owner) for task, owner in now.items() if before.get(task, owner) != owner]
    loads = [_count(mine.active_tasks) for mine in members.values()]
    return AssignmentCosts(
        sum(process_of[former] != process_of[owner] for former, owner in moved),
        len(moved),
        max(loads) - min(loads),
        sum(_count(mine.standby_tasks) for mine in members.values()),
    )


def _owners(members: Mapping[str, MemberAssignment]) -> dict[Task, str]:
    return {
        (subtopology_id, partition): member_id
        for member_id, mine in members.items()
        for subtopology_id, partitions in mine.active_tasks.items()
        for partition in partitions
    }


def _count(tasks: TasksBySubtopology) -> int:
    return sum(map(len, tasks.values()))


def test_inputs_are_worth_comparing(steps: list[Step]) -> None:
    assert sum(step.kafkas.moves > 0 for step in steps) > len(steps) / 8
    assert sum(step.kafkas.standbys > 0 for step in steps) > len(steps) / 3
    assert sum(step.kafkas.spread > 1 for step in steps) > 0
    assert sum(step.ours.process_moves < step.kafkas.process_moves for step in steps) > len(steps) / 100


def test_no_step_moves_more_tasks_between_processes(steps: list[Step]) -> None:
    assert [step for step in steps if step.ours.process_moves > step.kafkas.process_moves] == []


def test_no_step_leaves_members_less_equal(steps: list[Step]) -> None:
    assert [step for step in steps if step.ours.spread > min(step.kafkas.spread, 1)] == []


def test_no_step_has_fewer_standby_tasks(steps: list[Step]) -> None:
    assert [step for step in steps if step.ours.standbys < step.kafkas.standbys] == []


def test_members_take_over_more_tasks_only_to_become_more_equal(steps: list[Step]) -> None:
    """Kafka's class sometimes saves a move by leaving a member with two active tasks more than another one."""
    more = [step for step in steps if step.ours.moves > step.kafkas.moves]
    assert [step for step in more if step.ours.spread >= step.kafkas.spread] == []
