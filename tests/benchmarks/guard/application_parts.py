"""Parts with streams applications: their rates, and the restoration of their state.

The programs are those of this checkout, with the package of each.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, Final

from attrs import frozen

from tests.benchmarks.applications import rates
from tests.benchmarks.applications.rates import Entry, Rate
from tests.benchmarks.applications.records import count_of, filled_topic
from tests.benchmarks.applications.running import OURS, StreamsJob, application
from tests.benchmarks.applications.works import FEW, FRESH, KEYS, MAP, WINDOWS
from tests.benchmarks.brokers import embedded
from tests.benchmarks.guard.broker_parts import Extent
from tests.benchmarks.guard.checkouts import Checkouts
from tests.benchmarks.guard.command_parts import own_commands
from tests.benchmarks.guard.figures import Case, Row
from tests.benchmarks.guard.turns import Measure
from tests.benchmarks.topics import delete_topic, delete_topics_of

__all__ = ["APPLICATIONS", "RESTORATION", "applications", "restorations"]

_NEEDS: Final = ("tests.benchmarks.applications.rates:EXACTLY_ONCE",)
_PROMISES: Final = {"at least once": False, "exactly once": True}
_RECORDS, _LEAST_RECORDS, _VALUE_BYTES = 600_000, 120_000, 100
_SECONDS, _LEAST_SECONDS, _COMMIT_MS = 3.0, 0.5, 200
_RESTORED_KEYS, _LEAST_KEYS = 500_000, 2_000
_FROM_BROKER: Final = "from a broker"

_SETTINGS: Final = {"group.streams.initial.rebalance.delay.ms": "0", "group.streams.assignment.interval.ms": "0"}
"""An application gets its tasks at once: a run is not spent waiting."""


def _case(work: str, keys: str, promise: str) -> Case:
    name = f"{work[0].upper()}{work[1:]}, {keys}, {promise}"
    rows = (Row(name, "records/s", ("rate",)), Row(f"{name}, CPU", "µs a record", ("cpu_us",), is_cost=True))
    return Case(rows, 4, (work, keys, promise), _NEEDS)


APPLICATIONS = tuple(
    _case(work, keys, promise) for work in (MAP, WINDOWS) for keys in (FEW, FRESH) for promise in _PROMISES
)


@frozen
class _Application:
    """What a case runs, in a version.

    Attributes:
        case: The work, the keys and the guarantee.
        servers: The version's own broker.
        source: The records.
    """

    case: Case
    servers: str
    source: str

    def job(self) -> StreamsJob:
        """Return a job with a group of its own."""
        work, _, promise = self.case.arguments
        return rates.job_of(self.servers, self.source, Entry(OURS, work, 1, _PROMISES[promise]), _COMMIT_MS)


@contextmanager
def applications(checkouts: Checkouts, extent: Extent) -> Iterator[Measure]:
    """An embedded broker of each checkout, with records; one application at a time."""
    records = extent.of(_RECORDS, _LEAST_RECORDS)
    seconds = max(_LEAST_SECONDS, _SECONDS * extent.fraction)
    measured = rates.Extent(clients=(OURS,), records=records, seconds=seconds, rounds=1, commit_ms=_COMMIT_MS)
    with ExitStack() as stack:

        @cache
        def servers(version: str) -> str:
            broker = embedded(checkouts.of(version), settings=_SETTINGS)
            return stack.enter_context(broker).bootstrap_servers

        @cache
        def source(version: str, keys: str) -> str:
            return filled_topic(servers(version), records, count_of(keys, records), _VALUE_BYTES)

        def measure(case: Case, version: str) -> Mapping[str, Any]:
            checkout = checkouts.with_these_benchmarks(version, case.needs)
            job = _Application(case, servers(version), source(version, case.arguments[1])).job()
            rate = rates.rate_of(job, measured, checkout)
            delete_topic(job.servers, job.target)
            delete_topics_of(job.servers, job.group)
            return _figures(rate)

        yield measure


def _figures(rate: Rate) -> dict[str, float]:
    return {"rate": rate.per_second, "cpu_us": rate.cpu_s / rate.records * 1e6}


def _applied(number: int, kind: str) -> tuple[Row, Row]:
    path = ("state", str(number))
    return (
        Row(f"Restoration without brokers, {kind} store", "s of CPU a million keys", (*path, "seconds_per_million"),
            is_cost=True),
        Row(f"Memory of a {kind} store", "bytes a key", (*path, "bytes_per_key"), is_cost=True),
    )  # fmt: skip


RESTORATION = (
    Case((Row("Restoration by an application", "keys/s", ("rate",)),
          Row("Restoration by an application, CPU", "µs a key", ("cpu_us",), is_cost=True)), 4,
         (_FROM_BROKER,), _NEEDS),
    Case((*_applied(0, "key-value"), *_applied(1, "window"), *_applied(2, "session")), 3,
         ("state", "--keys={300000:1000}", "--rounds=1"), ("tests.benchmarks.state_command:state",)),
)  # fmt: skip


@contextmanager
def restorations(checkouts: Checkouts, extent: Extent) -> Iterator[Measure]:
    """Applications whose state is on the broker alone, and the command `state` of each checkout."""
    with _from_broker(checkouts, extent) as from_broker, own_commands(checkouts, extent) as command:

        def measure(case: Case, version: str) -> Mapping[str, Any]:
            return (from_broker if case.arguments[0] == _FROM_BROKER else command)(case, version)

        yield measure


@contextmanager
def _from_broker(checkouts: Checkouts, extent: Extent) -> Iterator[Measure]:
    """An embedded broker of each checkout, with the changelog of an application that has processed all its records."""
    keys = extent.of(_RESTORED_KEYS, _LEAST_KEYS)
    with ExitStack() as stack:

        @cache
        def finished(version: str) -> StreamsJob:
            broker = stack.enter_context(embedded(checkouts.of(version), settings=_SETTINGS))
            source = filled_topic(broker.bootstrap_servers, keys, keys, _VALUE_BYTES)
            job = rates.job_of(broker.bootstrap_servers, source, Entry(OURS, KEYS), _COMMIT_MS)
            with application(job, checkouts.with_these_benchmarks(version)) as running:
                running.wait_until_committed(keys)
                running.leave()
            return job

        def measure(case: Case, version: str) -> Mapping[str, Any]:
            checkout = checkouts.with_these_benchmarks(version, case.needs)
            with application(finished(version), checkout) as running:
                seconds = running.seconds_until_running()
                cpu_s = running.moment().cpu_s
                running.leave()
            return {"rate": keys / seconds, "cpu_us": cpu_s / keys * 1e6}

        yield measure
