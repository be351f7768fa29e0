"""Consumer groups, raw (KIP-848): members, epochs, revocation before assignment, offsets."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_groups.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupRequestMember
from kafka_groups.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.consumer_member import Beat, ConsumerMember, Numbers, described, partitions_in
from tests.support.members.listed_groups import listed_groups
from tests.support.targets import REAL_KAFKA, Target, everywhere, everywhere_with

NONE, UNKNOWN, STALE = "NONE", "UNKNOWN_MEMBER_ID", "STALE_MEMBER_EPOCH"
FENCED_EPOCH, FENCED_INSTANCE, UNRELEASED = "FENCED_MEMBER_EPOCH", "FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID"
INVALID, NOT_FOUND = "INVALID_REQUEST", "GROUP_ID_NOT_FOUND"
A, B, C = (letter * 22 for letter in "ABC")
PARTITIONS = 4
KNOWN_EPOCH_3 = (
    "than the one known by the group coordinator (3). The member must abandon all its partitions and rejoin."
)

at_once = everywhere_with({"group.consumer.assignment.interval.ms": "0", "group.consumer.max.size": "3"})
"""With brokers that compute assignments as soon as something has changed."""


class Group:
    """A new group, two topics, and members."""

    def __init__(self, target: Target, topic: Topic, other: Topic) -> None:
        self.target = target
        self.group_id = unique("group")
        self.topic, self.other = topic, other

    def member(self, member_id: str, instance: str | None = None, group_id: str | None = None) -> ConsumerMember:
        """A member that has not joined yet."""
        topics = (self.topic, self.other)
        return ConsumerMember(self.target.client(), group_id or self.group_id, member_id, topics, instance)

    async def joined(self, member_id: str, instance: str | None = None) -> ConsumerMember:
        """A member that has joined, and subscribes to the first topic."""
        member = self.member(member_id, instance)
        beat = await member.join(self.topic.name)
        assert beat.error == NONE, beat
        return member

    async def balanced(self, first: ConsumerMember, second: ConsumerMember) -> None:
        """Let the first of two members give half of its partitions to the second."""
        told = await first.beat()
        assert told.assignment is not None, told
        await first.beat(owned=told.assignment)
        await second.beat()
        assert (await self.state())[0] == "Stable"

    def of(self, *numbers: int) -> Numbers:
        """Partitions of the first topic."""
        return {self.topic.name: numbers}

    async def state(self) -> tuple[str, int, int]:
        """State, group epoch and assignment epoch."""
        group = await described(self.target.client(), self.group_id)
        return group.group_state, group.group_epoch, group.assignment_epoch

    async def assignments(self) -> dict[str, tuple[int, Numbers, Numbers]]:
        """By member, its epoch, what it has and what it shall have."""
        group = await described(self.target.client(), self.group_id)
        return {
            each.member_id: (
                each.member_epoch, partitions_in(each.assignment), partitions_in(each.target_assignment)
            )
            for each in group.members
        }  # fmt: skip

    async def listed(self) -> list[tuple[str, str, str]]:
        """What ListGroups shows of the group."""
        found = await listed_groups(self.target.client())
        shown = [each for each in found if each.group_id == self.group_id]
        return [(each.protocol_type, each.group_state, each.group_type) for each in shown]

    async def leave(self, *members: tuple[str, str | None]) -> list[str]:
        """Remove members by LeaveGroup; returns the names of the errors."""
        leaving = tuple(LeaveGroupRequestMember(member_id=each, group_instance_id=name) for each, name in members)
        response = await self.target.client().ask(LeaveGroupRequest(group_id=self.group_id, members=leaving))
        assert [(each.member_id, each.group_instance_id) for each in response.members] == list(members)
        return [each.error_code.name for each in response.members]

    async def delete(self) -> str:
        """Delete the group; returns the name of the error."""
        [result] = (await self.target.client().ask(DeleteGroupsRequest(groups_names=(self.group_id,)))).results
        return str(result.error_code.name)


async def new_group(target: Target) -> Group:
    group = Group(target, await target.cluster.create_topic(PARTITIONS), await target.cluster.create_topic(2))
    await target.cluster.coordinator_of(group.group_id)
    if target.kind == REAL_KAFKA:
        await until_topics_are_known(group)
    return group


async def until_topics_are_known(group: Group) -> None:
    """Wait until the group's coordinator knows the topics, which it hears of after the rest of the broker.

    It would increase the group epoch when it does. A member that shows it is gone afterwards, and so is the group.
    """
    scout, everything = group.member(A), {**group.of(0, 1, 2, 3), group.other.name: (0, 1)}
    await scout.join(group.topic.name, group.other.name)

    async def its_target() -> Numbers:
        await scout.beat()
        return (await group.assignments())[A][2]

    await until(its_target, lambda target: target == everything)
    await scout.leave()
    assert await group.delete() == NONE


def told(beat: Beat) -> tuple[str, int, Numbers | None]:
    return beat.error, beat.epoch, beat.assignment


# --------------------------------------------------------------------------------------------- requests


JOIN: Mapping[str, Any] = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ("t",), "owned": {}}
REFUSED: Mapping[str, tuple[Mapping[str, Any], str, str]] = {
    "nothing": ({}, INVALID, "RebalanceTimeoutMs must be provided in first request."),
    "no group": ({**JOIN, "group_id": ""}, INVALID, "GroupId can't be empty."),
    "no partitions": ({**JOIN, "owned": None}, INVALID, "TopicPartitions must be empty when (re-)joining."),
    "no topics": (
        {**JOIN, "subscribed_topic_names": None},
        INVALID,
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    ),
    "empty instance": ({**JOIN, "instance_id": ""}, INVALID, "InstanceId can't be empty."),
    "blank instance": ({**JOIN, "instance_id": " "}, INVALID, "InstanceId can't be empty."),
    "blank group": ({**JOIN, "group_id": " "}, INVALID, "GroupId can't be empty."),
    "empty rack": ({**JOIN, "rack_id": ""}, INVALID, "RackId can't be empty."),
    "epoch -3": ({"epoch": -3}, INVALID, "MemberEpoch is invalid."),
    "epoch -2": ({"epoch": -2}, INVALID, "InstanceId can't be null."),
    "assignor": (
        {**JOIN, "server_assignor": "nope"},
        "UNSUPPORTED_ASSIGNOR",
        "ServerAssignor nope is not supported. Supported assignors: uniform, range.",
    ),
    "empty assignor": (
        {**JOIN, "server_assignor": ""},
        "UNSUPPORTED_ASSIGNOR",
        "ServerAssignor  is not supported. Supported assignors: uniform, range.",
    ),
    "leave": ({"epoch": -1}, NOT_FOUND, "Group GROUP not found."),
    "leave for a while": ({"epoch": -2, "instance_id": "i"}, NOT_FOUND, "Group GROUP not found."),
    "stay": ({"epoch": 5}, NOT_FOUND, "Consumer group GROUP not found."),
}


@at_once
@pytest.mark.parametrize("version", [0, 1])
async def test_what_is_refused(target: Target, version: int) -> None:
    group = await new_group(target)
    member = group.member(A)
    for name, (fields, error, message) in REFUSED.items():
        beat = await member.beat(version=version, **fields)
        assert (beat.error, beat.message) == (error, message.replace("GROUP", group.group_id)), name
        assert (beat.member_id, beat.epoch, beat.assignment) == (None, 0, None)
    assert (await described(target.client(), group.group_id)).error_code.name == NOT_FOUND


@at_once
async def test_only_in_version_0_the_coordinator_makes_an_id(target: Target) -> None:
    group = await new_group(target)
    nobody = group.member("")
    fields: dict[str, Any] = {"rebalance_timeout_ms": 1_000, "subscribed_topic_names": (group.topic.name,)}
    assert (await nobody.beat(0, {}, **fields)).message == "MemberId can't be empty."
    assert (await nobody.beat(-1, version=0)).message == "MemberId can't be empty."
    beat = await nobody.beat(0, {}, version=0, **fields)
    assert told(beat) == (NONE, 2, group.of(0, 1, 2, 3))
    assert beat.member_id is not None
    assert len(beat.member_id) == 22
    named = group.member(beat.member_id)
    assert told(await named.beat(2, version=0)) == (NONE, 2, None)


# --------------------------------------------------------------------------------- joining and rebalancing


@at_once
async def test_two_members_share_the_partitions(target: Target) -> None:
    group = await new_group(target)
    one, two = group.member(A), group.member(B)
    assert told(await one.join(group.topic.name)) == (NONE, 2, group.of(0, 1, 2, 3))
    assert await group.state() == ("Stable", 2, 2)
    assert await group.listed() == [("consumer", "Stable", "consumer")]
    assert told(await one.beat()) == (NONE, 2, None)
    assert told(await two.join(group.topic.name)) == (NONE, 3, {})
    assert await group.state() == ("Reconciling", 3, 3)
    assert told(await two.beat()) == (NONE, 3, None), "nothing is free yet"
    first = await one.beat()
    assert told(first) == (NONE, 2, group.of(0, 1)), "it keeps its epoch until it has revoked"
    assert await group.assignments() == {
        A: (2, group.of(0, 1, 2, 3), group.of(0, 1)),
        B: (3, {}, group.of(2, 3)),
    }
    assert told(await one.beat()) == (NONE, 2, None)
    assert told(await one.beat(owned=group.of(0, 1, 2, 3))) == (NONE, 2, None)
    assert told(await one.beat(owned=group.of(0, 1, 2))) == (NONE, 2, None), "one is still there"
    assert told(await one.beat(owned=group.of(0))) == (NONE, 3, None)
    assert told(await two.beat()) == (NONE, 3, group.of(2, 3))
    assert told(await two.beat(owned=group.of(2, 3))) == (NONE, 3, None)
    assert await group.state() == ("Stable", 3, 3)


@at_once
async def test_epochs_that_are_accepted(target: Target) -> None:
    group = await new_group(target)
    one, two = await group.joined(A), await group.joined(B)
    await group.balanced(one, two)
    assert one.epoch == 3
    greater = await one.beat(4)
    assert (greater.error, greater.message) == (
        FENCED_EPOCH,
        f"The consumer group member has a greater member epoch (4) {KNOWN_EPOCH_3}",
    )
    smaller = await one.beat(1, {})
    assert (smaller.error, smaller.message) == (
        FENCED_EPOCH,
        f"The consumer group member has a smaller member epoch (1) {KNOWN_EPOCH_3}",
    )
    assert told(await one.beat(2, group.of(0, 1))) == (NONE, 3, None), "the last answer may have been lost"
    assert told(await one.beat(2, group.of(0))) == (NONE, 3, None)
    assert told(await one.beat(2, {})) == (NONE, 3, None)
    assert (await one.beat(2, group.of(0, 1, 2))).error == FENCED_EPOCH, "it has revoked that one"
    assert (await one.beat(2)).error == FENCED_EPOCH
    assert told(await one.beat(3)) == (NONE, 3, None)


@at_once
async def test_when_the_assignment_is_sent_again(target: Target) -> None:
    group = await new_group(target)
    one = await group.joined(A)
    names = (group.topic.name,)
    everything = group.of(0, 1, 2, 3)
    assert (await one.beat(subscribed_topic_names=names)).assignment is None
    assert (await one.beat(owned=everything)).assignment is None
    assert (await one.beat(owned=everything, subscribed_topic_names=names)).assignment is None
    assert (await one.beat(subscribed_topic_names=names, rebalance_timeout_ms=30_000)).assignment is None
    full: dict[str, Any] = {"subscribed_topic_names": names, "rebalance_timeout_ms": 30_000}
    assert (await one.beat(owned=everything, **full)).assignment == everything
    assert (await one.beat(owned=group.of(0), **full)).assignment == everything
    assert told(await one.join(*names)) == (NONE, 2, everything), "a member that joins again changes nothing"


@at_once
async def test_what_moves_the_group_epoch(target: Target) -> None:
    group = await new_group(target)
    one, two = group.member(A), group.member(B)
    assert told(await one.join(subscribed_topic_names=())) == (NONE, 1, {})
    assert told(await two.join(subscribed_topic_names=())) == (NONE, 1, {})
    assert await group.state() == ("Stable", 1, 1), "nobody subscribes to anything"
    names = (group.topic.name,)
    assert told(await one.beat(subscribed_topic_names=names)) == (NONE, 2, group.of(0, 1, 2, 3))
    assert await group.state() == ("Reconciling", 2, 2)
    assert told(await two.beat()) == (NONE, 2, None)
    assert told(await one.beat(rack_id="rack")) == (NONE, 2, None)
    assert told(await one.beat(rebalance_timeout_ms=20_000)) == (NONE, 2, None)
    assert await group.state() == ("Stable", 2, 2)
    assert told(await one.beat(server_assignor="range")) == (NONE, 3, None)
    assert (await described(target.client(), group.group_id)).assignor_name == "range"
    assert told(await one.beat(subscribed_topic_names=names * 2)) == (NONE, 3, None)
    assert told(await one.beat(subscribed_topic_names=())) == (NONE, 3, {}), "it has to revoke all"
    assert await group.state() == ("Reconciling", 4, 4)
    assert told(await one.beat(owned={})) == (NONE, 4, None)


@at_once
async def test_the_assignor_that_most_members_prefer(target: Target) -> None:
    group = await new_group(target)

    async def assignor() -> tuple[int, str]:
        shown = await described(target.client(), group.group_id)
        return shown.group_epoch, shown.assignor_name

    one, two = await group.joined(A), group.member(B)
    assert told(await one.beat(server_assignor="uniform")) == (NONE, 2, None), "it is the default"
    assert told(await one.beat(server_assignor="range")) == (NONE, 3, None)
    assert await assignor() == (3, "range")
    assert told(await two.join(group.topic.name, server_assignor="uniform")) == (NONE, 4, {})
    assert await assignor() == (4, "uniform"), "of two with as many votes, the first of the broker"
    assert (await one.beat(server_assignor="uniform")).error == NONE
    assert await assignor() == (4, "uniform")
    other = group.member(A, group_id=f"{group.group_id}-empty")
    assert told(await other.join(subscribed_topic_names=(), server_assignor="range")) == (NONE, 2, {})


@at_once
async def test_of_two_members_that_prefer_different_assignors_each_gets_its_own(target: Target) -> None:
    group = await new_group(target)
    one, two = group.member(A), group.member(B)
    assert told(await one.join(group.topic.name, server_assignor="uniform")) == (NONE, 2, group.of(0, 1, 2, 3))
    assert (await two.join(group.topic.name, server_assignor="range")).error == NONE
    assert (await group.state())[1:] == (3, 3)
    assert (await one.beat()).error == NONE
    assert (await group.state())[1:] == (3, 3), "the group's assignor is uniform"
    assert (await two.beat()).error == NONE
    assert (await group.state())[1:] == (4, 4)
    assert (await two.beat()).error == NONE
    assert (await group.state())[1:] == (5, 5)


@at_once
async def test_members_that_leave(target: Target) -> None:
    group = await new_group(target)
    one, two = await group.joined(A), await group.joined(B)
    await group.balanced(one, two)
    gone = await two.leave()
    assert (told(gone), gone.member_id) == ((NONE, -1, None), B)
    assert await group.state() == ("Assigning", 4, 3), "the next heartbeat computes the assignment"
    assert (await two.leave()).message == f"Member {B} is not a member of group {group.group_id}."
    assert (await two.beat(3)).error == UNKNOWN
    assert told(await one.beat(3)) == (NONE, 4, group.of(0, 1, 2, 3))
    assert (await one.leave()).error == NONE
    assert await group.state() == ("Empty", 5, 5)
    assert await group.listed() == [("consumer", "Empty", "consumer")]
    assert told(await one.join(group.topic.name)) == (NONE, 6, group.of(0, 1, 2, 3))


@at_once
async def test_a_full_group(target: Target) -> None:
    group = await new_group(target)
    for letter in "ABC":
        await group.joined(letter * 22)
    refused = await group.member("D" * 22).join(group.topic.name)
    assert (refused.error, refused.message) == (
        "GROUP_MAX_SIZE_REACHED",
        "The consumer group has reached its maximum capacity of 3 members.",
    )
    assert (await group.member(A).join(group.topic.name)).error == NONE


@at_once
async def test_topics_that_appear_grow_and_disappear(target: Target) -> None:
    group = await new_group(target)
    later = Topic(unique("later"), group.topic.topic_id)
    one = group.member(A)
    assert told(await one.join(group.topic.name, later.name)) == (NONE, 2, group.of(0, 1, 2, 3))
    created = await target.cluster.create_topic(name=later.name)
    one = ConsumerMember(target.client(), group.group_id, A, (group.topic, created))
    beat = await until(lambda: one.beat(2 if one.epoch == 0 else one.epoch), lambda it: it.assignment is not None)
    assert told(beat) == (NONE, 3, {**group.of(0, 1, 2, 3), later.name: (0,)})
    await target.cluster.add_partitions(group.topic, 5)
    beat = await until(one.beat, lambda it: it.assignment is not None)
    assert told(beat) == (NONE, 4, {**group.of(0, 1, 2, 3, 4), later.name: (0,)})
    await target.cluster.delete_topic(created)
    beat = await until(one.beat, lambda it: it.assignment is not None)
    assert told(beat) == (NONE, 4, group.of(0, 1, 2, 3, 4)), "what is gone has to be revoked, too"
    assert told(await one.beat(owned=group.of(0, 1, 2, 3, 4))) == (NONE, 5, None)


@at_once
async def test_a_member_that_does_not_subscribe_any_more_revokes_at_once(target: Target) -> None:
    group = await new_group(target)
    one, two = await group.joined(A), await group.joined(B)
    assert told(await one.beat()) == (NONE, 2, group.of(0, 1))
    other = {group.other.name: (0, 1)}
    assert told(await one.beat(subscribed_topic_names=(group.other.name,))) == (NONE, 2, {})
    assert told(await one.beat(owned=group.of(0))) == (NONE, 2, None)
    assert told(await one.beat(owned={})) == (NONE, 4, other)
    assert told(await two.beat()) == (NONE, 4, group.of(0, 1, 2, 3))


# ------------------------------------------------------------------------------------------------ times


@everywhere
async def test_assignments_are_computed_at_intervals(target: Target) -> None:
    group = await new_group(target)
    configs = {"consumer.assignment.interval.ms": "1500"}
    await target.cluster.set_group_config(group.group_id, configs)
    one, two = await group.joined(A), group.member(B)
    assert told(await two.join(group.topic.name)) == (NONE, 2, {}), "the epoch of the assignment that there is"
    assert await group.state() == ("Assigning", 3, 2)
    assert told(await one.beat()) == (NONE, 2, None)
    beat = await until(two.beat, lambda it: it.epoch == 3)
    assert told(beat) == (NONE, 3, None)
    assert await group.state() == ("Reconciling", 3, 3)
    assert told(await one.beat()) == (NONE, 2, group.of(0, 1))
    assert told(await one.beat(subscribed_topic_names=(group.other.name,))) == (NONE, 2, {})
    assert await group.state() == ("Assigning", 4, 3)


@at_once
async def test_who_does_not_revoke_in_time_is_removed(target: Target) -> None:
    group = await new_group(target)
    one, two = group.member(A), group.member(B)
    await one.join(group.topic.name, rebalance_timeout_ms=1_000)
    await two.join(group.topic.name)
    assert (await one.beat()).assignment == group.of(0, 1)
    beat = await until(one.beat, lambda it: it.error != NONE)
    assert (beat.error, beat.message) == (UNKNOWN, f"Member {A} is not a member of group {group.group_id}.")
    assert told(await two.beat()) == (NONE, 4, group.of(0, 1, 2, 3))


@at_once
async def test_who_is_silent_is_removed(target: Target) -> None:
    group = await new_group(target)
    configs = {"consumer.session.timeout.ms": "1000", "consumer.heartbeat.interval.ms": "500"}
    await target.cluster.set_group_config(group.group_id, configs)
    await group.joined(A)
    two = await group.joined(B)
    beat = await until(two.beat, lambda it: it.assignment is not None)
    assert told(beat) == (NONE, 4, group.of(0, 1, 2, 3))
    assert await until(group.state, lambda it: it[0] == "Empty") == ("Empty", 5, 5)


# ---------------------------------------------------------------------------------------------- offsets


@at_once
async def test_which_epochs_may_commit(target: Target) -> None:
    group = await new_group(target)
    topic = group.topic
    one, two = await group.joined(A), await group.joined(B)
    assert await two.commit(topic) == [NONE], "a partition that it does not have"
    assert await two.commit(topic, member_id="nobody") == [UNKNOWN]
    assert await two.commit(topic, member_id="", generation_id_or_member_epoch=-1) == [UNKNOWN]
    assert await two.commit(topic, generation_id_or_member_epoch=-1) == [STALE]
    assert await two.commit(topic, generation_id_or_member_epoch=4) == [STALE]
    assert await two.commit(topic, generation_id_or_member_epoch=2) == [STALE]
    assert await two.commit(topic, version=8) == ["UNSUPPORTED_VERSION"]
    assert await two.commit(topic, version=10) == [NONE]
    assert await two.commit(topic, group_instance_id="i") == [NONE], "nobody looks at that"
    assert await one.commit(topic, (0, 1, 2, 3)) == [NONE] * 4
    await one.beat()
    assert await one.commit(topic, (0, 1, 2, 3)) == [NONE] * 4, "what it has to revoke, too"
    await one.beat(owned=group.of(0, 1))
    assert one.epoch == 3
    assert await one.commit(topic, (0, 1, 2)) == [NONE] * 3
    assert await one.commit(topic, (0, 1), generation_id_or_member_epoch=2) == [NONE] * 2, (
        "it has had them since epoch 2"
    )
    assert await one.commit(topic, (0, 2), generation_id_or_member_epoch=2) == [STALE] * 2
    assert await one.commit(topic, (0,), generation_id_or_member_epoch=1) == [STALE]
    await two.beat()
    assert await two.commit(topic, (2,), generation_id_or_member_epoch=2) == [STALE]


@at_once
async def test_who_may_fetch_offsets(target: Target) -> None:
    group = await new_group(target)
    one = await group.joined(A)
    assert await one.commit(group.topic) == [NONE]
    for version in (9, 10):
        assert await one.fetch_offset(group.topic, version=version) == (NONE, [5])
        assert await one.fetch_offset(group.topic, version=version, member_epoch=1) == (STALE, [])
    assert await one.fetch_offset(group.topic, member_id=None, member_epoch=-1) == (NONE, [5])
    assert await one.fetch_offset(group.topic, version=8) == (NONE, [5])
    assert await one.fetch_offset(group.topic, member_epoch=3) == (STALE, [])
    assert await one.fetch_offset(group.topic, member_epoch=-1) == (STALE, [])
    assert await one.fetch_offset(group.topic, member_id="nobody") == (UNKNOWN, [])
    assert await one.fetch_offset(group.topic, member_id="", member_epoch=-1) == (UNKNOWN, [])
    await one.leave()
    assert await one.fetch_offset(group.topic, member_epoch=2) == (UNKNOWN, [])
    assert await one.commit(group.topic, member_id="", generation_id_or_member_epoch=-1) == [NONE]
    assert await one.commit(group.topic, generation_id_or_member_epoch=2) == [UNKNOWN]


# --------------------------------------------------------------------------------------- administration


@at_once
async def test_groups_are_deleted_with_their_offsets(target: Target) -> None:
    group = await new_group(target)
    one = await group.joined(A)
    assert await one.commit(group.topic) == [NONE]
    partitions = (OffsetDeleteRequestPartition(partition_index=0),)
    request = OffsetDeleteRequest(
        group_id=group.group_id, topics=(OffsetDeleteRequestTopic(name=group.topic.name, partitions=partitions),)
    )

    async def deleted() -> str:
        response = await target.client().ask(request)
        return str(response.topics[0].partitions[0].error_code.name)

    assert await deleted() == "GROUP_SUBSCRIBED_TO_TOPIC"
    assert await group.delete() == "NON_EMPTY_GROUP"
    await one.leave()
    assert await deleted() == NONE
    assert await one.fetch_offset(group.topic, member_id=None, member_epoch=-1) == (NONE, [-1])
    assert await one.commit(group.topic, member_id="", generation_id_or_member_epoch=-1) == [NONE]
    assert await group.delete() == NONE
    assert await group.listed() == []
    assert await one.fetch_offset(group.topic, member_epoch=2) == (NONE, [-1])
    assert await one.commit(group.topic, generation_id_or_member_epoch=2) == [NOT_FOUND]
    assert await group.delete() == NOT_FOUND


@at_once
async def test_members_are_removed_by_leave_group(target: Target) -> None:
    group = await new_group(target)
    for member_id in (A, B):
        await group.joined(member_id)
    static = await group.joined(C, "i")
    assert await group.leave(("nobody", None), (A, "i"), (A, "j"), ("", "j"), ("", None)) == [
        UNKNOWN,
        FENCED_INSTANCE,
        UNKNOWN,
        UNKNOWN,
        UNKNOWN,
    ]
    assert (await group.state())[1] == 4
    assert await group.leave((A, None), (B, None)) == [NONE, NONE]
    assert await group.state() == ("Assigning", 5, 4), "one epoch for all of them"
    assert await group.leave(("", "i")) == [NONE]
    assert await group.state() == ("Empty", 6, 6)
    assert (await static.beat()).error == UNKNOWN


@at_once
async def test_groups_of_other_types(target: Target) -> None:
    group = await new_group(target)
    one = await group.joined(A)
    [shown] = (await target.client().ask(DescribeGroupsRequest(groups=(group.group_id,)))).groups
    assert (shown.error_code.name, shown.group_state, shown.error_message) == (
        NOT_FOUND,
        "Dead",
        f"Group {group.group_id} is not a classic group.",
    )
    share_id = await target.group_of(group.topic, range(PARTITIONS))
    stranger = group.member(A, group_id=share_id)
    for beat in (await stranger.join(group.topic.name), await stranger.beat(-1), await stranger.beat(2)):
        assert (beat.error, beat.message) == (NOT_FOUND, f"Group {share_id} is not a consumer group.")
    found = await described(target.client(), share_id)
    assert (found.error_code.name, found.error_message, found.group_state) == (
        NOT_FOUND,
        f"Group {share_id} is not a consumer group.",
        "",
    )
    assert await stranger.commit(group.topic) == [NOT_FOUND]
    assert (await described(target.client(), "")).error_code.name == "INVALID_GROUP_ID"
    member = target.member(group.group_id, group.topic)
    refused = await member.heartbeat(0, topics=[group.topic.name])
    assert (refused.error_code.name, refused.error_message) == (
        NOT_FOUND,
        f"Group {group.group_id} is not a share group.",
    )
    assert told(await one.beat()) == (NONE, 2, None)
