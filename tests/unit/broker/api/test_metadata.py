from uuid import UUID

import pytest

from kafka_groups.broker.metadata.topics import NO_LEADER
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_groups.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tests.support.broker.broker_services import HandlerBroker, all_versions

VERSIONS = all_versions(MetadataRequest)


def broker_with(*topics: tuple[str, int], brokers: int = 3) -> HandlerBroker:
    broker = HandlerBroker(brokers)
    for name, partitions in topics:
        broker.metadata.create_topic(name, partitions, min(2, brokers))
    return broker


def by_name(*names: str, **fields: bool) -> MetadataRequest:
    return MetadataRequest(topics=tuple(MetadataRequestTopic(name=name) for name in names), **fields)


def names(response: MetadataResponse) -> list[str | None]:
    return [topic.name for topic in response.topics]


@pytest.mark.parametrize("version", VERSIONS)
async def test_brokers_and_topics_in_every_version(version: int) -> None:
    broker = broker_with(("a", 2), ("b", 1))
    response = await broker.ask(by_name("a"), version)
    assert [(b.node_id, b.host, b.port) for b in response.brokers] == [(i, f"host{i}", 9092 + i) for i in range(3)]
    if version >= 2:
        assert (response.cluster_id, response.controller_id) == (broker.metadata.cluster_id, 0)
    (topic,) = response.topics
    assert (topic.error_code, topic.name, topic.is_internal) == (ErrorCode.NONE, "a", False)
    assert topic.topic_id == (broker.topic_id("a") if version >= 10 else None)
    assert [(p.partition_index, p.leader_id, p.replica_nodes, p.isr_nodes) for p in topic.partitions] == [
        (0, 0, (0, 1), (0, 1)),
        (1, 1, (1, 2), (1, 2)),
    ]
    assert {p.leader_epoch for p in topic.partitions} == ({0} if version >= 7 else {-1})


@pytest.mark.parametrize("version", VERSIONS)
async def test_all_topics_and_no_topics(version: int) -> None:
    broker = broker_with(("a", 1), ("b", 1))
    assert names(await broker.ask(MetadataRequest(topics=()), version)) == (["a", "b"] if version == 0 else [])
    if version >= 1:
        assert names(await broker.ask(MetadataRequest(topics=None), version)) == ["a", "b"]


async def test_topics_by_id() -> None:
    broker = broker_with(("a", 1), ("b", 1))
    wanted = (MetadataRequestTopic(topic_id=broker.topic_id("b")), MetadataRequestTopic(topic_id=UUID(int=4)))
    for version in (12, 13):
        found, unknown = (await broker.ask(MetadataRequest(topics=wanted), version)).topics
        assert (found.error_code, found.name, found.topic_id) == (ErrorCode.NONE, "b", broker.topic_id("b"))
        assert (unknown.error_code, unknown.name, unknown.topic_id) == (
            ErrorCode.UNKNOWN_TOPIC_ID, None, UUID(int=4),
        )  # fmt: skip
    for version in (10, 11):
        refused, _ = (await broker.ask(MetadataRequest(topics=wanted), version)).topics
        assert refused.error_code is ErrorCode.INVALID_REQUEST


async def test_an_unknown_id_is_returned_without_the_name_beside_it() -> None:
    wanted = MetadataRequestTopic(name="a", topic_id=UUID(int=4))
    (topic,) = (await broker_with(("a", 1)).ask(MetadataRequest(topics=(wanted,)), 13)).topics
    assert (topic.error_code, topic.name, topic.topic_id) == (ErrorCode.UNKNOWN_TOPIC_ID, None, UUID(int=4))


async def test_a_topic_with_neither_name_nor_id() -> None:
    request = MetadataRequest(topics=(MetadataRequestTopic(),))
    (topic,) = (await HandlerBroker().ask(request, 13)).topics
    assert topic.error_code is ErrorCode.INVALID_REQUEST


async def test_unknown_topics_are_created_where_all_agree() -> None:
    broker = HandlerBroker(2, {"num.partitions": 3, "default.replication.factor": 2})
    (topic,) = (await broker.ask(by_name("new"))).topics
    assert (topic.error_code, len(topic.partitions)) == (ErrorCode.NONE, 3)
    assert [len(partition.replica_nodes) for partition in topic.partitions] == [2, 2, 2]
    assert (await broker.ask(by_name("new"))).topics == (topic,)
    (unwanted,) = (await broker.ask(by_name("other", allow_auto_topic_creation=False))).topics
    assert (unwanted.error_code, unwanted.name) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "other")
    assert broker.metadata.topic("other") is None


async def test_no_topic_is_created_where_the_broker_does_not() -> None:
    broker = HandlerBroker(settings={"auto.create.topics.enable": False})
    (topic,) = (await broker.ask(by_name("new"))).topics
    assert topic.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert broker.metadata.topic("new") is None


@pytest.mark.parametrize("creates", [True, False])
async def test_illegal_names(creates: bool) -> None:
    broker = HandlerBroker()
    (topic,) = (await broker.ask(by_name("a b", allow_auto_topic_creation=creates))).topics
    assert topic.error_code is ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_an_empty_name() -> None:
    (topic,) = (await HandlerBroker().ask(by_name(""), 13)).topics
    assert (topic.error_code, topic.name) == (ErrorCode.INVALID_TOPIC_EXCEPTION, "")


async def test_creation_fails_like_any_other() -> None:
    broker = HandlerBroker(1, {"default.replication.factor": 3})
    (topic,) = (await broker.ask(by_name("new"))).topics
    assert topic.error_code is ErrorCode.INVALID_REPLICATION_FACTOR


