"""The sender of an offset commit."""

from attrs import frozen

__all__ = ["OffsetCommitter"]

_NO_GENERATION = -1


@frozen
class OffsetCommitter:
    """The sender of an offset commit. The defaults suit an admin client, or a consumer outside of any group.

    Attributes:
        member_id: Its member id.
        group_instance_id: Its instance id, if it is a static member.
        generation: The generation of a classic group, or the member epoch.
    """

    member_id: str = ""
    group_instance_id: str | None = None
    generation: int = _NO_GENERATION
