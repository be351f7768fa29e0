"""The in-flight records of one share-partition: from the start offset (SPSO) to the end offset (SPEO)."""

from collections.abc import Iterator

from attrs import frozen

from kafka_groups.broker.share.deadlines import Deadlines
from kafka_groups.broker.share.record_state import TERMINAL, RecordState
from kafka_groups.broker.share.runs import OffsetRange, Run, Runs

__all__ = ["Delivery", "InFlight"]


@frozen
class Delivery:
    """What is known of the delivery of a record; neighbours for which all of it is equal are kept as one run.

    Attributes:
        state: Its state.
        delivery_count: How often it was acquired, the current time included.
        batch: The offsets that came in flight together with it: what is halved when it becomes suspect. None in a
            terminal state, where it does not count any more.
        owner: Member that has acquired it.
        lock_deadline_ms: When the owner's lock ends.
    """

    state: RecordState
    delivery_count: int = 0
    batch: OffsetRange | None = None
    owner: str | None = None
    lock_deadline_ms: int | None = None


class InFlight:
    """Runs of offsets that share one `Delivery`.

    Offsets of the window without a run were never delivered, as far as this leader knows: they count as AVAILABLE
    with a delivery count of 0. That happens after a change of leader, as acquired records are not persisted.

    Attributes:
        start_offset: The first offset that is not yet terminal, or is not yet in flight.
        terminal_count: Terminal records in the window (KIP-1226's delivery complete count).
    """

    def __init__(self, start_offset: int) -> None:
        self.start_offset = start_offset
        self.terminal_count = 0
        self._runs: Runs[Delivery] = Runs()
        self._held_until: dict[int, int] = {}  # number of records by the deadline of their locks
        self._deadlines: Deadlines[int] = Deadlines()
        self._none_available_below = start_offset

    def __repr__(self) -> str:
        return f"<InFlight {self.start_offset}..{self.end_offset}: {len(self._runs)} runs>"

    def __iter__(self) -> Iterator[Run[Delivery]]:
        return iter(self._runs)

    @property
    def run_count(self) -> int:
        """How many runs there are: what this costs."""
        return len(self._runs)

    @property
    def end_offset(self) -> int:
        """The last offset in flight; `start_offset - 1` when there is none."""
        last = self._runs.last_offset
        return self.start_offset - 1 if last is None else last

    @property
    def window_size(self) -> int:
        """Offsets in flight, terminal ones inside the window included: what the in-flight limit limits."""
        return self.end_offset - self.start_offset + 1

    def next_lock_deadline_ms(self) -> int | None:
        """When the next lock ends."""
        return self._deadlines.earliest_ms()

    def between(self, first: int, last: int) -> Iterator[Run[Delivery | None]]:
        """The runs of a range, cut to it; None stands for what is not in flight."""
        return self._runs.cover(first, last)

    def next_available_offset(self) -> int:
        """The first available offset: inside the window, or the one after its end."""
        offset = max(self._none_available_below, self.start_offset)
        for run in self.between(offset, self.end_offset):
            if run.value is None or run.value.state is RecordState.AVAILABLE:
                break
            offset = run.last + 1
        self._none_available_below = offset
        return offset

    def held_by(self, member_id: str) -> list[Run[Delivery]]:
        """What a member has acquired."""
        return [run for run in self._runs if run.value.owner == member_id]

    def locked_until(self, now_ms: int) -> list[Run[Delivery]]:
        """What is acquired under locks that have ended."""
        earliest = self.next_lock_deadline_ms()
        if earliest is None or earliest > now_ms:
            return []
        return [run for run in self._runs if (ends := run.value.lock_deadline_ms) is not None and ends <= now_ms]

    def set(self, first: int, last: int, delivery: Delivery) -> None:
        """Set the delivery of a range."""
        self._forget(first, last)
        self._runs.assign(first, last, delivery)
        self._tally(Run(first, last, delivery), +1)
        if delivery.state is RecordState.AVAILABLE:
            self._none_available_below = min(self._none_available_below, first)

    def advance_start(self) -> None:
        """Move the start offset over the terminal records that it stands at."""
        new_start = self.start_offset
        for run in self._runs:
            if run.first != new_start or run.value.state not in TERMINAL:
                break
            new_start = run.last + 1
        self.move_start(new_start)

    def move_start(self, new_start: int) -> None:
        """Move the start offset forward; what lies below it is forgotten, also what is acquired."""
        if new_start <= self.start_offset:
            return
        self._forget(self.start_offset, new_start - 1)
        self._runs.drop_below(new_start)
        self.start_offset = new_start

    def _forget(self, first: int, last: int) -> None:
        for run in self._runs.between(first, last):
            self._tally(run, -1)

    def _tally(self, run: Run[Delivery], sign: int) -> None:
        if run.value.state in TERMINAL:
            self.terminal_count += sign * run.size
        deadline_ms = run.value.lock_deadline_ms
        if deadline_ms is None:
            return
        held = self._held_until.get(deadline_ms, 0) + sign * run.size
        if held:
            self._held_until[deadline_ms] = held
        else:
            del self._held_until[deadline_ms]
        self._deadlines.set(deadline_ms, deadline_ms if held else None)
