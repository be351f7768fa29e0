"""Transactions on our own engine: on the embedded broker and on real ones, at every level of the feature.

Kafka 3.9 knows levels 0 and 1, and begins at 0. Kafka 3.7 does not have the feature.
"""

import random
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack

import pytest
from attrs import field, frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.client.assembly import Environment
from kafka_groups.client.membership.group_metadata import NOBODY, AsMember, GroupMetadata
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import (
    IllegalGenerationError,
    InvalidTransactionTimeoutError,
    TransactionFailedError,
    UnknownMemberIdError,
)
from kafka_groups.net.memory import MemoryNetwork
from kafka_groups.net.network import Network
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_groups.protocol.messages.update_features import UPGRADE
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.transactional_writer import TransactionalEngineWriter, TransactionSettings
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.support.conditions import until
from tests.support.kafka.real_kafka import RawConnection, unique
from tests.support.members.negotiated_cluster import NegotiatedCluster
from tests.support.members.transaction_client import TransactionClient
from tests.support.targets import EMBEDDED_PROPERTIES

FEATURE = "transaction.version"
EMBEDDED = "embedded"
NEWEST_PRODUCE = {"3.7.2": 10}
LAST_EPOCH, PATIENCE_MS = 32_766, 20_000
REAL = [pytest.mark.real_kafka, pytest.mark.slow]
BROKERS = [
    *((EMBEDDED, level) for level in (0, 1, 2)),
    *(pytest.param((version, level), marks=REAL) for version in ("4.4.0", "4.2.1") for level in (0, 1, 2)),
    pytest.param(("3.9.1", None), marks=REAL),
    pytest.param(("3.7.2", None), marks=[*REAL, pytest.mark.long]),
]


@frozen
class Place:
    """A broker, and a topic on it.

    Attributes:
        version: The release, or `EMBEDDED`.
        level: The level of the feature, or None if the release begins at 0.
    """

    version: str
    servers: str
    network: Network | None
    level: int | None
    cluster: NegotiatedCluster
    topic: str
    source: str
    group_id: str = field(factory=lambda: unique("group"))
    transactional_id: str = field(factory=lambda: unique("tx"))

    def client(self, timeout_ms: int = 60_000) -> TransactionClient:
        return TransactionClient(self.servers, self.network, self.transactional_id, timeout_ms)

    @property
    def is_v2(self) -> bool:
        """Whether transactions begin at the coordinator with their first batch."""
        return self.level == 2

    @property
    def produce_version(self) -> int:
        """The newest version of Produce that broker and transactions have."""
        return 12 if self.is_v2 else NEWEST_PRODUCE.get(self.version, 11)

    @property
    def outputs(self) -> tuple[TopicPartition, TopicPartition]:
        return TopicPartition(self.topic, 0), TopicPartition(self.topic, 1)

    @property
    def nobody(self) -> GroupMetadata:
        return GroupMetadata(self.group_id, NOBODY)

    def offset(self, number: int) -> Mapping[TopicPartition, OffsetAndMetadata]:
        return {TopicPartition(self.source, 0): OffsetAndMetadata(number, 3, "AgAAAAAAAAE=")}

    async def until_seen(self, *values: bytes) -> None:
        """Wait until readers see exactly these records: markers may be late."""
        await until(lambda: self.cluster.committed(*self.outputs), lambda it: it == list(values))


@pytest.fixture(scope="module", params=BROKERS, ids=str)
def broker(request: pytest.FixtureRequest) -> Iterator[tuple[str, int | None, str | None]]:
    """The release and the level of a broker, and the address of a real one. One after the other is started."""
    version, level = request.param
    if version == EMBEDDED:
        yield version, level, None
        return
    with KafkaProcess(version, features={} if level is None else {FEATURE: level}) as kafka:
        yield version, level, kafka.bootstrap_servers


