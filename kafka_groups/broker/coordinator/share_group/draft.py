"""What a group would be after the records that an operation has written so far."""

from kafka_groups.broker.coordinator.records import GroupRecord
from kafka_groups.broker.coordinator.share_group.group import ShareGroup

__all__ = ["Draft"]


class Draft:
    """A copy of a group that an operation writes its records on.

    Each record is replayed on the copy at once, by the same `replay` that will change the group itself: the steps of
    an operation see each other's effects, and the group cannot come out differently.

    Attributes:
        group: The copy.
        records: What was written.
    """

    def __init__(self, group: ShareGroup) -> None:
        self.group = group.copy()
        self.records: list[GroupRecord] = []

    def write(self, record: GroupRecord) -> None:
        """Add a record."""
        self.group.replay(record)
        self.records.append(record)