async def test_a_topic_named_twice_is_told_once() -> None:
    assert names(await broker_with(("a", 1)).ask(by_name("a", "a"))) == ["a"]


async def test_partitions_without_leader() -> None:
    broker = broker_with(("a", 1))
    for node_id in (0, 1):
        broker.metadata.unregister_broker(node_id)
    response = await broker.ask(by_name("a"))
    assert [b.node_id for b in response.brokers] == [2]
    (partition,) = response.topics[0].partitions
    assert (partition.error_code, partition.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, NO_LEADER)
    assert (partition.isr_nodes, partition.offline_replicas) == ((), (0, 1))


async def test_authorized_operations_when_asked_for() -> None:
    broker = broker_with(("a", 1))
    silent = await broker.ask(by_name("a"), 8)
    assert silent.topics[0].topic_authorized_operations == silent.cluster_authorized_operations == -(2**31)
    told = await broker.ask(
        by_name("a", include_topic_authorized_operations=True, include_cluster_authorized_operations=True), 8
    )
    assert told.topics[0].topic_authorized_operations == 0b110111111000
    assert told.cluster_authorized_operations == 0b1111110100000


# ------------------------------------------------------------------------------------- describe cluster


@pytest.mark.parametrize("version", all_versions(DescribeClusterRequest))
async def test_describe_cluster(version: int) -> None:
    broker = broker_with(brokers=2)
    response = await broker.ask(DescribeClusterRequest(include_cluster_authorized_operations=False), version)
    assert (response.error_code, response.controller_id) == (ErrorCode.NONE, 0)
    assert response.cluster_id == broker.metadata.cluster_id
    assert [(b.broker_id, b.host, b.port, b.is_fenced) for b in response.brokers] == [
        (0, "host0", 9092, False),
        (1, "host1", 9093, False),
    ]
    assert response.cluster_authorized_operations == -(2**31)
    told = await broker.ask(DescribeClusterRequest(include_cluster_authorized_operations=True), version)
    assert told.cluster_authorized_operations == 0b1111110100000


@pytest.mark.parametrize(
    ("endpoint_type", "code"), [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)]
)
async def test_only_brokers_are_described(endpoint_type: int, code: ErrorCode) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=endpoint_type)
    response = await HandlerBroker().ask(request)
    assert (response.error_code, response.brokers) == (code, ())
    assert response.error_message


# ---------------------------------------------------------------------------- describe topic partitions


def pages(*topics: str, limit: int = 2_000, cursor: Cursor | None = None) -> DescribeTopicPartitionsRequest:
    wanted = tuple(TopicRequest(name=name) for name in topics)
    return DescribeTopicPartitionsRequest(topics=wanted, response_partition_limit=limit, cursor=cursor)


def shape(response: DescribeTopicPartitionsResponse) -> list[tuple[str | None, list[int]]]:
    return [(topic.name, [p.partition_index for p in topic.partitions]) for topic in response.topics]


async def test_topics_in_the_order_of_their_names() -> None:
    broker = broker_with(("b", 2), ("a", 1))
    response = await broker.ask(pages())
    assert shape(response) == [("a", [0]), ("b", [0, 1])]
    assert response.next_cursor is None
    assert response.topics[1].topic_id == broker.topic_id("b")
    partition = response.topics[0].partitions[0]
    assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (2, (2, 0), (2, 0))
    assert shape(await broker.ask(pages("b"))) == [("b", [0, 1])]


async def test_pages_follow_each_other_without_loss() -> None:
    broker = broker_with(("b", 3), ("a", 2), ("c", 1))
    for limit in range(1, 8):
        seen: list[tuple[str | None, int]] = []
        cursor: Cursor | None = None
        for _ in range(10):
            response = await broker.ask(pages(limit=limit, cursor=cursor))
            page = [(name, index) for name, indexes in shape(response) for index in indexes]
            assert 1 <= len(page) <= limit
            seen += page
            cursor = response.next_cursor
            if cursor is None:
                break
        assert seen == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("c", 0)]


@pytest.mark.parametrize(("name", "partition"), [("a", -1), ("b", 0)])
async def test_cursors_that_are_refused(name: str, partition: int) -> None:
    response = await broker_with(("a", 1)).ask(pages("a", cursor=Cursor(topic_name=name, partition_index=partition)))
    assert [(topic.name, topic.error_code) for topic in response.topics] == [("a", ErrorCode.INVALID_REQUEST)]


async def test_unknown_and_illegal_topics_of_a_page() -> None:
    response = await broker_with(("a", 1)).ask(pages("a", "nope", "x y"))
    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("a", ErrorCode.NONE),
        ("nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("x y", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]


@pytest.mark.parametrize(
    ("num_partitions", "names", "are_created"),
    [(2**31 - 1, 1, False), (10_000, 1, False), (9_999, 1, True), (99, 100, True), (100, 100, False)],
)
async def test_unknown_topics_stay_unknown_if_their_partitions_are_too_many(
    num_partitions: int, names: int, are_created: bool
) -> None:
    broker = HandlerBroker(settings={"auto.create.topics.enable": True, "num.partitions": num_partitions})
    wanted = tuple(MetadataRequestTopic(name=f"t{number}") for number in range(names))
    response = await broker.ask(MetadataRequest(topics=wanted))
    expected = ErrorCode.NONE if are_created else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert {topic.error_code for topic in response.topics} == {expected}
    assert len(broker.metadata.topics()) == (names if are_created else 0)
