"""Ours beside Kafka Streams and an earlier commit: maps and windowed counts, few keys and many, both promises."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import evolve, frozen

from tests.benchmarks.aims import Aim
from tests.benchmarks.applications.rates import Contest, Entry, Extent, Rate, contest
from tests.benchmarks.applications.running import JAVA, OURS
from tests.benchmarks.applications.works import FEW, FRESH, MAP, WINDOWS
from tests.benchmarks.guard.checkouts import ROOT, both, commit_of
from tests.benchmarks.guard.figures import THEN

__all__ = ["BEFORE", "BesideJava", "beside_java", "earlier_checkout"]

BEFORE: Final = "before"

_OFTEN_MS: Final = 100
_WARM_UP_PART: Final = 5
"""The part of the records before anything is measured, in which Java compiles what runs often."""

_LEAST_OF_JAVA: Final[Mapping[tuple[str, str, bool], float]] = {
    (MAP, FEW, False): 1.1,
    (MAP, FEW, True): 1.1,
    (MAP, FRESH, False): 1.05,
    (WINDOWS, FEW, False): 0.65,
    (WINDOWS, FRESH, False): 0.55,
}
"""Records per CPU second, of those of Java, by work, keys and whether it is exactly once."""


@frozen
class BesideJava:
    """What was measured of one work, with one kind of keys and one promise.

    Attributes:
        ours: Ours.
        found: All rates of the contest.
    """

    ours: Entry
    found: Contest

    @property
    def _others(self) -> dict[str, Entry]:
        """The other applications that were measured beside it, by the name of a column."""
        candidates = {BEFORE: evolve(self.ours, is_earlier=True), JAVA: evolve(self.ours, client=JAVA)}
        return {name: entry for name, entry in candidates.items() if entry in self.found.rates}

    def row(self) -> tuple[str, ...]:
        """Return the cells of a table: rates in thousands, per second and per CPU second, and ratios of the latter."""
        others = self._others
        rates = (self._rates(self.ours), *(self._rates(others.get(name)) for name in (BEFORE, JAVA)))
        ratios = (self._ratio(others.get(name)) for name in (BEFORE, JAVA))
        return (str(self.ours), *rates, *ratios)

    def _rates(self, entry: Entry | None) -> str:
        if entry is None:
            return ""
        return f"{self.found.per_second(entry) / 1e3:.0f} / {self.found.per_cpu_second(entry) / 1e3:.0f}"

    def _ratio(self, other: Entry | None) -> str:
        return "" if other is None else f"{self.found.ratio(self.ours, other, _per_cpu_second):.2f}"

    def aims(self) -> Iterator[Aim]:
        """Yield the ratios beside what they should be, each the median of the rounds."""
        least = _LEAST_OF_JAVA.get((self.ours.work, self.ours.keys, self.ours.is_exactly_once))
        for name, other in self._others.items():
            of_cpu, of_time = (self.found.ratio(self.ours, other, figure) for figure in (_per_cpu_second, _per_second))
            yield Aim(f"{self.ours}, of {name}, CPU", of_cpu, least if name == JAVA else None, is_least=True)
            yield Aim(f"{self.ours}, of {name}", of_time)

    def figures(self) -> dict[str, Any]:
        """Return all figures, for JSON."""
        return {
            name: {
                "per_second": [rate.per_second for rate in self.found.rates[entry]],
                "per_cpu_second": [rate.per_cpu_second for rate in self.found.rates[entry]],
            }
            for name, entry in {OURS: self.ours, **self._others}.items()
        }


@contextmanager
def earlier_checkout(commit: str | None, repository: Path = ROOT) -> Iterator[Path | None]:
    """The package of a commit with the programs of this checkout; None if there is no commit."""
    if commit is None:
        yield None
        return
    with both(commit_of(repository, commit), repository, ()) as checkouts:
        yield checkouts.with_these_benchmarks(THEN)


def beside_java(servers: str, extent: Extent, say: Callable[[str], None], earlier: Path | None) -> Sequence[BesideJava]:
    """Let all applications take turns: at least once as the extent says, and exactly once with a commit each 100 ms."""
    measured: list[BesideJava] = []
    for is_exactly_once in (False, True):
        ours = [Entry(OURS, work, 1, is_exactly_once, keys) for work in (MAP, WINDOWS) for keys in (FEW, FRESH)]
        candidates = [
            entry for each in ours for entry in (each, evolve(each, is_earlier=True), evolve(each, client=JAVA))
        ]
        paced = evolve(extent, warm_up=extent.records // _WARM_UP_PART)
        if is_exactly_once:
            paced = evolve(paced, commit_ms=_OFTEN_MS)
        found = contest(servers, paced, say, candidates, earlier)
        measured += [BesideJava(entry, found) for entry in ours]
    return measured


def _per_second(rate: Rate) -> float:
    return rate.per_second


def _per_cpu_second(rate: Rate) -> float:
    return rate.per_cpu_second
