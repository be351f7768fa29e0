"""Random classic groups, led for some rounds, are described as their members and their leader know them."""

from collections import Counter

import pytest
from attrs import evolve

from kafka_groups.admin.rules.classic_streams.classic_descriptions import described_classic_group
from kafka_groups.admin.rules.classic_streams.classic_groups import read_classic_group
from kafka_groups.admin.rules.classic_streams.classic_values import (
    ClassicStreamsGroupDescription,
    ClassicStreamsGroupMember,
)
from kafka_groups.admin.rules.streams_leader.hand_over import inputs_of_tasks, readers_of
from kafka_groups.errors import MemberDataError, MemberDataProblem
from kafka_groups.protocol.streams_user_data.offset_sums import RUNNING_TASK, UNKNOWN_OFFSET_SUM
from tests.support.assignors.leader_cases import APPLICATION, FUTURE_VERSION, LeaderCase, ToldMember, random_group
from tests.support.assignors.led_rounds import LedCase, carried_out, led_case

pytestmark = pytest.mark.slow

SEEDS = 100
ROUNDS = 3


def known_group(seed: str) -> LeaderCase:
    """A random group without members of later versions."""
    case = random_group(seed)
    members = (evolve(each, version=min(each.version, 11), latest=min(each.latest, 11)) for each in case.members)
    return evolve(case, members=tuple(members))


def described(led: LedCase) -> ClassicStreamsGroupDescription:
    """The group as an admin client describes it."""
    return described_classic_group(read_classic_group(led.shown))


def check_told(found: ClassicStreamsGroupMember, told: ToldMember, led: LedCase) -> None:
    """Check what a member sent."""
    assert found.process_id == str(told.process_id)
    assert (found.version, found.latest_version) == (told.version, told.latest)
    assert found.topics == led.case.read_topics
    assert found.owned_partitions == told.owned
    sums = dict(told.sums)
    assert found.running_tasks == {task for task, total in sums.items() if total == RUNNING_TASK}
    rest = {task: total for task, total in sums.items() if total not in (RUNNING_TASK, UNKNOWN_OFFSET_SUM)}
    known = rest if told.version >= 7 else dict.fromkeys(rest)
    assert {task: total for task, total in found.task_offset_sums.items() if task in rest} == known


def check_owned(found: ClassicStreamsGroupMember, led: LedCase, assigned_topics: set[str]) -> None:
    """Check the tasks of the partitions that a member owned, as far as assignments tell them."""
    readers = readers_of(inputs_of_tasks(led.asked.tasks))
    # Members may own partitions that the topology does not read any more, of topics that it does.
    real = {each for each in found.owned_partitions if each in readers and each.topic in assigned_topics}
    assert {readers[each] for each in real} <= found.owned_tasks
    assert {task for task in found.owned_tasks if task in led.asked.tasks} == {readers[each] for each in real}


def check_given(found: ClassicStreamsGroupMember, led: LedCase) -> None:
    """Check what the leader gave a member."""
    partitions, info = led.given[found.member_id]
    inputs = inputs_of_tasks(led.asked.tasks)
    assert {each for task in found.active_tasks for each in inputs[task]} == partitions
    assert found.standby_tasks == {task for task, _ in info.standby_tasks}
    assert found.assigned_version == min(each.version for each in led.case.members)
    assert found.rejoins_at_once == (info.next_rebalance_ms == 0)
    assert (found.next_rebalance is not None) == bool(info.next_rebalance_ms)


@pytest.mark.parametrize("first", range(0, SEEDS, 25))
def test_groups_are_described_as_they_are(first: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(first, first + 25):
        case = known_group(f"described-{seed}")
        for _ in range(ROUNDS):
            led = led_case(case)
            group = described(led)
            assert (group.group_id, group.state, group.read_topics) == (
                APPLICATION, "Stable", tuple(sorted(case.read_topics))
            )  # fmt: skip
            assert Counter(each.member_id for each in group.members) == Counter(each.member_id for each in case.members)
            assert sum(map(len, group.processes.values())) == len(case.members)
            told = {each.member_id: each for each in case.members}
            assigned = {each.topic for partitions, _ in led.given.values() for each in partitions}
            for member in group.members:
                check_told(member, told[member.member_id], led)
                check_owned(member, led, assigned)
                check_given(member, led)
                seen["owns others"] += bool(member.owned_tasks - member.active_tasks)
                seen["waits"] += member.rejoins_at_once
                seen["probes"] += member.next_rebalance is not None
            case = carried_out(led)
    assert not [name for name in ("owns others", "waits", "probes") if not seen[name]], seen


def test_a_member_of_a_later_version_is_named() -> None:
    """A leader can serve it, and nobody can tell what it has."""
    case = known_group("described-future")
    later = evolve(case.members[-1], version=FUTURE_VERSION, latest=FUTURE_VERSION, owned=frozenset(), sums=())
    led = led_case(evolve(case, members=(*case.members[:-1], later)))
    with pytest.raises(
        MemberDataError, match=f"the member {later.member_id} of .* has version 12, and 11 is"
    ) as caught:
        described(led)
    assert caught.value.problem is MemberDataProblem.TOO_NEW
