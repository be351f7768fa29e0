"""Round after round of a classic group: no partition has two owners, tasks wait once, and the group settles."""

import asyncio
from collections import Counter
from collections.abc import Mapping

import pytest
from attrs import evolve

from kafka_groups.admin.rules.streams_leader.leading import AskedRound, ask_for_round, led_round
from kafka_groups.assignment.application.configs import LONGEST_LAG
from kafka_groups.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafka_groups.protocol.streams_user_data.assignment_info import AssignmentInfo, decode_assignment
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK
from kafka_groups.types import TaskId, TopicPartition
from tests.support.assignors.leader_cases import LeaderCase, LeaderLimits, ToldMember, random_group

pytestmark = pytest.mark.slow

SEEDS = 100
MOST_ROUNDS = 12
NEWEST = LeaderLimits(versions=(10, 11))

Given = Mapping[str, tuple[frozenset[TopicPartition], AssignmentInfo]]


def led(case: LeaderCase) -> tuple[AskedRound, Given]:
    asked = asyncio.run(ask_for_round(case.topics, case.topics, case.round))
    done = led_round(asked, case.now_ms)
    return asked, {id_: read(data) for id_, data in done.assignments.items()}


def read(data: bytes) -> tuple[frozenset[TopicPartition], AssignmentInfo]:
    assignment = ConsumerProtocolAssignment.decode(data)
    partitions = (
        TopicPartition(topic, each) for topic, numbers in assignment.assigned_partitions.items() for each in numbers
    )
    return frozenset(partitions), decode_assignment(assignment.user_data)


def carried_out(case: LeaderCase, asked: AskedRound, given: Given) -> LeaderCase:
    """Return the group when members own what they were given, and have restored all of it."""
    members = tuple(carried_out_by(member, *given[member.member_id], asked) for member in case.members)
    counts = {**case.counts, **{topic: asked.read_counts.get(topic, 0) for topic in asked.created_topics}}
    counts |= {topic: len(ends) for topic, ends in case.ends.items()}
    return evolve(case, members=members, counts=counts)


def carried_out_by(
    member: ToldMember, owned: frozenset[TopicPartition], info: AssignmentInfo, asked: AskedRound
) -> ToldMember:
    sums = asked.ends.sums or {}
    running = {task: RUNNING_TASK for task in info.active_tasks if task in sums}
    copies = {task: sums[task] for task, _ in info.standby_tasks}
    return evolve(member, version=11, latest=11, owned=owned, sums=tuple({**copies, **running}.items()))


def check_owners(case: LeaderCase, given: Given) -> None:
    """Check that each partition goes to one member, and to none of a process while only others own it."""
    times = Counter(partition for owned, _ in given.values() for partition in owned)
    assert times.total() == len(times)
    for member in case.members:
        taken = given[member.member_id][0] - member.owned
        others = {
            partition for other in case.members if other.process_id != member.process_id for partition in other.owned
        }
        own = {each for one in case.members if one.process_id == member.process_id for each in one.owned}
        assert not (taken & others) - own


def active(given: Given) -> Counter[TaskId]:
    return Counter(task for _, info in given.values() for task in set(info.active_tasks))


@pytest.mark.parametrize("first", range(0, SEEDS, 20))
def test_groups_settle(first: int) -> None:
    for seed in range(first, first + 20):
        case = random_group(f"rounds-{seed}", NEWEST)
        case = evolve(case, configs=evolve(case.configs, max_warmup_replicas=100))
        before: Given = {}
        for _ in range(MOST_ROUNDS):
            asked, given = led(case)
            check_owners(case, given)
            waiting = [id_ for id_, (_, info) in given.items() if info.next_rebalance_ms == 0]
            assert set(active(given).values()) <= {1}
            assert waiting or active(given).keys() == asked.tasks.keys(), seed
            if not waiting and given == before:
                break
            before, case = given, carried_out(case, asked, given)
        else:
            pytest.fail(f"seed {seed}: the group has not settled in {MOST_ROUNDS} rounds")


def test_tasks_within_the_acceptable_lag_change_hands_in_two_rounds() -> None:
    """One member has everything, and others join."""
    for seed in range(SEEDS):
        case = random_group(f"alone-{seed}", NEWEST)
        case = evolve(case, configs=evolve(case.configs, acceptable_recovery_lag=LONGEST_LAG))
        alone = evolve(case, members=case.members[:1])
        settled = carried_out(alone, *led(alone))
        new = [evolve(each, owned=frozenset(), sums=(), version=11, latest=11) for each in case.members[1:]]
        joined = evolve(settled, members=(*settled.members, *new))
        asked, first = led(joined)
        _, second = led(carried_out(joined, asked, first))
        assert all(info.next_rebalance_ms is None for _, info in second.values()), seed
        assert active(second).keys() == asked.tasks.keys(), seed
