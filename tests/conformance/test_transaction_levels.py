"""Producers old and new while the feature `transaction.version` is finalised at 0, 1 or 2 (KIP-890)."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack

import pytest
from attrs import field, frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.network import Network
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from kafka_groups.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.cluster_client import ClusterClient
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.raw_producer import NEW, OLD, RawProducer, TransactionReader
from tests.support.requests.raw_client import RawClient
from tests.support.targets import EMBEDDED_PROPERTIES

LEVELS = (0, 1, 2)
FEATURE = "transaction.version"
KINDS = ("embedded", pytest.param("kafka", marks=[pytest.mark.real_kafka, pytest.mark.slow]))


@frozen
class Levelled:
    """A broker whose feature has a level."""

    level: int
    network: Network
    address: tuple[str, int]
    cluster: ClusterClient
    _clients: list[RawClient] = field(factory=list)

    def client(self) -> RawClient:
        client = RawClient(self.network, *self.address)
        self._clients.append(client)
        return client

    async def close(self) -> None:
        await self.cluster.close()
        for client in self._clients:
            await client.disconnect()

    async def producer(self, version: int) -> RawProducer:
        producer = RawProducer(self.client(), unique("tx"), version)
        await producer.find()
        assert await producer.init() == "NONE"
        return producer


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


@pytest.fixture(scope="module")
def kafka_of_level() -> Iterator[Callable[[int], KafkaProcess]]:
    """A real Kafka for each level."""
    with ExitStack() as until_the_end:

        @functools.cache
        def started(level: int) -> KafkaProcess:
            return until_the_end.enter_context(KafkaProcess(features={FEATURE: level}))

        yield started


@pytest.fixture(params=KINDS)
async def levelled(request: pytest.FixtureRequest, level: int) -> AsyncIterator[Levelled]:
    """A broker of each kind."""
    async with AsyncExitStack() as stack:
        if request.param == "kafka":
            network: Network = TcpNetwork()
            servers = request.getfixturevalue("kafka_of_level")(level).bootstrap_servers
        else:
            network = MemoryNetwork()
            embedded = EmbeddedCluster(network=network, settings=EMBEDDED_PROPERTIES)
            servers = (await stack.enter_async_context(embedded)).bootstrap_servers
        host, _, port = servers.rpartition(":")
        found = Levelled(level, network, (host, int(port)), ClusterClient(network, host, int(port)))
        stack.push_async_callback(found.close)
        if request.param != "kafka":
            await _finalise(found)
        yield found


async def _finalise(found: Levelled) -> None:
    update = FeatureUpdateKey(feature=FEATURE, max_version_level=found.level, upgrade_type=3)
    response = await found.client().ask(UpdateFeaturesRequest(feature_updates=(update,), timeout_ms=10_000))
    assert response.error_code == 0, response


def _skip_if_unheard_of(levelled: Levelled, version: int) -> None:
    if version == NEW and levelled.level == 0:
        pytest.skip("a producer that looks at the level speaks as an old one")


async def test_the_level_is_told(levelled: Levelled) -> None:
    response = await levelled.client().ask(ApiVersionsRequest(client_software_name="t", client_software_version="1"))
    finalized = {each.name: each.max_version_level for each in response.finalized_features}
    assert finalized.get(FEATURE, 0) == levelled.level


@pytest.mark.parametrize("version", [OLD, NEW], ids=["old producer", "new producer"])
async def test_epochs_of_a_commit_and_an_abort(levelled: Levelled, version: int) -> None:
    _skip_if_unheard_of(levelled, version)
    topic = await levelled.cluster.create_topic()
    producer = await levelled.producer(version)
    reader = TransactionReader(levelled.client())
    epochs = [producer.producer.epoch]
    for committed in (True, False, True):
        if version == OLD:
            assert await producer.add(topic, 0) == {0: "NONE"}
        assert await producer.send(topic, b"%d" % len(epochs)) == "NONE"
        assert await producer.end(committed=committed) == "NONE"
        await producer.until_ended()
        epochs.append(producer.producer.epoch)
    assert epochs == ([0, 0, 0, 0] if version == OLD else [0, 1, 2, 3])
    await reader.until_committed(topic, [b"1", b"3"])


async def test_an_old_producer_on_every_level(levelled: Levelled) -> None:
    topic = await levelled.cluster.create_topic()
    producer = await levelled.producer(OLD)
    await levelled.cluster.coordinator_of("group")
    assert await producer.send(topic, b"too early") == "TRANSACTION_ABORTABLE"
    assert await producer.add(topic, 0) == {0: "NONE"}
    assert await producer.send(topic, b"1") == "NONE"
    assert await producer.add_offsets("group") == "NONE"
    await until(lambda: producer.commit_offsets("group", topic, {0: 1}), lambda it: it == {0: "NONE"})
    assert await producer.end(committed=True) == "NONE"
    assert await producer.until_ended() == "CompleteCommit"
    assert await producer.end(committed=True) == "NONE"
    assert await producer.end(committed=False) == "INVALID_TXN_STATE"


async def test_a_new_producer_on_every_level(levelled: Levelled) -> None:
    _skip_if_unheard_of(levelled, NEW)
    topic = await levelled.cluster.create_topic()
    producer = await levelled.producer(NEW)
    await levelled.cluster.coordinator_of("group")
    assert await producer.end(committed=True) == "INVALID_TXN_STATE"
    assert await producer.end(committed=False) == "NONE"
    await producer.until_ended()
    assert await producer.send(topic, b"1") == "NONE"
    await until(lambda: producer.commit_offsets("group", topic, {0: 1}), lambda it: it == {0: "NONE"})
    before = producer.producer
    assert await producer.end(committed=True) == "NONE"
    await producer.until_ended()
    assert await producer.end(committed=True, producer=before) == "NONE"
    assert await producer.end(committed=False, producer=before) in {"INVALID_TXN_STATE", "PRODUCER_FENCED"}


async def test_a_new_start_aborts_and_fences(levelled: Levelled) -> None:
    topic = await levelled.cluster.create_topic()
    producer = await levelled.producer(OLD)
    assert await producer.add(topic, 0) == {0: "NONE"}
    assert await producer.send(topic, b"1") == "NONE"
    before = producer.producer
    assert await producer.init() == "NONE"
    assert (producer.producer.producer_id, producer.producer.epoch > before.epoch) == (before.producer_id, True)
    assert await producer.end(committed=True, producer=before) == "PRODUCER_FENCED"
    assert await TransactionReader(levelled.client()).committed(topic) == []
