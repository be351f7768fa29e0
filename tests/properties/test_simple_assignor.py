"""Properties of the share assignor: balance, then stickiness, and nothing that was not subscribed to."""

from collections import Counter
from itertools import combinations
from random import Random
from uuid import UUID

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_groups.broker.coordinators.groups.assignors.simple import MemberSpec, assign
from kafka_groups.types import TopicIdPartition
from tests.support.assignors.assignor_cases import Assignment, Case, measure, scopes

TOPIC_IDS = [UUID(int=number) for number in range(1, 4)]


@st.composite
def cases(draw: st.DrawFn, max_members: int = 12, max_partitions: int = 6) -> Case:
    """Groups with any subscriptions and any previous assignment, also ones that no assignor would have made."""
    topics = draw(st.dictionaries(st.sampled_from(TOPIC_IDS), st.integers(1, max_partitions), min_size=1))
    all_partitions = [TopicIdPartition(topic_id, number) for topic_id in TOPIC_IDS for number in range(max_partitions)]
    owned = st.frozensets(st.sampled_from(all_partitions))
    same = draw(st.none() | st.just(frozenset(topics)))
    topic_ids = st.just(same) if same is not None else st.frozensets(st.sampled_from(TOPIC_IDS))
    members = st.dictionaries(
        st.integers(0, 99).map("m{:02}".format),
        st.builds(MemberSpec, topic_ids, owned),
        min_size=1,
        max_size=max_members,
    )
    return Case(topics, draw(members))


def assigned(case: Case) -> Assignment:
    return assign(case.members, case.partitions)


@given(cases())
def test_every_member_gets_only_existing_partitions_of_subscribed_topics(case: Case) -> None:
    assignment = assigned(case)
    assert assignment.keys() == case.members.keys()
    for member, partitions in assignment.items():
        assert partitions <= set(case.partitions)
        assert {p.topic_id for p in partitions} <= case.members[member].topic_ids


@given(cases())
def test_every_partition_has_the_same_number_of_members(case: Case) -> None:
    holders = Counter(partition for partitions in assigned(case).values() for partition in partitions)
    for scope in scopes(case):
        count = sum(scope.topics.values())
        sharing = -(-len(scope.members) // count)
        assert {holders[partition] for partition in scope.partitions} == {sharing}


@given(cases())
def test_members_differ_by_one_partition_at_most(case: Case) -> None:
    assert measure(case, assigned(case)).spread <= 1


@given(cases())
def test_nobody_is_idle_who_subscribes_to_something(case: Case) -> None:
    assignment = assigned(case)
    for scope in scopes(case):
        if sum(scope.topics.values()) <= len(scope.members):
            assert all(assignment[member] for member in scope.members)


@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(case: Case, rng: Random) -> None:
    members, partitions = list(case.members.items()), case.partitions
    rng.shuffle(members)
    rng.shuffle(partitions)
    assert assign(dict(members), partitions) == assigned(case)


@given(cases())
def test_a_second_run_moves_nothing(case: Case) -> None:
    first = assigned(case)
    assert assigned(case.owning(first)) == first


@given(cases())
def test_joining_takes_from_others_only_what_the_new_member_needs(case: Case) -> None:
    topic_ids = next(iter(case.members.values())).topic_ids
    settled = evolve(case, members={m: MemberSpec(topic_ids) for m in case.members})
    settled = settled.owning(assigned(settled))
    joined = evolve(settled, members={**settled.members, "new": MemberSpec(topic_ids)})
    moved_to_old = measure(joined, {m: p for m, p in assigned(joined).items() if m != "new"}).given
    offered = sum(count for topic_id, count in case.topics.items() if topic_id in topic_ids)
    if len(joined.members) <= offered:
        assert moved_to_old == 0


@settings(max_examples=60)
@given(cases(max_members=3, max_partitions=2))
def test_no_balanced_assignment_keeps_more(case: Case) -> None:
    case = case.owning({member: spec.owned & set(case.partitions) for member, spec in case.members.items()})
    kept = measure(case, assigned(case)).kept
    assert kept == sum(most_that_can_be_kept(scope) for scope in scopes(case))


def most_that_can_be_kept(scope: Case) -> int:
    """By trying every way to keep a subset of what the members own."""
    sharing = -(-len(scope.members) // len(scope.partitions))
    quota, extras = divmod(sharing * len(scope.partitions), len(scope.members))
    own = [(m, p) for m, spec in scope.members.items() for p in spec.owned & set(scope.partitions)]
    for size in range(len(own), 0, -1):
        if any(_fits(kept, sharing, quota, extras) for kept in combinations(own, size)):
            return size
    return 0


def _fits(kept: tuple[tuple[str, TopicIdPartition], ...], sharing: int, quota: int, extras: int) -> bool:
    of_members, of_partitions = Counter(m for m, _ in kept), Counter(p for _, p in kept)
    above = [count for count in of_members.values() if count > quota]
    return (
        max(of_partitions.values()) <= sharing and len(above) <= extras and all(count == quota + 1 for count in above)
    )
