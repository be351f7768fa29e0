"""The logs that a producer writes to: how far it has written, and which of them were replaced."""

from collections.abc import Iterable
from uuid import UUID

from attrs import define, field

from kafka_groups.types import TopicPartition

__all__ = ["KnownLogs"]


@define(eq=False)
class KnownLogs:
    """The logs of a producer, also those of partitions that it does not write to now.

    Attributes:
        written: For each partition with tracked records, the offset after the last one that was confirmed.
        replaced: The partitions whose topic was deleted and made again while they were written to, also by the producer
            before `renew`.
        unknown_ends: Partitions whose last tracked record was written at an offset that the broker does not know any
            more. `written` lacks it until somebody looks where the log ends.
    """

    written: dict[TopicPartition, int] = field(factory=dict)
    replaced: set[TopicPartition] = field(factory=set)
    unknown_ends: set[TopicPartition] = field(factory=set)
    # Kept for partitions that are not written to now, so that `renew` does not hide that a topic was made again.
    _topic_ids: dict[TopicPartition, UUID] = field(factory=dict)
    _left: set[TopicPartition] = field(factory=set)  # their task has ended, and no record was confirmed since
    _written_to: set[TopicPartition] = field(factory=set)  # some record was confirmed, perhaps before `renew`

    def topic_id(self, place: TopicPartition) -> UUID | None:
        """Return the id that the topic of a partition had when it was written to last; None if nobody noted it."""
        return self._topic_ids.get(place)

    def note_topic(self, place: TopicPartition, topic_id: UUID) -> None:
        """Note the id of a topic whose partition is no longer written to."""
        if place not in self._left:
            self._topic_ids[place] = topic_id

    def is_first_again(self, place: TopicPartition, base_offset: int) -> bool:
        """Return whether a batch is the first one of a log in which this producer has written before."""
        return base_offset == 0 and place in self._written_to

    def confirm(self, place: TopicPartition, last_tracked: int, base_offset: int) -> None:
        """Note a batch that was written.

        Args:
            place: The partition.
            last_tracked: The index of the batch's last tracked record, or -1.
            base_offset: The offset of its first record, or -1 if the broker does not know it any more.
        """
        self._written_to.add(place)
        self._left.discard(place)
        if last_tracked < 0:
            return
        # A duplicate that the broker remembers only in part has no offset.
        if base_offset < 0:
            self.unknown_ends.add(place)
        else:
            self.written[place] = base_offset + last_tracked + 1
            self.unknown_ends.discard(place)

    def begin_again(self, place: TopicPartition) -> None:
        """Note that a partition continues in another log, in which nothing was written yet."""
        self._written_to.discard(place)
        self.tell_replaced(place)

    def tell_replaced(self, place: TopicPartition) -> None:
        """Name a partition whose topic was made again, unless its task has ended."""
        if place not in self._left:
            self.replaced.add(place)

    def forget(self, places: Iterable[TopicPartition]) -> None:
        """Forget what was written to partitions. What happens to their topics before the next record is not told."""
        for place in places:
            self.written.pop(place, None)
            self.replaced.discard(place)
            self._topic_ids.pop(place, None)
            self._left.add(place)

    def renew(self) -> None:
        """Forget how far was written."""
        self.written.clear()
        self.unknown_ends.clear()
