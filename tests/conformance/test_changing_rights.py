"""Rights that a client gets or loses while it is a member, lists that show a part, and authorized operations."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.authorized_operations import NOT_ASKED
from kafka_groups.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_groups.protocol.messages.list_groups import ListGroupsRequest
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.messages.share_fetch import ShareFetchPartition, ShareFetchRequest, ShareFetchTopic
from kafka_groups.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from tests.support.conditions import until
from tests.support.rights.recorded_rights import Right
from tests.support.rights.rights_worlds import EmbeddedRights, embedded_rights

CLUSTER, GROUP, TOPIC = AclResourceType.CLUSTER, AclResourceType.GROUP, AclResourceType.TOPIC
READ, DESCRIBE, CREATE, ALL = AclOperation.READ, AclOperation.DESCRIBE, AclOperation.CREATE, AclOperation.ALL
READ_GROUP: Right = (READ, GROUP, "sg")
READ_ORDERS: Right = (READ, TOPIC, "orders")
READ_POSTS: Right = (READ, TOPIC, "posts")
MEMBER = "A" * 22


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EmbeddedRights]:
    async with embedded_rights(monkeypatch, {"auto.create.topics.enable": "true"}) as made:
        yield made


def fetch(world: EmbeddedRights, epoch: int, *topics: str, wait_ms: int = 0) -> ShareFetchRequest:
    return ShareFetchRequest(
        group_id="sg",
        member_id=MEMBER,
        share_session_epoch=epoch,
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_records=10,
        batch_size=10,
        topics=tuple(
            ShareFetchTopic(topic_id=world.scene.topic_id(topic), partitions=(ShareFetchPartition(partition_index=0),))
            for topic in topics
        ),
    )


def beat(epoch: int, *topics: str) -> ShareGroupHeartbeatRequest:
    return ShareGroupHeartbeatRequest(
        group_id="sg", member_id=MEMBER, member_epoch=epoch, subscribed_topic_names=topics or None
    )


def errors_of(response: Any) -> list[ErrorCode]:
    return [partition.error_code for topic in response.responses for partition in topic.partitions]


async def test_a_share_session_outlives_the_rights_that_opened_it(world: EmbeddedRights) -> None:
    await world.grant([READ_GROUP, READ_ORDERS])
    assert errors_of(await world.ask(fetch(world, 0, "orders"), 2)) == [ErrorCode.NONE]
    await world.grant([READ_GROUP])
    assert errors_of(await world.ask(fetch(world, 1), 2)) == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    await world.grant([READ_ORDERS])
    assert (await world.ask(fetch(world, 2), 2)).error_code is ErrorCode.GROUP_AUTHORIZATION_FAILED
    # The epoch did not count for the request that was refused as a whole, and did for the one before.
    await world.grant([READ_GROUP, READ_ORDERS])
    assert (await world.ask(fetch(world, 2), 2)).error_code is ErrorCode.NONE


async def test_a_partition_without_the_right_does_not_end_the_wait_for_others(world: EmbeddedRights) -> None:
    await world.grant([READ_GROUP, READ_ORDERS])
    await world.ask(fetch(world, 0, "orders"), 2)
    waiting = asyncio.create_task(world.ask(fetch(world, 1, "posts", wait_ms=30_000), 2))
    await until(lambda: world.asked(0), lambda asked: (*READ_POSTS, False) in asked)
    batch = build_batch([NewRecord(b"one")], 0, BatchOptions())
    produced = PartitionProduceData(index=0, records=batch)
    topic = TopicProduceData(topic_id=world.scene.topic_id("orders"), partition_data=(produced,))
    await world.ask_as_admin(ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=(topic,)))
    response = await waiting
    assert errors_of(response) == [ErrorCode.NONE, ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    assert response.responses[0].partitions[0].acquired_records


async def test_heartbeats_with_names_need_the_right_to_describe_them(world: EmbeddedRights) -> None:
    await world.grant([READ_GROUP, READ_ORDERS])
    joined = await world.ask(beat(0, "orders"), 1)
    assert joined.error_code is ErrorCode.NONE
    await world.grant([READ_GROUP])
    assert (await world.ask(beat(joined.member_epoch), 1)).error_code is ErrorCode.NONE
    refused = await world.ask(beat(joined.member_epoch, "orders"), 1)
    assert refused.error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    await world.grant([])
    assert (await world.ask(beat(-1), 1)).error_code is ErrorCode.GROUP_AUTHORIZATION_FAILED


async def test_lists_show_what_the_client_may_describe(world: EmbeddedRights) -> None:
    await world.grant([READ_ORDERS, (DESCRIBE, GROUP, "cg")])
    metadata = await world.ask(MetadataRequest(topics=None), 12)
    assert [topic.name for topic in metadata.topics] == ["orders"]
    listed = await world.ask(ListGroupsRequest(), 5)
    assert [group.group_id for group in listed.groups] == ["cg"]


@pytest.mark.parametrize("rights", [[(CREATE, CLUSTER, "kafka-cluster")], [(CREATE, TOPIC, "fresh")]])
async def test_topics_are_created_on_demand_with_the_right(world: EmbeddedRights, rights: list[Right]) -> None:
    request = MetadataRequest(topics=(MetadataRequestTopic(name="fresh"),))
    await world.grant([(DESCRIBE, TOPIC, "fresh")])
    assert (await world.ask(request, 12)).topics[0].error_code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    await world.grant([(DESCRIBE, TOPIC, "fresh"), *rights])
    assert (await world.ask(request, 12)).topics[0].error_code is ErrorCode.NONE


async def operations(world: EmbeddedRights) -> tuple[int, int, int]:
    """The authorized operations of a topic, a group and the cluster."""
    topics = MetadataRequest(topics=(MetadataRequestTopic(name="orders"),), include_topic_authorized_operations=True)
    groups = ShareGroupDescribeRequest(group_ids=("sg",), include_authorized_operations=True)
    cluster = DescribeClusterRequest(include_cluster_authorized_operations=True)
    return (
        (await world.ask(topics, 12)).topics[0].topic_authorized_operations,
        (await world.ask(groups, 1)).groups[0].authorized_operations,
        (await world.ask(cluster, 2)).cluster_authorized_operations,
    )


async def test_authorized_operations_are_those_of_the_client(world: EmbeddedRights) -> None:
    await world.grant([(ALL, TOPIC, "orders"), (ALL, GROUP, "sg"), (ALL, CLUSTER, "kafka-cluster")])
    assert await operations(world) == (3576, 3400, 8096)
    await world.grant([READ_ORDERS])
    assert await operations(world) == (264, NOT_ASKED, 0)
