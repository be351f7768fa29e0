"""Inputs for the share assignor, and the measures by which its outputs are compared."""

import random
from collections.abc import Iterator, Mapping
from uuid import UUID

from attrs import evolve, frozen

from kafka_groups.broker.coordinators.groups.assignors.simple import MemberSpec
from kafka_groups.types import TopicIdPartition

Assignment = Mapping[str, frozenset[TopicIdPartition]]

_MAX_TOPICS = 4
_MAX_PARTITIONS = 8
_MAX_MEMBERS = 20


@frozen
class Case:
    """One input: the number of partitions by topic, and the members."""

    topics: Mapping[UUID, int]
    members: Mapping[str, MemberSpec]

    @property
    def partitions(self) -> list[TopicIdPartition]:
        """All partitions of all topics."""
        return [
            TopicIdPartition(topic_id, number) for topic_id, count in self.topics.items() for number in range(count)
        ]

    def owning(self, assignment: Assignment) -> "Case":
        """The same with what the members were assigned before, without what they do not subscribe to any more."""
        members = {
            member: evolve(spec, owned=frozenset(p for p in assignment.get(member, ()) if p.topic_id in spec.topic_ids))
            for member, spec in self.members.items()
        }
        return evolve(self, members=members)


@frozen
class Measures:
    """How good an assignment is.

    Attributes:
        spread: The largest difference between two members' numbers of partitions, or two partitions' numbers of
            members, where the assignor balances: over all topics when all members subscribe to the same, else in each.
        kept: How many partitions stayed with a member that had them.
        given: How many partitions a member has that it had not.
    """

    spread: int
    kept: int
    given: int


def measure(case: Case, assignment: Assignment) -> Measures:
    """The measures of an assignment for a case."""
    owned = {member: spec.owned for member, spec in case.members.items()}
    kept = sum(len(owned[member] & assignment.get(member, frozenset())) for member in owned)
    given = sum(len(assignment.get(member, frozenset()) - owned[member]) for member in owned)
    spread = max((difference for scope in scopes(case) for difference in _differences(scope, assignment)), default=0)
    return Measures(spread, kept, given)


def scopes(case: Case) -> Iterator[Case]:
    """The parts of a case that are balanced by themselves."""
    subscriptions = {spec.topic_ids for spec in case.members.values()}
    together = [next(iter(subscriptions))] if len(subscriptions) == 1 else [frozenset({id_}) for id_ in case.topics]
    for topic_ids in together:
        members = {member: spec for member, spec in case.members.items() if topic_ids <= spec.topic_ids}
        topics = {topic_id: count for topic_id, count in case.topics.items() if topic_id in topic_ids}
        if members and topics:
            yield Case(topics, members)


def _differences(scope: Case, assignment: Assignment) -> Iterator[int]:
    partitions = frozenset(scope.partitions)
    held = {member: partitions & assignment.get(member, frozenset()) for member in scope.members}
    of_members = [len(owned) for owned in held.values()]
    of_partitions = [sum(partition in owned for owned in held.values()) for partition in partitions]
    for counts in (of_members, of_partitions):
        yield max(counts) - min(counts)


def random_case(rng: random.Random) -> Case:
    """A group whose members own nothing; half of all groups have the same subscription throughout."""
    topics = {UUID(int=number): rng.randint(1, _MAX_PARTITIONS) for number in range(1, rng.randint(1, _MAX_TOPICS) + 1)}
    members = [f"member-{number:02}" for number in range(rng.randint(1, _MAX_MEMBERS))]
    if rng.getrandbits(1):
        return Case(topics, dict.fromkeys(members, MemberSpec(frozenset(topics))))
    return Case(topics, {member: _subscriber(topics, rng) for member in members})


def changed(case: Case, rng: random.Random) -> Case:
    """The case after one to three changes: members join or leave, topics grow, subscriptions change."""
    for _ in range(rng.randint(1, 3)):
        case = rng.choice((_with_new_member, _without_a_member, _with_more_partitions, _with_new_subscription))(
            case, rng
        )
    return case


def _subscriber(topics: Mapping[UUID, int], rng: random.Random) -> MemberSpec:
    return MemberSpec(frozenset(rng.sample(sorted(topics), rng.randint(1, len(topics)))))


def _subscriptions(case: Case) -> set[frozenset[UUID]]:
    return {spec.topic_ids for spec in case.members.values()}


def _with_new_member(case: Case, rng: random.Random) -> Case:
    same = _subscriptions(case)
    spec = MemberSpec(next(iter(same))) if len(same) == 1 else _subscriber(case.topics, rng)
    return evolve(case, members={**case.members, f"joined-{rng.randrange(10**6):06}": spec})


def _without_a_member(case: Case, rng: random.Random) -> Case:
    gone = rng.choice(sorted(case.members))
    rest = {member: spec for member, spec in case.members.items() if member != gone}
    return evolve(case, members=rest) if rest else case


def _with_more_partitions(case: Case, rng: random.Random) -> Case:
    grown = rng.choice(sorted(case.topics))
    return evolve(case, topics={**case.topics, grown: case.topics[grown] + rng.randint(1, 3)})


def _with_new_subscription(case: Case, rng: random.Random) -> Case:
    if len(_subscriptions(case)) == 1:
        return case
    member = rng.choice(sorted(case.members))
    spec = evolve(case.members[member], topic_ids=_subscriber(case.topics, rng).topic_ids)
    return evolve(case, members={**case.members, member: spec})
