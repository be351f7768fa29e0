"""Plans of classic groups: nothing moves without a change, and what they predict is what the next leader does."""

import random
from collections import Counter
from uuid import UUID

import pytest
from attrs import evolve

from kafka_groups.admin import PlannedProcess
from kafka_groups.admin.rules.streams_leader.leader_input import leader_input
from kafka_groups.admin.rules.streams_leader.subscriptions import read_subscriptions
from kafka_groups.assignment import (
    AssignedTaskType,
    AssignmentConfigs,
    HighAvailabilityTaskAssignor,
    LegacyStickyTaskAssignor,
    Registered,
    StickyTaskAssignor,
    TaskAssignor,
)
from kafka_groups.assignment.application.assignor_run import computed
from kafka_groups.assignment.application.configs import LONGEST_LAG, RackAwareStrategy
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.types import TaskId, TopicPartition
from tests.support.assignors.leader_cases import LeaderCase, LeaderLimits, ToldMember, random_group
from tests.support.assignors.led_rounds import LedCase, carried_out, led_case, settled
from tests.support.assignors.planned_groups import Placement, after, configs_of, placement, plan_of

pytestmark = pytest.mark.slow

STEPS = [0, *(pytest.param(first, marks=pytest.mark.long) for first in range(20, 100, 20))]
"""The first of twenty seeds."""
NEWEST = LeaderLimits(versions=(10, 11))
MOST_PROBES = 12
ASSIGNORS = (HighAvailabilityTaskAssignor, StickyTaskAssignor, LegacyStickyTaskAssignor)


ZONES = ("x", "y", "z")


def in_zones(case: LeaderCase, rng: random.Random) -> LeaderCase:
    """The group with brokers and processes in zones, which are racks and client tags."""
    zones = {process_id: rng.choice(ZONES) for process_id in sorted({each.process_id for each in case.members})}
    members = tuple(
        evolve(each, version=11, latest=11, rack=zones[each.process_id], tags={"zone": zones[each.process_id]})
        for each in case.members
    )
    topics = {**case.counts, **{name: len(ends) for name, ends in case.ends.items()}}
    topics |= dict.fromkeys(case.read_topics, 20)
    replicas = {
        TopicPartition(name, number): tuple(rng.sample(range(len(ZONES)), 2))
        for name in sorted(topics)
        for number in range(topics[name])
    }
    return evolve(case, members=members, racks=dict(enumerate(ZONES)), replicas=replicas)


def at_rest(seed: str) -> LedCase:
    """A group that waits for nothing."""
    case = in_zones(random_group(seed, NEWEST), random.Random(seed))
    case = evolve(case, configs=evolve(case.configs, max_warmup_replicas=100))
    for _ in range(MOST_PROBES):
        led = settled(case)
        # Changelogs that the last round has created were empty then.
        if led.is_settled and not led.asked.created_topics:
            return led
        case = carried_out(led)
    raise AssertionError(f"{seed}: copies never catch up")


@pytest.mark.parametrize("first", STEPS)
def test_nothing_moves_without_a_change(first: int) -> None:
    for seed in range(first, first + 20):
        led = at_rest(f"at-rest-{seed}")
        plan = plan_of(led)
        assert plan.moves == (), seed
        assert (plan.error, plan.records, plan.followups, plan.missing_topics) == (None, 0, {}, ()), seed


# --------------------------------------------------------------------------------------------------- what if


def changed(led: LedCase, leaving: list[str], joining: list[PlannedProcess], configs: AssignmentConfigs) -> LeaderCase:
    """The group in which the change has happened, and whose members have restored all that they had before."""
    now = carried_out(led)
    on_disk = {each.member_id: each.sums for each in led.case.members}
    directories = {each.member_id: dict(on_disk[each.member_id]) | dict(each.sums) for each in now.members}
    members = [each for each in now.members if each.member_id not in leaving]
    order = list(read_subscriptions(led.case.subscriptions).members)
    members.sort(key=lambda each: order.index(each.member_id))
    staying = [_with_directories(each, members, now, directories, led) for each in members]
    return evolve(now, members=(*staying, *_new(joining)), configs=configs)


