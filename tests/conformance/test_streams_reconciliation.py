"""How members of streams groups get from their tasks to their targets (KIP-1071): every step of the table.

A member that has to revoke tasks keeps its epoch. One that waits for tasks of others has the new epoch, and fewer tasks
than its target assignment.
"""

from functools import partial

import pytest

from kafka_groups.protocol.messages.streams_group_heartbeat import StreamsStatus
from kafka_groups.protocol.messages.streams_group_parts import TaskOffset
from tests.support.conditions import until
from tests.support.members.raw_streams_group import A, B, C, RawStreamsGroup, has_status, new_group, tasks
from tests.support.members.streams_member import StreamsBeat, StreamsMember
from tests.support.streams_brokers import everywhere_at_once
from tests.support.targets import Target

MISSING = StreamsStatus.MISSING_SOURCE_TOPICS
ALL = tasks(0, 1, 2, 3)


def told(beat: StreamsBeat) -> tuple[str, int, frozenset[tuple[str, int]] | None]:
    """The error, epoch and active tasks of an answer."""
    return beat.error, beat.epoch, beat.active


async def lost_topic(group: RawStreamsGroup, member: StreamsMember) -> StreamsBeat:
    """Delete the topic, so that nobody may have tasks, and tell a member."""
    await group.target.cluster.delete_topic(group.topic)
    return await until(member.beat, partial(has_status, MISSING))


async def found_topic(group: RawStreamsGroup) -> None:
    """Create the topic again."""
    group.topic = await group.target.cluster.create_topic(len(ALL), name=group.topic.name)
    await group.until_coordinators_know(group.simple)


# ----------------------------------------------------------------------------------------- from a stable member


@everywhere_at_once
async def test_a_stable_member_with_the_same_tasks_gets_the_new_epoch(target: Target) -> None:
    group = await new_group(target)
    first = await group.joined(A)
    assert told(await first.beat(rack_id="r")) == ("NONE", 3, None)
    assert await group.state() == ("Stable", 3, 3)


@everywhere_at_once
async def test_a_stable_member_revokes_and_keeps_its_epoch(target: Target) -> None:
    group = await new_group(target)
    first = await group.joined(A)
    await group.joined(B)
    beat = await first.beat()
    assert (beat.epoch, len(beat.active or ())) == (2, 2)
    seen = (await group.members())[A]
    assert (seen.epoch, seen.active, seen.target_active) == (2, beat.active, beat.active)
    assert (await group.members())[B].active == frozenset(), "revoked is not confirmed"


@everywhere_at_once
async def test_a_new_member_waits_for_tasks_in_the_new_epoch(target: Target) -> None:
    group = await new_group(target)
    await group.joined(A)
    assert told(await group.member(B).join(group.simple)) == ("NONE", 3, frozenset())
    seen = (await group.members())[B]
    assert (seen.active, len(seen.target_active)) == (frozenset(), 2)


# ------------------------------------------------------------------------------------- from one that has to revoke


@everywhere_at_once
async def test_a_member_that_has_revoked_gets_the_new_epoch(target: Target) -> None:
    group = await new_group(target)
    first = await group.joined(A)
    await group.joined(B)
    kept = (await first.beat()).active
    assert kept is not None
    assert told(await first.beat()) == ("NONE", 2, None), "it does not say what it owns"
    assert told(await first.beat(owned=ALL)) == ("NONE", 2, None), "it still owns what it has to revoke"
    assert told(await first.beat(owned=kept)) == ("NONE", 3, None)


@everywhere_at_once
async def test_a_member_that_has_revoked_has_to_revoke_more(target: Target) -> None:
    group = await new_group(target)
    first = await group.joined(A)
    second = await group.joined(B)
    kept = (await first.beat()).active
    assert kept is not None
    await lost_topic(group, second)
    assert told(await first.beat(owned=kept)) == ("NONE", 3, frozenset()), "its epoch grows by one"
    assert (await group.state())[1:] == (4, 4)
    assert told(await first.beat(owned=())) == ("NONE", 4, None)


@everywhere_at_once
async def test_a_member_that_has_revoked_waits_for_its_own_tasks(target: Target) -> None:
    group = await new_group(target)
    first = await group.joined(A)
    assert told(await lost_topic(group, first)) == ("NONE", 2, frozenset())
    await found_topic(group)
    assert told(await first.beat(owned=())) == ("NONE", 4, None), "it was their owner until now"
    assert told(await first.beat()) == ("NONE", 4, ALL)


# ------------------------------------------------------------------------------------- from one that waits for tasks


@everywhere_at_once
async def test_a_member_that_waits_gets_what_is_released(target: Target) -> None:
    group = await new_group(target)
    first = await group.joined(A)
    second = await group.joined(B)
    kept = (await first.beat()).active
    assert kept is not None
    await first.beat(owned=kept)
    assert told(await second.beat()) == ("NONE", 3, ALL - kept)


@everywhere_at_once
async def test_a_member_that_waits_goes_on_waiting_in_a_newer_epoch(target: Target) -> None:
    group = await new_group(target)
    await group.joined(A)
    second = await group.joined(B)
    assert told(await second.beat()) == ("NONE", 3, None)
    await group.joined(C)
    assert told(await second.beat()) == ("NONE", 4, None)
    assert (await group.members())[B].target_active