@pytest.fixture
async def place(broker: tuple[str, int | None, str | None]) -> AsyncIterator[Place]:
    version, level, servers = broker
    async with AsyncExitStack() as stack:
        network: Network | None = None
        if servers is None:
            network = MemoryNetwork()
            embedded = EmbeddedCluster(network=network, settings=EMBEDDED_PROPERTIES)
            servers = (await stack.enter_async_context(embedded)).bootstrap_servers
        cluster = await stack.enter_async_context(NegotiatedCluster(servers, Environment(network)))
        if network is not None and level is not None:
            await cluster.finalise(FEATURE, level)
        found = Place(version, servers, network, level, cluster, unique("out"), unique("in"))
        await cluster.create_topic(found.topic, partitions=2)
        await cluster.create_topic(found.source)
        yield found


async def test_records_and_offsets_are_committed_together(place: Place) -> None:
    first, second = place.outputs
    async with place.client() as client:
        begun = await client.prepare()
        for number in range(3):
            records = {first: b"a%d" % number, second: b"b%d" % number}
            await client.flush(records, place.offset(number + 1), place.nobody)
            await client.commit()
        ended = client.producer
    assert client.batches.versions == {place.produce_version}
    assert ended.producer_id == begun.producer_id
    assert ended.epoch - begun.epoch == (3 if place.is_v2 else 0)
    await place.until_seen(b"a0", b"a1", b"a2", b"b0", b"b1", b"b2")
    assert await place.cluster.offsets(place.group_id) == place.offset(3)


async def test_nothing_of_a_transaction_that_was_dropped_is_seen(place: Place) -> None:
    first, _ = place.outputs
    async with place.client() as client:
        begun = await client.prepare()
        await client.flush({first: b"1"}, place.offset(1), place.nobody)
        await client.renew()
        assert client.producer != begun
        await client.flush({first: b"2"}, place.offset(2), place.nobody)
        await client.commit()
    await place.until_seen(b"2")
    assert await place.cluster.offsets(place.group_id) == place.offset(2)


async def test_an_empty_transaction_and_one_with_offsets_alone(place: Place) -> None:
    async with place.client() as client:
        begun = await client.prepare()
        await client.commit()
        assert client.producer == begun
        await client.flush({}, place.offset(7), place.nobody)
        await client.commit()
    await until(lambda: place.cluster.offsets(place.group_id), lambda it: it == place.offset(7))


async def test_a_producer_fences_the_one_before_and_aborts_its_transaction(place: Place) -> None:
    first, _ = place.outputs
    async with place.client() as older, place.client() as newer:
        await older.prepare()
        await older.flush({first: b"older"})
        await newer.prepare()
        await newer.flush({first: b"newer"}, place.offset(1), place.nobody)
        with pytest.raises(TransactionFailedError, match="PRODUCER"):
            await older.commit()
        await newer.commit()
    await place.until_seen(b"newer")


async def test_a_commit_that_was_asked_for_twice_happens_once(place: Place) -> None:
    first, _ = place.outputs
    async with place.client() as client:
        await client.prepare()
        await client.flush({first: b"1"})
        client.lose_next_answer("END_TXN")
        await client.commit()
        await client.flush({first: b"2"})
        await client.commit()
    assert client.lost == 1
    await place.until_seen(b"1", b"2")


async def test_offsets_of_somebody_who_is_no_member_lose_the_transaction(place: Place) -> None:
    first, _ = place.outputs
    stranger = GroupMetadata(place.group_id, AsMember("stranger", 3))
    async with place.client() as client:
        await client.prepare()
        with pytest.raises(TransactionFailedError) as raised:
            await client.flush({first: b"1"}, place.offset(1), stranger)
        assert isinstance(raised.value.__cause__, UnknownMemberIdError | IllegalGenerationError)
        await client.renew()
        await client.flush({first: b"2"}, place.offset(2), place.nobody)
        await client.commit()
    await place.until_seen(b"2")
    assert await place.cluster.offsets(place.group_id) == place.offset(2)


async def test_a_timeout_that_brokers_do_not_allow(place: Place) -> None:
    async with place.client(timeout_ms=900_001) as client:
        with pytest.raises(InvalidTransactionTimeoutError, match=r"900001 ms. Set transaction\.timeout\.ms"):
            await client.prepare()


