"""The contents of a transaction: the partitions that were added to it (v1), and the offsets of a group."""

from collections.abc import Callable, Iterable, Mapping
from uuid import UUID

from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.errors import IllegalStateError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["PartitionsOfTransaction", "TransactionOffsets"]


class PartitionsOfTransaction:
    """The partitions that batches wait for, and those that are part of the transaction (v1)."""

    def __init__(self) -> None:
        self._wanted: dict[TopicPartition, None] = {}
        self._unknown: set[TopicPartition] = set()
        self._added: set[TopicPartition] = set()

    def may_produce(self, partition: TopicPartition) -> bool:
        """Return whether a partition was added. Otherwise it is added next."""
        if partition in self._added:
            return True
        self._wanted[partition] = None
        return False

    def next(self) -> tuple[TopicPartition, ...]:
        """Return the partitions to add with one request."""
        # One unknown topic makes the coordinator refuse the whole request. It may have been deleted, so the others do
        # not wait for it.
        known = tuple(each for each in self._wanted if each not in self._unknown)
        return known or tuple(self._wanted)

    def answered(self, codes: Mapping[TopicPartition, ErrorCode]) -> None:
        """Note what the coordinator has answered about each partition."""
        for partition, code in codes.items():
            if code is ErrorCode.NONE:
                self._added.add(partition)
                self._wanted.pop(partition, None)
            elif code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                self._unknown.add(partition)

    def clear(self) -> None:
        """Begin a new transaction. Batches that wait ask again."""
        self._wanted.clear()
        self._unknown.clear()
        self._added.clear()


class TransactionOffsets:
    """The offsets of one group that are committed with the transaction.

    Attributes:
        who: The group and its member, or None before the first offsets.
        added_group: The group of which the coordinator knows that there may be offsets (AddOffsetsToTxn, v1).
        topic_ids: The ids of the topics that offsets are from, as far as they are known.
    """

    def __init__(self) -> None:
        self.who: GroupMetadata | None = None
        self.added_group: str | None = None
        self._given: dict[TopicPartition, OffsetAndMetadata] = {}
        self._stored: dict[TopicPartition, OffsetAndMetadata] = {}
        self.topic_ids: dict[TopicPartition, UUID] = {}

    def give(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        who: GroupMetadata,
        topic_ids: Mapping[TopicPartition, UUID],
    ) -> None:
        """Add offsets. Those of partitions that are left out stay as they are.

        Args:
            offsets: For each partition the offset of the next record to process.
            who: The group and its member.
            topic_ids: The ids of the topics that the offsets are from. The first one of a partition stays.

        Raises:
            IllegalStateError: The transaction has offsets of another group.
        """
        if self.who is not None and self._given and self.who.group_id != who.group_id:
            raise IllegalStateError(
                f"The transaction has offsets of the group {self.who.group_id!r}, so it cannot have those of "
                f"{who.group_id!r}. Commit it first."
            )
        self.who = who
        self._given.update(offsets)
        # A topic that has the same name later is another one. The records of the transaction are not from it.
        self.topic_ids = {**topic_ids, **self.topic_ids}

    def has(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> bool:
        """Return whether all of these were given."""
        return all(self._given.get(each) == offset for each, offset in offsets.items())

    def former(self, topic_id: Callable[[str], UUID | None]) -> TopicPartition | None:
        """Return a partition whose topic was deleted and made again since its offset was read, or None."""
        for place, read_from in self.topic_ids.items():
            if topic_id(place.topic) not in (None, read_from):
                return place
        return None

    @property
    def missing(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The offsets that the group's coordinator has not stored."""
        return {each: offset for each, offset in self._given.items() if self._stored.get(each) != offset}

    @property
    def is_complete(self) -> bool:
        """True if all offsets are stored; also if there are none."""
        return self._given == self._stored

    @property
    def has_stored(self) -> bool:
        """True if the group's coordinator has stored some offsets."""
        return bool(self._stored)

    def stored(self, sent: Mapping[TopicPartition, OffsetAndMetadata], partitions: Iterable[TopicPartition]) -> None:
        """Note that the coordinator has stored these partitions of a request."""
        self._stored.update({each: sent[each] for each in partitions if each in sent})

    def clear(self) -> None:
        """Begin a new transaction."""
        self.who = self.added_group = None
        self._given.clear()
        self._stored.clear()
        self.topic_ids.clear()
