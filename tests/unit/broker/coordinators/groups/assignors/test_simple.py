"""The share assignor in single cases; the answers without ties are those of Kafka 4.4's own."""

from uuid import UUID

import pytest

from kafka_groups.broker.coordinators.groups.assignors.simple import MemberSpec, assign
from kafka_groups.types import TopicIdPartition

Owned = list[tuple[int, int]]


def spec(topics: list[int], owned: Owned) -> MemberSpec:
    return MemberSpec(
        frozenset(UUID(int=t) for t in topics), frozenset(TopicIdPartition(UUID(int=t), p) for t, p in owned)
    )


def run(topics: dict[int, int], members: dict[str, tuple[list[int], Owned]]) -> dict[str, Owned]:
    partitions = [TopicIdPartition(UUID(int=topic), p) for topic, count in topics.items() for p in range(count)]
    assigned = assign({member: spec(*given) for member, given in members.items()}, partitions)
    return {member: sorted((p.topic_id.int, p.partition) for p in owned) for member, owned in assigned.items()}


def test_no_members() -> None:
    assert run({1: 2}, {}) == {}


def test_no_partitions() -> None:
    assert run({}, {"a": ([1], [])}) == {"a": []}


def test_one_member_gets_everything() -> None:
    assert run({1: 2, 2: 1}, {"a": ([1, 2], [])}) == {"a": [(1, 0), (1, 1), (2, 0)]}


def test_a_new_member_gets_half_and_the_old_one_keeps_the_rest() -> None:
    assigned = run({1: 4}, {"a": ([1], [(1, 0), (1, 1), (1, 2), (1, 3)]), "b": ([1], [])})
    assert assigned == {"a": [(1, 0), (1, 1)], "b": [(1, 2), (1, 3)]}


def test_partitions_of_several_topics_are_balanced_together() -> None:
    assigned = run({1: 1, 2: 1, 3: 1}, {"a": ([1, 2, 3], []), "b": ([1, 2, 3], [])})
    assert sorted(map(len, assigned.values())) == [1, 2]


def test_more_members_than_partitions() -> None:
    members: dict[str, tuple[list[int], Owned]] = {name: ([1], []) for name in "abcd"}
    assert run({1: 2}, members) == {"a": [(1, 0)], "b": [(1, 0)], "c": [(1, 1)], "d": [(1, 1)]}


def test_an_odd_member_shares_both_partitions() -> None:
    assigned = run({1: 2}, {"a": ([1], [(1, 0), (1, 1)]), "b": ([1], []), "c": ([1], [])})
    assert assigned == {"a": [(1, 0), (1, 1)], "b": [(1, 0)], "c": [(1, 1)]}


def test_crowded_partition_gives_one_member_up() -> None:
    members = {"a": ([1], [(1, 0)]), "b": ([1], [(1, 0)]), "c": ([1], [(1, 0)]), "d": ([1], [(1, 1)])}
    assert run({1: 2}, members) == {"a": [(1, 0)], "b": [(1, 0)], "c": [(1, 1)], "d": [(1, 1)]}


def test_different_subscriptions_are_balanced_topic_by_topic() -> None:
    members: dict[str, tuple[list[int], Owned]] = {"a": ([1, 2], []), "b": ([2], []), "c": ([1], [])}
    assert run({1: 4, 2: 1}, members) == {
        "a": [(1, 0), (1, 2), (2, 0)],
        "b": [(2, 0)],
        "c": [(1, 1), (1, 3)],
    }


def test_the_odd_partition_of_a_topic_goes_to_the_member_with_fewer_others() -> None:
    members: dict[str, tuple[list[int], Owned]] = {"a": ([1, 2, 3], []), "b": ([1, 2, 3], []), "c": ([1], [])}
    assigned = run({1: 3, 2: 3, 3: 3}, members)
    assert {member: len(owned) for member, owned in assigned.items()} == {"a": 4, "b": 4, "c": 1}


def test_what_is_not_subscribed_to_any_more_goes() -> None:
    assert run({1: 1, 2: 1}, {"a": ([1], [(1, 0), (2, 0)]), "b": ([1], [])}) == {"a": [(1, 0)], "b": [(1, 0)]}


def test_a_longer_chain_of_exchanges_keeps_the_most() -> None:
    # Each of a, b, c may keep one partition. Only when a keeps 2, b keeps 1 and c keeps 0 does everyone keep one.
    members = {"a": ([1], [(1, 0), (1, 1), (1, 2)]), "b": ([1], [(1, 0), (1, 1)]), "c": ([1], [(1, 0)])}
    assert run({1: 3}, members) == {"a": [(1, 2)], "b": [(1, 1)], "c": [(1, 0)]}


@pytest.mark.parametrize("members", [3, 199, 1_000])
def test_large_groups_are_quick(members: int) -> None:
    # Runs within the test's time limit only if the cost is about that of the partitions, not of their square.
    owned = {f"m{i:04}": ([1], [(1, p) for p in range(10_000) if p % (members - 1) == i]) for i in range(members)}
    sizes = sorted(map(len, run({1: 10_000}, owned).values()))
    assert sizes[-1] - sizes[0] <= 1
    assert sum(sizes) == 10_000
