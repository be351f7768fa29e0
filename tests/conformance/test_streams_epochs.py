"""The epochs of streams groups (KIP-1071): what increases the group epoch and what does not, and who lags behind."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

import pytest
from attrs import evolve

from kafka_groups.protocol.messages.streams_group_parts import KeyValue, TaskOffset, UserEndpoint
from tests.support.conditions import until
from tests.support.members.raw_streams_group import A, B, C, RawStreamsGroup, new_group, tasks
from tests.support.members.streams_member import StreamsBeat, StreamsMember
from tests.support.streams_brokers import everywhere_at_once
from tests.support.targets import Target

ALL = tasks(0, 1, 2, 3)
OFFSET = TaskOffset(subtopology_id="0", partition=0, offset=1)


async def configured(member: StreamsMember, group: RawStreamsGroup, name: str, value: str) -> StreamsBeat:
    """Set a config of the group, and let a member heartbeat."""
    await group.configure({name: value})
    return await member.beat()


Event = Callable[[StreamsMember, RawStreamsGroup], Awaitable[object]]

EVENTS: Mapping[str, tuple[Event, int]] = MappingProxyType({
    "another member joins": (lambda _, group: group.joined(B), 1),
    "a rack": (lambda it, _: it.beat(rack_id="r"), 1),
    "a tag": (lambda it, _: it.beat(client_tags=(KeyValue(key="zone", value="a"),)), 1),
    "a process": (lambda it, _: it.beat(process_id="p"), 1),
    "an endpoint": (lambda it, _: it.beat(user_endpoint=UserEndpoint(host="h", port=1)), 1),
    "a rebalance timeout": (lambda it, _: it.beat(rebalance_timeout_ms=7), 1),
    "standbys": (lambda it, group: configured(it, group, "num.standby.replicas", "1"), 1),
    "tags of racks": (lambda it, group: configured(it, group, "rack.aware.assignment.tags", "zone"), 1),
    "an interval": (lambda it, group: configured(it, group, "heartbeat.interval.ms", "6000"), 0),
    "an assignor": (lambda it, group: configured(it, group, "assignor.name", "sticky"), 0),
    "the same again": (lambda it, _: it.beat(owned=ALL, process_id=A), 0),
    "joining again": (lambda it, group: it.join(group.simple), 0),
    "offsets of tasks": (lambda it, _: it.beat(task_offsets=(OFFSET,), task_end_offsets=(OFFSET,)), 0),
    "a request to shut down": (lambda it, _: it.beat(shutdown_application=True), 0),
    "an epoch of endpoints": (lambda it, _: it.beat(endpoint_information_epoch=7), 0),
    "an older version": (lambda it, _: it.beat(version=0), 0),
})  # fmt: skip


@everywhere_at_once
@pytest.mark.parametrize("name", EVENTS)
async def test_what_increases_the_group_epoch(target: Target, name: str) -> None:
    group = await new_group(target)
    member = await group.joined(A)
    event, more = EVENTS[name]
    await event(member, group)
    assert (await group.state())[1:] == (2 + more, 2 + more)
    await member.beat()
    assert (await group.state())[1:] == (2 + more, 2 + more), "once"


@everywhere_at_once
async def test_a_static_member_is_a_change_when_it_joins_and_leaves(target: Target) -> None:
    group = await new_group(target)
    member = await group.joined(A, "i")
    for fields in ({"rebalance_timeout_ms": 7}, {"user_endpoint": UserEndpoint(host="h", port=1)}):
        await member.beat(**fields)
    assert (await group.state())[1] == 2
    await member.beat(rack_id="r")
    assert (await group.state())[1] == 3
    await member.leave()
    assert await group.state() == ("Empty", 4, 4)


@everywhere_at_once
async def test_a_member_that_joins_again_gets_its_tasks_once_more(target: Target) -> None:
    group = await new_group(target)
    first, second = await group.joined(A), await group.joined(B)
    await group.balanced(first, second)
    mine = (await group.members())[A].active
    again = await first.join(group.simple)
    assert (again.epoch, again.active, again.standby) == (3, mine, frozenset())
    assert (await first.beat()).active is None


@everywhere_at_once
async def test_a_lost_response_is_asked_for_with_the_previous_epoch(target: Target) -> None:
    group = await new_group(target)
    first = await group.joined(A)
    await group.joined(B)
    kept = (await first.beat()).active
    assert kept is not None
    assert (await first.beat(owned=kept)).epoch == 3
    assert (await first.beat(2, kept)).epoch == 3
    assert (await first.beat(2, ())).epoch == 3, "fewer tasks than it was assigned"
    assert (await first.beat(2, ALL)).error == "FENCED_MEMBER_EPOCH", "more tasks"
    assert (await first.beat(2)).error == "FENCED_MEMBER_EPOCH", "it does not say"
    assert (await first.beat(1, kept)).error == "FENCED_MEMBER_EPOCH", "too old"


@everywhere_at_once
async def test_a_member_that_was_fenced_joins_again_with_its_id(target: Target) -> None:
    group = await new_group(target)
    member = await group.joined(A)
    assert (await member.beat(9)).error == "FENCED_MEMBER_EPOCH"
    again = await member.join(group.simple)
    assert (again.epoch, again.active) == (2, ALL)


@everywhere_at_once
async def test_a_group_that_was_empty_continues_its_epochs(target: Target) -> None:
    group = await new_group(target)
    await (await group.joined(A)).leave()
    assert await group.state() == ("Empty", 3, 3)
    again = await group.member(B).join(group.simple)
    assert (again.epoch, again.active) == (4, ALL)
    other = evolve(group.counting, epoch=1)
    assert (await group.member(C).join(other)).error == "INVALID_REQUEST", "it keeps its topology"


@everywhere_at_once
async def test_the_assignment_waits_for_its_interval(target: Target) -> None:
    group = await new_group(target)
    await group.configure({"assignment.interval.ms": "15000"})
    first = await group.joined(A)
    beat = await group.member(B).join(group.simple)
    assert (beat.epoch, beat.active, beat.statuses) == (2, frozenset(), (5,))
    assert await group.state() == ("Assigning", 3, 2)
    assert (await first.beat()).statuses == (5,)
    await group.configure({"assignment.interval.ms": "0"})
    assert (await until(first.beat, lambda it: it.active is not None)).statuses == ()
    assert await group.state() == ("Reconciling", 3, 3)


@everywhere_at_once
async def test_a_group_waits_for_more_members_each_time_it_was_empty(target: Target) -> None:
    group = await new_group(target)
    await group.configure({"initial.rebalance.delay.ms": "60000"})
    first = group.member(A)
    beat = await first.join(group.simple)
    assert (beat.epoch, beat.active, beat.statuses) == (1, frozenset(), (5,))
    assert await group.state() == ("Assigning", 2, 1)
    assert (await first.beat()).statuses == (5,)
    await first.leave()
    assert await group.state() == ("Empty", 3, 3)
