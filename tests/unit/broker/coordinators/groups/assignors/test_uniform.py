"""The assignor `uniform` in single cases; the answers are those of Kafka 4.4's own."""

from uuid import UUID

import pytest

from kafka_groups.broker.coordinators.groups.assignors.group_spec import (
    GroupSpec,
    PartitionAssignorError,
    SubscribedMember,
)
from kafka_groups.broker.coordinators.groups.assignors.uniform import assign

Owned = dict[int, tuple[int, ...]]


def member(*topics: int, **assigned: tuple[int, ...]) -> SubscribedMember:
    owned = {UUID(int=int(name.removeprefix("t"))): numbers for name, numbers in assigned.items()}
    return SubscribedMember([UUID(int=topic) for topic in topics], assigned=owned)


def run(topics: dict[int, int], **members: SubscribedMember) -> dict[str, Owned]:
    counts = {UUID(int=topic): count for topic, count in topics.items()}
    homogeneous = len({frozenset(known.topic_ids) for known in members.values()}) == 1
    assigned = assign(GroupSpec(members, counts, homogeneous))
    return {
        name: {topic.int: tuple(sorted(numbers)) for topic, numbers in owned.items()}
        for name, owned in assigned.items()
    }


def test_no_members() -> None:
    assert run({1: 2}) == {}


def test_a_member_without_topics() -> None:
    assert run({1: 2}, a=member()) == {"a": {}}


def test_from_nothing() -> None:
    assert run({1: 7}, a=member(1), b=member(1), c=member(1)) == {
        "a": {1: (0, 1)},
        "b": {1: (2, 3)},
        "c": {1: (4, 5, 6)},
    }


def test_a_topic_that_does_not_exist() -> None:
    with pytest.raises(PartitionAssignorError, match="AAAAAAAAAAAAAAAAAAAAAw which doesn't exist"):
        run({1: 2}, a=member(1, 3))


def test_members_keep_their_share_and_the_first_one_an_extra() -> None:
    members = {"a": member(1, t1=(0, 2, 3)), "b": member(1), "c": member(1, t1=(4, 5, 6))}
    assert run({1: 7}, **members) == {"a": {1: (0, 2, 3)}, "b": {1: (1, 6)}, "c": {1: (4, 5)}}


def test_the_last_member_gets_the_last_free_partitions() -> None:
    members = {"a": member(1, t1=(0, 1, 2, 3, 4, 5, 6)), "b": member(1), "c": member(1)}
    assert run({1: 7}, **members) == {"a": {1: (0, 1, 2)}, "b": {1: (3, 4)}, "c": {1: (5, 6)}}


def test_what_is_not_subscribed_to_any_more_goes() -> None:
    assert run({1: 1, 2: 2}, a=member(2, t1=(0,), t2=(0,)), b=member(2)) == {"a": {2: (0,)}, "b": {2: (1,)}}


def test_different_subscribers_differ_by_one_where_they_share_a_topic() -> None:
    assigned = run({1: 6, 2: 6}, a=member(1), b=member(1, 2), c=member(2))
    assert assigned == {"a": {1: (0, 2, 4)}, "b": {1: (1, 3, 5), 2: (4,)}, "c": {2: (0, 1, 2, 3, 5)}}


def test_a_member_alone_with_a_topic_leaves_the_others_to_the_rest() -> None:
    assigned = run({1: 3, 2: 3}, a=member(1), b=member(1, 2))
    assert assigned == {"a": {1: (0, 1, 2)}, "b": {2: (0, 1, 2)}}


def test_the_highest_partitions_move_to_a_member_with_less() -> None:
    assigned = run({1: 4, 2: 1}, a=member(1, 2, t1=(0, 1, 2, 3), t2=(0,)), b=member(1))
    assert assigned == {"a": {1: (0, 1), 2: (0,)}, "b": {1: (2, 3)}}


def test_members_without_topics_get_nothing() -> None:
    assert run({1: 2}, a=member(1), b=member()) == {"a": {1: (0, 1)}, "b": {}}
