"""Rules of the source without I/O: which records form a batch, and when they are acknowledged.

Spark calls `latestOffset(start)` before every batch, and also when nothing is new. `start` is the end of the last batch
that Spark finished: everything up to it may be acknowledged, nothing beyond. `commit(end)` says the same later, or
never, and is not used. A batch of an earlier run is planned empty: its records are delivered again, and new ones put in
its place would be dropped by sinks that skip a batch they know.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, Self, TypeVar

from attrs import define, field, frozen

from kafka_groups.errors import IllegalStateError
from kafka_groups.spark.source.rules.offsets import SourceOffset
from kafka_groups.spark.source.rules.redelivery_limits import RedeliveryLimits

__all__ = ["BatchLimits", "MicroBatches", "Piece", "SealedBatch"]


class Piece(Protocol):
    """Acquired records that were delivered equally often, in the order of their offsets."""

    @property
    def rows(self) -> int:
        """The number of records; never 0."""
        ...

    @property
    def size_bytes(self) -> int:
        """The size of the records in Arrow format."""
        ...

    @property
    def delivery_count(self) -> int:
        """The delivery count of the records, including this delivery."""
        ...

    @property
    def may_wait(self) -> bool:
        """True if they stay acquired while they wait; if not, waiting would use up a delivery."""
        ...

    def rows_within(self, size_bytes: int) -> int:
        """Return how many of the first records fit into this size; may be 0."""
        ...

    def split(self, rows: int) -> tuple[Self, Self]:
        """Return the first records and the others; both not empty."""
        ...


P = TypeVar("P", bound=Piece)


@frozen
class BatchLimits:
    """The largest size of a batch.

    Attributes:
        rows: Records; None for no limit but the size.
        size_bytes: Size in Arrow's form. A single larger record is a batch of its own.
    """

    rows: int | None
    size_bytes: int


@frozen(eq=False)
class SealedBatch(Generic[P]):
    """Records that were given to Spark as one batch.

    Attributes:
        end: Its end offset.
        pieces: Its records.
    """

    end: SourceOffset
    pieces: tuple[P, ...]

    @property
    def rows(self) -> int:
        """The number of records."""
        return sum(piece.rows for piece in self.pieces)

    @property
    def size_bytes(self) -> int:
        """The size of the records in Arrow format."""
        return sum(piece.size_bytes for piece in self.pieces)


@define(eq=False)
class MicroBatches(Generic[P]):
    """The batches of one run. There is at most one that is sealed and not acknowledged.

    Attributes:
        run: Id of this run.
        redelivery: The rules for redelivered records.
        sealed: The batch that Spark works on or is about to; None when there is none.
        failures: The number of consecutive runs before this one that ended without finishing a batch; 0 once this run
            has finished one.
        deliveries: The highest delivery count of the records that the last run held when it failed.
        failing_since_ms: Time when a run first followed a failed one, with no success since; 0 for never.
    """

    run: str
    redelivery: RedeliveryLimits
    sealed: SealedBatch[P] | None = None
    failures: int = 0
    deliveries: int = 0
    failing_since_ms: int = 0
    _is_to_mark: bool = False
    _held: deque[P] = field(factory=deque)
    _last_seq: int = 0
    _first_seen_ms: dict[int, int] = field(factory=dict)
    _was_careful: bool = False

    # ------------------------------------------------------------------------------------ what is held

    @property
    def held_rows(self) -> int:
        """Records in hand that are in no batch."""
        return sum(piece.rows for piece in self._held)

    @property
    def held_bytes(self) -> int:
        """The size of the held records in Arrow format."""
        return sum(piece.size_bytes for piece in self._held)

    @property
    def in_flight_rows(self) -> int:
        """Records in hand, those of the sealed batch included."""
        return self.held_rows + (self.sealed.rows if self.sealed is not None else 0)

    def hold(self, pieces: Iterable[P], now_ms: int) -> None:
        """Add records that were acquired."""
        for piece in pieces:
            self._first_seen_ms.setdefault(piece.delivery_count, now_ms)
            self._held.append(piece)

    def discard(self, is_lost: Callable[[P], bool]) -> list[P]:
        """Drop held records whose locks are gone: they are delivered again, and would be twice in the sink."""
        lost = [piece for piece in self._held if is_lost(piece)]
        for piece in lost:
            self._held.remove(piece)
        return lost

    def initial(self) -> SourceOffset:
        """Return the start offset of a query without a checkpoint."""
        return SourceOffset(0, self.run)

    # --------------------------------------------------------------------------------- Spark's questions

    def finished(self, start: SourceOffset) -> SealedBatch[P] | None:
        """Return the batch that Spark has finished according to its start offset, once, to be acknowledged now."""
        sealed = self.sealed
        # `start` is the end of the last batch in the commit log. It is not the sealed one if Spark has not finished
        # that, or if it is of an earlier run, whose locks are gone.
        if sealed is None or start.run != self.run or start.seq < sealed.end.seq:
            return None
        self.sealed = None
        # A batch with records has reached the sink, which ends a row of failed runs. An empty one, which only keeps the
        # count of the failures, shows nothing.
        if sealed.pieces:
            self.failures = self.deliveries = self.failing_since_ms = 0
        return sealed

    def resume(self, start: SourceOffset) -> None:
        """Take over what an earlier run kept in the checkpoint before it was stopped.

        A run that was stopped as soon as Spark had finished the empty batch in place of a failed one leaves the same
        checkpoint as one that finished the batch. That makes a difference only if a last delivery is at stake.
        """
        # Within a run, and once failures are known, the checkpoint has nothing new.
        if start.run == self.run or self.failures:
            return
        is_at_stake = start.deliveries > 0 and start.deliveries + 1 >= self.redelivery.delivery_limit
        # A mark says for certain that the run before waited after failures. If a last delivery is at stake, the run is
        # careful even if that one may have finished its batch.
        if start.is_mark or is_at_stake:
            self._after(start)

    def _after(self, end: SourceOffset) -> None:
        """Continue after a run that failed, or that waited after a failed one."""
        # A run that was stopped while it waited has failed at nothing.
        self.failures = end.failures + (0 if end.is_mark else 1)
        self.deliveries = end.deliveries
        self.failing_since_ms = end.failing_since_ms

    def probe(self, start: SourceOffset, piece: P) -> SealedBatch[P]:
        """Seal a batch of one record that is not held, to find out whether the sink works."""
        return self._sealed(start, (piece,))

    def mark(self, start: SourceOffset) -> SealedBatch[P] | None:
        """Seal an empty batch that keeps in the checkpoint what a failed run left; once. None if there is none.

        Spark has just finished the empty batch in place of the failed one. A run that is stopped while it waits would
        otherwise leave nothing that tells the next run of the failures.
        """
        if not self._is_to_mark or self.sealed is not None:
            return None
        self._is_to_mark = False
        return self._sealed(start, (), is_mark=True)

    def _sealed(self, start: SourceOffset, pieces: tuple[P, ...], *, is_mark: bool = False) -> SealedBatch[P]:
        # A new run continues the numbers of the query, so that no two batches in a checkpoint have the same one.
        self._last_seq = max(self._last_seq, start.seq) + 1
        often = max((piece.delivery_count for piece in (*self._held, *pieces)), default=0)
        end = SourceOffset(
            self._last_seq,
            self.run,
            self.failures,
            max(often, self.deliveries),
            failing_since_ms=self.failing_since_ms,
            is_mark=is_mark,
        )
        self.sealed = SealedBatch(end, pieces)
        return self.sealed

    def seal(self, start: SourceOffset, limits: BatchLimits, now_ms: int) -> SealedBatch[P] | None:
        """Seal and return the next batch. Return a batch that is already sealed, or None if none is ready."""
        # Spark may ask again for a batch that it has not finished. It must get the same one: sinks may have some of it.
        if self.sealed is None:
            pieces = self._take(limits, now_ms)
            if pieces:
                self._sealed(start, pieces)
        return self.sealed

    def planned(self, start: SourceOffset, end: SourceOffset, wall_ms: int = 0) -> Sequence[P]:
        """Return the records between two offsets: those of the sealed batch; none for a batch that another run sealed.

        Args:
            start: The end of the batch before.
            end: The end of the batch.
            wall_ms: The time of day, which is kept if a run has failed.

        Raises:
            IllegalStateError: Spark asks for a batch of this run that it said it was done with.
        """
        if start == end:
            return ()
        if end.run != self.run:  # of a run that ended before Spark had finished the batch
            self._after(end)
            self.failing_since_ms = self.failing_since_ms or wall_ms
            self._is_to_mark = True
            return ()
        # An empty answer would lose records: Spark evaluates the batch once more for its sink, and they may be
        # acknowledged already.
        if self.sealed is None or self.sealed.end != end:
            raise IllegalStateError(
                f"batch {end.seq} was acknowledged or never sealed, and Spark asks for its records: an order of calls"
                " that this source does not know; the query must not go on, as records would be lost"
            )
        return self.sealed.pieces

    def rows_at_limit(self) -> int:
        """Records in hand that the broker archives if they are released."""
        pieces = (*self._held, *(self.sealed.pieces if self.sealed is not None else ()))
        return sum(piece.rows for piece in pieces if piece.delivery_count >= self.redelivery.delivery_limit)

    def held_back_rows(self, now_ms: int) -> int:
        """Records in hand that may not go to Spark yet."""
        return sum(piece.rows for piece in self._held if self._wait_ms(piece, now_ms))

    def ready_rows(self, now_ms: int) -> int:
        """Records that may go now."""
        return sum(piece.rows for piece in self._ready(now_ms))

    def is_enough(self, limits: BatchLimits, now_ms: int) -> bool:
        """Return whether the records that may go now make a batch that has reached its limits."""
        is_large = sum(piece.size_bytes for piece in self._ready(now_ms)) >= limits.size_bytes
        return is_large or (limits.rows is not None and self.ready_rows(now_ms) >= limits.rows)

    def wait_ms(self, now_ms: int) -> int | None:
        """Return how long until held records may go, 0 if some may now; None when nothing is held."""
        return min((self._wait_ms(piece, now_ms) for piece in self._held), default=None)

    # --------------------------------------------------------------------------------------- a batch

    def _wait_ms(self, piece: P, now_ms: int) -> int:
        count = piece.delivery_count
        # Its lock cannot be renewed and would end during the wait, which would spend the delivery that the wait is to
        # save.
        if not piece.may_wait:
            return 0
        return max(0, self._first_seen_ms[count] + self.redelivery.held_back_ms(count) - now_ms)

    def _ready(self, now_ms: int) -> list[P]:
        return [piece for piece in self._held if not self._wait_ms(piece, now_ms)]

    def _take(self, limits: BatchLimits, now_ms: int) -> tuple[P, ...]:
        # After failed runs, one record shows whether the sink works, before others lose a delivery.
        if self.failures:
            return self._take_probe(now_ms)
        risky = [p for p in self._held if self._is_risky(p) and not self._wait_ms(p, now_ms)]
        plain = [p for p in self._held if not self._is_risky(p)]
        self._was_careful = bool(risky) and not (plain and self._was_careful)  # by turns: neither starves the other
        if not self._was_careful:
            return self._take_of(plain, limits)
        count = max(piece.delivery_count for piece in risky)  # those that a failure of another batch would archive
        most = self.redelivery.rows_at_once(count)
        rows = most if limits.rows is None else min(most, limits.rows)
        alike = [piece for piece in risky if piece.delivery_count == count]
        return self._take_of(alike, BatchLimits(rows, limits.size_bytes))

    def _take_probe(self, now_ms: int) -> tuple[P, ...]:
        """Take one record that was delivered least often. If it succeeds, the sink works, and what fails is bad."""
        ready = self._ready(now_ms)
        if not ready:
            return ()
        # The record with the lowest count can best afford to lose a delivery. It is taken from the end of its piece, so
        # that the records before it stay one piece.
        least = min(piece.delivery_count for piece in ready)
        last = [piece for piece in ready if piece.delivery_count == least][-1]
        if last.rows > 1:
            position = self._held.index(last)
            self._held[position], probe = last.split(last.rows - 1)
            return (probe,)
        self._held.remove(last)
        return (last,)

    def _is_risky(self, piece: P) -> bool:
        return self.redelivery.is_risky(piece.delivery_count)

    def _take_of(self, candidates: Sequence[P], limits: BatchLimits) -> tuple[P, ...]:
        taken: list[P] = []
        rows_left, bytes_left = limits.rows, limits.size_bytes
        for piece in candidates:
            # A record that is larger than the limit would never fit, so the first one of a batch is taken anyway.
            fitting = _fitting(piece, rows_left, bytes_left) or (0 if taken else 1)
            if fitting == 0:
                break
            first = self._cut(piece, fitting)
            taken.append(first)
            rows_left = None if rows_left is None else rows_left - first.rows
            bytes_left -= first.size_bytes
            # The piece was cut because the batch is full.
            if first is not piece:
                break
        return tuple(taken)

    def _cut(self, piece: P, rows: int) -> P:
        """Take the first records of a held piece; the others stay held."""
        position = self._held.index(piece)
        if rows >= piece.rows:
            del self._held[position]
            return piece
        first, self._held[position] = piece.split(rows)
        return first


def _fitting(piece: Piece, rows: int | None, size_bytes: int) -> int:
    fitting = piece.rows if piece.size_bytes <= size_bytes else piece.rows_within(max(0, size_bytes))
    return fitting if rows is None else min(fitting, rows)
