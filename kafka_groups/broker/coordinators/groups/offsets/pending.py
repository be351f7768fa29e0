"""Offsets that are part of open transactions: they count when their transaction is committed (KIP-98)."""

from collections.abc import Iterator

from attrs import frozen

from kafka_groups.protocol.coordinator_records.offsets import OffsetCommit
from kafka_groups.types import TopicPartition

__all__ = ["PendingOffsets"]

OffsetKey = tuple[str, TopicPartition]


@frozen
class _Pending:
    offset: int
    record: OffsetCommit


class PendingOffsets:
    """The offsets of open transactions, by producer and by group.

    An offset stays pending until the marker, even if it will not count any more because a later record has replaced it.
    """

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[OffsetKey, _Pending | None]] = {}
        self._producers: dict[str, dict[TopicPartition, set[int]]] = {}

    def __repr__(self) -> str:
        return f"<PendingOffsets of {len(self._by_producer)} producers>"

    def __contains__(self, key: OffsetKey) -> bool:
        """Return whether an open transaction has an offset of a group's partition."""
        group_id, partition = key
        return partition in self._producers.get(group_id, ())

    def of_group(self, group_id: str) -> list[TopicPartition]:
        """Return the partitions of a group that open transactions have offsets of."""
        return list(self._producers.get(group_id, ()))

    def of_topics(self, topics: set[str]) -> Iterator[OffsetCommit]:
        """Return the records that forget all offsets of some topics."""
        for group_id, partitions in self._producers.items():
            for each in partitions:
                if each.topic in topics:
                    yield OffsetCommit(group_id, each.topic, each.partition, None)

    @property
    def topics(self) -> set[str]:
        """The topics that open transactions have offsets of."""
        return {each.topic for partitions in self._producers.values() for each in partitions}

    def add(self, producer_id: int, record: OffsetCommit, offset: int) -> None:
        """Keep an offset until the transaction ends."""
        partition = TopicPartition(record.topic, record.partition)
        self._by_producer.setdefault(producer_id, {})[record.group, partition] = _Pending(offset, record)
        self._producers.setdefault(record.group, {}).setdefault(partition, set()).add(producer_id)

    def replaced(self, record: OffsetCommit, offset: int) -> None:
        """Note a record that counts: earlier ones of the same partition will not. A tombstone ends them."""
        key = (record.group, TopicPartition(record.topic, record.partition))
        for producer_id in tuple(self._producers.get(key[0], {}).get(key[1], ())):
            pending = self._by_producer[producer_id][key]
            # There are two kinds of records that count. A tombstone makes the partition stable at once. An ordinary
            # offset does not: the transaction is still open, but its offset is remembered as one that will not count.
            if record.value is None:
                self._remove(producer_id, key)
            elif pending is not None and pending.offset < offset:
                self._by_producer[producer_id][key] = None

    def take(self, producer_id: int) -> list[tuple[OffsetCommit, int]]:
        """Return the offsets of a transaction that ends, with the places of their records, and forget them."""
        pending = dict(self._by_producer.get(producer_id, {}))
        for key in pending:
            self._remove(producer_id, key)
        # Those without a record were replaced.
        return [(each.record, each.offset) for each in pending.values() if each is not None]

    def _remove(self, producer_id: int, key: OffsetKey) -> None:
        group_id, partition = key
        of_producer, of_group = self._by_producer[producer_id], self._producers[group_id]
        del of_producer[key]
        of_group[partition].discard(producer_id)
        if not of_producer:
            del self._by_producer[producer_id]
        if not of_group[partition]:
            del of_group[partition]
        if not of_group:
            del self._producers[group_id]