@everywhere_at_once
async def test_a_member_that_waits_for_more_has_to_revoke(target: Target) -> None:
    group = await new_group(target, partitions=6)
    first, second = await group.joined(A), await group.joined(B)
    await group.balanced(first, second)
    third = await group.joined(C)
    kept = (await first.beat()).active
    await first.beat(owned=kept)
    beat = await third.beat()
    assert (beat.epoch, len(beat.active or ())) == (4, 1), "the other one is with the second member"
    assert told(await lost_topic(group, third)) == ("NONE", 4, frozenset())
    assert told(await third.beat(owned=())) == ("NONE", 5, None)


# ------------------------------------------------------------------------------------------------------- standbys


async def standbys(target: Target) -> RawStreamsGroup:
    """A group with a store and one standby of each task, whose internal topics exist."""
    group = await new_group(target)
    await group.configure({"num.standby.replicas": "1"})
    scout = group.member(A)
    await scout.join(group.stateful)
    await until(scout.beat, lambda beat: beat.statuses == ())
    await scout.leave()
    return group


async def settled(*members: StreamsMember) -> None:
    """Let members do what they are told until nothing changes any more."""
    has = {each: (frozenset[tuple[str, int]](), frozenset[tuple[str, int]]()) for each in members}
    for _ in range(4):
        for member in members:
            beat = await member.beat(owned=has[member][0], standbys=has[member][1])
            if beat.active is not None and beat.standby is not None:
                has[member] = (beat.active, beat.standby)


@everywhere_at_once
async def test_standbys_are_with_other_processes(target: Target) -> None:
    group = await standbys(target)
    first, second = group.member(A), group.member(B)
    beat = await first.join(group.stateful)
    assert (beat.active, beat.standby) == (ALL, frozenset()), "there is no other process"
    await second.join(group.stateful)
    await settled(first, second)
    seen = await group.members()
    assert (await group.state())[0] == "Stable"
    assert len(seen[A].active) == len(seen[B].active) == 2
    assert (seen[A].standby, seen[B].standby) == (seen[B].active, seen[A].active)


@everywhere_at_once
async def test_members_of_one_process_have_no_standbys_of_each_other(target: Target) -> None:
    group = await standbys(target)
    first, second = group.member(A), group.member(B)
    await first.join(group.stateful, process_id="p")
    await second.join(group.stateful, process_id="p")
    await settled(first, second)
    seen = await group.members()
    assert seen[A].active | seen[B].active == ALL
    assert seen[A].standby == seen[B].standby == frozenset()


@everywhere_at_once
async def test_a_subtopology_without_changelogs_has_no_standbys(target: Target) -> None:
    group = await new_group(target)
    await group.configure({"num.standby.replicas": "1"})
    first, second = await group.joined(A), await group.joined(B)
    await settled(first, second)
    assert [each.standby for each in (await group.members()).values()] == [frozenset()] * 2


@everywhere_at_once
async def test_an_active_task_becomes_a_standby_at_once(target: Target) -> None:
    group = await standbys(target)
    first = group.member(A)
    epoch = (await first.join(group.stateful)).epoch
    await group.member(B).join(group.stateful)
    beat = await first.beat()
    assert (beat.epoch, len(beat.active or ())) == (epoch, 2), "it still has to revoke"
    assert beat.standby == ALL - (beat.active or ALL)


@everywhere_at_once
async def test_a_standby_becomes_active_at_once_if_nobody_runs_the_task(target: Target) -> None:
    group = await standbys(target)
    first, second = group.member(A), group.member(B)
    await first.join(group.stateful)
    await second.join(group.stateful)
    await settled(first, second)
    await second.leave()
    beat = await first.beat()
    assert (beat.active, beat.standby) == (ALL, frozenset())


@everywhere_at_once
async def test_a_standby_is_kept_until_its_active_task_is_granted(target: Target) -> None:
    group = await standbys(target)
    first, second = group.member(A), group.member(B)
    await first.join(group.stateful)
    await second.join(group.stateful)
    beat = await first.beat()
    assert beat.active is not None
    assert beat.standby
    await second.leave()
    waiting = await first.beat(owned=beat.active, standbys=beat.standby)
    assert (waiting.active, waiting.standby) == (None, None)
    seen = (await group.members())[A]
    assert (seen.active, seen.standby, seen.target_active) == (beat.active, beat.standby, ALL)
    granted = await first.beat(owned=beat.active, standbys=beat.standby)
    assert (granted.epoch, granted.active, granted.standby) == (waiting.epoch, ALL, frozenset())


# --------------------------------------------------------------------------------------------------- task offsets


@pytest.mark.slow
@everywhere_at_once
async def test_members_get_the_tasks_that_they_have_state_of(target: Target) -> None:
    group = await standbys(target)
    await group.configure({"num.standby.replicas": "0", "initial.rebalance.delay.ms": "500"})
    first, second = group.member(A), group.member(B)
    await first.join(group.stateful)
    for member, numbers in ((first, (1, 3)), (second, (0, 2))):
        offsets = tuple(TaskOffset(subtopology_id="0", partition=number, offset=100) for number in numbers)
        if member is second:
            await member.join(group.stateful, task_offsets=offsets)
        else:
            await member.beat(task_offsets=offsets)
    given = [(await until(member.beat, lambda beat: bool(beat.active))).active for member in (first, second)]
    assert given == [tasks(1, 3), tasks(0, 2)]
