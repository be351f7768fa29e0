"""How long heartbeats wait for other work of a broker: requests with very many items, and the cleaner of logs."""

import asyncio
import gc
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from attrs import frozen

from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.codec import encode_request
from kafka_groups.protocol.messages.config_resources import GROUP_RESOURCE, TOPIC_RESOURCE
from kafka_groups.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_groups.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_groups.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from tests.support.cluster_client import ClusterClient, Topic
from tests.support.requests.large_requests import Peer, large_requests
from tests.support.requests.number_requests import Place, newest_version
from tests.support.requests.raw_client import RawClient
from tests.support.topic_patterns import HEAVY

__all__ = ["CLEANING_SETTINGS", "Pause", "measured", "while_cleaning"]

_EVERY_S = 0.05
_AFTER_S = 0.5
_LONG_NAMES = 200
_PER_CENT = 100
_KEYS = 50_000
_SEGMENT_MS = 10_000
_CLEANING_S = 15.0
_COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1", "segment.ms": str(_SEGMENT_MS)}
CLEANING_SETTINGS = {"log.cleaner.backoff.ms": "100"}
"""Settings of the broker for `while_cleaning`."""


@frozen
class Pause:
    """What heartbeats took while one request was served.

    Attributes:
        name: The request.
        served_s: How long it took.
        heartbeats: How many heartbeats there were.
        p99_ms: 99th percentile.
        longest_ms: The longest.
    """

    name: str
    served_s: float
    heartbeats: int
    p99_ms: float
    longest_ms: float


class _Heart:
    """Sends heartbeats at fixed times. One that has to wait for others counts from the time when it was due."""

    def __init__(self, client: RawClient) -> None:
        self.waited_s: list[float] = []
        self._client = client
        self._member = ShareGroupHeartbeatRequest(
            group_id="g", member_id="ann", member_epoch=0, subscribed_topic_names=("t",)
        )

    async def beat(self) -> None:
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        while True:
            await self._client.ask(self._member)
            self.waited_s.append(loop.time() - due_s)
            due_s += _EVERY_S
            await asyncio.sleep(due_s - loop.time())


async def measured(bootstrap_servers: str, items: int, say: Callable[[str], None]) -> list[Pause]:
    """Send each of the large requests to a broker, with heartbeats beside it."""
    host, _, port = bootstrap_servers.rpartition(":")
    network, sender = TcpNetwork(), Peer()
    async with RawClient(network, host, int(port)) as client, RawClient(network, host, int(port)) as control:
        place = await _prepared(client)
        connection = await network.connect(host, int(port), sender)
        heart = _Heart(control)
        pauses = []
        for name, request in (*large_requests(place, items), *_expressions()):
            frame = encode_request(request, newest_version(request), 1, "client")
            del request
            beating = asyncio.create_task(heart.beat())
            pauses.append(await _measured(name, partial(connection.send, frame), sender, heart))
            beating.cancel()
            say(f"{pauses[-1]}")
        connection.close()
    return pauses


