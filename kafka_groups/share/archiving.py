"""Releases that end a record: the broker archives what is released with its last delivery."""

from collections import deque
from collections.abc import Callable, Iterable

from attrs import frozen

from kafka_groups.client.events import Area, Events, counted
from kafka_groups.share.delivery import marks as m
from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.inbox import Inbox

__all__ = ["ArchiveCallback", "ArchiveWatch", "ArchivedRecords"]


@frozen
class ArchivedRecords:
    """Records of one partition that you released with their last delivery: the broker archives them.

    They are not delivered again. A broker with a dead-letter topic (Kafka 4.4) copies them there first.

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


ArchiveCallback = Callable[[ArchivedRecords], object]
"""Receives the records that a release archives, from within poll, commit or close."""


class ArchiveWatch:
    """Finds the releases that archive, and tells the log and the application.

    Args:
        inbox: Has the group's limit, once it is known, and the counter.
        events: Where warnings go.
    """

    def __init__(self, inbox: Inbox, events: Events) -> None:
        self._inbox = inbox
        self._events = events
        self.found: deque[ArchivedRecords] = deque()

    def look_at(self, delivery: DeliveredRecords, kinds: Iterable[int] = (m.RELEASE, m.HELD)) -> None:
        """Look for records that are about to be released with their last delivery.

        Args:
            delivery: A delivery of which acknowledgements are about to be sent.
            kinds: The marks that mean a release.
        """
        limit = self._inbox.delivery_limit
        if delivery.max_delivery_count < limit:  # as almost always
            return
        releasing = frozenset(kinds)
        offsets = tuple(
            offset
            for acquired in delivery.ranges
            if acquired.delivery_count >= limit
            for offset in range(acquired.first_offset, acquired.last_offset + 1)
            if delivery.marks[offset - delivery.first_offset] in releasing
        )
        if offsets:
            self._tell(delivery, offsets, limit)

    def _tell(self, delivery: DeliveredRecords, offsets: tuple[int, ...], limit: int) -> None:
        is_assumed = not self._inbox.knows_delivery_limit
        self._inbox.records_archived += len(offsets)
        self.found.append(ArchivedRecords(delivery.topic, delivery.partition, offsets, limit, is_assumed))
        source = "Kafka's default; the brokers do not tell the group's" if is_assumed else "share.delivery.count.limit"
        text = (
            f"The release of {counted(len(offsets), 'record')} of {delivery.topic_partition} (offsets {offsets[0]} to"
            f" {offsets[-1]}) archives them: this was delivery {limit} of {limit} ({source}). They are not delivered"
            " again. Release with release_after while a sink is down, or keep a dead-letter topic."
        )
        self._events.warn(Area.RECORDS, f"archived {delivery.topic_partition}", text)
