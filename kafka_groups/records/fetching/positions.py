"""Positions of a reader: an offset, the topic it belongs to, and the leader epoch of the batch before it (KIP-320)."""

from collections.abc import Iterable
from uuid import UUID

from attrs import evolve, frozen

from kafka_groups.protocol.messages.fetch import EpochEndOffset
from kafka_groups.protocol.messages.leadership import NO_LEADER_EPOCH
from kafka_groups.protocol.record_batch import BatchHeader

__all__ = ["FetchPosition", "TakenEpochs"]


@frozen
class FetchPosition:
    """The position of a reader in one partition.

    Attributes:
        offset: The offset to fetch next.
        topic_id: The id of the topic that the offset belongs to; None until it is known. A topic of the same name with
            another id is another topic.
        leader_epoch: The leader epoch of the last batch that was fetched, or -1 before there was one. The leader
            compares it with its own log (`last_fetched_epoch` of Fetch).
        epoch_start: Where the batches of that epoch begin, as far as they were fetched.
    """

    offset: int
    topic_id: UUID | None = None
    leader_epoch: int = NO_LEADER_EPOCH
    epoch_start: int = 0

    def after(self, headers: Iterable[BatchHeader]) -> "FetchPosition":
        """Return the position after some batches."""
        offset, epoch, start = self.offset, self.leader_epoch, self.epoch_start
        for header in headers:
            if header.leader_epoch != epoch:
                epoch, start = header.leader_epoch, header.base_offset
            offset = max(offset, header.next_offset)
        return evolve(self, offset=offset, leader_epoch=epoch, epoch_start=start)

    def divergence(self, found: EpochEndOffset) -> int:
        """Return the first offset from which on the leader's log differs from the one that was read.

        Args:
            found: The largest epoch of the leader's log that is not above ours, and where it ends there.
        """
        # A leader that lacks our epoch has nothing of what was read in it, even if its log is longer than that. Java's
        # consumer compares offsets only (SubscriptionState.maybeCompleteValidation).
        ours = self.epoch_start if found.epoch < self.leader_epoch else self.offset
        return min(found.end_offset, ours)

    def back_to(self, offset: int, leader_epoch: int) -> "FetchPosition":
        """Return an earlier position, after which the leader's log continues in another way."""
        return evolve(self, offset=offset, leader_epoch=leader_epoch, epoch_start=min(self.epoch_start, offset))


class TakenEpochs:
    """The leader epochs of the batches that were taken from a partition, as far back as somebody may commit.

    Args:
        start: The first offset that is read.
        leader_epoch: The leader epoch of the record before it, or -1.
    """

    def __init__(self, start: int, leader_epoch: int = NO_LEADER_EPOCH) -> None:
        self._begins = [(start - 1, leader_epoch)]

    def __repr__(self) -> str:
        return f"<TakenEpochs {self._begins}>"

    def take(self, header: BatchHeader) -> None:
        """Note the next batch."""
        if header.leader_epoch != self._begins[-1][1]:
            self._begins.append((header.base_offset, header.leader_epoch))

    def before(self, offset: int) -> int:
        """Return the leader epoch of the record before an offset, or -1. Later questions are about later offsets."""
        begins = self._begins
        while len(begins) > 1 and begins[1][0] < offset:
            del begins[0]
        begin, epoch = begins[0]
        return epoch if begin < offset else NO_LEADER_EPOCH
