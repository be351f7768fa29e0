"""Members of groups with epochs: full groups, instance ids, and which epochs are fenced."""

import pytest
from attrs import field, frozen

from kafka_groups.broker.coordinators.groups.consumer.group import ConsumerGroup
from kafka_groups.broker.coordinators.groups.epochs.group import name_instance
from kafka_groups.broker.coordinators.groups.epochs.members import check_epoch, check_room, known_member
from kafka_groups.errors import (
    FencedInstanceIdError,
    FencedMemberEpochError,
    GroupMaxSizeReachedError,
    UnknownMemberIdError,
)


@frozen
class Member:
    instance_id: str | None = None
    rebalance_timeout_ms: int = -1


@frozen
class Group:
    group_id: str = "g"
    members: dict[str, Member] = field(factory=dict)
    instances: dict[str, str] = field(factory=dict)


@frozen
class Current:
    member_epoch: int = 5
    previous_member_epoch: int = 3


STATIC = Member("i")
GROUP = Group(members={"a": STATIC, "b": Member()}, instances={"i": "a"})


def test_a_full_group_takes_its_own_members_only() -> None:
    check_room(GROUP, "a", 2, "streams")
    check_room(GROUP, "c", 3, "streams")
    with pytest.raises(GroupMaxSizeReachedError, match="The streams group has reached its maximum capacity of 2"):
        check_room(GROUP, "c", 2, "streams")


def test_ids_belong_together() -> None:
    assert known_member(GROUP, "a", "i") is known_member(GROUP, "a", None) is STATIC
    with pytest.raises(FencedInstanceIdError, match="b with instance id i was fenced by member a"):
        known_member(GROUP, "b", "i")
    with pytest.raises(UnknownMemberIdError, match="Instance id j"):
        known_member(GROUP, "a", "j")
    with pytest.raises(UnknownMemberIdError, match="c is not a member of group g"):
        known_member(GROUP, "c", None)


@pytest.mark.parametrize(
    ("epoch", "owns_at_most", "said"), [(6, True, "greater"), (4, True, "smaller"), (3, False, "")]
)
def test_other_epochs_are_fenced(epoch: int, owns_at_most: bool, said: str) -> None:
    with pytest.raises(FencedMemberEpochError, match=rf"The consumer group member has a {said}.*all its partitions"):
        check_epoch(epoch, Current(), lambda _: owns_at_most, ConsumerGroup.KIND)


def test_the_previous_epoch_will_do_for_who_owns_no_more_than_it_may() -> None:
    check_epoch(3, Current(), lambda _: True, ConsumerGroup.KIND)
    check_epoch(5, Current(), lambda _: False, ConsumerGroup.KIND)


def test_an_instance_is_the_member_that_said_so_last() -> None:
    instances: dict[str, str] = {}
    name_instance(instances, "a", None, STATIC)
    name_instance(instances, "a", STATIC, Member("j"))
    assert instances == {"j": "a"}
    name_instance(instances, "a", Member("j"), None)
    assert instances == {}
