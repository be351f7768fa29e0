"""The batches of one partition from their end of collecting records to the broker's answer, in order.

The rules of an idempotent producer (KIP-98, KIP-360), with differences from Java that make them simpler:

- A batch that failed is sent again alone, after all batches before it and before all after it. New batches follow only
  when nothing waits for another attempt. So batches in flight have been sent over one connection, in order.
- A batch gets another number only when it is sent again, and only if it is certain that it was not written. After a
  batch was refused, the ones after it take its numbers in this way.
- Numbers that may belong to a batch in doubt are never given to other records: the partition continues with a new
  epoch. A broker that remembers the batch in doubt would take the other one for its repetition.
"""

from collections import deque
from collections.abc import Iterator, Sequence

from attrs import define, field

from kafka_groups.records.batches.building import ProducerBatch
from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch
from kafka_groups.records.producing.sequences import SequenceNumbers, overlap

__all__ = ["PartitionBatches", "SentBatch"]

_MOST_FOLLOWERS = 4
"""A broker remembers the last five batches of a producer. An older one that is sent again is out of order."""


@define(eq=False)
class SentBatch:
    """A batch that was sent at least once, or takes the place of one.

    Attributes:
        batch: The batch.
        node_id: The broker that it was sent to last.
        is_in_flight: Whether it waits for an answer, and not for another attempt.
        was_first: Whether all batches before it were confirmed when it was sent last.
        is_probe: Whether it was sent last with numbers that the broker may not expect, to learn whether it was written.
        in_doubt: Whether an earlier attempt may have written it.
        followers: How many batches were sent for the first time after it.
    """

    batch: ProducerBatch
    node_id: int | None = None
    is_in_flight: bool = False
    was_first: bool = False
    is_probe: bool = False
    in_doubt: bool = False
    followers: int = 0


