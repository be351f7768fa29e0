"""The clusters behind the fixture `target`: an embedded one for each test, a real Kafka for the whole run."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, contextmanager
from typing import Any

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import LOSE_RESPONSE
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.network import Network
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.testing.fault_proxy import Fault, FaultAction, FaultProxy
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.cluster_client import ClusterClient
from tests.support.kafka.kafka_trio import TrioNode, kafka_trio
from tests.support.kafka.older_kafkas import OLDER_KAFKAS
from tests.support.leaping_clock import LeapingClock
from tests.support.members.raw_member import accept
from tests.support.targets import (
    CONTAINER,
    EMBEDDED_MEMORY,
    EMBEDDED_PROPERTIES,
    EMBEDDED_TCP,
    CutFetches,
    Target,
    TargetSpec,
)
from tests.support.three_brokers import TRIO_SETTINGS, EmbeddedTrio, KafkaTrio, Trio, new_network

BROKERS = ("memory", "tcp", pytest.param("kafka", marks=[pytest.mark.real_kafka, pytest.mark.long]))


class SharedKafkas:
    """Real Kafkas, one for all tests that ask for the same.

    One with the usual settings lives until the end of the run. Of those with other settings only the last one lives,
    as each takes 300 MB and some percent of a core while it is idle.
    """

    def __init__(self, request: pytest.FixtureRequest, until_the_end: ExitStack) -> None:
        self._request = request
        self._processes: dict[TargetSpec, KafkaProcess] = {}
        self._warm: set[str] = set()
        until_the_end.callback(self._end_others)

    def address(self, spec: TargetSpec) -> str:
        """Where the real Kafka of that kind and with these settings is."""
        if spec.kind == CONTAINER:
            container: str = self._request.getfixturevalue("kafka_container").bootstrap_servers
            return container
        shared: KafkaProcess = self._request.getfixturevalue("real_kafka")
        if spec.kind in OLDER_KAFKAS:
            return self._process(spec, OLDER_KAFKAS[spec.kind]).bootstrap_servers
        return self._process(spec, shared.version).bootstrap_servers if spec.properties else shared.bootstrap_servers

    async def warm_up(self, target: Target) -> None:
        """Have a real Kafka do once what it does slowly the first time, as tests look at its deadlines."""
        if target.bootstrap_servers in self._warm or not target.has_streams_groups:
            return
        self._warm.add(target.bootstrap_servers)
        topic = await target.cluster.create_topic()
        group_id = await target.group_of(topic)
        await target.cluster.produce(topic, [b"warm"])
        member = target.member(group_id, topic)
        acquired = await member.fetch_until_acquired()
        await member.settle(accept(acquired.runs[0].first))
        await member.close_session()
        await target.cluster.until_lag(group_id, topic, 0)

    def _process(self, spec: TargetSpec, version: str) -> KafkaProcess:
        if spec not in self._processes:
            self._end_others()
            self._processes[spec] = KafkaProcess(version, dict(spec.properties))
            self._processes[spec].start()
        return self._processes[spec]

    def _end_others(self) -> None:
        """End what tests before asked for: `tests.support.processes` puts those with the same settings together."""
        while self._processes:
            _, process = self._processes.popitem()
            self._warm.discard(process.bootstrap_servers)
            process.close()


@pytest.fixture(scope="session")
def shared_kafkas(request: pytest.FixtureRequest) -> Iterator[SharedKafkas]:
    """The real Kafkas that tests share."""
    with ExitStack() as until_the_end:
        yield SharedKafkas(request, until_the_end)


@pytest.fixture(autouse=True)
def logs_of_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    """Have pytest show what the consumers and brokers logged when a test fails."""
    caplog.set_level(logging.DEBUG, "kafka_groups")


@pytest.fixture
async def target(request: pytest.FixtureRequest, shared_kafkas: SharedKafkas) -> AsyncIterator[Target]:
    """The cluster that the test runs on."""
    spec: TargetSpec = request.param
    clock = LeapingClock() if spec.has_own_clock else None
    async with AsyncExitStack() as until_the_test_ends:
        if spec.kind == EMBEDDED_MEMORY:
            network = MemoryNetwork()
            cluster = EmbeddedCluster(network=network, settings=_settings(spec), clock=clock)
            await until_the_test_ends.enter_async_context(cluster)
            made = _target(spec, cluster.bootstrap_servers, network, _cut_by_the_broker(cluster), clock)
        elif spec.kind == EMBEDDED_TCP:
            address = until_the_test_ends.enter_context(_embedded_over_tcp(spec, clock))
            made = _target(spec, address, TcpNetwork(), _cut_by_a_proxy(address), clock)
        else:
            address = shared_kafkas.address(spec)
            made = _target(spec, address, TcpNetwork(), _cut_by_a_proxy(address))
            await shared_kafkas.warm_up(made)
        until_the_test_ends.push_async_callback(made.close)
        yield made


def _settings(spec: TargetSpec) -> dict[str, object]:
    return {**EMBEDDED_PROPERTIES, **dict(spec.properties)}


def _target(
    spec: TargetSpec,
    address: str,
    network: Network,
    cutting: Callable[[int], CutFetches],
    clock: LeapingClock | None = None,
) -> Target:
    host, _, port = address.rpartition(":")
    cluster = ClusterClient(network, host, int(port), negotiates=spec.kind in OLDER_KAFKAS)
    return Target(spec.kind, host, int(port), network, cutting, cluster, clock)


@contextmanager
def _embedded_over_tcp(spec: TargetSpec, clock: LeapingClock | None) -> Iterator[str]:
    """The address of an embedded cluster on a thread of its own, which fails the test if something fails in it."""
    with EmbeddedCluster(settings=_settings(spec), clock=clock) as cluster:
        yield cluster.bootstrap_servers
        assert cluster.unexpected_errors == ()


def _cut_by_the_broker(cluster: EmbeddedCluster) -> Callable[[int], CutFetches]:
    def start(every: int) -> CutFetches:
        seen = 0

        def is_due(_request: Any) -> bool:
            nonlocal seen
            seen += 1
            return seen % every == 0

        rule = cluster.faults.on(ApiKey.SHARE_FETCH, LOSE_RESPONSE, when=is_due)
        return CutFetches(cluster.bootstrap_servers, lambda: rule.hits, lambda: cluster.faults.remove(rule))

    return start


def _cut_by_a_proxy(address: str) -> Callable[[int], CutFetches]:
    def start(every: int) -> CutFetches:
        proxy = FaultProxy(address)
        proxy.start()
        fault = Fault(FaultAction.CUT_RESPONSE, ApiKey.SHARE_FETCH, every=every)
        proxy.inject(fault)
        return CutFetches(proxy.bootstrap_servers, lambda: proxy.injected.get(fault, 0), proxy.close)

    return start


@pytest.fixture(scope="module")
def kafka_nodes(real_kafka: object) -> Iterator[Mapping[int, TrioNode]]:
    """Three nodes of a real Kafka, if one can run here."""
    with kafka_trio() as nodes:
        yield nodes


@pytest.fixture(params=BROKERS)
async def trio(request: pytest.FixtureRequest) -> AsyncIterator[Trio]:
    """Three brokers of each kind."""
    async with AsyncExitStack() as stack:
        if request.param == "kafka":
            made = Trio(KafkaTrio(request.getfixturevalue("kafka_nodes")), is_real=True)
        else:
            network = new_network(is_tcp=request.param == "tcp")
            cluster = await stack.enter_async_context(EmbeddedCluster(3, network=network, settings=TRIO_SETTINGS))
            made = Trio(EmbeddedTrio(cluster), is_real=False)
        stack.push_async_callback(made.close)
        yield made
