"""The parts of a member's client from which its membership is made."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from attrs import frozen

from kafka_groups.client.assembly import Assembly
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.engine import ClientEngine
from kafka_groups.client.requests import RequestManager
from kafka_groups.config.clients.streams_member import StreamsMemberConfig
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.streams.member.rules.group_membership import GroupMembership
from kafka_groups.streams.member.rules.member_description import MemberDescription
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.types import TaskId

if TYPE_CHECKING:  # imported when an error needs it
    from kafka_groups.admin.rules.group_kinds import GroupKind

__all__ = ["GroupRefusals", "LeadingPart", "MadeMembership", "MembershipOf", "MembershipParts", "TaskPositions"]

TaskPositions = Callable[[], Mapping[TaskId, TaskPosition]]
"""Returns the positions of all tasks that have state in this process. In a classic group, dormant ones are left out."""


@frozen
class MembershipParts:
    """The parts of a membership that are the same for every kind of group.

    Attributes:
        config: The member's configuration.
        description: What the member tells its group about itself.
        assembly: What all clients are made of.
        coordinator: Finds the broker that coordinates the group.
        positions: Returns the positions of tasks.
        engine: Returns the engine of the client, once it runs.
    """

    config: StreamsMemberConfig
    description: MemberDescription
    assembly: Assembly
    coordinator: CoordinatorManager
    positions: TaskPositions
    engine: Callable[[], ClientEngine]


class LeadingPart(Protocol):
    """The part of a client that leads its group, if the members of the group do that."""

    def look(self) -> None:
        """Look at the membership after a turn of the engine."""
        ...

    async def stop(self) -> None:
        """Lead no more."""
        ...


class GroupRefusals(Protocol):
    """Explains the errors with which the coordinator refuses a member for good."""

    def asks_for_kind(self, error: KafkaGroupsError) -> bool:
        """Return whether the error needs the type of the group."""
        ...

    def explained(self, error: KafkaGroupsError, group_id: str, kind: "GroupKind | None") -> KafkaGroupsError:
        """Return the error with its remedy, or the same if it says all.

        Args:
            error: The error that has ended the member.
            group_id: The group.
            kind: What kind of group it is, if the error needs that and a broker tells it.
        """
        ...


@frozen
class MadeMembership:
    """A membership, and what it needs besides the parts of every client.

    Attributes:
        membership: The membership.
        refusals: Explains the errors that end it.
        managers: The other request managers.
        leader: What leads the group if it falls to the member, or None.
    """

    membership: GroupMembership
    refusals: GroupRefusals
    managers: tuple[RequestManager, ...] = ()
    leader: LeadingPart | None = None


MembershipOf = Callable[[MembershipParts], MadeMembership]
"""Makes the membership of a kind of group."""
