"""The measured pace of a handler, which sizes runs and the buffer of records acquired ahead."""

from attrs import define

__all__ = ["HandlerPace"]

_RUN_MS = 2.0
"""A run takes about this long: shorter ones cost more in handing over, longer ones delay the records behind."""
_AHEAD_MS = 100.0
"""The buffer holds about what the slots finish in this time."""
_LONGEST_RUN = 1_000
_LARGEST_BUFFER = 20_000
_SHARE_OF_NEW = 0.2
_GROWTH = 4


@define
class HandlerPace:
    """The time that a record takes in its handler.

    A slow record counts at once, and is forgotten slowly.
    """

    record_ms: float | None = None
    _run: int = 1

    def ran(self, records: int, busy_ms: float) -> None:
        """Note how long a slot was busy with how many records."""
        if records == 0:
            return
        record_ms = busy_ms / records
        # Overestimating a handler only makes runs too short. Underestimating it gives slots more than they can do soon,
        # and the records behind wait.
        if self.record_ms is None or record_ms > self.record_ms:
            self.record_ms = record_ms
        else:
            self.record_ms += (record_ms - self.record_ms) * _SHARE_OF_NEW
        # Runs grow by a factor of four at most, because a first few fast records may not be typical for the rest.
        self._run = min(self._run * _GROWTH, self._fitting(_RUN_MS), _LONGEST_RUN)

    @property
    def is_fast(self) -> bool:
        """True if runs have several records."""
        return self._run > 1

    def _fitting(self, wanted_ms: float) -> int:
        record_ms = self.record_ms
        if record_ms is None:
            return 1
        return max(1, int(min(wanted_ms / record_ms, _LARGEST_BUFFER))) if record_ms > 0 else _LARGEST_BUFFER

    def run_size(self, held: int, slots: int) -> int:
        """Return how many records a slot gets at a time, so that all free slots get some."""
        return min(self._run, max(1, -(-held // max(1, slots))))

    def buffer(self, concurrency: int) -> int:
        """Return how many records to acquire ahead: as many as run at once, or what they finish in 100 ms."""
        if self.record_ms is None:
            return concurrency
        return min(_LARGEST_BUFFER, max(concurrency, self._fitting(_AHEAD_MS) * concurrency))
