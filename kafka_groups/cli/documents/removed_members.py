"""The documents of `kafka-groups members`."""

from attrs import frozen

__all__ = ["RemovedMemberEntry"]


@frozen
class RemovedMemberEntry:
    """A member that was removed.

    Attributes:
        group: The group.
        member: Its id, or null for a static member that was removed by its instance id.
        instance: The instance id of a static member, or null.
    """

    group: str
    member: str | None
    instance: str | None