def _with_directories(
    member: ToldMember,
    staying: list[ToldMember],
    now: LeaderCase,
    directories: dict[str, dict[TaskId, int]],
    led: LedCase,
) -> ToldMember:
    """Add its directories that nobody uses, and to the first thread of a process those of threads that are gone."""
    threads = [each for each in staying if each.process_id == member.process_id]
    gone = [each for each in now.members if each.process_id == member.process_id and each not in threads]
    used = {task for each in threads for task, _ in each.sums}
    found: dict[TaskId, int] = {}
    for each in [*(gone if member is threads[0] else ()), member]:
        ran = {task for task, total in each.sums if total == RUNNING_TASK}
        for task, total in directories[each.member_id].items():
            if task in ran or total != RUNNING_TASK:
                found[task] = (led.asked.ends.sums or {})[task] if task in ran else total
    rest = {task: total for task, total in found.items() if task not in used}
    return evolve(member, sums=tuple({**rest, **dict(member.sums)}.items()))


def _new(joining: list[PlannedProcess]) -> list[ToldMember]:
    # Plans give new processes ids that come after all others.
    return [
        ToldMember(
            member_id=f"new-{number}-{thread}",
            process_id=UUID(int=(2**63 - 10 + number) << 64),
            rack=process.rack,
            tags=process.client_tags,
        )
        for number, process in enumerate(joining, 1)
        for thread in range(1, process.threads + 1)
    ]


def target(case: LeaderCase, assignor: type[TaskAssignor]) -> Placement:
    """What the leader wants members to have in the end."""
    asked = led_case(case).asked
    given = leader_input(asked.given, asked.subscriptions, asked.tasks, asked.ends, case.now_ms)
    wanted = computed(Registered(assignor), given).outcome.group_assignment.members
    found: Placement = Counter()
    for member_id, each in wanted.items():
        found.update((task, AssignedTaskType.ACTIVE, member_id) for task in each.active_tasks)
        found.update((task, AssignedTaskType.STANDBY, member_id) for task in each.standby_tasks)
    return found


def processes(*cases: LeaderCase) -> dict[str, str]:
    """The process of each member, as a plan names it."""
    return {
        each.member_id: each.member_id.rpartition("-")[0] if each.member_id.startswith("new-") else str(each.process_id)
        for case in cases
        for each in case.members
    }


@pytest.mark.parametrize("first", STEPS)
def test_the_next_leader_does_what_a_plan_predicts(first: int) -> None:
    moved = 0
    for seed in range(first, first + 20):
        rng, led = random.Random(f"what-if-{seed}"), at_rest(f"what-if-{seed}")
        ids = [each.member_id for each in led.case.members]
        leaving = rng.sample(ids, rng.randint(0, len(ids) - 1))
        joining = [
            PlannedProcess(threads=rng.randint(1, 3), rack=zone, client_tags={"zone": zone})
            for zone in rng.choices(ZONES, k=rng.choice((0, 1, 1, 2)))
        ]
        configs = evolve(
            led.case.configs,
            num_standby_replicas=rng.randint(0, 2),
            acceptable_recovery_lag=rng.choice((0, 10_000, LONGEST_LAG)),
            rack_aware_assignment_strategy=rng.choice(list(RackAwareStrategy)),
            rack_aware_assignment_tags=rng.choice(((), ("zone",))),
        )
        # The order of hash tables, which decides in sticky assignors, is that of the ids of processes.
        assignor = rng.choice((HighAvailabilityTaskAssignor,) if joining else ASSIGNORS)
        plan = plan_of(led, assignor, configs_of(configs), leaving=leaving, joining=joining)
        case = changed(led, leaving, joining, configs)
        members = processes(led.case, case)
        staying = Counter({each: 1 for each in placement(led) if each[2] not in leaving})
        assert plan.error is None
        assert [each for each in plan.warnings if "leader in Java" not in each] == [], seed
        assert after(placement(led), plan, members) == target(case, assignor), seed
        assert sum(len(each.threads) for each in plan.processes) == len(members), seed
        moved += bool(plan.moves) and bool(staying)
    assert moved > 10
