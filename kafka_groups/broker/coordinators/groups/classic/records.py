"""The record that stores a classic group's hard state: type 2 of `__consumer_offsets`.

It contains a whole generation. A value of None is a tombstone that deletes the group.
"""

from typing import ClassVar

from attrs import frozen

__all__ = ["ClassicGroupGeneration", "ClassicGroupMember", "ClassicGroupMetadata"]


@frozen(kw_only=True)
class ClassicGroupMember:
    """A member of a generation.

    Attributes:
        group_instance_id: The instance id of a static member (KIP-345), or None.
        rebalance_timeout_ms: The longest time that a rebalance waits for the member.
        session_timeout_ms: The longest time between the member's heartbeats.
        subscription: The member's metadata for the protocol that was chosen.
        assignment: The leader's assignment for it.
    """

    member_id: str
    group_instance_id: str | None = None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@frozen(kw_only=True)
class ClassicGroupGeneration:
    """A generation of a group that all its members have agreed on, or an empty group.

    Attributes:
        protocol_type: The group's type ("consumer", "connect"), or "" if no member ever joined.
        protocol: The protocol that was chosen: for consumers, the name of an assignor. None if the group is empty.
        leader: The member that assigns partitions. None if the group is empty.
        state_timestamp_ms: Wall-clock time of the last change of the group's state, or None in old records.
    """

    protocol_type: str
    generation: int
    protocol: str | None = None
    leader: str | None = None
    state_timestamp_ms: int | None = None
    members: tuple[ClassicGroupMember, ...] = ()


@frozen
class ClassicGroupMetadata:
    """A classic group. Its tombstone deletes the group."""

    TYPE: ClassVar[int] = 2
    group_id: str
    value: ClassicGroupGeneration | None
