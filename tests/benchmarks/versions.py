"""The embedded broker of two versions: the same client on both, by turns, and both brokers run all the while."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any

from attrs import define, field, frozen

from tests.benchmarks.brokers import BrokerProcess, embedded
from tests.benchmarks.consumers import ONE_BY_ONE
from tests.benchmarks.measures import BEFORE, Say, task_of, through_broker
from tests.benchmarks.processes import consumed, produce
from tests.benchmarks.topics import delete_topic, new_topic

VERSIONS = ("ours", BEFORE)
_FEWER = 50
"""So many times fewer records where each is committed alone, in small batches: a first poll must not bring them all."""

Run = Callable[[str, str, int], tuple[int, float]]
"""Servers, a topic with records, and how many: the records that were read, and the seconds."""


@define
class Case:
    """What one client got from each of the two brokers.

    Attributes:
        rates: Records per second of each round, by version of the broker.
        cpu_us: Microseconds of the broker's own CPU for each record, likewise.
    """

    name: str
    rates: Mapping[str, list[float]] = field(factory=lambda: {version: [] for version in VERSIONS})
    cpu_us: Mapping[str, list[float]] = field(factory=lambda: {version: [] for version in VERSIONS})

    @property
    def rate_ratio(self) -> float:
        """Records per second, now over before: the median of the rounds' own ratios."""
        return _ratio(self.rates)

    @property
    def cpu_ratio(self) -> float:
        """CPU time of the broker for a record, now over before."""
        return _ratio(self.cpu_us)


@frozen
class Compared:
    """All cases, and the largest resident memory of each broker once it has served them."""

    brokers: int
    cases: Sequence[Case]
    resident_bytes: Mapping[str, int]

    @property
    def memory_ratio(self) -> float:
        """Memory, before over now, so that more than 1 is better."""
        return self.resident_bytes[BEFORE] / self.resident_bytes["ours"]


def compare(checkout: Path, brokers: int, records: int, rounds: int, say: Say) -> Compared:
    """Consume, produce and consume, and commit one by one, on the broker of this checkout and of the other one."""
    cases = [Case(name) for name in _RUNS]
    with _both(checkout, brokers) as running:
        for number in range(rounds):
            for case in cases:
                for version in VERSIONS if number % 2 == 0 else reversed(VERSIONS):
                    _measure(case, version, running[version], records)
                    say(f"{brokers} brokers, {case.name}, {version}: {case.rates[version][-1] / 1e3:.1f} k records/s")
        return Compared(brokers, cases, {version: broker.peak_bytes() for version, broker in running.items()})


@contextmanager
def _both(checkout: Path, brokers: int) -> Iterator[Mapping[str, BrokerProcess]]:
    with ExitStack() as stack:
        ours = stack.enter_context(embedded(brokers=brokers))
        yield {"ours": ours, BEFORE: stack.enter_context(embedded(checkout, brokers))}


def _measure(case: Case, version: str, broker: BrokerProcess, records: int) -> None:
    topic = new_topic(broker.bootstrap_servers)
    cpu_started = broker.cpu_seconds()
    read, seconds = _RUNS[case.name](broker.bootstrap_servers, topic, records)
    case.rates[version].append(read / seconds)
    case.cpu_us[version].append((broker.cpu_seconds() - cpu_started) / read * 1e6)
    delete_topic(broker.bootstrap_servers, topic)


def _consume(mode: str, share: int, batches: str = "large") -> Run:
    def run(servers: str, topic: str, records: int) -> tuple[int, float]:
        produce(servers, topic, records // share, batches)
        outcome = consumed(task_of("ours", mode, servers, topic, records // share))
        return outcome.records, outcome.seconds

    return run


def _end_to_end(servers: str, topic: str, records: int) -> tuple[int, float]:
    return through_broker(servers, topic, records, "large")


_RUNS: Mapping[str, Run] = MappingProxyType({
    "consume, implicit": _consume("implicit", 1),
    "consume, explicit": _consume("explicit", 1),
    "one record per commit_sync": _consume(ONE_BY_ONE, _FEWER, "small"),
    "end to end": _end_to_end,
})  # fmt: skip


def _ratio(figures: Mapping[str, Sequence[float]]) -> float:
    return median(now / before for now, before in zip(figures["ours"], figures[BEFORE], strict=True))


def as_json(compared: Compared) -> dict[str, Any]:
    """All that was measured."""
    cases = [
        {"name": each.name, "rate_ratio": each.rate_ratio, "cpu_ratio": each.cpu_ratio, "rates": dict(each.rates),
         "cpu_us": dict(each.cpu_us)}
        for each in compared.cases
    ]  # fmt: skip
    return {"brokers": compared.brokers, "cases": cases, "resident_bytes": dict(compared.resident_bytes)}
