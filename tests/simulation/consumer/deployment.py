"""The processes that consume: what they want, and what happens to them."""

import random
from collections import Counter
from collections.abc import Collection, Sequence

from attrs import evolve, frozen

from kafka_groups.protocol.coordinator_records.consumer_group import ConsumerGroupMemberMetadata
from kafka_groups.protocol.messages.consumer_group_heartbeat import FIRST_WITH_REGEX
from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.types import member_id_of, random_uuid
from tests.simulation.consumer.member import Member
from tests.simulation.consumer.membership import GROUP, Membership, Seat
from tests.simulation.consumer.topics import common_assignor, disturb_topics, partitions_of, subscription
from tests.simulation.groups.coordination import remove_instance
from tests.simulation.groups.crew import Act, Crew
from tests.simulation.groups.epochs import deployment
from tests.simulation.groups.epochs.deployment import INSTANCES, EpochDeployment

__all__ = ["OWN_FAULTS", "consumer_deployment"]

OWN_FAULTS = (*deployment.OWN_FAULTS, "removed", "left_for_a_while", "other_subscription", "topic_created")
"""What strikes in addition to the faults of all simulations."""

_SEATS = (*(Seat(name, name) for name in INSTANCES), Seat("ann", None), Seat("bob", None), Seat("eve", None))


def consumer_deployment(world: SimulatedWorld) -> EpochDeployment[Seat, Member]:
    """The processes of a consumer group."""
    return EpochDeployment(world, _ConsumerDeploymentRules(world))


@frozen
class _ConsumerDeploymentRules:
    """Members subscribe to different topics. An administrator removes static ones, and lets topics grow."""

    world: SimulatedWorld
    seats: Sequence[Seat] = _SEATS
    member_record: type = ConsumerGroupMemberMetadata

    def new_member(self, seat: Seat) -> Member:
        """A member with its own subscription and version, if the seat does not say what it wants."""
        rng = random.Random(self.world.rng.random())
        wanted = seat.subscription or subscription(rng, common_assignor(self.world.seed) if seat.instance else None)
        membership = Membership(member_id_of(random_uuid(rng)), seat.instance, wanted)
        version = FIRST_WITH_REGEX if wanted.regex is not None else rng.choice((0, FIRST_WITH_REGEX))
        return Member(seat, self.world, rng, membership, version, with_ids=rng.random() < 0.5)

    def successor(self, member: Member) -> Seat:
        """The seat with the subscription of the member."""
        return evolve(member.seat, subscription=member.membership.subscription)

    def problem(self, members: Collection[Member]) -> str:
        """Each partition that somebody subscribes to must have one owner."""
        names = {name for each in members for name in each.membership.subscription.names}
        wanted = partitions_of(self.world.cluster.metadata, names)
        owners = Counter(place for each in members for place in each.owned)
        return "" if owners == Counter(wanted) else f"not each of {len(wanted)} partitions has one owner"

    def acts(self, crew: Crew[Seat, Member]) -> Sequence[Act]:
        """Topics are created and grow; static members are removed."""

        async def grow() -> None:
            await disturb_topics(self.world)

        async def remove() -> None:
            await remove_instance(self.world, GROUP, crew.static_seat().instance or "")

        return grow, remove
