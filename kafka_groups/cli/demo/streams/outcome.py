"""The results of a run, and what is wrong with them."""

from collections.abc import Iterator, Mapping

from attrs import frozen

__all__ = ["StreamsOutcome"]


@frozen
class StreamsOutcome:
    """The results of a run.

    Attributes:
        published: The number of flights that were sent.
        counted_at_kill: How many had been counted when a process was killed.
        flights: The number of flights by carrier, as the tasks counted them.
        expected: The same by a plain computation.
    """

    published: int
    counted_at_kill: int
    flights: Mapping[str, int]
    expected: Mapping[str, int]

    @property
    def holds(self) -> bool:
        """True if every flight was counted exactly once, and the kill came in the middle."""
        return not any(self.faults())

    def faults(self) -> Iterator[str]:
        """Return what is wrong, in words."""
        counted = sum(self.flights.values())
        if counted != self.published:
            yield f"{counted:,} flights were counted, and {self.published:,} published"
        if not 0 < self.counted_at_kill < self.published:
            yield f"{self.counted_at_kill:,} flights were counted before the kill, so it had no effect"
        if dict(self.flights) != dict(self.expected):
            yield "the counts differ from those of the plain computation"
