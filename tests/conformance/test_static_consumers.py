"""Static members of consumer groups, raw (KIP-345 in KIP-848)."""

from tests.conformance.test_consumer_groups import (
    FENCED_EPOCH,
    FENCED_INSTANCE,
    NONE,
    STALE,
    UNKNOWN,
    UNRELEASED,
    A,
    B,
    C,
    Group,
    at_once,
    new_group,
    told,
)
from tests.support.conditions import until
from tests.support.members.consumer_member import ConsumerMember
from tests.support.targets import Target

D = "D" * 22


async def pair(target: Target) -> tuple[Group, ConsumerMember, ConsumerMember]:
    """A stable group of two static members."""
    group = await new_group(target)
    one, two = await group.joined(A, "i"), await group.joined(B, "j")
    await group.balanced(one, two)
    return group, one, two


@at_once
async def test_ids_that_do_not_belong_together(target: Target) -> None:
    group, one, _ = await pair(target)
    assert told(await group.member(A).beat(3)) == (NONE, 3, None), "the instance id may be left out"
    fenced = await group.member(A, "j").beat(3)
    assert (fenced.error, fenced.message) == (
        FENCED_INSTANCE,
        f"Static member {A} with instance id j was fenced by member {B}.",
    )
    unknown = await group.member(A, "k").beat(3)
    assert (unknown.error, unknown.message) == (UNKNOWN, "Instance id k is unknown.")
    for epoch in (3, -1, -2):
        assert (await group.member(C, "i").beat(epoch)).error == FENCED_INSTANCE
        assert (await group.member(A, "k").beat(epoch)).error == UNKNOWN
    assert await group.member(A, "j").commit(group.topic, generation_id_or_member_epoch=3) == [NONE]
    assert told(await one.beat()) == (NONE, 3, None)


@at_once
async def test_an_instance_that_is_there_cannot_be_taken(target: Target) -> None:
    group, one, _ = await pair(target)
    refused = await group.member(C, "i").join(group.topic.name)
    assert (refused.error, refused.message) == (
        UNRELEASED,
        f"Static member {C} with instance id i cannot join the group because the instance id is owned by {A} member.",
    )
    assert (await group.member(A, "i").join(group.topic.name)).error == UNRELEASED
    assert told(await group.member(A).join(group.topic.name)) == (NONE, 3, group.of(0, 1))
    assert told(await one.beat()) == (NONE, 3, None)


@at_once
async def test_a_member_that_returns_has_its_partitions_again(target: Target) -> None:
    group, one, two = await pair(target)
    away = await one.leave_for_a_while()
    assert (told(away), away.member_id) == ((NONE, -2, None), A)
    assert await group.state() == ("Reconciling", 3, 3)
    assert (await group.assignments())[A] == (-2, group.of(0, 1), group.of(0, 1))
    assert told(await two.beat()) == (NONE, 3, None)
    assert (await one.beat(3)).error == FENCED_EPOCH
    assert told(await one.beat(-2)) == (NONE, -2, None)
    assert await one.commit(group.topic, generation_id_or_member_epoch=3) == [STALE]
    assert await one.commit(group.topic, generation_id_or_member_epoch=-2) == [NONE]
    for member_id in (C, C, A):
        returned = group.member(member_id, "i")
        assert told(await returned.join(group.topic.name)) == (NONE, 3, group.of(0, 1))
        assert await group.state() == ("Stable", 3, 3)
        assert told(await two.beat()) == (NONE, 3, None)
        assert await returned.commit(group.topic, generation_id_or_member_epoch=1) == [NONE]
        await returned.leave_for_a_while()
    returned = group.member(C, "i")
    await returned.join(group.topic.name)
    gone = await group.member(A, "i").beat(3)
    assert (gone.error, gone.message) == (
        FENCED_INSTANCE,
        f"Static member {A} with instance id i was fenced by member {C}.",
    )
    assert (await group.member(A).beat(3)).error == UNKNOWN


