"""The leader epochs of a log, and the offsets at which they begin (KIP-101, KIP-595).

A reader names the epoch of the last batch that it has. If the leader's log has less of that epoch, or has another epoch
in its place, the reader has records that were lost, and learns where the two logs diverge.
"""

from bisect import bisect_left, bisect_right

from attrs import frozen

__all__ = ["EpochEnd", "LeaderEpochs"]


@frozen
class EpochEnd:
    """The end of a leader epoch in a log.

    Attributes:
        epoch: The epoch, or the largest one before it that the log has.
        end_offset: The offset after its last record.
    """

    epoch: int
    end_offset: int


class LeaderEpochs:
    """The epochs in which a log was written, in ascending order.

    It is not derived from the batches, because it survives them: retention and compaction delete batches, and the end
    of their epoch stays known (LeaderEpochFileCache in Kafka).
    """

    def __init__(self) -> None:
        # Parallel lists, because bisect needs its own list of keys.
        self._epochs: list[int] = []
        self._starts: list[int] = []

    def __repr__(self) -> str:
        return f"<LeaderEpochs {dict(zip(self._epochs, self._starts, strict=True))}>"

    def begun(self, epoch: int, start_offset: int) -> None:
        """Note that a batch of an epoch is appended at an offset."""
        # Batches that were copied from elsewhere may have no epoch.
        if epoch < 0 or (self._epochs and self._epochs[-1] == epoch):
            return
        # Epochs and offsets only grow. What contradicts the newest entry is dropped: an epoch without any batch, or one
        # of batches that were copied (LeaderEpochFileCache.maybeTruncateNonMonotonicEntries in Kafka).
        self._keep(min(bisect_left(self._epochs, epoch), bisect_left(self._starts, start_offset)))
        self._epochs.append(epoch)
        self._starts.append(start_offset)

    def deleted_before(self, offset: int) -> None:
        """Note that the log starts at an offset now. The epoch of the records before it begins there."""
        count = bisect_right(self._starts, offset)
        # Its last epoch stays, because the records from the offset on have it, or will get the next one
        # (LeaderEpochFileCache.truncateFromStart).
        if count:
            del self._epochs[: count - 1], self._starts[: count - 1]
            self._starts[0] = offset

    def truncated(self, end_offset: int) -> None:
        """Note that the log ends at an offset now."""
        self._keep(bisect_left(self._starts, end_offset))

    def end_of(self, epoch: int, leader_epoch: int, end_offset: int) -> EpochEnd | None:
        """Return where an epoch ends, or None if it is newer than the leader's.

        Args:
            epoch: The epoch that a reader names.
            leader_epoch: The epoch of the leader. It may not have appended anything yet.
            end_offset: The end of the log.
        """
        # See LeaderEpochFileCache.endOffsetFor in Kafka for the cases.
        if epoch >= leader_epoch:
            return EpochEnd(epoch, end_offset) if epoch == leader_epoch else None
        index = bisect_right(self._epochs, epoch)
        # A leader notes its epoch when it is elected (Partition.makeLeader). Here it is noted with the first batch, so
        # until then it begins at the end of the log, and older epochs that would begin there do not count any more.
        ends_at = self._starts[index] if index < len(self._epochs) else end_offset
        known = self._epochs[index - 1] if index and self._starts[index - 1] < ends_at else epoch
        return EpochEnd(known, ends_at)

    def _keep(self, count: int) -> None:
        del self._epochs[count:], self._starts[count:]
