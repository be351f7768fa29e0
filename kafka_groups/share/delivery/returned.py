"""Records that return to the broker unaccepted. Those on their last delivery are archived."""

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from kafka_groups.share.delivery.delivery import Delivery
from kafka_groups.types import TopicIdPartition

__all__ = ["LEAST_DELIVERY_LIMIT", "ArchivedRecords", "ReturnedRecords", "returned_of", "returned_unseen"]

LEAST_DELIVERY_LIMIT = 2
"""The lowest `share.delivery.count.limit` that Kafka allows: no release of a first delivery archives a record."""


@frozen
class ReturnedRecords:
    """Records of one partition that go back to the broker and were delivered before.

    Attributes:
        topic_partition: The partition, its topic's name included.
        delivery_counts: How often each record was delivered, by offset in ascending order.
        is_late: Whether they went back because an acknowledgement failed, or came after the lock had expired.
    """

    topic_partition: TopicIdPartition
    delivery_counts: Mapping[int, int]
    is_late: bool = False


@frozen
class ArchivedRecords:
    """Records of one partition that went back to the broker after their last delivery: the broker archives them.

    They are not delivered again. A broker with a dead-letter topic (Kafka 4.4) copies them there first. Usually you
    released them, or closed the consumer while you held them. They may also be records that you never saw: the consumer
    had fetched them ahead when it was closed or paused, or when it lost the connection. Or you acknowledged them after
    their lock or share session had ended. If only the response to an acknowledgement was lost, the broker may have
    applied it.

    Attributes:
        topic: Name of the topic.
        partition: Number of the partition.
        offsets: The records.
        delivery_limit: How many deliveries the group allows (`share.delivery.count.limit`).
        is_assumed: Whether the limit is Kafka's default, because the brokers did not tell the group's.
    """

    topic: str
    partition: int
    offsets: tuple[int, ...]
    delivery_limit: int
    is_assumed: bool


def returned_of(delivery: Delivery, kinds: Sequence[int], late_marks: bytes | None = None) -> ReturnedRecords | None:
    """Return the records of a delivery with one of these marks that were delivered before; None if there are none.

    Args:
        delivery: The delivery.
        kinds: The marks.
        late_marks: The marks of an acknowledgement that failed or came too late. None: those of the delivery.
    """
    marks = delivery.marks if late_marks is None else late_marks
    start = delivery.first_offset
    of_part = range(start, start + len(marks))  # a part of a split delivery keeps the ranges of the whole
    # A first delivery cannot be the last one, whatever the group's limit is.
    if delivery.max_delivery_count < LEAST_DELIVERY_LIMIT or not any(kind in marks for kind in kinds):
        return None  # as almost always
    before = ((offset, count) for offset, count in _delivered_before(delivery.ranges) if offset in of_part)
    counts = {offset: count for offset, count in before if marks[offset - start] in kinds}
    return ReturnedRecords(delivery.topic_partition, counts, late_marks is not None) if counts else None


def returned_unseen(partition: TopicIdPartition, ranges: Iterable[AcquiredRecords]) -> ReturnedRecords | None:
    """Return the records that were delivered before of ranges that nobody will look at; None if there are none."""
    counts = dict(_delivered_before(sorted(ranges, key=lambda acquired: acquired.first_offset)))
    return ReturnedRecords(partition, counts) if counts else None


def _delivered_before(ranges: Iterable[AcquiredRecords]) -> Iterable[tuple[int, int]]:
    for acquired in ranges:
        if acquired.delivery_count >= LEAST_DELIVERY_LIMIT:
            for offset in range(acquired.first_offset, acquired.last_offset + 1):
                yield offset, acquired.delivery_count
