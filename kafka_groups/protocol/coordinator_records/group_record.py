"""Keys of the records of share, consumer and streams groups, and the epoch of their target assignments."""

from typing import Generic, TypeVar

from attrs import frozen

from kafka_groups.protocol.fields import Int32, Int64, wire_field

__all__ = ["GroupKeyed", "MemberKeyed", "TargetEpoch"]

V = TypeVar("V")


@frozen
class GroupKeyed(Generic[V]):
    """A record about a group. Without a value, it is a tombstone."""

    group_id: str
    value: V | None = None


@frozen
class MemberKeyed(Generic[V]):
    """A record about a member of a group. Without a value, it is a tombstone."""

    group_id: str
    member_id: str
    value: V | None = None


@frozen
class TargetEpoch:
    """The group epoch that the target assignment was computed for, and the wall-clock time of that (KIP-1263).

    Attributes:
        assignment_epoch: The group epoch.
        assignment_timestamp_ms: The time, or 0 if it is not known or the next computation need not wait.
    """

    assignment_epoch: Int32
    assignment_timestamp_ms: Int64 = wire_field(0, tag=0)
