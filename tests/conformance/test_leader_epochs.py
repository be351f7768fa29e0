"""Leader epochs: what Fetch says to consumers whose records the leader does not have (KIP-320, KIP-595)."""

from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import (
    NO_DIVERGENCE,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kafka_groups.protocol.messages.find_coordinator import CoordinatorType, FindCoordinatorRequest
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch
from kafka_groups.protocol.record_batch import iter_batches
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.batch_sender import BatchSender, idempotent_sender
from tests.support.members.raw_producer import NEW, OLD, RawProducer
from tests.support.requests.raw_client import RawClient
from tests.support.targets import Target, everywhere
from tests.support.three_brokers import EmbeddedTrio, Trio

_LARGE = 1_000_000
_SHARED = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}


def wanted(topic: Topic, offset: int, epoch: int = -1, *, version: int = 18, **fields: Any) -> FetchTopic:
    part = FetchPartition(
        partition=0, fetch_offset=offset, last_fetched_epoch=epoch, partition_max_bytes=_LARGE, **fields
    )
    named: dict[str, Any] = {"topic": topic.name} if version < 13 else {"topic_id": topic.topic_id}
    return FetchTopic(partitions=(part,), **named)


async def fetch(
    client: RawClient, topic: Topic, offset: int, epoch: int = -1, *, version: int = 18, **fields: Any
) -> PartitionData:
    """Fetch as a consumer whose last batch is of an epoch."""
    response = await asked(client, topic, offset, epoch, version=version, **fields)
    return response.responses[0].partitions[0]


async def asked(
    client: RawClient, topic: Topic, offset: int, epoch: int = -1, *, version: int = 18, **fields: Any
) -> FetchResponse:
    isolation_level = fields.pop("isolation_level", 0)
    partitions = wanted(topic, offset, epoch, version=version, **fields)
    request = FetchRequest(max_wait_ms=0, min_bytes=1, isolation_level=isolation_level, topics=(partitions,))
    response: FetchResponse = await client.ask(request, version)
    return response


def seen(data: PartitionData) -> tuple[int, int] | str | list[int]:
    """Where the logs diverge, or the name of the error, or the first offsets of the batches."""
    if data.error_code is not ErrorCode.NONE:
        assert data.diverging_epoch == NO_DIVERGENCE
        return str(data.error_code.name)
    if data.diverging_epoch != NO_DIVERGENCE:
        assert data.records == b""
        return data.diverging_epoch.epoch, data.diverging_epoch.end_offset
    return [batch.header.base_offset for batch in iter_batches(data.records)]


async def topic_of(target: Target, count: int) -> Topic:
    topic = await target.cluster.create_topic()
    await target.cluster.produce_each(topic, [b"v"] * count)
    return topic


OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"
ONE_EPOCH: list[tuple[int, int, tuple[int, int] | str | list[int]]] = [
    # offset, epoch of the last batch, answer of a log with offsets 0 to 3 in epoch 0
    (50, 0, (0, 4)),
    (5, 0, (0, 4)),
    (4, 0, []),
    (3, 0, [3]),
    (0, 0, [0, 1, 2, 3]),
    (50, -1, OUT_OF_RANGE),
    (50, -2, OUT_OF_RANGE),
    (3, -2, [3]),
    (0, 1, OUT_OF_RANGE),
    (50, 1, OUT_OF_RANGE),
    (-1, 0, OUT_OF_RANGE),
]


@everywhere
async def test_a_consumer_that_is_ahead_learns_the_end(target: Target) -> None:
    topic, client = await topic_of(target, 4), target.client()
    for offset, epoch, answer in ONE_EPOCH:
        assert seen(await fetch(client, topic, offset, epoch)) == answer, (offset, epoch)
        assert seen(await fetch(client, topic, offset, epoch, version=12)) == answer, (offset, epoch)
    data = await fetch(client, topic, 50, 0)
    assert (data.high_watermark, data.last_stable_offset, data.log_start_offset) == (4, 4, 0)
    assert data.aborted_transactions is None
    assert (await fetch(client, topic, 50, 0, isolation_level=1)).aborted_transactions is None
    assert seen(await fetch(client, topic, 50, version=11)) == OUT_OF_RANGE


@everywhere
async def test_an_empty_log_diverges_at_its_start(target: Target) -> None:
    topic, client = await target.cluster.create_topic(), target.client()
    # A broker learns that it leads a new partition a moment after the topic is there.
    await until(lambda: fetch(client, topic, 0), lambda it: it.error_code is ErrorCode.NONE)
    assert seen(await fetch(client, topic, 5, 0)) == (0, 0)
    assert seen(await fetch(client, topic, 0, 0)) == []
    assert seen(await fetch(client, topic, 0, 1)) == OUT_OF_RANGE


