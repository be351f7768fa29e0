"""Round after round of a classic group: no partition has two owners, tasks wait once, and the group settles."""

from collections import Counter

import pytest
from attrs import evolve

from kafka_groups.assignment.application.configs import LONGEST_LAG
from kafka_groups.types import TaskId
from tests.support.assignors.leader_cases import LeaderCase, LeaderLimits, random_group
from tests.support.assignors.led_rounds import MOST_ROUNDS, Given, carried_out, led_case

pytestmark = pytest.mark.slow

SEEDS = 100
NEWEST = LeaderLimits(versions=(10, 11))


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
            led = led_case(case)
            given = led.given
            check_owners(case, given)
            waiting = [id_ for id_, (_, info) in given.items() if info.next_rebalance_ms == 0]
            assert set(active(given).values()) <= {1}
            assert waiting or active(given).keys() == led.asked.tasks.keys(), seed
            if not waiting and given == before:
                break
            before, case = given, carried_out(led)
        else:
            pytest.fail(f"seed {seed}: the group has not settled in {MOST_ROUNDS} rounds")


def test_tasks_within_the_acceptable_lag_change_hands_in_two_rounds() -> None:
    """One member has everything, and others join."""
    for seed in range(SEEDS):
        case = random_group(f"alone-{seed}", NEWEST)
        case = evolve(case, configs=evolve(case.configs, acceptable_recovery_lag=LONGEST_LAG))
        alone = evolve(case, members=case.members[:1])
        done = carried_out(led_case(alone))
        new = [evolve(each, owned=frozenset(), sums=(), version=11, latest=11) for each in case.members[1:]]
        second = led_case(carried_out(led_case(evolve(done, members=(*done.members, *new)))))
        assert second.is_settled, seed
        assert active(second.given).keys() == second.asked.tasks.keys(), seed
