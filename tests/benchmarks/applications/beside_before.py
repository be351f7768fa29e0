"""Ours beside an earlier commit where the part `java` does not look: TLS, lz4, stores on disk, delay, rest, memory."""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from attrs import field, frozen

from tests.benchmarks.aims import Aim
from tests.benchmarks.applications.costs import delays, growth, idle_share
from tests.benchmarks.applications.rates import Extent, rate_of
from tests.benchmarks.applications.records import PARTITIONS, filled_topic
from tests.benchmarks.applications.running import OURS, new_job
from tests.benchmarks.applications.works import IN_MEMORY, MAP, WINDOWS
from tests.benchmarks.brokers import SECURED, running
from tests.benchmarks.consumers import KEYS_VARIABLE

__all__ = ["Measured", "beside_before", "figures"]

_VALUE_BYTES, _KEYS, _OFTEN_MS, _PER_SECOND = 100, 1_000, 100, 100
_LZ4: Final = {"producer.compression.type": "lz4"}


@frozen
class Measured:
    """One figure of both, in turns.

    Attributes:
        name: What was measured.
        unit: Its unit.
        now: The figures of this checkout.
        before: Those of the earlier commit.
        limit: The least ratio, or the highest if it is a cost. None: it is only reported.
        is_cost: Whether less is better.
        than: What it is compared with.
    """

    name: str
    unit: str
    now: Sequence[float]
    before: Sequence[float]
    limit: float | None = 1.0
    is_cost: bool = False
    than: str = "before"

    @property
    def ratio(self) -> float:
        """The median of the rounds' own ratios, now over before."""
        # A short rest takes less than the 10 ms that the kernel counts.
        return median(now / before if before else math.inf for now, before in zip(self.now, self.before, strict=True))

    def row(self) -> tuple[str, ...]:
        """Return the cells of a table."""
        return (self.name, self.unit, f"{median(self.before):,.4g}", f"{median(self.now):,.4g}", f"{self.ratio:.2f}")

    def aim(self) -> Aim:
        """Return the ratio beside what it should be."""
        return Aim(f"{self.name}, of {self.than}", self.ratio, self.limit, is_least=not self.is_cost)


@frozen
class _Work:
    """An application whose rate is measured."""

    name: str
    work: str = MAP
    store: str = IN_MEMORY
    guarantee: str = "at_least_once"
    compression: str = "none"
    settings: Mapping[str, str] = field(factory=dict)
    least: float = 1.0


_WORKS: Final = (
    _Work("map, lz4", compression="lz4", settings=_LZ4),
    _Work("windowed count, lmdb", WINDOWS, "lmdb", least=1.3),
    _Work("windowed count, lmdb, exactly once", WINDOWS, "lmdb", "exactly_once_v2", least=1.3),
)


def beside_before(servers: str, extent: Extent, say: Callable[[str], None], earlier: Path) -> Sequence[Measured]:
    """Measure both by turns. TLS has a broker of its own."""
    measured = [_rates(work, servers, extent, say, earlier) for work in _WORKS]
    with running(SECURED) as plain:
        work = _Work("map, SASL_SSL", settings=json.loads(os.environ[KEYS_VARIABLE]))
        measured.append(_rates(work, plain, extent, say, earlier))
    return [*measured, *_costs(servers, extent, say, earlier)]


def _rates(work: _Work, servers: str, extent: Extent, say: Callable[[str], None], earlier: Path) -> Measured:
    source = filled_topic(servers, extent.records, _KEYS, _VALUE_BYTES, compression=work.compression)
    commit_ms = extent.commit_ms if work.guarantee == "at_least_once" else _OFTEN_MS

    def measure(checkout: Path | None) -> float:
        job = new_job(OURS, work.work, servers, source, PARTITIONS, commit_ms=commit_ms, guarantee=work.guarantee,
                      store=work.store, settings=work.settings)  # fmt: skip
        return rate_of(job, extent, checkout).per_cpu_second

    now, before = _by_turns(work.name, measure, extent.rounds, say, earlier)
    return Measured(work.name, "records per CPU second", now, before, work.least)


def _costs(servers: str, extent: Extent, say: Callable[[str], None], earlier: Path) -> Iterator[Measured]:
    def delay(checkout: Path | None) -> float:
        return delays(OURS, servers, _PER_SECOND, extent.seconds, checkout).median_ms

    def idle(checkout: Path | None) -> float:
        return idle_share(OURS, servers, extent.seconds, checkout) * 100

    def memory(checkout: Path | None) -> float:
        return growth(OURS, servers, extent.records, checkout).at_end / 2**20

    for name, unit, measure, most in (
        ("record to output, median", "ms", delay, 1.0),
        ("idle worker", "% of a core", idle, None),
        ("resident memory of a count", "MiB", memory, 1.2),
    ):
        now, before = _by_turns(name, measure, extent.rounds, say, earlier)
        yield Measured(name, unit, now, before, most, is_cost=True)


def _by_turns(
    name: str, measure: Callable[[Path | None], float], rounds: int, say: Callable[[str], None], earlier: Path
) -> tuple[Sequence[float], Sequence[float]]:
    found: dict[Path | None, list[float]] = {None: [], earlier: []}
    for number in range(rounds):
        for checkout in (None, earlier) if number % 2 == 0 else (earlier, None):
            figure = measure(checkout)
            say(f"{name}, {'now' if checkout is None else 'before'}: {figure:,.4g}")
            found[checkout].append(figure)
    return found[None], found[earlier]


def figures(measured: Sequence[Measured]) -> dict[str, Any]:
    """Return all figures, for JSON."""
    return {each.name: {"now": list(each.now), "before": list(each.before)} for each in measured}
