"""Properties of the assignors of consumer groups: everything is assigned once, in balance, and little moves."""

from collections import Counter
from itertools import combinations
from random import Random
from uuid import UUID

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.broker.coordinators.groups.assignors import range as range_assignor
from kafka_groups.broker.coordinators.groups.assignors import uniform
from kafka_groups.broker.coordinators.groups.assignors.group_spec import GroupSpec, PartitionsByTopic, SubscribedMember
from tests.support.assignors.group_assignor_cases import Assignor, GroupAssignment

TOPIC_IDS = [UUID(int=number) for number in range(1, 5)]

assignors = pytest.mark.parametrize("assign", [range_assignor.assign, uniform.assign], ids=["range", "uniform"])


@st.composite
def groups(draw: st.DrawFn, *, homogeneous: bool | None = None) -> GroupSpec:
    """Groups with any subscriptions and any previous assignment, also ones that no assignor would have made."""
    counts = draw(st.dictionaries(st.sampled_from(TOPIC_IDS), st.integers(1, 12), min_size=1))
    alike = draw(st.booleans()) if homogeneous is None else homogeneous
    subscription = st.lists(st.sampled_from(sorted(counts)), unique=True)
    topic_ids = st.just(draw(subscription)) if alike else subscription
    names = draw(st.lists(st.integers(0, 99).map("m{:02}".format), unique=True, min_size=1, max_size=8))
    static = draw(st.sets(st.sampled_from(names)))
    owned: dict[str, dict[UUID, tuple[int, ...]]] = {name: {} for name in names}
    for topic_id, count in counts.items():
        for number in range(count):
            owner = draw(st.none() | st.sampled_from(names))
            if owner is not None:
                owned[owner][topic_id] = (*owned[owner].get(topic_id, ()), number)
    members = {
        name: SubscribedMember(draw(topic_ids), f"i{name[::-1]}" if name in static else None, owned[name])
        for name in names
    }
    return GroupSpec(members, counts, alike)


def owning(group: GroupSpec, assignment: GroupAssignment) -> GroupSpec:
    members = {member: evolve(spec, assigned=assignment[member]) for member, spec in group.members.items()}
    return evolve(group, members=members)


def partitions_of(owned: PartitionsByTopic) -> set[tuple[UUID, int]]:
    return {(topic_id, number) for topic_id, numbers in owned.items() for number in numbers}


def loads(assignment: GroupAssignment) -> dict[str, int]:
    return {member: sum(map(len, owned.values())) for member, owned in assignment.items()}


@assignors
@given(group=groups())
def test_every_partition_of_a_subscribed_topic_goes_to_one_subscriber(assign: Assignor, group: GroupSpec) -> None:
    assignment = assign(group)
    assert assignment.keys() == group.members.keys()
    for member, owned in assignment.items():
        assert owned.keys() <= set(group.members[member].topic_ids)
        assert all(owned.values())
    subscribed = {topic_id for spec in group.members.values() for topic_id in spec.topic_ids}
    offered = {(topic_id, number) for topic_id in subscribed for number in range(group.partition_counts[topic_id])}
    holders = Counter((id_, n) for owned in assignment.values() for id_, numbers in owned.items() for n in numbers)
    assert holders == dict.fromkeys(offered, 1)


@assignors
@given(group=groups())
def test_a_second_run_moves_nothing(assign: Assignor, group: GroupSpec) -> None:
    first = assign(group)
    second = assign(owning(group, first))
    assert {member: partitions_of(owned) for member, owned in second.items()} == {
        member: partitions_of(owned) for member, owned in first.items()
    }


@given(groups(homogeneous=True))
def test_uniform_members_of_equal_subscriptions_differ_by_one_at_most(group: GroupSpec) -> None:
    counts = loads(uniform.assign(group)).values()
    assert max(counts) - min(counts) <= 1


@given(groups(homogeneous=False))
def test_no_single_move_makes_a_uniform_assignment_more_balanced(group: GroupSpec) -> None:
    assignment = uniform.assign(group)
    counts = loads(assignment)
    for giver, owned in assignment.items():
        for receiver, spec in group.members.items():
            if owned.keys() & set(spec.topic_ids):
                assert counts[giver] - counts[receiver] <= 1


@given(groups(homogeneous=True))
def test_uniform_members_keep_what_their_share_allows(group: GroupSpec) -> None:
    assignment = uniform.assign(group)
    smallest = min(loads(assignment).values())
    for member, spec in group.members.items():
        wanted = {each for each in partitions_of(spec.assigned) if each[0] in spec.topic_ids}
        assert len(wanted & partitions_of(assignment[member])) >= min(len(wanted), smallest)


@given(groups(homogeneous=True))
def test_a_member_that_joins_makes_others_only_give_up_partitions(group: GroupSpec) -> None:
    settled = owning(group, uniform.assign(group))
    joining = SubscribedMember(next(iter(group.members.values())).topic_ids)
    joined = uniform.assign(evolve(settled, members={**settled.members, "new": joining}))
    for member, spec in settled.members.items():
        assert partitions_of(joined[member]) <= partitions_of(spec.assigned)


@given(groups())
def test_range_members_get_runs_whose_lengths_differ_by_one_at_most(group: GroupSpec) -> None:
    assignment = range_assignor.assign(group)
    for topic_id in group.partition_counts:
        subscribers = [member for member, spec in group.members.items() if topic_id in spec.topic_ids]
        runs = [assignment[member].get(topic_id, ()) for member in subscribers]
        assert all(run == tuple(range(run[0], run[0] + len(run))) for run in runs if run)
        assert all(abs(len(one) - len(other)) <= 1 for one, other in combinations(runs, 2))


@given(groups(), st.randoms(use_true_random=False))
def test_range_ignores_the_order_of_members_and_what_they_had(group: GroupSpec, rng: Random) -> None:
    members = [(member, evolve(spec, assigned={})) for member, spec in group.members.items()]
    rng.shuffle(members)
    assert range_assignor.assign(evolve(group, members=dict(members))) == range_assignor.assign(group)
