"""Applications in classic groups beside those in streams groups: rates, and how soon a second instance runs."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from confluent_kafka.admin import AdminClient

from kafka_groups.admin import KafkaAdmin
from tests.benchmarks.applications.beside_before import Measured
from tests.benchmarks.applications.rates import Extent, rate_of
from tests.benchmarks.applications.records import filled_topic
from tests.benchmarks.applications.running import OURS, application, new_job
from tests.benchmarks.applications.works import KEYS, MAP, WINDOWS
from tests.benchmarks.brokers import embedded, running

__all__ = ["beside_streams_groups"]

_PARTITIONS, _VALUE_BYTES, _KEYS, _OFTEN_MS = 4, 100, 1_000, 100
_TASKS, _INSTANCES, _FEW_RECORDS = 8, 2, 10_000
_LONGEST_S, _POLL_S = 60.0, 0.05
_HEARTBEAT_S: Final = 3
_HEARTBEATS_MS: Final = str(1_000 * _HEARTBEAT_S)
_AT_ONCE: Final = "right after the first one"
_WHEN: Final[Mapping[str, float | None]] = {_AT_ONCE: None, "between two heartbeats of the first one": 9.0}
"""When the second instance starts, with the seconds for which the first one runs before."""
_QUICK: Final = {
    "group.streams.min.heartbeat.interval.ms": _HEARTBEATS_MS,
    "group.streams.heartbeat.interval.ms": _HEARTBEATS_MS,
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.initial.rebalance.delay.ms": "0",
}
_GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "classic": {"group.protocol": "classic", "heartbeat.interval.ms": _HEARTBEATS_MS},
    "streams": {},
}


def beside_streams_groups(target: str, servers: str, extent: Extent, say: Callable[[str], None]) -> Sequence[Measured]:
    """Measure both kinds of groups by turns. *Before* is the streams group. The second instance has its own broker."""
    rates = [*_rates(servers, extent, say)]
    with _soon_answering(target) as quick:
        return [*rates, *(_second_instance(quick, extent, say, when) for when in _WHEN)]


@contextmanager
def _soon_answering(target: str) -> Iterator[str]:
    """A broker that allows a streams group the heartbeats of a classic one, and waits for nobody."""
    if target == "embedded":
        with embedded(settings=_QUICK) as broker:
            yield broker.bootstrap_servers
    else:
        with running(target, _QUICK) as servers:
            yield servers


def _rates(servers: str, extent: Extent, say: Callable[[str], None]) -> Iterator[Measured]:
    source = filled_topic(servers, extent.records, _KEYS, _VALUE_BYTES)
    for work, guarantee in ((MAP, "at_least_once"), (WINDOWS, "at_least_once"), (WINDOWS, "exactly_once_v2")):
        commit_ms = extent.commit_ms if guarantee == "at_least_once" else _OFTEN_MS

        def measure(kind: str, work: str = work, guarantee: str = guarantee, commit_ms: int = commit_ms) -> float:
            job = new_job(OURS, work, servers, source, _PARTITIONS, commit_ms=commit_ms, guarantee=guarantee,
                          settings=_GROUPS[kind])  # fmt: skip
            return rate_of(job, extent).per_second

        name = f"{work}, {guarantee.replace('_', ' ').removesuffix(' v2')}"
        classic, streams = _by_turns(name, measure, extent.rounds, say)
        yield Measured(name, "records per second", classic, streams, 0.95, than="streams groups")


def _second_instance(servers: str, extent: Extent, say: Callable[[str], None], when: str) -> Measured:
    source = filled_topic(servers, _FEW_RECORDS, _KEYS, _VALUE_BYTES, partitions=_TASKS)
    # One start in each equal part of the heartbeat interval, the same ones for both kinds of groups.
    phases = [_HEARTBEAT_S * (part + 0.5) / extent.rounds for part in range(extent.rounds)]
    left = {kind: iter(phases) for kind in _GROUPS}

    def measure(kind: str) -> float:
        job = new_job(OURS, KEYS, servers, source, _TASKS, settings=_GROUPS[kind])
        phase_s = next(left[kind])
        with application(job) as first:
            first.seconds_until_running()
            if (rest_s := _WHEN[when]) is not None:
                time.sleep(rest_s + phase_s)
            began_s = time.monotonic()  # the program's own start takes as long in both groups
            with application(job):
                while not _both_have_tasks(servers, job.group, kind):
                    assert time.monotonic() - began_s < _LONGEST_S, "the second instance has got no tasks"
                    time.sleep(_POLL_S)
                return time.monotonic() - began_s

    classic, streams = _by_turns(f"second instance {when}", measure, extent.rounds, say)
    name = f"a second instance, {when}: from its start until both have tasks"
    return Measured(name, "s", classic, streams, 1.0, is_cost=True, than="streams groups")


def _both_have_tasks(servers: str, group: str, kind: str) -> bool:
    if kind == "streams":
        with KafkaAdmin(bootstrap_servers=servers) as admin:
            members = admin.describe_streams_groups([group])[group].members
        return sum(any(each.assignment.active.values()) for each in members) == _INSTANCES
    described = AdminClient({"bootstrap.servers": servers})
    found = described.describe_consumer_groups([group])[group].result(_LONGEST_S)
    return sum(bool(each.assignment.topic_partitions) for each in found.members) == _INSTANCES


def _by_turns(
    name: str, measure: Callable[[str], float], rounds: int, say: Callable[[str], None]
) -> tuple[Sequence[float], Sequence[float]]:
    found: dict[str, list[float]] = {kind: [] for kind in _GROUPS}
    for number in range(rounds):
        for kind in sorted(_GROUPS, reverse=bool(number % 2)):
            figure = measure(kind)
            say(f"{name}, {kind} group: {figure:,.4g}")
            found[kind].append(figure)
    return found["classic"], found["streams"]