@everywhere
async def test_deleted_records_are_out_of_range_and_the_end_stays_known(target: Target) -> None:
    topic, client = await topic_of(target, 4), target.client()
    await target.cluster.delete_before(topic, 2)
    assert seen(await fetch(client, topic, 1, 0)) == OUT_OF_RANGE
    assert seen(await fetch(client, topic, 50, 0)) == (0, 4)
    await target.cluster.delete_before(topic, 4)
    assert seen(await fetch(client, topic, 3, 0)) == OUT_OF_RANGE
    assert seen(await fetch(client, topic, 4, 0)) == []
    assert seen(await fetch(client, topic, 50, 0)) == (0, 4)


@everywhere
async def test_a_session_says_each_time_that_the_logs_diverge(target: Target) -> None:
    topic, client = await topic_of(target, 4), target.client()
    opening = FetchRequest(max_wait_ms=0, min_bytes=1, session_epoch=0, topics=(wanted(topic, 50, 0),))
    session_id = (await client.ask(opening)).session_id
    for epoch in (1, 2):
        request = FetchRequest(max_wait_ms=0, min_bytes=1, session_id=session_id, session_epoch=epoch)
        response = await client.ask(request)
        assert [seen(data) for each in response.responses for data in each.partitions] == [(0, 4)]


@everywhere
@pytest.mark.parametrize(("epoch", "error"), [(-2, "NONE"), (-1, "NONE"), (0, "NONE"), (1, "UNKNOWN_LEADER_EPOCH")])
async def test_the_epoch_of_the_leader(target: Target, epoch: int, error: str) -> None:
    topic, client = await topic_of(target, 1), target.client()
    for offset in (0, 50):
        data = await fetch(client, topic, offset, 0, current_leader_epoch=epoch)
        assert data.error_code.name == error
        assert data.current_leader.leader_epoch == -1


# ----------------------------------------------------------------------------------------- three brokers


async def leader_of(trio: Trio, topic: Topic) -> tuple[RawClient, LeaderIdAndEpoch]:
    """A connection to the leader, and what the metadata say of it."""
    described = await until(
        lambda: trio.client().describe_topic(topic.name),
        lambda it: bool(it.partitions) and it.partitions[0].leader_id >= 0,
    )
    led = described.partitions[0]
    leader = LeaderIdAndEpoch(leader_id=led.leader_id, leader_epoch=led.leader_epoch)
    return trio.connection(*trio.brokers.addresses[led.leader_id]), leader


async def move_leader_twice(trio: Trio, topic: Topic) -> None:
    before = (await leader_of(trio, topic))[1]
    await trio.unsettle(topic, 0)
    if not trio.is_real:
        await trio.brokers.move_leader(topic, 0)
    await trio.brokers.move_leader(topic, 0)
    await until(lambda: leader_of(trio, topic), lambda it: it[1].leader_epoch >= before.leader_epoch + 2)


async def test_epochs_of_leaders_that_were_elected(trio: Trio) -> None:
    topic = await trio.client().create_topic(replicas=3)
    await trio.client().produce_each(topic, [b"v"] * 3)
    first = (await leader_of(trio, topic))[1].leader_epoch
    await move_leader_twice(trio, topic)
    client, leader = await leader_of(trio, topic)
    second = leader.leader_epoch
    assert seen(await fetch(client, topic, 3, first)) == []
    assert seen(await fetch(client, topic, 4, first)) == (first, 3)
    assert seen(await fetch(client, topic, 3, second)) == []
    assert seen(await fetch(client, topic, 3, second - 1)) == (first, 3), "nothing was written in that epoch"
    await trio.client().produce_each(topic, [b"v"] * 2)
    assert seen(await fetch(client, topic, 3, first)) == [3, 4]
    assert seen(await fetch(client, topic, 2, first)) == [2, 3, 4]
    assert seen(await fetch(client, topic, 4, first)) == (first, 3)
    assert seen(await fetch(client, topic, 2, second - 1)) == (first, 3)
    assert seen(await fetch(client, topic, 6, second)) == (second, 5)
    assert seen(await fetch(client, topic, 5, second + 1)) == OUT_OF_RANGE

    await trio.client().delete_before(topic, 4)
    assert seen(await fetch(client, topic, 5, first)) == (first, 4), "an epoch that is gone ends at the start"
    assert seen(await fetch(client, topic, 3, first)) == OUT_OF_RANGE

    fenced = await asked(client, topic, 50, first, current_leader_epoch=first)
    data = fenced.responses[0].partitions[0]
    assert (data.error_code, data.current_leader) == (ErrorCode.FENCED_LEADER_EPOCH, leader)
    assert [each.node_id for each in fenced.node_endpoints] == [leader.leader_id]
    older = await fetch(client, topic, 50, first, current_leader_epoch=first, version=15)
    assert (older.error_code, older.current_leader) == (ErrorCode.FENCED_LEADER_EPOCH, LeaderIdAndEpoch())
    newer = await fetch(client, topic, 0, current_leader_epoch=second + 1)
    assert newer.error_code is ErrorCode.UNKNOWN_LEADER_EPOCH


