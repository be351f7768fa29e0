from collections.abc import Mapping
from uuid import UUID

import pytest

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE
from kafka_groups.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from kafka_groups.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from kafka_groups.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicState
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from tests.support.broker.broker_services import HandlerBroker, all_versions


def topic(
    name: str = "t",
    partitions: int = 1,
    factor: int = 1,
    configs: Mapping[str, str | None] | None = None,
    assignment: Mapping[int, tuple[int, ...]] | None = None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=-1 if assignment else partitions,
        replication_factor=-1 if assignment else factor,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=index, broker_ids=nodes)
            for index, nodes in (assignment or {}).items()
        ),
        configs=tuple(CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()),
    )


async def create(
    broker: HandlerBroker, *topics: CreatableTopic, version: int = 7, validate_only: bool = False
) -> tuple[CreatableTopicResult, ...]:
    request = CreateTopicsRequest(topics=topics, validate_only=validate_only)
    results: tuple[CreatableTopicResult, ...] = (await broker.ask(request, version)).topics
    return results


@pytest.mark.parametrize("version", all_versions(CreateTopicsRequest))
async def test_topics_are_created_in_every_version(version: int) -> None:
    broker = HandlerBroker(2)
    (result,) = await create(broker, topic("t", 3, 2, {"retention.ms": "1000"}), version=version)
    assert (result.name, result.error_code) == ("t", ErrorCode.NONE)
    created = broker.metadata.topic("t")
    assert created is not None
    assert [len(partition.replicas) for partition in created.partitions] == [2, 2, 2]
    assert broker.metadata.configs.config_value(TOPIC_RESOURCE, "t", "retention.ms") == "1000"
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (3, 2)
        told = {config.name: (config.value, config.config_source) for config in result.configs or ()}
        assert told["retention.ms"] == ("1000", 1)
        assert told["max.message.bytes"] == ("1048588", 5)
    if version >= 7:
        assert result.topic_id == created.topic_id


async def test_the_brokers_defaults() -> None:
    broker = HandlerBroker(2, {"num.partitions": 4, "default.replication.factor": 2})
    (result,) = await create(broker, topic("t", -1, -1))
    assert (result.num_partitions, result.replication_factor) == (4, 2)


async def test_assignment_by_hand() -> None:
    broker = HandlerBroker(3)
    (result,) = await create(broker, topic(assignment={1: (0, 2), 0: (2, 1)}))
    assert (result.error_code, result.num_partitions, result.replication_factor) == (ErrorCode.NONE, 2, 2)
    created = broker.metadata.topic("t")
    assert created is not None
    assert [(p.leader_id, p.replicas) for p in created.partitions] == [(2, (2, 1)), (0, (0, 2))]


