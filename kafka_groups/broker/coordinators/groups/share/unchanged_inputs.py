"""Remembers facts of share groups, so that a heartbeat that changes nothing does not compute them again."""

from attrs import frozen

from kafka_groups.broker.coordinators.groups.share.group import ShareGroup
from kafka_groups.broker.coordinators.groups.topics_image import TopicsImage

__all__ = ["UnchangedInputs"]


@frozen(eq=False)
class _Facts:
    """Numbers, and values of a group, which are replaced if they change."""

    numbers: tuple[int, ...]
    values: tuple[object, ...]

    def are(self, others: "_Facts") -> bool:
        # The values are immutable and a change replaces them, so identity is enough and costs nothing, however large
        # they are.
        is_same = all(value is other for value, other in zip(self.values, others.values, strict=True))
        return is_same and self.numbers == others.numbers


class UnchangedInputs:
    """Remembers that nothing follows from the topics for a group, or for a member. Soft state of one group.

    A heartbeat that changes nothing so costs the same, however many members and topics a group has.

    Args:
        topics: The existing topics.
    """

    def __init__(self, topics: TopicsImage) -> None:
        self._topics = topics
        self._group: _Facts | None = None
        self._members: dict[str, _Facts] = {}

    def has_group(self, group: ShareGroup) -> bool:
        """Return whether the group epoch and the share states are up to date.

        They depend on the subscriptions of the members, too. But each change of these changes the group epoch.
        """
        return self._group is not None and self._group.are(self._of_group(group))

    def add_group(self, group: ShareGroup) -> None:
        """Note that the group epoch and the share states are up to date."""
        self._group = self._of_group(group)

    def has_member(self, group: ShareGroup, member_id: str) -> bool:
        """Return whether the current assignment of a member is up to date."""
        known = self._members.get(member_id)
        return known is not None and known.are(self._of_member(group, member_id))

    def add_member(self, group: ShareGroup, member_id: str) -> None:
        """Note that the current assignment of a member is up to date."""
        self._members[member_id] = self._of_member(group, member_id)

    def forget_member(self, member_id: str) -> None:
        """Forget a member that is gone."""
        self._members.pop(member_id, None)

    def _of_group(self, group: ShareGroup) -> _Facts:
        return _Facts((self._topics.version,), (group.metadata, group.state_partitions))

    def _of_member(self, group: ShareGroup, member_id: str) -> _Facts:
        numbers = (self._topics.version, group.assignment_epoch)
        return _Facts(numbers, (group.members[member_id], group.target.get(member_id), group.current.get(member_id)))
