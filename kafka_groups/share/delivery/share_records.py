"""A batch of records as the application sees it: what one poll returned."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, overload

from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.records import NO_SESSION, CopiedRecord, K, ShareRecord, V, copied_record
from kafka_groups.types import AcknowledgeType, TopicIdPartition, TopicPartition

__all__ = ["AnyRecords", "ShareRecords", "deliveries_of"]

_size_of = attrgetter("size")
_CopiedPart = tuple[TopicIdPartition, tuple[AcquiredRecords, ...], list[CopiedRecord]]


class ShareRecords(Generic[K, V]):
    """The records that one poll returned, of one or more partitions, to iterate over, index and slice.

    Iterating makes the records one by one, so that a large batch needs little memory; iterating twice makes them twice.
    Indexing makes and keeps them all.

    A batch and its records can be pickled. The copies have everything but the locks: acknowledge the originals, or the
    offsets with `acknowledge_offset`. Two records are equal if they are the same record of the log, whichever delivery
    they came with.
    """

    __slots__ = ("_deliveries", "_made", "_size")

    def __init__(self, deliveries: Sequence[DeliveredRecords] = ()) -> None:
        self._deliveries = tuple(deliveries)
        self._size: int = sum(map(_size_of, self._deliveries))
        self._made: list[ShareRecord[K, V]] | None = None

    def __len__(self) -> int:
        return self._size

    def __bool__(self) -> bool:
        return self._size > 0

    def __iter__(self) -> Iterator[ShareRecord[K, V]]:
        return chain.from_iterable(self._deliveries)

    @overload
    def __getitem__(self, index: int) -> ShareRecord[K, V]: ...

    @overload
    def __getitem__(self, index: slice) -> list[ShareRecord[K, V]]: ...

    def __getitem__(self, index: int | slice) -> ShareRecord[K, V] | list[ShareRecord[K, V]]:
        """Return one record, or the list of a slice.

        The first use makes all records of the batch and keeps them.
        """
        if self._made is None:
            self._made = list(self)
        return self._made[index]

    def __eq__(self, other: object) -> bool:
        """Return True if both have equal records in the same order."""
        if not isinstance(other, ShareRecords):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=False))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        parts = [(part.topic_partition, part.ranges, list(map(copied_record, part))) for part in self._deliveries]
        return _restored, (parts,)

    def acknowledgements(self) -> Mapping[TopicIdPartition, Counter[AcknowledgeType]]:
        """Count the records that you have acknowledged but not sent yet, by partition and type."""
        counted: dict[TopicIdPartition, Counter[AcknowledgeType]] = {}
        for part in self._deliveries:
            counts = part.acknowledgements()
            if counts:
                counted.setdefault(part.topic_partition, Counter()).update(counts)
        return counted

    def partitions(self) -> frozenset[TopicPartition]:
        """The partitions that the batch has records of."""
        return frozenset(TopicPartition(part.topic, part.partition) for part in self._deliveries)

    def by_partition(self) -> Mapping[TopicPartition, Sequence[ShareRecord[K, V]]]:
        """The records of each partition, in the order of their offsets."""
        grouped: dict[TopicPartition, list[ShareRecord[K, V]]] = {}
        for part in self._deliveries:
            grouped.setdefault(TopicPartition(part.topic, part.partition), []).extend(part)
        return grouped

    def __repr__(self) -> str:
        return f"<ShareRecords {len(self)} of {', '.join(map(str, sorted(self.partitions()))) or 'no partition'}>"


AnyRecords = ShareRecords[Any, Any]


def deliveries_of(records: AnyRecords) -> tuple[DeliveredRecords, ...]:
    """Return the parts of a batch, one for each partition and fetch response. For other parts of this package only."""
    return records._deliveries


def _restored(parts: Iterable[_CopiedPart]) -> AnyRecords:
    return ShareRecords([_restored_part(*part) for part in parts])


def _restored_part(
    partition: TopicIdPartition, ranges: tuple[AcquiredRecords, ...], copied: Iterable[CopiedRecord]
) -> DeliveredRecords:
    delivery = DeliveredRecords(partition, NO_SESSION, ranges, 0)
    delivery.hand_out_deserialized([each.in_delivery(delivery) for each in copied])
    delivery.let_go()
    return delivery
