"""Single questions to brokers over connections of their own."""

from collections.abc import AsyncIterator

import pytest

from kafka_groups.broker.faults import answer
from kafka_groups.client.brokers import Brokers
from kafka_groups.config.readers import read_host_ports
from kafka_groups.errors import BrokerError, NetworkError, error_for
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.metadata import MetadataRequest
from kafka_groups.testing import EmbeddedCluster

NOBODY = ("127.0.0.1", 1)


@pytest.fixture
async def cluster() -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(brokers=2) as running:
        yield running


def brokers_at(*addresses: tuple[str, int]) -> Brokers:
    return Brokers(addresses, TcpNetwork(), SystemClock(), "asks", None)


async def test_the_next_bootstrap_server_is_asked_when_one_cannot_be_reached(cluster: EmbeddedCluster) -> None:
    (first, *_) = read_host_ports(cluster.bootstrap_servers)
    brokers = brokers_at(NOBODY, first)
    answer = await brokers.ask_any(MetadataRequest(topics=()))
    assert len(answer.brokers) == 2
    brokers.close()


async def test_the_error_is_that_of_the_last_one() -> None:
    with pytest.raises(NetworkError, match=r"127\.0\.0\.1:2"):
        await brokers_at(NOBODY, ("127.0.0.1", 2)).ask_any(MetadataRequest(topics=()))


async def test_a_lost_connection_is_opened_anew(cluster: EmbeddedCluster) -> None:
    first, second = read_host_ports(cluster.bootstrap_servers)
    brokers = brokers_at(first, second)
    coordinator = await brokers.coordinator_of("g")
    assert coordinator in (first, second)
    node = 1 + (first, second).index(coordinator)
    await cluster.stop_broker_async(node)
    with pytest.raises(NetworkError):
        await brokers.ask(coordinator, MetadataRequest(topics=()))
    await cluster.start_broker_async(node)
    assert await brokers.ask(coordinator, MetadataRequest(topics=()))
    brokers.close()


async def test_what_the_brokers_refuse_is_an_error(cluster: EmbeddedCluster) -> None:
    brokers = brokers_at(*read_host_ports(cluster.bootstrap_servers))
    refusal = error_for(ErrorCode.COORDINATOR_NOT_AVAILABLE, "still loading")
    cluster.faults.on(ApiKey.FIND_COORDINATOR, answer(refusal), times=1)
    with pytest.raises(BrokerError, match="still loading"):
        await brokers.coordinator_of("g")
    assert await brokers.share_group_lags(await brokers.coordinator_of("g"), "g") == {}
    brokers.close()