REFUSED = {
    "no partitions": (topic("t", 0), ErrorCode.INVALID_PARTITIONS),
    "negative partitions": (topic("t", -2), ErrorCode.INVALID_PARTITIONS),
    "no replicas": (topic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
    "more replicas than brokers": (topic("t", 1, 3), ErrorCode.INVALID_REPLICATION_FACTOR),
    "an illegal name": (topic("a/b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "a name that is taken": (topic("old"), ErrorCode.TOPIC_ALREADY_EXISTS),
    "an unknown config": (topic(configs={"retention.days": "1"}), ErrorCode.INVALID_CONFIG),
    "a bad value": (topic(configs={"retention.ms": "soon"}), ErrorCode.INVALID_CONFIG),
    "a null value": (topic(configs={"retention.ms": None}), ErrorCode.INVALID_CONFIG),
    "a gap in the assignment": (topic(assignment={0: (0,), 2: (1,)}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "a broker twice": (topic(assignment={0: (1, 1)}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "an unknown broker": (topic(assignment={0: (7,)}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "different numbers of replicas": (topic(assignment={0: (0, 1), 1: (1,)}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "an empty assignment": (topic(assignment={0: ()}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
}


@pytest.mark.parametrize("validate_only", [True, False])
@pytest.mark.parametrize(("wanted", "code"), REFUSED.values(), ids=REFUSED.keys())
async def test_refused_topics(wanted: CreatableTopic, code: ErrorCode, validate_only: bool) -> None:
    broker = HandlerBroker(2)
    broker.metadata.create_topic("old")
    refused, created = await create(broker, wanted, topic("other"), validate_only=validate_only)
    assert (refused.error_code, created.error_code) == (code, ErrorCode.NONE)
    assert refused.error_message
    assert (broker.metadata.topic("t"), refused.topic_id) == (None, None)
    assert (broker.metadata.topic("other") is None) is validate_only


async def test_numbers_beside_an_assignment() -> None:
    assigned = CreatableReplicaAssignment(partition_index=0, broker_ids=(0,))
    wanted = CreatableTopic(name="t", num_partitions=1, replication_factor=-1, assignments=(assigned,))
    (result,) = await create(HandlerBroker(), wanted)
    assert result.error_code is ErrorCode.INVALID_REQUEST


async def test_a_topic_named_twice() -> None:
    broker = HandlerBroker()
    results = await create(broker, topic("t"), topic("u"), topic("t", 2))
    assert [(result.name, result.error_code) for result in results] == [
        ("t", ErrorCode.INVALID_REQUEST),
        ("u", ErrorCode.NONE),
    ]
    assert broker.metadata.topic("t") is None


async def test_validation_tells_what_would_be_created() -> None:
    broker = HandlerBroker(1, {"num.partitions": 4})
    (result,) = await create(broker, topic("t", -1), validate_only=True)
    assert (result.error_code, result.num_partitions, result.topic_id) == (ErrorCode.NONE, 4, None)
    assert {config.name: config.value for config in result.configs or ()}["segment.ms"] == "604800000"
    assert broker.metadata.topic("t") is None


# ------------------------------------------------------------------------------------- create partitions


async def grow(
    broker: HandlerBroker, *topics: CreatePartitionsTopic, version: int = 3, validate_only: bool = False
) -> tuple[CreatePartitionsTopicResult, ...]:
    request = CreatePartitionsRequest(topics=topics, timeout_ms=1_000, validate_only=validate_only)
    results: tuple[CreatePartitionsTopicResult, ...] = (await broker.ask(request, version)).results
    return results


def more(name: str, count: int, *assignments: tuple[int, ...]) -> CreatePartitionsTopic:
    given = tuple(CreatePartitionsAssignment(broker_ids=nodes) for nodes in assignments)
    return CreatePartitionsTopic(name=name, count=count, assignments=given or None)


def partitions_of(broker: HandlerBroker, name: str = "t") -> list[tuple[int, ...]]:
    found = broker.metadata.topic(name)
    assert found is not None
    return [partition.replicas for partition in found.partitions]


@pytest.mark.parametrize("version", all_versions(CreatePartitionsRequest))
async def test_topics_grow_in_every_version(version: int) -> None:
    broker = HandlerBroker()
    broker.metadata.create_topic("t", 1)
    assert [r.error_code for r in await grow(broker, more("t", 3), version=version)] == [ErrorCode.NONE]
    assert len(partitions_of(broker)) == 3


async def test_growth_that_is_only_checked() -> None:
    broker = HandlerBroker()
    broker.metadata.create_topic("t", 1)
    assert [r.error_code for r in await grow(broker, more("t", 3), validate_only=True)] == [ErrorCode.NONE]
    assert len(partitions_of(broker)) == 1


async def test_growth_by_hand() -> None:
    broker = HandlerBroker(3)
    broker.metadata.create_topic("t", 1)
    assert [r.error_code for r in await grow(broker, more("t", 3, (2,), (1,)))] == [ErrorCode.NONE]
    assert partitions_of(broker) == [(0,), (2,), (1,)]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (more("t", 2), ErrorCode.INVALID_PARTITIONS),
        (more("t", 1), ErrorCode.INVALID_PARTITIONS),
        (more("nope", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (more("t", 4, (0,)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (more("t", 3, (9,)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (more("t", 3, (0, 1)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (CreatePartitionsTopic(name="t", count=3, assignments=()), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
async def test_refused_growth(wanted: CreatePartitionsTopic, code: ErrorCode) -> None:
    broker = HandlerBroker(2)
    broker.metadata.create_topic("t", 2)
    (result,) = await grow(broker, wanted)
    assert result.error_code is code
    assert result.error_message
    assert len(partitions_of(broker)) == 2


async def test_growing_one_topic_twice() -> None:
    broker = HandlerBroker()
    broker.metadata.create_topic("t")
    assert [r.error_code for r in await grow(broker, more("t", 2), more("t", 3))] == [ErrorCode.INVALID_REQUEST]
    assert len(partitions_of(broker)) == 1


# ---------------------------------------------------------------------------------------- delete topics


async def delete(broker: HandlerBroker, *topics: DeleteTopicState, version: int = 6) -> list[DeletableTopicResult]:
    if version >= 6:
        request = DeleteTopicsRequest(topics=topics, timeout_ms=1_000)
    else:
        request = DeleteTopicsRequest(topic_names=tuple(t.name or "" for t in topics), timeout_ms=1_000)
    return list((await broker.ask(request, version)).responses)


@pytest.mark.parametrize("version", all_versions(DeleteTopicsRequest))
async def test_topics_are_deleted_with_their_records_in_every_version(version: int) -> None:
    broker = HandlerBroker()
    old_id = broker.metadata.create_topic("t").topic_id
    broker.log("t").append(build_batch([NewRecord(b"v")]), 0, 0)
    (result,) = await delete(broker, DeleteTopicState(name="t"), version=version)
    assert (result.name, result.error_code) == ("t", ErrorCode.NONE)
    assert result.topic_id == (old_id if version >= 6 else None)
    assert broker.metadata.topic("t") is None
    assert (old_id, 0) not in set(broker.services.cluster.logs)
    assert broker.metadata.create_topic("t").topic_id != old_id
    assert broker.log("t").end_offset == 0


async def test_deletion_by_id() -> None:
    broker = HandlerBroker()
    topic_id = broker.metadata.create_topic("t").topic_id
    known, unknown = await delete(broker, DeleteTopicState(topic_id=topic_id), DeleteTopicState(topic_id=UUID(int=3)))
    assert (known.name, known.topic_id, known.error_code) == ("t", topic_id, ErrorCode.NONE)
    assert (unknown.topic_id, unknown.error_code) == (UUID(int=3), ErrorCode.UNKNOWN_TOPIC_ID)


async def test_a_topic_named_by_name_and_by_id_is_named_twice() -> None:
    broker = HandlerBroker()
    topic_id = broker.metadata.create_topic("t").topic_id
    (result,) = await delete(broker, DeleteTopicState(name="t"), DeleteTopicState(topic_id=topic_id))
    assert (result.name, result.error_code) == ("t", ErrorCode.INVALID_REQUEST)
    assert broker.metadata.topic("t") is not None


async def test_deletions_that_are_refused() -> None:
    broker = HandlerBroker()
    broker.metadata.create_topic("t")
    results = await delete(
        broker,
        DeleteTopicState(name="nope"),
        DeleteTopicState(name="t"),
        DeleteTopicState(name="t"),
        DeleteTopicState(),
        DeleteTopicState(name="t", topic_id=broker.topic_id("t")),
    )
    assert [result.error_code for result in results] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
    ]
    assert broker.metadata.topic("t") is not None


@pytest.mark.parametrize(("version", "code"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)])
async def test_deletion_may_be_disabled(version: int, code: ErrorCode) -> None:
    broker = HandlerBroker(settings={"delete.topic.enable": False})
    broker.metadata.create_topic("t")
    (result,) = await delete(broker, DeleteTopicState(name="t"), version=version)
    assert result.error_code is code
    assert broker.metadata.topic("t") is not None


async def test_internal_topics_are_out_of_reach() -> None:
    broker = HandlerBroker()
    broker.metadata.create_topic("__consumer_offsets")
    (result,) = await delete(broker, DeleteTopicState(name="__consumer_offsets"))
    assert result.error_code is ErrorCode.INVALID_TOPIC_EXCEPTION
