"""The result of a poll of assigned partitions."""

from collections.abc import Mapping

from attrs import frozen

from kafka_groups.types import FetchedRecord, TopicPartition

__all__ = ["NOTHING", "PolledRecords"]


@frozen
class PolledRecords:
    """Records of several partitions, and what else happened to those.

    Attributes:
        batches: Records by partition, in the order of their offsets.
        ends: Where the log ends, for each partition that was read to its end after these records. Markers of
            transactions count, so the end may be behind the last record by more than one.
        out_of_range: Partitions whose log does not have the next offset. They are not read until they are assigned
            again.
    """

    batches: Mapping[TopicPartition, list[FetchedRecord]]
    ends: Mapping[TopicPartition, int]
    out_of_range: tuple[TopicPartition, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.batches or self.ends or self.out_of_range)

    @property
    def count(self) -> int:
        """The number of records."""
        return sum(map(len, self.batches.values()))


NOTHING = PolledRecords({}, {})
"""A poll without news."""
