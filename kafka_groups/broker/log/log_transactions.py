"""The transactions of one log: those that are open, and those that were aborted (KIP-98).

Readers with the isolation level `read_committed` stop before the first open transaction and skip aborted ones.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterator

from attrs import frozen

__all__ = ["AbortedRange", "LogTransactions"]


@frozen
class AbortedRange:
    """An aborted transaction.

    Attributes:
        producer_id: The producer whose records between the two offsets were aborted.
        first_offset: The first offset of the transaction.
        last_offset: The offset of its marker.
        stable_offset: The last stable offset after the marker. Later entries are about offsets from there on.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    stable_offset: int


class LogTransactions:
    """The first offsets of open transactions, and the ends of the others."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}  # the first offset by producer, in the order of the offsets
        self._uncommitted_ends: deque[tuple[int, int]] = deque()  # first offset, offset of the marker
        self._aborted: list[AbortedRange] = []

    def __repr__(self) -> str:
        return f"<LogTransactions: {len(self._open)} open, {len(self._aborted)} aborted>"

    def copy(self) -> "LogTransactions":
        """Return a copy, to go back to when appends are lost."""
        copied = LogTransactions()
        copied._open = dict(self._open)
        copied._uncommitted_ends = deque(self._uncommitted_ends)
        copied._aborted = list(self._aborted)
        return copied

    def first_offset_of(self, producer_id: int) -> int | None:
        """Return where a producer's open transaction begins, or None if no transaction is open."""
        return self._open.get(producer_id)

    def begun(self, producer_id: int, offset: int) -> None:
        """Note a transactional batch. It may be the first of a transaction."""
        self._open.setdefault(producer_id, offset)

    def ended(self, producer_id: int, marker_offset: int, high_watermark: int, *, committed: bool) -> None:
        """Note the marker of a producer's transaction. Without records before, it means nothing to readers.

        Args:
            producer_id: The producer.
            marker_offset: The offset of the marker.
            high_watermark: The offset before which nothing will be lost. The marker may be behind it.
            committed: Whether the transaction was committed.
        """
        first_offset = self._open.pop(producer_id, None)
        # A marker without records changes no offset for readers: Kafka does not put it into the transaction index
        # (ProducerAppendInfo.appendEndTxnMarker).
        if first_offset is None:
            return
        # The transaction stays unstable for readers until its marker is replicated: if the leader fails before, the
        # marker is lost and the transaction is open again (ProducerStateManager.onHighWatermarkUpdated in Kafka).
        if marker_offset >= high_watermark:
            self._uncommitted_ends.append((first_offset, marker_offset))
        # Readers need to know of aborted transactions only. The stable offset of an entry says how far readers may have
        # come when it was made, so a search need not go on behind it (ProducerStateManager.lastStableOffset).
        if not committed:
            stable_offset = min(self._first_open(marker_offset + 1), marker_offset + 1)
            self._aborted.append(AbortedRange(producer_id, first_offset, marker_offset, stable_offset))

    def last_stable_offset(self, high_watermark: int) -> int:
        """Return the first offset of a transaction that is open or whose marker may still be lost, or the watermark."""
        ends = self._uncommitted_ends
        while ends and ends[0][1] < high_watermark:
            ends.popleft()
        if not ends and not self._open:
            return high_watermark
        # Kafka takes the smaller of two offsets as well: that of the first open transaction, and that of the first one
        # whose marker is not replicated (ProducerStateManager.firstUnstableOffset).
        unstable = min((first_offset for first_offset, _ in ends), default=high_watermark)
        return min(unstable, self._first_open(high_watermark), high_watermark)

    def aborted_between(self, offset: int, end_offset: int) -> Iterator[AbortedRange]:
        """Return the aborted transactions that readers of offsets from one to before another one have to know."""
        first = bisect_left(self._aborted, offset, key=lambda each: each.last_offset)
        for index in range(first, len(self._aborted)):
            each = self._aborted[index]
            # A transaction matters if it overlaps the range. It may have begun long before.
            if each.first_offset < end_offset:
                yield each
            # All later entries are about offsets from the stable offset on, which is behind the range.
            if each.stable_offset >= end_offset:
                return

    def deleted_before(self, offset: int) -> None:
        """Forget aborted transactions of which no record is left."""
        del self._aborted[: bisect_left(self._aborted, offset, key=lambda each: each.last_offset)]

    def forget_aborted(self, marker_offsets: Collection[int]) -> None:
        """Forget aborted transactions of which no record is left, by the offsets of their markers."""
        self._aborted = [each for each in self._aborted if each.last_offset not in marker_offsets]

    def _first_open(self, otherwise: int) -> int:
        return next(iter(self._open.values()), otherwise)
