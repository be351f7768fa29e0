"""A group as it will be after the records that an operation has created so far."""

from kafka_groups.broker.coordinators.groups.records import GroupRecord
from kafka_groups.broker.coordinators.groups.share.group import ShareGroup

__all__ = ["Draft"]


class Draft:
    """A copy of a group, to which an operation applies its records.

    Each record is replayed on the copy at once, with the same `replay` that will change the group itself. The steps of
    an operation therefore see each other's effects, and the group ends in the same state as the copy.

    Attributes:
        group: The copy.
        records: The records so far.
    """

    def __init__(self, group: ShareGroup) -> None:
        self.group = group.copy()
        self.records: list[GroupRecord] = []

    def write(self, record: GroupRecord) -> None:
        """Add a record."""
        self.group.replay(record)
        self.records.append(record)
