"""Parts in which consumers of both checkouts use one real Kafka, or each its own embedded broker."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.benchmarks.brokers import embedded, running
from tests.benchmarks.consumers import ONE_BY_ONE, Outcome
from tests.benchmarks.guard.checkouts import Checkouts
from tests.benchmarks.guard.figures import VERSIONS, Case, Row
from tests.benchmarks.guard.turns import Measure
from tests.benchmarks.measures import task_of, through_broker
from tests.benchmarks.processes import consumed, produce
from tests.benchmarks.topics import delete_topic, new_topic

__all__ = ["EMBEDDED", "SECURED_SHARE", "SHARE", "THREE_BROKERS", "Extent", "consumers_on_kafka", "own_brokers"]

_CONSUMERS = ("tests.benchmarks.consumers:Task",)
_COMMITTING = (*_CONSUMERS, "tests.benchmarks.consumers:ONE_BY_ONE")
_RECORDS, _FEWER_RECORDS, _COMMITS = 1_000_000, 500_000, 2_000
_LEAST_RECORDS = 8_800
"""More than the first poll brings; also of small batches."""


@frozen
class Extent:
    """How much is measured: a fraction of the usual."""

    fraction: float = 1.0

    def of(self, count: int, least: int = 1) -> int:
        """So much of a count."""
        return max(least, round(count * self.fraction))


def _consumed_rows(name: str) -> tuple[Row, ...]:
    return (Row(name, "records/s", ("rate",)), Row(f"{name}, CPU", "µs a record", ("cpu_us",), is_cost=True))


def _share(title: str, rounds: int, *cases: tuple[str, str]) -> tuple[Case, ...]:
    return tuple(
        Case(
            _consumed_rows(f"{title}, {batches} batches, {mode}"), rounds, (batches, mode), _CONSUMERS, warm_up_rounds=1
        )
        for batches, mode in cases
    )


SHARE = _share(
    "Share consumer", 5, ("large", "implicit"), ("large", "explicit"), ("small", "implicit"), ("small", "explicit")
)
SECURED_SHARE = _share("SASL_SSL", 4, ("large", "implicit"), ("small", "explicit"))


@contextmanager
def consumers_on_kafka(target: str, cases: Sequence[Case], checkouts: Checkouts, extent: Extent) -> Iterator[Measure]:
    """One real Kafka, a topic for each size of batches, and a consumer of one of the checkouts at a time."""
    records = extent.of(_RECORDS, _LEAST_RECORDS)
    with running(target) as servers:
        topics = {batches: new_topic(servers) for batches in dict.fromkeys(case.arguments[0] for case in cases)}
        for batches, topic in topics.items():
            produce(servers, topic, records, batches)

        def measure(case: Case, version: str) -> Mapping[str, Any]:
            batches, mode = case.arguments
            checkout = checkouts.of(version, case.needs)
            return _figures(consumed(task_of("ours", mode, servers, topics[batches], records), checkout))

        yield measure


def _figures(outcome: Outcome) -> dict[str, float]:
    return {"rate": outcome.records / outcome.seconds, "cpu_us": outcome.cpu_seconds / outcome.records * 1e6}


def _broker_cases(title: str, rounds: int, *, more: tuple[Case, ...] = ()) -> tuple[Case, ...]:
    broker_cpu = Row(f"{title}, consume, CPU of the broker", "µs a record", ("broker_cpu_us",), is_cost=True)
    return (
        *more,
        Case((Row(f"{title}, consume, implicit", "records/s", ("rate",)), broker_cpu), rounds,
             ("consume", "large", "implicit"), _CONSUMERS),
        Case((Row(f"{title}, a commit_sync for each record", "records/s", ("rate",)),), rounds,
             ("commit", "small", ONE_BY_ONE), _COMMITTING),
    )  # fmt: skip


EMBEDDED = _broker_cases(
    "Embedded broker",
    5,
    more=(
        Case((Row("Embedded broker, end to end, large batches", "records/s", ("rate",)),
              Row("Embedded broker, end to end, CPU of the broker", "µs a record", ("broker_cpu_us",), is_cost=True),
              Row("Embedded broker, memory", "MiB", ("broker_mib",), is_cost=True)), 5,
             ("end to end", "large", "implicit"), _CONSUMERS),
        Case((Row("Embedded broker, end to end, small batches", "records/s", ("rate",)),), 5,
             ("end to end", "small", "implicit"), _CONSUMERS),
    ),
)  # fmt: skip
THREE_BROKERS = _broker_cases("Three brokers", 4)


@contextmanager
def own_brokers(brokers: int, checkouts: Checkouts, extent: Extent) -> Iterator[Measure]:
    """An embedded cluster of each checkout, which runs all the while, and consumers of the same checkout."""
    for version in VERSIONS:
        with embedded(checkouts.of(version)) as first:  # libraries write caches to a fresh directory, with much memory
            new_topic(first.bootstrap_servers)
    with ExitStack() as stack:
        clusters = {
            version: stack.enter_context(embedded(checkouts.of(version), brokers=brokers)) for version in VERSIONS
        }

        def measure(case: Case, version: str) -> Mapping[str, Any]:
            broker, checkout = clusters[version], checkouts.of(version, case.needs)
            topic = new_topic(broker.bootstrap_servers)
            cpu_started = broker.cpu_seconds()
            read, seconds = _run(case, broker.bootstrap_servers, topic, checkout, extent)
            cpu_us = (broker.cpu_seconds() - cpu_started) / read * 1e6
            delete_topic(broker.bootstrap_servers, topic)
            return {"rate": read / seconds, "broker_cpu_us": cpu_us, "broker_mib": broker.peak_bytes() / 2**20}

        yield measure


def _run(case: Case, servers: str, topic: str, checkout: Path, extent: Extent) -> tuple[int, float]:
    kind, batches, mode = case.arguments
    if kind == "end to end":
        return through_broker(servers, topic, extent.of(_FEWER_RECORDS, _LEAST_RECORDS), batches, checkout)
    records = extent.of(_COMMITS, 1_500) if kind == "commit" else extent.of(_FEWER_RECORDS, _LEAST_RECORDS)
    produce(servers, topic, records, batches)
    outcome = consumed(task_of("ours", mode, servers, topic, records), checkout)
    return outcome.records, outcome.seconds
