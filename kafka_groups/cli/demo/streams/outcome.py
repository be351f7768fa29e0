"""The results of a run, and what is wrong with them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from attrs import frozen

from kafka_groups.cli.demo.streams.topology import Sums

__all__ = ["RunEvent", "StreamsOutcome", "by_airline"]


class RunEvent(NamedTuple):
    """Something that happened in a run."""

    second: float
    text: str


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
        timeline: Seconds since the start of the run, and how many results were committed by then.
        events: When processes came and went.
    """

    published: int
    results_at_kill: int
    results: int
    misplaced: int
    sums: Mapping[str, Sums]
    expected: Mapping[str, Sums]
    timeline: Sequence[tuple[float, int]] = ()
    events: Sequence[RunEvent] = ()

    @property
    def by_airline(self) -> dict[str, Sums]:
        """The sums of all days of each airline."""
        return by_airline(self.sums)

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


def by_airline(sums: Mapping[str, Sums]) -> dict[str, Sums]:
    """Add the days of each airline."""
    found: defaultdict[str, Sums] = defaultdict(Sums)
    for key, each in sums.items():
        airline = key.rpartition("|")[0]
        found[airline] = found[airline].and_also(each)
    return dict(found)
