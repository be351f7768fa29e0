"""The position of a loop in its batch, and what happens to the part that it never reached."""

from collections.abc import Generator, Iterator, Sequence

from kafka_groups.share.delivery.delivered import DeliveredRecords
from kafka_groups.share.delivery.read_position import ReadPosition
from kafka_groups.share.delivery.records import AnyRecord
from kafka_groups.types import AcknowledgeType, TopicIdPartition

__all__ = ["Loops", "Reading", "StopPoint"]

StopPoint = tuple[TopicIdPartition, int]
"""The record that a loop was given last and did not move past."""


class Reading:
    """One loop over one batch.

    A loop has moved past a record when it has asked for the next one. Nothing is noted per record: the generator that
    makes the records tells its place when it is closed, and `stop` closes it.

    Args:
        loop: Identifies the loop, which may continue with the rest after a commit in its body.
        deliveries: The batch.
        after: Offset in the first delivery that the loop has moved past already.
    """

    def __init__(self, loop: object, deliveries: Sequence[DeliveredRecords], after: int | None = None) -> None:
        self.loop = loop
        self._deliveries = list(deliveries)
        self._after = after
        self._reached = -1
        self._position = ReadPosition()
        self._records: Generator[AnyRecord] | None = None
        self._is_stopped = False

    def parts(self) -> Iterator[Iterator[AnyRecord]]:
        """Iterate over the deliveries' records, which are created during the loop. Ends early after `stop`."""
        for number, delivery in enumerate(self._deliveries):
            self._reached, self._position = number, ReadPosition()
            self._records = delivery.read(self._position, self._after)
            self._after = None
            yield self._records
            if self._is_stopped:
                return
        self._reached = len(self._deliveries)

    def stop(self, *, is_explicit: bool, last: StopPoint | None) -> tuple[list[DeliveredRecords], StopPoint | None]:
        """End the loop's claim to the batch.

        In implicit mode, records that the loop moved past are accepted. The record that it stopped at is not, because
        it is unknown whether the loop's body finished. The next loop gets it again, once: if that loop stops at the
        same record, the record is released, so that a record that ends every loop uses up its deliveries.

        Args:
            is_explicit: Whether the application acknowledges each record itself; the one that it stopped at stays in
                its hands then.
            last: Where the loop before was stopped.

        Returns:
            What the loop never reached, and where it was stopped.
        """
        self._is_stopped = True
        rest: list[DeliveredRecords] = []
        passed = self._reached + 1 if self._position.is_over else max(0, self._reached)
        # Implicit acknowledgement accepts what was delivered (KIP-932, "Client programming interface"). Iterating is
        # this client's own, so what counts as delivered is what the loop has moved past.
        for delivery in () if is_explicit else self._deliveries[:passed]:
            delivery.accept_open()
        # There are two cases without a current delivery: the loop never began, and all of the batch is left, or it has
        # reached the end, and nothing is.
        if not 0 <= self._reached < len(self._deliveries):
            return (self._deliveries if self._reached < 0 else []), None
        current, point = self._deliveries[self._reached], None
        if self._records is not None:
            self._records.close()
        if not self._position.is_over:
            point, first = self._stop_at(current, is_explicit=is_explicit, last=last)
            rest.append(current.take_back(first))
        rest += [delivery.take_back(delivery.first_offset) for delivery in self._deliveries[self._reached + 1 :]]
        return [delivery for delivery in rest if len(delivery)], point

    def _stop_at(
        self, current: DeliveredRecords, *, is_explicit: bool, last: StopPoint | None
    ) -> tuple[StopPoint | None, int]:
        """Settle the records that the loop moved past.

        Return where it stopped, and the first offset that it did not finish.
        """
        offset = self._position.offset
        # The loop was left before the first record of this delivery.
        if offset is None:
            return None, current.first_offset
        point = (current.topic_partition, offset)
        # The application has the record that it stopped at and must acknowledge it, so only what follows goes to the
        # next loop.
        if is_explicit:
            return point, offset + 1
        current.mark_open(current.first_offset, offset - 1, AcknowledgeType.ACCEPT)
        # A record at which two loops in a row stopped may be what ends them. Its deliveries must count, so that it
        # reaches the limit; without the release it would be delivered by this consumer again and again, with the same
        # count.
        if point == last:
            current.mark_open(offset, offset, AcknowledgeType.RELEASE)
        return point, offset


class Loops:
    """The loops over a consumer: the running one, and the rest of the last one.

    Attributes:
        reading: The running loop, or None.
        rest: The deliveries that the last loop never reached, unless a caller has taken them.
    """

    def __init__(self) -> None:
        self.reading: Reading | None = None
        self.rest: list[DeliveredRecords] = []
        self._stopped_at: StopPoint | None = None
        self._ended: object = None

    def begin(self, loop: object, deliveries: Sequence[DeliveredRecords]) -> Iterator[Iterator[AnyRecord]]:
        """Note that a loop starts to iterate over a batch."""
        self.reading = Reading(loop, deliveries)
        return self.reading.parts()

    def end(self, *, is_explicit: bool) -> list[DeliveredRecords]:
        """End the running loop. Return the deliveries that it never reached."""
        reading, self.reading = self.reading, None
        if reading is None:
            return []
        self.rest, self._stopped_at = reading.stop(is_explicit=is_explicit, last=self._stopped_at)
        self._ended = reading.loop
        return self.rest

    def rest_of(self, loop: object) -> list[DeliveredRecords]:
        """Return the rest of this loop's batch, unless another caller has taken it."""
        return self.rest if loop is self._ended else []

    def forget_rest(self) -> None:
        """Forget the rest of the last loop, because a caller takes the waiting records."""
        self.rest, self._ended = [], None

    def resume(self, loop: object, rest: Sequence[DeliveredRecords]) -> Iterator[Iterator[AnyRecord]]:
        """Continue a loop that has moved past its current record."""
        after, point = None, self._stopped_at
        if point is not None and rest and rest[0].topic_partition == point[0] and point[1] in rest[0]:
            after = point[1]
        self._stopped_at = None
        self.forget_rest()
        self.reading = Reading(loop, rest, after)
        return self.reading.parts()
