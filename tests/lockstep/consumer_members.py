"""What clients remember of their memberships in a consumer group (KIP-848)."""

from typing import Any
from uuid import UUID

from attrs import define

Owned = frozenset[tuple[UUID, int]]
"""Partitions: the id of the topic, and the number."""

NOTHING: Owned = frozenset()


@define
class ConsumerState:
    """What a client knows of its membership.

    Attributes:
        life: How often it has been started before. Each life has a member id of its own.
        epoch: Its member epoch; 0 if it is not a member.
        assigned: The partitions that it was last told that it may own.
    """

    life: int = 0
    epoch: int = 0
    assigned: Owned = NOTHING

    def left(self) -> None:
        """It is not a member any more."""
        self.epoch, self.assigned = 0, NOTHING

    def answered(self, response: Any) -> None:
        """Remember a response without an error."""
        self.epoch = response.member_epoch
        self.assigned = self.assigned if response.assignment is None else partitions_in(response.assignment)


def partitions_in(assignment: Any) -> Owned:
    """The partitions of an assignment, as it is in responses."""
    return frozenset((each.topic_id, number) for each in assignment.topic_partitions for number in each.partitions)
