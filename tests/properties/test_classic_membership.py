"""Members of a classic group over a plain group, with answers that are lost, late and repeated."""

from collections import Counter

import pytest

from kafka_groups.streams.member.rules.states import MembershipState
from tests.support.members.classic_programs import NO_FAULTS, TASKS, ClassicWorld

STEPS = 1_500
SEEDS = [
    *range(2),
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10)),
    *(pytest.param(seed, marks=pytest.mark.long) for seed in range(10, 300)),
]


def run_of(seed: int) -> ClassicWorld:
    world = ClassicWorld(seed)
    for _ in range(STEPS):
        world.step()
    return world


@pytest.mark.parametrize("seed", SEEDS)
def test_in_the_end_each_task_has_one_owner_whatever_was_lost(seed: int) -> None:
    world = run_of(seed)
    world.start()
    world.settle()
    assert {program.membership.state for program in world.programs.values()} == {MembershipState.STABLE}
    assert sorted(world.owned()) == list(TASKS)
    loads = [len(program.membership.owned.active) for program in world.programs.values()]
    assert max(loads) <= -(-len(TASKS) // len(loads))
    for program in world.programs.values():
        assert {task: program.inputs[task] for task in program.held.active} == {
            task: frozenset(world.inputs_of(task)) for task in program.held.active
        }


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_no_session_ends_while_commits_leaders_and_closing_tasks_take_long(seed: int) -> None:
    world = ClassicWorld(seed, NO_FAULTS, static=0)
    for _ in range(STEPS):
        world.rng.choice((world.start, world.close_tasks, world.begin_commit, world.begin_commit, world.grow))()
        world.pass_time(200)
    assert world.group.silent == []


@pytest.mark.slow
def test_the_runs_contain_what_can_go_wrong() -> None:
    seen: Counter[str] = Counter()
    for seed in range(4):
        seen += run_of(seed).seen
    wanted = {
        "lost answer": 20,
        "another connection": 2,
        "restarted": 2,
        "pause": 2,
        "not led": 2,
        "gate closed": 20,
        "commit NONE": 50,
        "commit UNKNOWN_MEMBER_ID": 1,
        "JOIN_GROUP UNKNOWN_MEMBER_ID": 1,
        "JOIN_GROUP NONE": 50,
        "SYNC_GROUP REBALANCE_IN_PROGRESS": 1,
        "HEARTBEAT REBALANCE_IN_PROGRESS": 20,
        "HEARTBEAT UNKNOWN_MEMBER_ID": 1,
    }
    assert {name: seen[name] for name, least in wanted.items() if seen[name] < least} == {}