async def while_cleaning(bootstrap_servers: str, records: int, say: Callable[[str], None]) -> list[Pause]:
    """Let a broker compact topics whose records came in batches of different sizes, with heartbeats beside it."""
    host, _, port = bootstrap_servers.rpartition(":")
    network = TcpNetwork()
    cluster = ClusterClient(network, host, int(port))
    pauses = []
    async with RawClient(network, host, int(port)) as control:
        await _prepared(control)
        heart = _Heart(control)
        for batch_records in (1, 10, 1_000):
            topic = await cluster.create_topic(configs=_COMPACTED)
            await _write(cluster, topic, records if batch_records > 1 else records // 10, batch_records)
            beating = asyncio.create_task(heart.beat())
            pauses.append(await _compacted(f"compaction, {batch_records} in a batch", cluster, topic, heart))
            beating.cancel()
            say(f"{pauses[-1]}")
    await cluster.close()
    return pauses


async def _write(cluster: ClusterClient, topic: Topic, records: int, batch_records: int) -> None:
    for first in range(0, records, batch_records):
        keys = (b"key-%06d" % (number % _KEYS) for number in range(first, first + batch_records))
        await cluster.produce(topic, [NewRecord(b"v" * 50, key, 1_000) for key in keys])
    await cluster.produce(topic, [NewRecord(b"v", b"end", 1_000 + _SEGMENT_MS + 1)])


async def _compacted(name: str, cluster: ClusterClient, topic: Topic, heart: _Heart) -> Pause:
    """Let the cleaner begin, and wait until the topic is small."""
    loop = asyncio.get_running_loop()
    gc.collect()
    gc.disable()
    heart.waited_s.clear()
    begun_s = loop.time()
    await cluster.alter_config(TOPIC_RESOURCE, topic.name, {"min.cleanable.dirty.ratio": "0"})
    await asyncio.sleep(_CLEANING_S)
    gc.enable()
    return _pause(name, loop.time() - begun_s, heart)


def _expressions() -> Iterator[tuple[str, Any]]:
    """Members that subscribe to costly regular expressions while there are topics with long names."""
    topics = tuple(
        CreatableTopic(name=f"{'x' * 240}-{number}", num_partitions=1, replication_factor=1)
        for number in range(_LONG_NAMES)
    )
    yield "CreateTopics, long names", CreateTopicsRequest(topics=topics)
    for what, text in HEAVY.items():
        yield (
            f"ConsumerGroupHeartbeat, {what}",
            ConsumerGroupHeartbeatRequest(
                group_id=what, member_id="ann", member_epoch=0, rebalance_timeout_ms=60_000,
                subscribed_topic_regex=text, topic_partitions=(),
            ),
        )  # fmt: skip


async def _measured(name: str, send: Callable[[], object], sender: Peer, heart: _Heart) -> Pause:
    loop = asyncio.get_running_loop()
    gc.collect()
    gc.disable()  # the pauses of this process are not the broker's
    heart.waited_s.clear()
    begun_s = loop.time()
    send()
    size = await sender.answers.get()
    served_s = loop.time() - begun_s
    assert size > 0, f"the broker broke the connection after {name}"
    await asyncio.sleep(_AFTER_S)  # a broker goes on with a regular expression after its answer
    gc.enable()
    return _pause(name, served_s, heart)


def _pause(name: str, served_s: float, heart: _Heart) -> Pause:
    waited_s = sorted(heart.waited_s)
    p99_s = statistics.quantiles(waited_s, n=_PER_CENT, method="inclusive")[-1]
    return Pause(name, served_s, len(waited_s), p99_s * 1000, waited_s[-1] * 1000)


async def _prepared(client: RawClient) -> Place:
    """Make what the requests name, on a new broker."""
    topic = CreatableTopic(name="t", num_partitions=2, replication_factor=1)
    created = await client.ask(CreateTopicsRequest(topics=(topic,)))
    config = AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
    group = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name="g", configs=(config,))
    await client.ask(IncrementalAlterConfigsRequest(resources=(group,), validate_only=False))
    place = Place("t", created.topics[0].topic_id, "g", "ann", build_batch([NewRecord(b"value", timestamp_ms=1)] * 3))
    data = TopicProduceData(
        topic_id=place.topic_id, partition_data=(PartitionProduceData(index=0, records=place.batch),)
    )
    await client.ask(ProduceRequest(acks=1, timeout_ms=1_000, topic_data=(data,)))
    await client.ask(FindCoordinatorRequest(coordinator_keys=("g",)))
    await _joined(client)
    return place


async def _joined(client: RawClient) -> None:
    join: Any = ShareGroupHeartbeatRequest(group_id="g", member_id="ann", member_epoch=0, subscribed_topic_names=("t",))
    for _ in range(2):
        await client.ask(join)
