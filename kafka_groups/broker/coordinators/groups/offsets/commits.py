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
        is_transactional: Whether the offsets are part of a transaction.
    """

    member_id: str = ""
    group_instance_id: str | None = None
    generation: int = _NO_GENERATION
    is_transactional: bool = False

    @property
    def names_no_member(self) -> bool:
        """True if it does not say that it is a member."""
        return self.generation < 0 and not self.member_id and self.group_instance_id is None
