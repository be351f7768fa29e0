"""The order in which Kafka's coordinator goes over a group; the assignors' tests compare it with Kafka's."""

from uuid import UUID

from kafka_groups.broker.coordinators.groups.assignors.group_spec import GroupSpec, SubscribedMember
from kafka_groups.broker.coordinators.groups.assignors.kafka_order import (
    by_topic,
    ordered_members,
    ordered_names,
    ordered_topics,
    previous_partitions,
)

ONE, TWO, THREE, SEVENTEEN = (UUID(int=number) for number in (1, 2, 3, 17))


def group(**members: SubscribedMember) -> GroupSpec:
    return GroupSpec(members, {}, homogeneous=False)


def test_members_are_in_the_order_of_their_hash_codes() -> None:
    # The hash codes of one-letter strings are their characters; "p" is 112 and "a" is 97.
    assert ordered_members(group(a=SubscribedMember(()), p=SubscribedMember(()), b=SubscribedMember(()))) == list("pab")


def test_names_are_in_the_order_of_their_hash_codes() -> None:
    assert ordered_names(["a", "p", "b"]) == ["p", "a", "b"]


def test_topics_that_share_a_bucket_are_in_the_order_of_the_subscription() -> None:
    assert ordered_topics(SubscribedMember((SEVENTEEN, TWO, ONE))) == [SEVENTEEN, ONE, TWO]


def test_names_without_a_topic_count_for_the_number_of_buckets() -> None:
    assert ordered_topics(SubscribedMember((SEVENTEEN, TWO, ONE), missing_topics=9)) == [ONE, TWO, SEVENTEEN]


def test_only_subscribed_topics_of_the_previous_assignment_are_passed() -> None:
    known = SubscribedMember((ONE, TWO), assigned={THREE: (0,), TWO: (16, 0, 1), ONE: (5,)})
    assert list(previous_partitions(group(a=known), "a")) == [(ONE, 5), (TWO, 16), (TWO, 0), (TWO, 1)]


def test_new_topics_are_stored_before_those_that_stay_and_the_last_one_first() -> None:
    known = SubscribedMember((ONE, TWO, THREE), assigned={TWO: (0, 1)})
    stored = by_topic(known, [(TWO, 1), (ONE, 0), (THREE, 4), (ONE, 2), (TWO, 0)])
    assert list(stored.items()) == [(THREE, (4,)), (ONE, (0, 2)), (TWO, (1, 0))]
