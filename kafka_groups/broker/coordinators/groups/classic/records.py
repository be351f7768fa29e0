"""The record that stores a classic group's hard state: type 2 of `__consumer_offsets`.

It contains a whole generation. A value of None is a tombstone that deletes the group.
"""

from attrs import frozen

from kafka_groups.protocol.coordinator_records.offsets import GroupMetadataValue

__all__ = ["NO_TIMESTAMP", "ClassicGroupMetadata"]


NO_TIMESTAMP = -1
"""In place of the time of the last change of a group's state, in old records."""


@frozen
class ClassicGroupMetadata:
    """A classic group. Its tombstone deletes the group."""

    group_id: str
    value: GroupMetadataValue | None
