"""Random inputs for the assignors of consumer groups: chains of changes to groups that are assigned after each."""

import random
from collections.abc import Callable, Iterator, Mapping
from uuid import UUID

from attrs import evolve, field, frozen

from kafka_groups.broker.coordinators.groups.assignors.group_spec import GroupSpec, PartitionsByTopic, SubscribedMember
from kafka_groups.broker.coordinators.groups.assignors.kafka_order import ordered_names
from kafka_groups.types import member_id_of, random_uuid

GroupAssignment = dict[str, dict[UUID, tuple[int, ...]]]
Assignor = Callable[[GroupSpec], GroupAssignment]


@frozen
class Topic:
    """A topic by its id and its number of partitions."""

    topic_id: UUID
    partitions: int


@frozen
class Member:
    """A member with the names that it subscribes to, whether or not there are such topics."""

    names: frozenset[str]
    instance_id: str | None = None
    assigned: PartitionsByTopic = field(factory=dict)


@frozen
class GroupCase:
    """One input of an assignor.

    Attributes:
        names: What members may subscribe to. Not all of these topics exist.
        alike: Whether all members have the same subscription.
    """

    names: tuple[str, ...]
    alike: bool
    topics: Mapping[str, Topic]
    members: Mapping[str, Member]

    @property
    def homogeneous(self) -> bool:
        """Whether all members subscribe to the same names."""
        return len({member.names for member in self.members.values()}) <= 1

    def spec(self) -> GroupSpec:
        """The input for our assignors."""
        members = {
            member_id: SubscribedMember(
                [self.topics[name].topic_id for name in ordered_names(sorted(member.names)) if name in self.topics],
                member.instance_id,
                member.assigned,
                len(member.names - self.topics.keys()),
            )
            for member_id, member in self.members.items()
        }
        counts = {topic.topic_id: topic.partitions for topic in self.topics.values()}
        return GroupSpec(members, counts, self.homogeneous)

    def owning(self, assignment: GroupAssignment) -> "GroupCase":
        """The same group with what was assigned to it."""
        members = {
            member_id: evolve(member, assigned=assignment[member_id]) for member_id, member in self.members.items()
        }
        return evolve(self, members=members)


def chain(assign: Assignor, length: int, rng: random.Random) -> Iterator[GroupCase]:
    """A group that changes, and is assigned after each change: the inputs of all these assignments."""
    case = random_group(rng)
    for _ in range(length):
        yield case
        case = case.owning(assign(case.spec()))
        for _ in range(rng.randint(1, 3)):
            case = rng.choice(_CHANGES)(case, rng)


def random_group(rng: random.Random) -> GroupCase:
    """A group that was never assigned: small, as most faults show in these, or larger than Java's smallest tables."""
    most_topics, most_partitions, most_members = rng.choice(((3, 6, 5), (5, 20, 10), (16, 40, 30)))
    names = tuple(f"topic-{number}" for number in range(rng.randint(1, most_topics)))
    topics = {name: _topic(most_partitions, rng) for name in names if rng.random() < 0.9}
    case = GroupCase(names, alike=rng.random() < 0.5, topics=topics, members={})
    for _ in range(rng.randint(1, most_members)):
        case = _with_new_member(case, rng)
    return case


def _topic(most_partitions: int, rng: random.Random) -> Topic:
    return Topic(random_uuid(rng), rng.randint(1, most_partitions))


def _subscription(case: GroupCase, rng: random.Random) -> frozenset[str]:
    return frozenset(rng.sample(case.names, rng.randint(0 if rng.random() < 0.1 else 1, len(case.names))))


def _with_new_member(case: GroupCase, rng: random.Random) -> GroupCase:
    alike = case.alike and case.members
    names = next(iter(case.members.values())).names if alike else _subscription(case, rng)
    instance_id = f"instance-{rng.randrange(1000)}" if rng.random() < 0.4 else None
    if instance_id in {member.instance_id for member in case.members.values()}:
        instance_id = None
    return evolve(case, members={**case.members, member_id_of(random_uuid(rng)): Member(names, instance_id)})


def _without_a_member(case: GroupCase, rng: random.Random) -> GroupCase:
    gone = rng.choice(sorted(case.members))
    rest = {member_id: member for member_id, member in case.members.items() if member_id != gone}
    return evolve(case, members=rest) if rest else case


def _with_a_restarted_member(case: GroupCase, rng: random.Random) -> GroupCase:
    """A static member gets a new member id and has what it had."""
    static = sorted(member_id for member_id, member in case.members.items() if member.instance_id is not None)
    if not static:
        return case
    members = dict(case.members)
    known = members.pop(rng.choice(static))
    return evolve(case, members={**members, member_id_of(random_uuid(rng)): known})


def _with_another_subscription(case: GroupCase, rng: random.Random) -> GroupCase:
    names = _subscription(case, rng)
    chosen = case.members if case.alike else {rng.choice(sorted(case.members))}
    members = {
        member_id: evolve(member, names=names) if member_id in chosen else member
        for member_id, member in case.members.items()
    }
    return evolve(case, members=members)


def _with_a_new_topic(case: GroupCase, rng: random.Random) -> GroupCase:
    """A topic that was missing, or a topic that was deleted and created again."""
    return evolve(case, topics={**case.topics, rng.choice(case.names): _topic(12, rng)})


def _without_a_topic(case: GroupCase, rng: random.Random) -> GroupCase:
    gone = rng.choice(case.names)
    return evolve(case, topics={name: topic for name, topic in case.topics.items() if name != gone})


def _with_more_partitions(case: GroupCase, rng: random.Random) -> GroupCase:
    name = rng.choice(case.names)
    if name not in case.topics:
        return case
    grown = evolve(case.topics[name], partitions=case.topics[name].partitions + rng.randint(1, 6))
    return evolve(case, topics={**case.topics, name: grown})


_CHANGES = (
    _with_new_member,
    _with_new_member,
    _without_a_member,
    _without_a_member,
    _with_a_restarted_member,
    _with_another_subscription,
    _with_a_new_topic,
    _without_a_topic,
    _with_more_partitions,
)
