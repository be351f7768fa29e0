"""The results of a run, and what is wrong with them."""

from collections.abc import Iterator, Mapping

from attrs import frozen

from kafka_groups.cli.demo.streams.topology import Sums

__all__ = ["StreamsOutcome"]


@frozen
class StreamsOutcome:
    """The results of a run.

    Attributes:
        published: The number of flights that were sent.
        results_at_kill: How many results were committed when a process was killed.
        results: The number of committed results.
        misplaced: How many of them do not follow the one before: they stand twice, or one is missing.
        sums: The last result by airline and day.
        expected: The same by a plain computation.
    """

    published: int
    results_at_kill: int
    results: int
    misplaced: int
    sums: Mapping[str, Sums]
    expected: Mapping[str, Sums]

    @property
    def holds(self) -> bool:
        """True if every flight has exactly one result, and the kill came in the middle."""
        return not any(self.faults())

    def faults(self) -> Iterator[str]:
        """Return what is wrong, in words."""
        if self.results != self.published:
            yield f"{self.results:,} results were committed, and {self.published:,} flights published"
        if self.misplaced:
            yield f"{self.misplaced:,} results stand twice or leave one out"
        if not 0 < self.results_at_kill < self.published:
            yield f"{self.results_at_kill:,} results were committed before the kill, so it had no effect"
        if dict(self.sums) != dict(self.expected):
            yield "the sums differ from those of the plain computation"
