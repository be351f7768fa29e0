"""The sequence numbers of a producer in one partition (KIP-98).

A broker remembers the last number of each producer and epoch, and takes only the batch that begins with the next one.
Numbers count records. After 2³¹ - 1 comes 0.
"""

from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch

__all__ = ["SequenceNumbers", "number_after", "overlap"]

_MASK = 0x7FFFFFFF
_HALF = 1 << 30


def number_after(sequence: int, count: int = 1) -> int:
    """Return the number that follows a number by so many records."""
    return sequence + count & _MASK


def overlap(sequence: int, count: int, other: int, other_count: int) -> bool:
    """Return whether two runs of numbers have one in common, each given by its first number and how many it has."""
    return (other - sequence & _MASK) < count or (sequence - other & _MASK) < other_count


def _is_later(sequence: int, other: int) -> bool:
    # No batch is half of all numbers behind another one, so the shorter way round decides.
    return 0 < (sequence - other & _MASK) < _HALF


class SequenceNumbers:
    """The numbers of one partition: whose they are, and the last one that was confirmed.

    Attributes:
        producer: The producer and the epoch of the numbers. They may be older than the producer's own, because a broker
            compares epochs for each partition alone.
        last_confirmed: The last number that the broker has confirmed; None in a new epoch.
    """

    __slots__ = ("last_confirmed", "producer")

    def __init__(self) -> None:
        self.producer = NO_PRODUCER
        self.last_confirmed: int | None = None

    def __repr__(self) -> str:
        return f"<SequenceNumbers of {self.producer} up to {self.last_confirmed}>"

    @property
    def expected(self) -> int:
        """The number that the broker expects after all that is confirmed."""
        return 0 if self.last_confirmed is None else number_after(self.last_confirmed)

    def after(self, last_sequence: int) -> int:
        """Return the number of a new batch behind one that is in flight."""
        # A batch that was in flight behind that one may have been confirmed before it, and its numbers are taken.
        following, expected = number_after(last_sequence), self.expected
        is_taken = self.last_confirmed is not None and _is_later(expected, following)
        return expected if is_taken else following

    def begin(self, producer: ProducerIdAndEpoch) -> None:
        """Begin again with 0, for another epoch or for a log that has no batch of the producer."""
        self.producer = producer
        self.last_confirmed = None

    def confirm(self, producer: ProducerIdAndEpoch, last_sequence: int) -> None:
        """Note the last number of a batch that was written. Answers may come in another order than batches."""
        if producer != self.producer:
            return
        if self.last_confirmed is None or _is_later(last_sequence, self.last_confirmed):
            self.last_confirmed = last_sequence
