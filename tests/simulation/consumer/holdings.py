"""What a member of a consumer group may own, by what the wire shows of it."""

from attrs import define

from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tests.simulation.consumer.membership import NOTHING, Partitions, places_in

__all__ = ["PartitionHolding"]


@define(eq=False)
class PartitionHolding:
    """The partitions of a member.

    Attributes:
        held: What it may own: what it was told, without what it has said since that it does not own.
        told: The assignment that it was last told.
    """

    held: Partitions = NOTHING
    told: Partitions = NOTHING

    @property
    def is_clean(self) -> bool:
        """Whether it has no partition to revoke."""
        return self.held == self.told

    @property
    def committable(self) -> Partitions:
        """The partitions that it was last told."""
        return self.told

    def listed(self, request: ConsumerGroupHeartbeatRequest) -> Partitions | None:
        """The partitions that a heartbeat says that it owns. None: it says nothing."""
        return None if request.topic_partitions is None else places_in(request.topic_partitions)

    def asked(self, request: ConsumerGroupHeartbeatRequest, *, is_certain: bool) -> Partitions:
        """It sends a heartbeat. Returns what it owns without having been told that it may."""
        if request.member_epoch == LEAVE_STATIC_EPOCH:
            self.held = self.told
        elif request.member_epoch <= JOIN_GROUP_EPOCH:
            self.held = NOTHING
        elif (owned := self.listed(request)) is not None:
            foreign, self.held = owned - self.held, owned & self.held
            return foreign
        return NOTHING

    def accepted(
        self, request: ConsumerGroupHeartbeatRequest, response: ConsumerGroupHeartbeatResponse, *, is_certain: bool
    ) -> Partitions:
        """A heartbeat of a member that joins or stays is accepted. Returns the partitions that are new to it."""
        if response.assignment is not None:
            self.told = places_in(response.assignment.topic_partitions)
        new, self.held = self.told - self.held, self.held | self.told
        return new

    def release(self) -> None:
        """Give up what it has kept while it was away."""
        self.held = NOTHING
