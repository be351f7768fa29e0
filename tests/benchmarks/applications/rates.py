"""How many records applications process in a second, and in a second of processor time."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from attrs import frozen

from tests.benchmarks.applications.records import PARTITIONS, count_of, filled_topic
from tests.benchmarks.applications.running import OURS, Moment, RunningApplication, StreamsJob, application, new_job
from tests.benchmarks.applications.works import FEW, MAP, WINDOWS, WINDOWS_CACHED

__all__ = [
    "ENTRIES",
    "EXACTLY_ONCE",
    "Contest",
    "Entry",
    "Extent",
    "Rate",
    "contest",
    "job_of",
    "rate_between",
    "rate_in",
    "rate_of",
]

_VALUE_BYTES = 100


@frozen(kw_only=True)
class Extent:
    """How much is measured.

    Attributes:
        clients: Which clients run.
        records: Records of the source, of which a run processes as many as it can.
        seconds: How long a run is measured.
        rounds: How often all entries take turns.
        commit_ms: How often each application commits.
        warm_up: How many records are processed before anything is measured.
    """

    clients: Sequence[str]
    records: int
    seconds: float
    rounds: int
    commit_ms: int
    warm_up: int = 0


@frozen
class Entry:
    """An application in a contest.

    Attributes:
        client: Whose it is.
        work: What it does.
        workers: How many it has.
        is_exactly_once: Whether it works exactly once.
        keys: The keys of its records.
        is_earlier: Whether it is ours with the package of an earlier commit.
    """

    client: str
    work: str
    workers: int = 1
    is_exactly_once: bool = False
    keys: str = FEW
    is_earlier: bool = False

    def __str__(self) -> str:
        more = [
            "before" if self.is_earlier else "",
            "" if self.workers == 1 else f"{self.workers} workers",
            "exactly once" if self.is_exactly_once else "",
            "" if self.keys == FEW else self.keys,
        ]
        return ", ".join([self.work, self.client, *filter(None, more)])


ENTRIES: Final = (
    Entry(OURS, MAP),
    Entry("quix", MAP),
    Entry("faust", MAP),
    Entry(OURS, WINDOWS),
    Entry(OURS, WINDOWS, workers=2),
    Entry(OURS, WINDOWS_CACHED),
    Entry("quix", WINDOWS),
    Entry("faust", WINDOWS),
)
EXACTLY_ONCE: Final = (
    Entry(OURS, WINDOWS),
    Entry(OURS, WINDOWS, is_exactly_once=True),
    Entry("quix", WINDOWS, is_exactly_once=True),
)


@frozen
class Rate:
    """What an application did between two commits of one run."""

    records: int
    seconds: float
    cpu_s: float

    @property
    def per_second(self) -> float:
        """Records in a second."""
        return self.records / self.seconds

    @property
    def per_cpu_second(self) -> float:
        """Records in a second of processor time, of all its threads and processes."""
        return self.records / self.cpu_s


@frozen
class Contest:
    """The rates of all entries, a figure for each round."""

    rates: Mapping[Entry, Sequence[Rate]]

    def per_second(self, entry: Entry) -> float:
        """Records in a second, median of the rounds."""
        return median(rate.per_second for rate in self.rates[entry])

    def per_cpu_second(self, entry: Entry) -> float:
        """Records in a second of processor time, median of the rounds."""
        return median(rate.per_cpu_second for rate in self.rates[entry])

    def ratio(self, one: Entry, other: Entry, figure: Callable[[Rate], float]) -> float:
        """Return the median of the rounds' own ratios."""
        pairs = zip(self.rates[one], self.rates[other], strict=True)
        return median(figure(a) / figure(b) for a, b in pairs)


def contest(
    servers: str,
    extent: Extent,
    say: Callable[[str], None],
    candidates: Sequence[Entry] = ENTRIES,
    earlier: Path | None = None,
) -> Contest:
    """Let all entries take turns. The one that goes first changes with each round.

    Those of an earlier commit run with the package of another checkout, and only if there is one.
    """
    entries = [entry for entry in candidates if entry.client in extent.clients and (earlier or not entry.is_earlier)]
    sources = {
        keys: filled_topic(servers, extent.records, count_of(keys, extent.records), _VALUE_BYTES)
        for keys in dict.fromkeys(entry.keys for entry in entries)
    }
    rates: dict[Entry, list[Rate]] = {entry: [] for entry in entries}
    for number in range(extent.rounds):
        for entry in entries[:: -1 if number % 2 else 1]:
            job = job_of(servers, sources[entry.keys], entry, extent.commit_ms)
            rate = rate_of(job, extent, earlier if entry.is_earlier else None)
            say(f"{entry}: {rate.per_second:,.0f}/s, {rate.per_cpu_second:,.0f} per CPU second")
            rates[entry].append(rate)
    return Contest(rates)


def job_of(servers: str, source: str, entry: Entry, commit_ms: int) -> StreamsJob:
    """Return the job of an application in a contest, with a group of its own."""
    guarantee = "exactly_once_v2" if entry.is_exactly_once else "at_least_once"
    return new_job(entry.client, entry.work, servers, source, PARTITIONS, workers=entry.workers, commit_ms=commit_ms,
                   guarantee=guarantee)  # fmt: skip


def rate_of(job: StreamsJob, extent: Extent, checkout: Path | None = None) -> Rate:
    """Return the rate of one run, with the package of another checkout if one is given."""
    with application(job, checkout) as running:
        return rate_in(running, job, extent)


def rate_in(running: RunningApplication, job: StreamsJob, extent: Extent) -> Rate:
    """Return the rate of an application that has just begun."""
    began, ended = _measured(running, job, extent)
    return rate_between(began, ended)


def rate_between(began: Moment, ended: Moment) -> Rate:
    """Return the rate between two moments."""
    return Rate(ended.committed - began.committed, ended.at_s - began.at_s, ended.cpu_s - began.cpu_s)


def _measured(running: RunningApplication, job: StreamsJob, extent: Extent) -> tuple[Moment, Moment]:
    """The second commit after the warm-up, and the last one at which it still had records to process."""
    seen: list[Moment] = []
    for moment in running.commits():
        if moment.committed >= extent.records:
            break
        if moment.committed < extent.warm_up:
            continue
        seen.append(moment)
        if len(seen) > 2 and moment.at_s - seen[1].at_s >= extent.seconds:
            break
    assert len(seen) > 2, (
        f"{job.work}, {job.client} processed all records within {len(seen)} commits: ask for more records"
    )
    return seen[1], seen[-1]
