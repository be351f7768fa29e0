"""The admin client: topics, partitions, records and the cluster."""

import pytest

from kafka_groups.acls import AclOperation
from kafka_groups.admin import AsyncKafkaAdmin, TopicDescription, TopicToCreate
from kafka_groups.errors import (
    BrokerError,
    InvalidConfigError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    OffsetOutOfRangeError,
    PolicyViolationError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.types import TopicPartition
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.members.consuming import values
from tests.support.targets import Target, everywhere

RIGHTS_OF_A_TOPIC = frozenset({
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.CREATE,
    AclOperation.DELETE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
})  # fmt: skip
RIGHTS_OF_A_CLUSTER = frozenset({
    AclOperation.CREATE,
    AclOperation.ALTER,
    AclOperation.DESCRIBE,
    AclOperation.CLUSTER_ACTION,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
    AclOperation.IDEMPOTENT_WRITE,
})  # fmt: skip


async def described(admin: AsyncKafkaAdmin, name: str, partitions: int) -> TopicDescription:
    """The description of a topic, once its broker leads so many partitions."""
    found = await until(
        lambda: admin.describe_topics([name]),
        lambda it: (
            name in it.values
            and len(it[name].partitions) == partitions
            and all(each.leader is not None for each in it[name].partitions)
        ),
    )
    return found[name]


@everywhere
async def test_topics_are_created_listed_described_and_deleted(target: Target) -> None:
    name, other = unique("topic"), unique("default")
    async with target.admin() as admin:
        (cluster,) = (await admin.describe_cluster()).brokers
        node = cluster.node_id
        new = {name: TopicToCreate(2, 1, {"retention.ms": "-1"}), other: TopicToCreate()}
        assert (await admin.create_topics(new)).values == {name: None, other: None}
        topic = await described(admin, name, 2)
        assert topic.topic_id is not None
        assert (topic.name, topic.is_internal, topic.replication_factor) == (name, False, 1)
        assert topic.authorized_operations is None
        assert [(each.partition, each.leader, each.replicas) for each in topic.partitions] == [
            (0, node, (node,)),
            (1, node, (node,)),
        ]
        assert all(each.in_sync_replicas == (node,) and not each.offline_replicas for each in topic.partitions)
        assert {each.leader_epoch for each in topic.partitions} == {0}
        await described(admin, other, 1)
        listed = await until(admin.list_topics, lambda it: {name, other} <= {each.name for each in it})
        assert [each.name for each in listed] == sorted(each.name for each in listed)
        (found,) = [each for each in listed if each.name == name]
        assert (found.topic_id, found.partitions, found.replication_factor) == (topic.topic_id, 2, 1)
        deleted = await admin.delete_topics([name, unique("absent")])
        assert deleted.values == {name: None}
        assert [type(each) for each in deleted.errors.values()] == [UnknownTopicOrPartitionError]
        gone = await until(lambda: admin.describe_topics([name]), lambda it: bool(it.errors))
        assert isinstance(gone.errors[name], UnknownTopicOrPartitionError)


@everywhere
async def test_topics_that_are_refused_have_errors_of_their_own(target: Target) -> None:
    known = (await target.cluster.create_topic()).name
    wrong: dict[str, tuple[TopicToCreate, type[BrokerError]]] = {
        unique("replicas"): (TopicToCreate(1, 3), InvalidReplicationFactorError),
        unique("configs"): (TopicToCreate(1, configs={"no.such.config": "1"}), InvalidConfigError),
        known: (TopicToCreate(1), TopicAlreadyExistsError),
    }
    async with target.admin() as admin:
        done = await admin.create_topics({name: topic for name, (topic, _) in wrong.items()})
        assert {name: type(error) for name, error in done.errors.items()} == {
            name: error for name, (_, error) in wrong.items()
        }
        only_checked = unique("checked")
        assert (await admin.create_topics({only_checked: TopicToCreate(1)}, validate_only=True)).values
        assert isinstance(
            (await admin.describe_topics([only_checked])).errors[only_checked], UnknownTopicOrPartitionError
        )


@everywhere
async def test_internal_topics_are_listed_when_asked_for(target: Target) -> None:
    topic = await target.cluster.create_topic()
    await target.joined(await target.group_of(topic), topic)  # which needs __share_group_state
    async with target.admin() as admin:
        assert all(not each.is_internal for each in await admin.list_topics())
        internal = {each.name for each in await admin.list_topics(include_internal=True) if each.is_internal}
        assert "__share_group_state" in internal


@everywhere
async def test_rights_are_told_when_asked_for(target: Target) -> None:
    topic = await target.cluster.create_topic()
    async with target.admin() as admin:
        found = await admin.describe_topics([topic.name], include_authorized_operations=True)
        assert found[topic.name].authorized_operations == RIGHTS_OF_A_TOPIC
        cluster = await admin.describe_cluster(include_authorized_operations=True)
        assert cluster.authorized_operations == RIGHTS_OF_A_CLUSTER


@everywhere
async def test_the_cluster_is_described(target: Target) -> None:
    async with target.admin() as admin:
        cluster = await admin.describe_cluster(include_fenced=True)
    (broker,) = cluster.brokers
    assert cluster.cluster_id
    assert cluster.controller_id == broker.node_id
    assert (broker.host, broker.port, broker.is_fenced) == (target.host, target.port, False)
    assert cluster.authorized_operations is None


@everywhere
async def test_partitions_are_added_and_never_removed(target: Target) -> None:
    topic = (await target.cluster.create_topic(2)).name
    absent = unique("absent")
    async with target.admin() as admin:
        assert (await admin.create_partitions({topic: 4}, validate_only=True)).values == {topic: None}
        assert len((await admin.describe_topics([topic]))[topic].partitions) == 2
        done = await admin.create_partitions({topic: 3, absent: 2})
        assert done.values == {topic: None}
        assert isinstance(done.errors[absent], UnknownTopicOrPartitionError)
        await described(admin, topic, 3)
        for total in (1, 3):
            refused = (await admin.create_partitions({topic: total})).errors[topic]
            assert isinstance(refused, InvalidPartitionsError)
            assert "3 partition" in str(refused)


@everywhere
async def test_records_are_deleted_up_to_an_offset_or_all_of_them(target: Target) -> None:
    topic = await target.cluster.create_topic(2)
    compacted = await target.cluster.create_topic(configs={"cleanup.policy": "compact"})
    await target.cluster.produce(topic, values(10))
    first, absent = TopicPartition(topic.name, 0), TopicPartition(unique("absent"), 0)
    refused = TopicPartition(compacted.name, 0)
    async with target.admin() as admin:
        assert (await admin.delete_records({first: 4})).values == {first: 4}
        assert (await admin.delete_records({first: 2})).values == {first: 4}  # they are gone already
        done = await admin.delete_records({first: 11, absent: 0, refused: 0})
        assert {key: type(error) for key, error in done.errors.items()} == {
            first: OffsetOutOfRangeError,
            absent: UnknownTopicOrPartitionError,
            refused: PolicyViolationError,
        }
        assert (await admin.delete_records({first: "latest"})).values == {first: 10}


@pytest.mark.slow
@everywhere
async def test_a_broker_lists_more_topics_than_one_request_creates(target: Target) -> None:
    prefix = unique("many")
    names = [f"{prefix}-{number}" for number in range(600)]
    async with target.admin(default_api_timeout_ms=60_000) as admin:
        assert (await admin.create_topics(dict.fromkeys(names, TopicToCreate(1, 1)))).values == dict.fromkeys(names)
        listed = await until(admin.list_topics, lambda it: sum(each.name.startswith(prefix) for each in it) == 600, 30)
        assert {each.partitions for each in listed if each.name.startswith(prefix)} == {1}
        (await admin.delete_topics(names)).checked()