@define(eq=False)
class PartitionBatches:
    """The batches of one partition.

    Attributes:
        waiting: Batches that are complete and were not sent yet.
        sent: Batches without a final answer, in the order of their numbers.
        numbers: The sequence numbers.
        needs_epoch: Whether the partition continues with a new epoch. Until then, only batches in doubt are sent, with
            their old numbers, which tell whether they were written.
        has_gap: Whether the broker has forgotten what was written, so that old numbers tell nothing.
    """

    waiting: deque[ProducerBatch] = field(factory=deque)
    sent: list[SentBatch] = field(factory=list)
    numbers: SequenceNumbers = field(factory=SequenceNumbers)
    needs_epoch: bool = False
    has_gap: bool = False
    _doubtful_parts: int = 0

    def __bool__(self) -> bool:
        return bool(self.waiting or self.sent)

    @property
    def is_in_flight(self) -> bool:
        """True if a batch waits for an answer."""
        return any(each.is_in_flight for each in self.sent)

    @property
    def may_send(self) -> bool:
        """False if all batches are in flight, so that nothing can be done before an answer comes."""
        return bool(self.waiting) or self.needs_epoch or bool(self.sent and not self.sent[0].is_in_flight)

    def every_batch(self) -> Iterator[ProducerBatch]:
        """Iterate over all batches, in order."""
        yield from (each.batch for each in self.sent)
        yield from self.waiting

    @property
    def awaits_epoch(self) -> bool:
        """True if the new epoch can begin: no batch is in flight, and nothing more can be learned about the first."""
        needs_epoch = self.needs_epoch or self._lacks_numbers
        return needs_epoch and not self.is_in_flight and not self._may_probe

    @property
    def _may_probe(self) -> bool:
        return not self.has_gap and bool(self.sent) and self.sent[0].in_doubt and not self.sent[0].is_in_flight

    # ----------------------------------------------------------------------------------------- sending

    def next_batch(self, producer: ProducerIdAndEpoch, node_id: int, most: int) -> ProducerBatch | None:
        """Return the batch to send now, or None. `send` sends it.

        Args:
            producer: The producer's id and epoch now.
            node_id: The leader.
            most: The most batches in flight.
        """
        if self.needs_epoch:
            return self.sent[0].batch if self._may_probe else None
        if self.sent and not self.sent[0].is_in_flight:
            may_go = self._has_numbers(self.sent[0]) or not (self.is_in_flight or self._lacks_numbers)
            return self.sent[0].batch if may_go else None
        return self.waiting[0] if self.waiting and self._may_follow(producer, node_id, most) else None

    def _may_follow(self, producer: ProducerIdAndEpoch, node_id: int, most: int) -> bool:
        if not self.sent:
            return producer != NO_PRODUCER
        # Until its first batch is confirmed, a broker takes any number of a producer: the second batch would be taken
        # without the first one. And a broker remembers five batches, so no more than four follow one without an answer,
        # and none one whose numbers are a question about an earlier attempt (a probe). Behind more of them, it would
        # look as if it had not been written.
        room = most if self.numbers.last_confirmed is not None else 1
        return len(self.sent) < room and all(
            each.is_in_flight and each.node_id == node_id and not each.is_probe and each.followers < _MOST_FOLLOWERS
            for each in self.sent
        )

    def _has_numbers(self, first: SentBatch) -> bool:
        """Return whether a batch keeps its numbers when it is sent again."""
        # Those in flight are for the broker to judge first: other numbers might be theirs.
        batch, numbers = first.batch, self.numbers
        return _producer_of(batch) == numbers.producer and (first.in_doubt or batch.base_sequence == numbers.expected)

    @property
    def _lacks_numbers(self) -> bool:
        """True if the numbers that are next may belong to a later batch, which is in doubt."""
        # The broker took a batch in between, although it did not have those before: it had forgotten the producer.
        if not self.sent or self.sent[0].is_in_flight or self._has_numbers(self.sent[0]):
            return False
        first, expected = self.sent[0].batch, self.numbers.expected
        return any(
            each.in_doubt
            and _producer_of(each.batch) == self.numbers.producer
            and overlap(expected, first.count, each.batch.base_sequence, each.batch.count)
            for each in self.sent[1:]
        )

    def send(self, producer: ProducerIdAndEpoch, node_id: int) -> SentBatch:
        """Give the next batch its numbers, and note that it is sent to this broker."""
        sending = self._again() if self.sent and not self.sent[0].is_in_flight else self._new(producer)
        sending.node_id, sending.is_in_flight = node_id, True
        return sending

    def _new(self, producer: ProducerIdAndEpoch) -> SentBatch:
        # Numbers of another epoch begin when no batch of the old one is left, because the broker would refuse those.
        if not self.sent and producer != self.numbers.producer:
            self.numbers.begin(producer)
        for each in self.sent:
            each.followers += 1
        new = SentBatch(self.waiting.popleft(), was_first=not self.sent)
        self._encode(new.batch, self._next_number())
        self.sent.append(new)
        return new

    def _next_number(self) -> int:
        return self.numbers.after(self.sent[-1].batch.last_sequence) if self.sent else self.numbers.expected

    def _again(self) -> SentBatch:
        first = self.sent[0]
        batch, numbers = first.batch, self.numbers
        is_numbered = _producer_of(batch) == numbers.producer
        is_expected = batch.base_sequence == numbers.expected and not self.needs_epoch
        first.is_probe = first.in_doubt and is_numbered and not is_expected
        if not first.is_probe:
            self._encode(batch, numbers.expected)
        first.was_first = True
        return first

    def _encode(self, batch: ProducerBatch, base_sequence: int) -> None:
        producer = self.numbers.producer
        batch.encode(producer.producer_id, producer.epoch, base_sequence)

    # ----------------------------------------------------------------------------------------- answers

    def confirm(self, sent: SentBatch) -> None:
        """Note that a batch was written."""
        self.sent.remove(sent)
        self.numbers.confirm(_producer_of(sent.batch), sent.batch.last_sequence)

    def fail(self, sent: SentBatch, *, in_doubt: bool) -> None:
        """Note that an attempt failed: the batch is sent again."""
        sent.is_in_flight = False
        sent.in_doubt |= in_doubt
        sent.batch.may_be_written |= in_doubt

    def fail_out_of_order(self, sent: SentBatch) -> bool:
        """Note that the broker does not expect the numbers of a batch. Return whether it has forgotten some."""
        sent.is_in_flight = False
        # There are three cases. A batch before it failed, so that it has to wait for that one.
        if not sent.was_first:
            return False
        # Its numbers follow those of a batch that was refused, and the answer says that it was not written.
        if sent.is_probe:
            sent.in_doubt = False
            return False
        # Everything before it was confirmed: the broker's state is not ours (KIP-360).
        self.forget_numbers()
        return True

    def forget_numbers(self) -> None:
        """Note that the broker has forgotten what was written."""
        self.needs_epoch = self.has_gap = True

    def refuse(self, sent: SentBatch, *, in_doubt: bool) -> None:
        """Remove a batch that is refused.

        Args:
            sent: The batch.
            in_doubt: Whether it may still have been written.
        """
        self._note_uncertain_numbers(sent, in_doubt=in_doubt)
        sent.batch.may_be_written |= in_doubt
        self.sent.remove(sent)

    def replace(self, sent: SentBatch, parts: Sequence[ProducerBatch]) -> None:
        """Put batches that have the same records, or some of them, in the place of one that was refused."""
        self._note_uncertain_numbers(sent, in_doubt=False)
        self._doubtful_parts += sum(part.count for part in parts) if sent.in_doubt else 0
        at = self.sent.index(sent)
        self.sent[at : at + 1] = [SentBatch(part) for part in parts]

    def _note_uncertain_numbers(self, sent: SentBatch, *, in_doubt: bool) -> None:
        if in_doubt or sent.in_doubt:
            self.needs_epoch = True

    # ------------------------------------------------------------------------------------------ epochs

    def begin_epoch(self, producer: ProducerIdAndEpoch) -> int:
        """Number all batches again, while none is in flight. Return how many records may be written twice by that."""
        doubtful = sum(each.batch.count for each in self.sent if each.in_doubt) + self._doubtful_parts
        self.numbers.begin(producer)
        self.needs_epoch = self.has_gap = False
        self._doubtful_parts = 0
        for each in self.sent:
            each.in_doubt = False
        return doubtful

    def restart(self) -> int:
        """Number all batches again for another log, while none is in flight. Returns what `begin_epoch` returns."""
        return self.begin_epoch(self.numbers.producer)


def _producer_of(batch: ProducerBatch) -> ProducerIdAndEpoch:
    return ProducerIdAndEpoch(batch.producer_id, batch.epoch)
