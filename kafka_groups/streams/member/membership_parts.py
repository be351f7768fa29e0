"""The parts of a member's client from which its membership is made."""

from collections.abc import Callable, Mapping

from attrs import frozen

from kafka_groups.client.assembly import Assembly
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.requests import RequestManager
from kafka_groups.config.clients.streams_member import StreamsMemberConfig
from kafka_groups.streams.member.rules.group_membership import GroupMembership
from kafka_groups.streams.member.rules.member_description import MemberDescription
from kafka_groups.streams.member.rules.task_position import TaskPosition
from kafka_groups.types import TaskId

__all__ = ["MadeMembership", "MembershipOf", "MembershipParts", "TaskPositions"]

TaskPositions = Callable[[], Mapping[TaskId, TaskPosition]]
"""Returns the positions of all tasks that have state in this process, dormant ones included."""


@frozen
class MembershipParts:
    """The parts of a membership that are the same for every kind of group.

    Attributes:
        config: The member's configuration.
        description: What the member tells its group about itself.
        assembly: What all clients are made of.
        coordinator: Finds the broker that coordinates the group.
        positions: Returns the positions of tasks.
    """

    config: StreamsMemberConfig
    description: MemberDescription
    assembly: Assembly
    coordinator: CoordinatorManager
    positions: TaskPositions


@frozen
class MadeMembership:
    """A membership, and the request managers that it needs besides those of every client.

    Attributes:
        membership: The membership.
        managers: The other request managers.
    """

    membership: GroupMembership
    managers: tuple[RequestManager, ...] = ()


MembershipOf = Callable[[MembershipParts], MadeMembership]
"""Makes the membership of a kind of group."""