@at_once
async def test_a_member_that_returns_with_other_topics(target: Target) -> None:
    group, one, two = await pair(target)
    await one.leave_for_a_while()
    returned = group.member(C, "i")
    other = {group.other.name: (0, 1)}
    assert told(await returned.join(group.other.name)) == (NONE, 4, other), "it has nothing to revoke"
    assert told(await two.beat()) == (NONE, 4, group.of(0, 1, 2, 3))


@at_once
async def test_the_group_goes_on_while_a_member_is_away(target: Target) -> None:
    group, one, _ = await pair(target)
    await one.leave_for_a_while()
    third = group.member(D)
    assert told(await third.join(group.topic.name)) == (NONE, 4, {})
    targets = {member_id: found[2] for member_id, found in (await group.assignments()).items()}
    returned = await group.member(C, "i").join(group.topic.name)
    assert told(returned) == (NONE, 4, targets[A])
    kept = (await group.assignments())[C]
    assert kept == (4, targets[A], targets[A])


@at_once
async def test_a_member_that_is_away_while_it_revokes(target: Target) -> None:
    group = await new_group(target)
    one, two = await group.joined(A, "i"), await group.joined(B)
    assert told(await one.beat()) == (NONE, 2, group.of(0, 1))
    assert told(await one.leave_for_a_while()) == (NONE, -2, None)
    assert (await group.assignments())[A] == (-2, group.of(0, 1), group.of(0, 1)), "what it had to revoke is free"
    assert told(await two.beat()) == (NONE, 3, group.of(2, 3))
    assert told(await group.member(C, "i").join(group.topic.name)) == (NONE, 3, group.of(0, 1))


@at_once
async def test_a_member_that_waited_before_it_was_away(target: Target) -> None:
    group = await new_group(target)
    one, two = await group.joined(A), await group.joined(B, "j")
    assert told(await two.leave_for_a_while()) == (NONE, -2, None)
    assert told(await one.beat()) == (NONE, 2, group.of(0, 1))
    assert told(await one.beat(owned=group.of(0, 1))) == (NONE, 3, None)
    assert told(await group.member(C, "j").join(group.topic.name)) == (NONE, 3, group.of(2, 3))


@at_once
async def test_a_member_that_does_not_return_is_removed(target: Target) -> None:
    group = await new_group(target)
    configs = {"consumer.session.timeout.ms": "1000", "consumer.heartbeat.interval.ms": "500"}
    await target.cluster.set_group_config(group.group_id, configs)
    one, two = await group.joined(A, "i"), await group.joined(B, "j")
    await one.leave_for_a_while()
    beat = await until(two.beat, lambda it: it.assignment is not None)
    assert told(beat) == (NONE, 4, group.of(0, 1, 2, 3))
    assert (await group.member(A, "i").beat(-2)).message == "Instance id i is unknown."
    assert (await two.leave()).error == NONE
    assert (await group.state())[0] == "Empty"


@at_once
async def test_members_that_return_to_a_full_group(target: Target) -> None:
    group = await new_group(target)
    members = [await group.joined(letter * 22, letter) for letter in "ABC"]
    assert (await group.member(D, "D").join(group.topic.name)).error == "GROUP_MAX_SIZE_REACHED"
    await members[0].leave_for_a_while()
    assert (await group.member(D, "A").join(group.topic.name)).error == NONE
    assert (await group.member(A, "D").join(group.topic.name)).error == "GROUP_MAX_SIZE_REACHED"


@at_once
async def test_a_dynamic_member_that_becomes_static_gets_nothing_before_the_next_assignment(target: Target) -> None:
    group = await new_group(target)
    one, two = await group.joined(A), group.member(B)
    assert told(await two.join(group.topic.name)) == (NONE, 3, {})
    now_static = group.member(B, "j")
    assert told(await now_static.join(group.topic.name)) == (NONE, 3, {})
    half = (await one.beat()).assignment
    await one.beat(owned=half)
    assert (await group.state())[0] == "Stable", "it has half of the partitions to come, but is not waiting for them"
    assert told(await now_static.beat()) == (NONE, 3, None)
    await one.leave()
    assert told(await now_static.beat()) == (NONE, 4, group.of(0, 1, 2, 3))
