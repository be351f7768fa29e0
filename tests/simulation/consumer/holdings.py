"""The partitions that a member of a consumer group may own, by what the wire shows."""

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
        held: The partitions that it may own: its assignments, without those that it has given up since.
        told: The assignment that it was last told.
    """

    held: Partitions = NOTHING
    told: Partitions = NOTHING

    @property
    def is_clean(self) -> bool:
        """True if it has no partition to revoke."""
        return self.held == self.told

    @property
    def committable(self) -> Partitions:
        """The partitions that it was last told."""
        return self.told

    def listed(self, request: ConsumerGroupHeartbeatRequest) -> Partitions | None:
        """Return the partitions that a heartbeat says that it owns. None: the heartbeat does not say."""
        return None if request.topic_partitions is None else places_in(request.topic_partitions)

    def asked(self, request: ConsumerGroupHeartbeatRequest, *, is_certain: bool) -> Partitions:
        """Note a heartbeat that it sends. Return what it says that it owns and was not told to."""
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
        """Note a response to a heartbeat that joins or stays. Return the partitions that are new."""
        if response.assignment is not None:
            self.told = places_in(response.assignment.topic_partitions)
        new, self.held = self.told - self.held, self.held | self.told
        return new

    def release(self) -> None:
        """Give up what it has kept while it was away."""
        self.held = NOTHING
