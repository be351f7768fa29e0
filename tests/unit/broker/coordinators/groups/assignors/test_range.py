"""The assignor `range` in single cases; the answers are those of Kafka 4.4's own."""

from uuid import UUID

import pytest

from kafka_groups.broker.coordinators.groups.assignors.group_spec import (
    GroupSpec,
    PartitionAssignorError,
    SubscribedMember,
)
from kafka_groups.broker.coordinators.groups.assignors.range import assign

Owned = dict[int, tuple[int, ...]]


def member(*topics: int, instance_id: str | None = None) -> SubscribedMember:
    return SubscribedMember([UUID(int=topic) for topic in topics], instance_id)


def run(topics: dict[int, int], **members: SubscribedMember) -> dict[str, Owned]:
    counts = {UUID(int=topic): count for topic, count in topics.items()}
    assigned = assign(GroupSpec(members, counts, homogeneous=False))
    return {name: {topic.int: numbers for topic, numbers in owned.items()} for name, owned in assigned.items()}


def test_no_members() -> None:
    assert run({1: 2}) == {}


def test_a_member_without_topics() -> None:
    assert run({1: 2}, a=member()) == {"a": {}}


def test_dynamic_members_are_in_the_order_of_their_ids() -> None:
    assert run({1: 7}, c=member(1), b=member(1), a=member(1)) == {
        "a": {1: (0, 1, 2)},
        "b": {1: (3, 4)},
        "c": {1: (5, 6)},
    }


def test_static_members_come_first_in_the_order_of_their_instance_ids() -> None:
    assigned = run({1: 4}, a=member(1), b=member(1, instance_id="y"), c=member(1, instance_id="x"))
    assert assigned == {"c": {1: (0, 1)}, "b": {1: (2,)}, "a": {1: (3,)}}


def test_topics_are_assigned_alike_to_the_same_subscribers() -> None:
    assert run({1: 2, 2: 2}, a=member(1, 2), b=member(2, 1)) == {"a": {1: (0,), 2: (0,)}, "b": {1: (1,), 2: (1,)}}


def test_more_members_than_partitions() -> None:
    assert run({1: 1}, a=member(1), b=member(1)) == {"a": {1: (0,)}, "b": {}}


def test_each_topic_goes_to_its_subscribers() -> None:
    assert run({1: 2, 2: 3}, a=member(1, 2), b=member(2)) == {"a": {1: (0, 1), 2: (0, 1)}, "b": {2: (2,)}}


def test_ids_are_compared_by_utf_16_code_units() -> None:
    assigned = run({1: 2}, **{"\uff5e": member(1), "\U0001f600": member(1)})
    assert assigned == {"\U0001f600": {1: (0,)}, "\uff5e": {1: (1,)}}


def test_a_topic_that_does_not_exist() -> None:
    with pytest.raises(PartitionAssignorError, match="non-existent topic"):
        run({1: 2}, a=member(1, 3))
