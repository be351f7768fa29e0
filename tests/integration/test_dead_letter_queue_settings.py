"""What brokers log about queues, and settings of brokers and clusters, on a real Kafka and the embedded broker."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from attrs import frozen

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.config_resources import BROKER_RESOURCE
from kafka_groups.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kafka_groups.testing.kafka_process import KafkaProcess
from kafka_groups.types import AcknowledgeType
from tests.support.cluster_client import ClusterClient
from tests.support.conditions import until
from tests.support.dead_letter_world import ENABLED, TOPIC_NAME, QueueWorld, StateWrite, new_world
from tests.support.kafka.real_kafka import unique
from tests.support.members.raw_member import acknowledge
from tests.support.targets import EMBEDDED_PROPERTIES, EMBEDDED_TCP, REAL_KAFKA, CutFetches, Target

pytestmark = pytest.mark.slow

CREATES = "errors.deadletterqueue.auto.create.topics.enable"
PREFIX = "errors.deadletterqueue.topic.name.prefix"
FAILED = "Failed to write to DLQ, proceeding to ARCHIVED regardless."


@frozen
class Bench:
    """A broker of its own, what it has logged, and a client."""

    target: Target
    log: Callable[[], str]

    async def set_for_brokers(self, name: str, value: str | None) -> None:
        result = await self.target.cluster.alter_config(BROKER_RESOURCE, "", {name: value})
        assert result.error_code is ErrorCode.NONE, result

    async def set_share_version(self, level: int) -> None:
        kind = 1 if level == 2 else 3
        update = FeatureUpdateKey(feature="share.version", max_version_level=level, upgrade_type=kind)
        response = await self.target.client().ask(UpdateFeaturesRequest(feature_updates=(update,)))
        assert response.error_code is ErrorCode.NONE, response


def no_cuts(_every: int) -> CutFetches:
    raise AssertionError("no test here cuts fetches")


def target_at(kind: str, servers: str) -> Target:
    host, _, port = servers.rpartition(":")
    return Target(kind, host, int(port), TcpNetwork(), no_cuts, ClusterClient(TcpNetwork(), host, int(port)))


@pytest.fixture(scope="module")
def own_kafka(real_kafka: KafkaProcess) -> Iterator[KafkaProcess]:
    """A real Kafka for this module, whose features and settings it changes."""
    with KafkaProcess(real_kafka.version) as kafka:
        yield kafka


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.real_kafka)])
async def bench(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Bench]:
    """One of the brokers."""
    if request.param == "kafka":
        kafka: KafkaProcess = request.getfixturevalue("own_kafka")
        made = Bench(target_at(REAL_KAFKA, kafka.bootstrap_servers), lambda: kafka.log_tail(4_000))
        yield made
        await made.target.close()
        return
    caplog.set_level(logging.ERROR, "kafka_groups")
    with EmbeddedCluster(settings=EMBEDDED_PROPERTIES) as cluster:
        made = Bench(target_at(EMBEDDED_TCP, cluster.bootstrap_servers), lambda: caplog.text)
        yield made
        await made.target.close()


async def reject(world: QueueWorld, first: int, last: int) -> None:
    member = await world.member()
    acquired = await member.fetch_until_acquired()
    assert (acquired.offsets[0], acquired.offsets[-1]) == (first, last)
    await member.settle(acknowledge(AcknowledgeType.REJECT, first, last))
    await member.close_session()
    await member.leave()


async def logged(bench: Bench, text: str) -> None:
    async def log() -> str:
        return await asyncio.to_thread(bench.log)

    await until(log, lambda it: text in it and FAILED in it)


async def test_reasons_in_the_log(bench: Bench) -> None:
    missing = await new_world(bench.target, 1, queue=None)
    await reject(missing, 0, 0)
    of = f"share group: {missing.group_id}, topic: {missing.queue}"
    await logged(bench, f"DLQ topic does not exist and auto create is disabled on cluster for {of}.")

    off = await new_world(bench.target, 1, queue={})
    await reject(off, 0, 0)
    await logged(
        bench, f"DLQ is not enabled on configured DLQ topic for share group: {off.group_id}, topic: {off.queue}."
    )

    other = await new_world(bench.target, 1, queue_name=unique("other"))
    await reject(other, 0, 0)
    of = f"share group: {other.group_id}, topic: {other.queue}, prefix: dlq.."
    await logged(bench, f"Configured DLQ topic name does not comply with the DLQ topic prefix in {of}")


async def test_queues_are_created_if_the_brokers_may_and_names_that_no_topic_can_have_are_logged(bench: Bench) -> None:
    await bench.set_for_brokers(CREATES, "true")
    bad = await new_world(bench.target, 1, queue=None, queue_name="dlq.a b")
    await reject(bad, 0, 0)
    await logged(bench, "Topic name is invalid: 'dlq.a b' contains one or more characters other than")

    world = await new_world(bench.target, 1, queue=None)
    await reject(world, 0, 0)
    assert [letter.offset for letter in await world.letters(1)] == [0]
    described = await bench.target.cluster.describe_topic(world.queue)
    assert len(described.partitions) == 1
    configs = await bench.target.cluster.topic_config(world.queue)
    assert configs["errors.deadletterqueue.group.enable"] == "true"
    assert configs["message.timestamp.type"] == "CreateTime"
    await bench.set_for_brokers(CREATES, None)


async def test_values_of_brokers_are_checked(bench: Bench) -> None:
    refused = await bench.target.cluster.alter_config(BROKER_RESOURCE, "", {CREATES: "maybe"})
    assert refused.error_code is ErrorCode.INVALID_REQUEST


async def test_an_empty_prefix_allows_every_name(bench: Bench) -> None:
    await bench.set_for_brokers(PREFIX, "")
    world = await new_world(bench.target, 1, queue_name=unique("other"))
    await reject(world, 0, 0)
    assert [letter.offset for letter in await world.letters(1)] == [0]
    await bench.set_for_brokers(PREFIX, None)


async def test_the_level_of_share_version_counts_at_once(bench: Bench) -> None:
    world = await new_world(bench.target, 1)
    await bench.set_share_version(1)
    assert (await bench.target.cluster.group_config(world.group_id))[TOPIC_NAME] == world.queue
    await reject(world, 0, 0)
    assert await world.until_writes(1) == [StateWrite(0, 1, ((0, 0, 4, 1),))]
    await bench.set_share_version(2)
    await bench.target.cluster.produce(world.topic, [b"next"])
    await reject(world, 1, 1)
    assert [letter.offset for letter in await world.letters(1)] == [1]


async def test_a_queue_that_is_enabled_later_has_letters_from_then_on(bench: Bench) -> None:
    world = await new_world(bench.target, 1, queue={})
    await reject(world, 0, 0)
    await world.until_writes(2)
    await bench.target.cluster.alter_config(2, world.queue, ENABLED)
    await bench.target.cluster.produce(world.topic, [b"next"])
    await reject(world, 1, 1)
    assert [letter.offset for letter in await world.letters(1)] == [1]
