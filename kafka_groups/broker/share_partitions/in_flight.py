"""The in-flight records of one share-partition: from the start offset (SPSO) to the end offset (SPEO)."""

from collections.abc import Iterator

from attrs import frozen

from kafka_groups.broker.deadlines import Deadlines
from kafka_groups.broker.runs import OffsetRange, Run, Runs
from kafka_groups.broker.share_partitions.record_state import TERMINAL, RecordState

__all__ = ["InFlight", "InFlightState"]


@frozen
class InFlightState:
    """The delivery state of a record. Consecutive records with equal states are stored as one run.

    Attributes:
        state: Its state.
        delivery_count: The number of times it was acquired, including the current time.
        batch: The offsets that came in flight together with it. This range is halved when the record becomes suspect.
            None in a terminal state, in which it is not needed.
        owner: The member that has acquired it.
        lock_deadline_ms: Time at which the owner's lock expires.
        is_held: Whether its new state is being written. Until then nobody may acquire or acknowledge it.
    """

    state: RecordState
    delivery_count: int = 0
    batch: OffsetRange | None = None
    owner: str | None = None
    lock_deadline_ms: int | None = None
    is_held: bool = False


class InFlight:
    """Runs of offsets that share one `InFlightState`.

    Offsets in the window without a run count as AVAILABLE with a delivery count of 0: this leader has not delivered
    them. That happens after a change of leader, because acquisitions are not persisted.

    Attributes:
        start_offset: The first offset that is not terminal, or not in flight yet.
        terminal_count: Terminal records in the window (KIP-1226's delivery complete count).
    """

    def __init__(self, start_offset: int) -> None:
        self.start_offset = start_offset
        self.terminal_count = 0
        self._runs: Runs[InFlightState] = Runs()
        self._held_until: dict[int, int] = {}  # number of records by the deadline of their locks
        self._deadlines: Deadlines[int] = Deadlines()
        self._none_available_below = start_offset

    def __repr__(self) -> str:
        return f"<InFlight {self.start_offset}..{self.end_offset}: {len(self._runs)} runs>"

    def __iter__(self) -> Iterator[Run[InFlightState]]:
        return iter(self._runs)

    @property
    def run_count(self) -> int:
        """Number of runs, which determines the cost."""
        return len(self._runs)

    @property
    def end_offset(self) -> int:
        """The last offset in flight, or `start_offset - 1` if there is none."""
        last = self._runs.last_offset
        # Kafka's end offset equals the start offset if nothing is in flight; here it is one less, so that the window's
        # size is 0 without a special case (SharePartition.numInFlightRecords has one).
        return self.start_offset - 1 if last is None else last

    @property
    def window_size(self) -> int:
        """Number of offsets in flight, including terminal ones inside the window. The in-flight limit applies to it."""
        return self.end_offset - self.start_offset + 1

    def next_lock_deadline_ms(self) -> int | None:
        """Time at which the next lock expires."""
        return self._deadlines.earliest_ms()

    def between(self, first: int, last: int) -> Iterator[Run[InFlightState | None]]:
        """Return the runs of a range, cut to it. None means not in flight."""
        return self._runs.cover(first, last)

    def window(self) -> list[Run[InFlightState]]:
        """Return the runs from the start offset to the end offset, without gaps."""
        available = InFlightState(RecordState.AVAILABLE)
        # Gaps between persisted runs are offsets that the last leader delivered but never persisted. Kafka tracks them
        # as a gap window (SharePartition.isPersisterReadGapWindowActive); here they count as available.
        runs = self.between(self.start_offset, self.end_offset)
        return [Run(run.first, run.last, run.value or available) for run in runs]

    def next_available_offset(self) -> int:
        """Return the first available offset: inside the window, or the one after its end."""
        # Kafka searches only if something was released (its flag findNextFetchOffset). Here the search starts where the
        # last one ended, unless an earlier offset has become available.
        offset = max(self._none_available_below, self.start_offset)
        for run in self.between(offset, self.end_offset):
            if run.value is None or run.value.state is RecordState.AVAILABLE:
                break
            offset = run.last + 1
        self._none_available_below = offset
        return offset

    def held_by(self, member_id: str) -> list[Run[InFlightState]]:
        """Return the records that a member has acquired and not acknowledged."""
        # Records whose acknowledgement is being written are the write's: closing the session must not release them as
        # well.
        return [run for run in self._runs if run.value.owner == member_id and not run.value.is_held]

    def locked_until(self, now_ms: int) -> list[Run[InFlightState]]:
        """Return the acquired records whose locks have expired."""
        earliest = self.next_lock_deadline_ms()
        if earliest is None or earliest > now_ms:
            return []
        return [run for run in self._runs if (ends := run.value.lock_deadline_ms) is not None and ends <= now_ms]

    def set(self, first: int, last: int, delivery: InFlightState) -> None:
        """Set the delivery of a range."""
        self._forget(first, last)
        self._runs.assign(first, last, delivery)
        self._tally(Run(first, last, delivery), +1)
        if delivery.state is RecordState.AVAILABLE:
            self._none_available_below = min(self._none_available_below, first)

    def advance_start(self) -> None:
        """Move the start offset past terminal records."""
        new_start = self.start_offset
        for run in self._runs:
            # The first gap or the first record that is not terminal ends the advance
            # (SharePartition.canMoveStartOffset).
            if run.first != new_start or run.value.state not in TERMINAL:
                break
            new_start = run.last + 1
        self.move_start(new_start)

    def move_start(self, new_start: int) -> None:
        """Move the start offset forward and drop all records below it, including acquired ones."""
        if new_start <= self.start_offset:
            return
        self._forget(self.start_offset, new_start - 1)
        self._runs.drop_below(new_start)
        self.start_offset = new_start

    def _forget(self, first: int, last: int) -> None:
        for run in self._runs.between(first, last):
            self._tally(run, -1)

    def _tally(self, run: Run[InFlightState], sign: int) -> None:
        if run.value.state in TERMINAL:
            self.terminal_count += sign * run.size
        deadline_ms = run.value.lock_deadline_ms
        if deadline_ms is None:
            return
        # Most records of a fetch share one deadline, so deadlines are counted by their time and not by record.
        held = self._held_until.get(deadline_ms, 0) + sign * run.size
        if held:
            self._held_until[deadline_ms] = held
        else:
            del self._held_until[deadline_ms]
        self._deadlines.set(deadline_ms, deadline_ms if held else None)