async def test_records_that_an_unclean_leader_lacks(trio: Trio) -> None:
    topic = await trio.client().create_topic(replicas=2, configs=_SHARED)
    await trio.client().until_replicated()
    client, before = await leader_of(trio, topic)
    idempotent = await idempotent_sender(client, topic)
    partly, wholly = await transactional(trio, topic, client, NEW), await transactional(trio, topic, client, NEW)
    old = await transactional(trio, topic, client, OLD)
    assert [await idempotent.send(number, b"kept") for number in range(2)] == [("NONE", 0), ("NONE", 1)]
    assert await partly.send(0, b"kept") == ("NONE", 2)
    lost = [(idempotent, 2), (idempotent, 3), (partly, 1), (wholly, 0), (old, 0)]
    client, leader = await lose(trio, topic, lost)
    first, second = before.leader_epoch, leader.leader_epoch
    assert second > first
    assert seen(await fetch(client, topic, 8, first)) == (first, 3)
    assert seen(await fetch(client, topic, 8)) == OUT_OF_RANGE
    assert seen(await fetch(client, topic, 3, first)) == []

    idempotent, partly, wholly, old = (evolve(each, client=client) for each in (idempotent, partly, wholly, old))
    assert await idempotent.send(4, b"later") == OUT_OF_ORDER, "2 is the next number again"
    assert await idempotent.send(1, b"kept") == ("NONE", 1)
    assert [await idempotent.send(number, b"again") for number in (2, 3)] == [("NONE", 3), ("NONE", 4)]
    assert await partly.send(2, b"later") == OUT_OF_ORDER
    assert await partly.send(1, b"again") == ("NONE", 5)
    assert await wholly.send(1, b"later") == OUT_OF_ORDER
    assert await wholly.send(0, b"again") == ("NONE", 6)
    assert await old.send(1, b"later") == ("NONE", 7), "with old epochs, nobody notices"
    assert seen(await fetch(client, topic, 8, first)) == (first, 3), "there are other records at these offsets"
    assert seen(await fetch(client, topic, 8, second)) == []


OUT_OF_ORDER = ("OUT_OF_ORDER_SEQUENCE_NUMBER", -1)


async def transactional(trio: Trio, topic: Topic, client: RawClient, version: int) -> BatchSender:
    """A sender whose transaction may begin."""
    producer = RawProducer(await coordinator_of(trio, name := unique("tx")), name, version)
    assert await producer.init() == "NONE"
    if version == OLD:
        assert await producer.add(topic, 0) == {0: "NONE"}
    found = producer.producer
    return BatchSender(client, topic, found.producer_id, found.epoch, name, producer.produce_version)


async def coordinator_of(trio: Trio, name: str) -> RawClient:
    any_broker = trio.connection(*next(iter(trio.brokers.addresses.values())))
    request = FindCoordinatorRequest(key_type=CoordinatorType.TRANSACTION, coordinator_keys=(name,))
    response = await until(
        lambda: any_broker.ask(request), lambda it: it.coordinators[0].error_code is ErrorCode.NONE, timeout_s=30
    )
    return trio.connection(response.coordinators[0].host, response.coordinators[0].port)


async def lose(trio: Trio, topic: Topic, lost: Sequence[tuple[BatchSender, int]]) -> tuple[RawClient, LeaderIdAndEpoch]:
    """Write records that the next leader lacks, and have it elected."""
    _, before = await leader_of(trio, topic)
    described = await trio.client().describe_topic(topic.name)
    [follower] = set(described.partitions[0].replica_nodes) - {before.leader_id}
    if trio.is_real:
        await trio.client().until_replicated()
        await trio.stop(follower)
    sent = [await sender.send(number, b"lost") for sender, number in lost]
    assert sent == [("NONE", offset) for offset in range(3, 3 + len(lost))]
    if isinstance(trio.brokers, EmbeddedTrio):
        trio.brokers.elect_unclean_leader(topic, follower, 3)
    else:
        await trio.kill(before.leader_id)
        await trio.return_alone(follower)
    return await until(lambda: leader_of(trio, topic), lambda it: it[1].leader_id == follower, timeout_s=60)


# --------------------------------------------------------------------------------- hints about the leader


async def test_other_brokers_name_the_leader(trio: Trio) -> None:
    topic = await trio.client().create_topic()
    _, leader = await leader_of(trio, topic)
    other = next(node_id for node_id in trio.brokers.addresses if node_id != leader.leader_id)
    client = trio.connection(*trio.brokers.addresses[other])
    fetched = await asked(client, topic, 0)
    data = fetched.responses[0].partitions[0]
    assert (data.error_code, data.current_leader) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, leader)
    produced = await client.ask(BatchSender(client, topic).request(-1, [b"v"]))
    result = produced.responses[0].partition_responses[0]
    assert (result.error_code, result.current_leader) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, leader)
    for response in (fetched, produced):
        assert [(each.node_id, each.port) for each in response.node_endpoints] == [
            (leader.leader_id, trio.brokers.addresses[leader.leader_id][1])
        ]
    for version in (15, 12, 11):
        old = (await asked(client, topic, 0, version=version)).responses[0].partitions[0]
        assert (old.error_code, old.current_leader) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, LeaderIdAndEpoch())