async def test_a_transaction_that_only_had_refused_records_ends(place: Place) -> None:
    first, _ = place.outputs
    async with place.client() as client:
        await client.prepare()
        client.transactions.note_produced(first)  # and the broker refuses it
        await client.commit()
        await client.flush({first: b"1"})
        await client.commit()
    await place.until_seen(b"1")


async def test_a_writer_commits_many_records_and_drops_some(place: Place) -> None:
    client = RecordsClient(admin_config(bootstrap_servers=place.servers), Environment(place.network))
    settings = TransactionSettings(place.transactional_id, 60_000)
    writer = TransactionalEngineWriter(client, lambda _topic: 2, random.Random(1), settings)
    first, second = place.outputs
    now_ms = client.clock.wall_ms()
    kept: dict[TopicPartition, list[bytes]] = {first: [], second: []}
    try:
        await writer.prepare(PATIENCE_MS)
        for number in range(12):
            is_dropped = number % 4 == 1
            for output in kept:
                values = [b"%d-%d" % (number, each) for each in range(100)]
                for value in values:
                    writer.write(output.topic, None, value, now_ms, (), output.partition)
                kept[output] += [] if is_dropped else values
            writer.send_offsets(place.offset(number), place.nobody)
            await writer.flush(PATIENCE_MS)
            if is_dropped:
                await writer.renew()
                await writer.prepare(PATIENCE_MS)
            else:
                await writer.commit(place.offset(number), place.nobody, PATIENCE_MS)
    finally:
        await writer.close()
        await client.close()
    await place.until_seen(*kept[first], *kept[second])
    assert await place.cluster.offsets(place.group_id) == place.offset(11)


async def test_a_feature_that_is_raised_counts_from_the_next_transaction_at_a_new_connection_on(place: Place) -> None:
    if place.level not in (0, 1):
        pytest.skip("level 2 is the last one, and older releases do not have it")
    first, _ = place.outputs
    async with place.client() as client:
        await client.prepare()
        await client.flush({first: b"1"}, place.offset(1), place.nobody)
        await place.cluster.finalise(FEATURE, 2, UPGRADE)
        await client.commit()
        await client.flush({first: b"2"})
        assert client.batches.versions == {11}
        client.disconnect()
        await client.commit()  # as it has begun
        begun = client.producer
        await client.flush({first: b"3"}, place.offset(3), place.nobody)
        assert client.batches.versions == {11, 12}
        await client.commit()
        assert (client.producer.producer_id, client.producer.epoch) == (begun.producer_id, begun.epoch + 1)
    await place.until_seen(b"1", b"2", b"3")
    assert await place.cluster.offsets(place.group_id) == place.offset(3)


@pytest.mark.slow
async def test_a_producer_whose_epochs_are_used_up_continues_with_another_id(real_kafka: KafkaProcess) -> None:
    output = TopicPartition(unique("out"), 0)
    async with (
        NegotiatedCluster(real_kafka.bootstrap_servers, Environment()) as cluster,
        TransactionClient(real_kafka.bootstrap_servers, None, unique("tx")) as client,
    ):
        await cluster.create_topic(output.topic)
        begun = await client.prepare()
        _raise_epoch(real_kafka, client.transactions.transactional_id, LAST_EPOCH - 3)
        client.transactions.renew()
        await client.prepare()
        seen = []
        for number in range(5):
            await client.flush({output: b"%d" % number})
            if number == 2:
                client.lose_next_answer("END_TXN")
            await client.commit()
            seen.append((client.producer.producer_id - begun.producer_id, client.producer.epoch))
        assert client.lost == 1
        assert [(each > 0, epoch) for each, epoch in seen] == [
            (False, LAST_EPOCH - 1), (False, LAST_EPOCH), (True, 0), (True, 1), (True, 2)
        ]  # fmt: skip
        await until(lambda: cluster.committed(output), lambda it: it == [b"0", b"1", b"2", b"3", b"4"])


def _raise_epoch(kafka: KafkaProcess, transactional_id: str, epoch: int) -> None:
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)
    reached = -1
    with RawConnection(kafka.host, kafka.port) as connection:
        while reached < epoch:
            reached = connection.ask(request, 4).producer_epoch
