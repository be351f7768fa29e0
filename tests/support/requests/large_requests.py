"""Requests with many items: of every API that has an array, in every way that takes the broker another path."""

import asyncio
import base64
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from uuid import UUID

from attrs import evolve

from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.alter_configs import AlterConfigsRequest, ConfigToKeep, ReplacedConfigs
from kafka_groups.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from kafka_groups.protocol.messages.config_resources import GROUP_RESOURCE
from kafka_groups.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafka_groups.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_groups.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_groups.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafka_groups.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, QuotaFilter
from kafka_groups.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_groups.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from kafka_groups.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_groups.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from kafka_groups.protocol.messages.find_coordinator import CoordinatorType, FindCoordinatorRequest
from kafka_groups.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_groups.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kafka_groups.protocol.messages.list_transactions import ListTransactionsRequest
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kafka_groups.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.support.requests.number_requests import CASES, Place

T = TypeVar("T")

_ACCEPT, _RENEW = 1, 4
_MOST_NEW_TOPICS = 4_999
"""A request that creates more, with one partition each, is refused as a whole."""


def large_requests(place: Place, items: int) -> Iterator[tuple[str, Any]]:
    """The requests by name, to be sent in this order over one connection. Some need those before them."""
    yield from _share_requests(place, items)
    yield from _repeated(place, items)
    yield from _cluster_requests(items)
    yield from _group_requests(place, items)
    yield from _offset_requests(place, items)
    yield from _classic_requests(place, items)
    yield from _transaction_requests(place, items)
    yield from _acl_requests(place, items)


def _share_requests(place: Place, items: int) -> Iterator[tuple[str, Any]]:
    opening: Any = CASES[ApiKey.SHARE_FETCH].before(place)[0]
    acknowledge: Any = CASES[ApiKey.SHARE_ACKNOWLEDGE].request(place)
    partitions = _inner(opening, "topics", "partitions", items, lambda each, n: evolve(each, partition_index=n))
    yield "ShareFetch, a session of partitions", partitions
    empty = evolve(opening, topics=(), share_session_epoch=1)
    yield "ShareFetch, the next one", empty
    yield "ShareFetch, one that waits", evolve(empty, share_session_epoch=2, max_wait_ms=100, min_bytes=1_000_000)
    topics = _repeat(opening, "topics", items, lambda each, n: evolve(each, topic_id=UUID(int=n + 1)))
    yield "ShareFetch, a session of topics", topics
    yield "ShareFetch, a small session", opening
    batches = tuple(_acknowledged(n, _ACCEPT) for n in range(items))
    yield "ShareAcknowledge, batches", _with_batches(acknowledge, batches)
    renewals = evolve(acknowledge, is_renew_ack=True, share_session_epoch=2)
    yield "ShareAcknowledge, renewals", _with_batches(renewals, (_acknowledged(1, _RENEW),) * items)
    more = _inner(acknowledge, "topics", "partitions", items, lambda each, n: evolve(each, partition_index=n + 10))
    yield "ShareAcknowledge, partitions", evolve(more, share_session_epoch=3)


def _acknowledged(offset: int, kind: int) -> AcknowledgementBatch:
    return AcknowledgementBatch(first_offset=offset, last_offset=offset, acknowledge_types=(kind,))


def _with_batches(request: Any, batches: tuple[AcknowledgementBatch, ...]) -> Any:
    (topic,) = request.topics
    partition = evolve(topic.partitions[0], acknowledgement_batches=batches)
    return evolve(request, topics=(evolve(topic, partitions=(partition,)),))


_STATE_APIS = {
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: "InitializeShareGroupState",
    ApiKey.READ_SHARE_GROUP_STATE: "ReadShareGroupState",
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: "ReadShareGroupStateSummary",
    ApiKey.WRITE_SHARE_GROUP_STATE: "WriteShareGroupState",
    ApiKey.DELETE_SHARE_GROUP_STATE: "DeleteShareGroupState",
}


def _repeated(place: Place, items: int) -> Iterator[tuple[str, Any]]:
    """Requests for partitions of one topic: one that exists, again and again, and others that do not."""
    for api, name, topics, partitions, index in (
        (ApiKey.LIST_OFFSETS, "ListOffsets", "topics", "partitions", "partition_index"),
        (ApiKey.PRODUCE, "Produce", "topic_data", "partition_data", "index"),
        (ApiKey.FETCH, "Fetch", "topics", "partitions", "partition"),
        (ApiKey.DELETE_RECORDS, "DeleteRecords", "topics", "partitions", "partition_index"),
        (ApiKey.ALTER_SHARE_GROUP_OFFSETS, "AlterShareGroupOffsets", "topics", "partitions", "partition_index"),
        *((api, name, "topics", "partitions", "partition") for api, name in _STATE_APIS.items()),
    ):
        request = CASES[api].request(place)
        yield f"{name}, unknown partitions", _inner(request, topics, partitions, items, _numbered(index))
        yield f"{name}, one partition", _inner(request, topics, partitions, items, lambda each, _: each)


def _classic_requests(place: Place, items: int) -> Iterator[tuple[str, Any]]:
    join, sync, leave = (
        CASES[key].request(place) for key in (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.LEAVE_GROUP)
    )
    yield "JoinGroup, protocols", _repeat(join, "protocols", items, lambda each, n: evolve(each, name=f"p{n}"))
    yield "SyncGroup", _repeat(sync, "assignments", items, lambda each, n: evolve(each, member_id=f"m{n}"))
    yield "LeaveGroup", _repeat(leave, "members", items, lambda each, n: evolve(each, member_id=f"m{n}"))
    yield "DescribeGroups", DescribeGroupsRequest(groups=tuple(f"g{n}" for n in range(items)))


def _offset_requests(place: Place, items: int) -> Iterator[tuple[str, Any]]:
    commit: Any = CASES[ApiKey.OFFSET_COMMIT].request(place)
    fetch: Any = CASES[ApiKey.OFFSET_FETCH].request(place)
    delete: Any = CASES[ApiKey.OFFSET_DELETE].request(place)
    yield "OffsetCommit, one partition", _inner(commit, "topics", "partitions", items, lambda each, _: each)
    yield "OffsetCommit, topics", _repeat(commit, "topics", items, lambda each, _: each)
    unknown = lambda each, n: evolve(each, topic_id=UUID(int=n + 1))  # noqa: E731
    yield "OffsetCommit, unknown topics", _repeat(commit, "topics", items, unknown)
    [group] = fetch.groups
    [topic] = group.topics
    all_indexes = evolve(topic, partition_indexes=tuple(range(items)))
    yield "OffsetFetch, partitions", evolve(fetch, groups=(evolve(group, topics=(all_indexes,)),))
    yield "OffsetFetch, topics", evolve(fetch, groups=(_repeat(group, "topics", items, lambda each, _: each),))
    yield "OffsetFetch, groups", _repeat(fetch, "groups", items, lambda each, _: each)
    yield "OffsetDelete, partitions", _inner(delete, "topics", "partitions", items, _numbered("partition_index"))
    yield "OffsetDelete, topics", _repeat(delete, "topics", items, lambda each, n: evolve(each, name=f"unknown-{n}"))


def _acl_requests(place: Place, items: int) -> Iterator[tuple[str, Any]]:
    create, delete = (CASES[key].request(place) for key in (ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS))
    yield "CreateAcls", _repeat(create, "creations", items, lambda each, n: evolve(each, resource_name=f"t{n}"))
    yield "DescribeAcls", CASES[ApiKey.DESCRIBE_ACLS].request(place)
    yield "DeleteAcls", _repeat(delete, "filters", items, lambda each, n: evolve(each, resource_name_filter=f"t{n}"))


def _transaction_requests(place: Place, items: int) -> Iterator[tuple[str, Any]]:
    add: Any = CASES[ApiKey.ADD_PARTITIONS_TO_TXN].request(place)
    commit: Any = CASES[ApiKey.TXN_OFFSET_COMMIT].request(place)
    markers: Any = CASES[ApiKey.WRITE_TXN_MARKERS].request(place)
    yield "AddPartitionsToTxn, transactions", _repeat(add, "transactions", items, _transactional("tx-{}"))
    yield "AddPartitionsToTxn, one transaction", _repeat(add, "transactions", items, lambda each, _: each)
    yield "TxnOffsetCommit, one partition", _inner(commit, "topics", "partitions", items, lambda each, _: each)
    yield "TxnOffsetCommit, topics", _repeat(commit, "topics", items, lambda each, _: each)
    yield "WriteTxnMarkers", _repeat(markers, "markers", items, lambda each, n: evolve(each, producer_id=n))
    numbers = tuple(range(items))
    [marker] = markers.markers
    many = evolve(marker.topics[0], partition_indexes=numbers)
    yield "WriteTxnMarkers, partitions", evolve(markers, markers=(evolve(marker, topics=(many,)),))
    producers: Any = CASES[ApiKey.DESCRIBE_PRODUCERS].request(place)
    yield "DescribeProducers, topics", _repeat(producers, "topics", items, lambda each, n: evolve(each, name=f"u{n}"))
    yield "DescribeTransactions", DescribeTransactionsRequest(transactional_ids=tuple(f"t{n}" for n in range(items)))
    yield "ListTransactions", ListTransactionsRequest(producer_id_filters=tuple(range(items)))


def _transactional(template: str) -> Callable[[Any, int], Any]:
    return lambda each, n: evolve(each, transactional_id=template.format(n))


def _numbered(index: str) -> Callable[[Any, int], Any]:
    return lambda each, n: evolve(each, **{index: n + 10})


def _cluster_requests(items: int) -> Iterator[tuple[str, Any]]:
    names = [f"unknown-{n}" for n in range(items)]
    yield "Metadata, names", MetadataRequest(topics=_each(names, lambda name: MetadataRequestTopic(name=name)))
    ids = [UUID(int=n + 1) for n in range(items)]
    yield "Metadata, ids", MetadataRequest(topics=_each(ids, lambda id_: MetadataRequestTopic(topic_id=id_)))
    new = [CreatableTopic(name=f"new-{n}", num_partitions=1, replication_factor=1) for n in range(items)]
    yield "CreateTopics, as many as possible", CreateTopicsRequest(topics=tuple(new[:_MOST_NEW_TOPICS]))
    yield "CreateTopics, invalid", CreateTopicsRequest(topics=_each(new, lambda each: evolve(each, num_partitions=0)))
    yield "Metadata, all topics", MetadataRequest(topics=None)
    grown = _each(names, lambda name: CreatePartitionsTopic(name=name, count=2, assignments=None))
    yield "CreatePartitions", CreatePartitionsRequest(topics=grown, timeout_ms=100, validate_only=False)
    asked_for = _each(names, lambda name: TopicRequest(name=name))
    yield "DescribeTopicPartitions", DescribeTopicPartitionsRequest(topics=asked_for)
    unknown = _each(names, lambda name: DeleteTopicState(name=name))
    yield "DeleteTopics, unknown", DeleteTopicsRequest(topics=unknown, timeout_ms=100)
    known = _each(new[:_MOST_NEW_TOPICS], lambda topic: DeleteTopicState(name=topic.name))
    yield "DeleteTopics", DeleteTopicsRequest(topics=known, timeout_ms=100)
    yield "DescribeConfigs, groups", DescribeConfigsRequest(resources=_each(names, _group_resource))
    altered = _each(names, _altered_group)
    yield "IncrementalAlterConfigs, groups", IncrementalAlterConfigsRequest(resources=altered, validate_only=False)
    replaced = _each(names, _replaced_group)
    yield "AlterConfigs, groups", AlterConfigsRequest(resources=replaced, validate_only=False)
    filters = _each(names, lambda name: QuotaFilter(entity_type="user", match_type=0, match=name))
    yield "DescribeClientQuotas", DescribeClientQuotasRequest(components=filters, strict=True)
    yield "ListConfigResources, groups", ListConfigResourcesRequest(resource_types=(GROUP_RESOURCE,) * items)
    unknown_features = _each(names, lambda name: FeatureUpdateKey(feature=name, max_version_level=1))
    yield "UpdateFeatures, unknown", UpdateFeaturesRequest(feature_updates=unknown_features)
    known_feature = FeatureUpdateKey(feature="kraft.version", max_version_level=1)
    yield "UpdateFeatures, one", UpdateFeaturesRequest(feature_updates=(known_feature,) * items)
    users = _each(names, lambda name: UserName(name=name))
    yield "DescribeUserScramCredentials", DescribeUserScramCredentialsRequest(users=users)
    gone = _each(names, lambda name: ScramCredentialDeletion(name=name, mechanism=1))
    yield "AlterUserScramCredentials", AlterUserScramCredentialsRequest(deletions=gone, upsertions=())


def _group_resource(name: str) -> DescribeConfigsResource:
    keys = ("share.auto.offset.reset",)
    return DescribeConfigsResource(resource_type=GROUP_RESOURCE, resource_name=name, configuration_keys=keys)


def _replaced_group(name: str) -> ReplacedConfigs:
    config = ConfigToKeep(name="share.auto.offset.reset", value="earliest")
    return ReplacedConfigs(resource_type=GROUP_RESOURCE, resource_name=name, configs=(config,))


def _altered_group(name: str) -> AlterConfigsResource:
    config = AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
    return AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=name, configs=(config,))


def _group_requests(place: Place, items: int) -> Iterator[tuple[str, Any]]:
    names = [f"unknown-{n}" for n in range(items)]
    yield "FindCoordinator, groups", FindCoordinatorRequest(coordinator_keys=tuple(names))
    topic_id = base64.urlsafe_b64encode(place.topic_id.bytes).decode().rstrip("=")
    keys = tuple(f"{place.group_id}:{topic_id}:{n}" for n in range(items))
    yield (
        "FindCoordinator, share-partitions",
        FindCoordinatorRequest(key_type=CoordinatorType.SHARE, coordinator_keys=keys),
    )
    yield (
        "ShareGroupDescribe",
        ShareGroupDescribeRequest(group_ids=(place.group_id,) * items, include_authorized_operations=True),
    )
    consumers: Any = CASES[ApiKey.CONSUMER_GROUP_DESCRIBE].request(place)
    yield "ConsumerGroupDescribe", evolve(consumers, group_ids=consumers.group_ids * items)
    streams: Any = CASES[ApiKey.STREAMS_GROUP_DESCRIBE].request(place)
    yield "StreamsGroupDescribe", evolve(streams, group_ids=streams.group_ids * items)
    yield "DeleteGroups", DeleteGroupsRequest(groups_names=tuple(names))
    offsets: Any = CASES[ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS].request(place)
    yield "DescribeShareGroupOffsets, one partition", _described_offsets(offsets, (0,) * items)
    yield "DescribeShareGroupOffsets, unknown partitions", _described_offsets(offsets, tuple(range(10, items + 10)))
    named = lambda each, n: evolve(each, topic_name=f"unknown-{n}")  # noqa: E731
    yield (
        "DescribeShareGroupOffsets, topics",
        evolve(offsets, groups=(_repeat(offsets.groups[0], "topics", items, named),)),
    )
    yield (
        "AlterShareGroupOffsets, topics",
        _repeat(CASES[ApiKey.ALTER_SHARE_GROUP_OFFSETS].request(place), "topics", items, named),
    )
    yield (
        "DeleteShareGroupOffsets",
        _repeat(CASES[ApiKey.DELETE_SHARE_GROUP_OFFSETS].request(place), "topics", items, named),
    )


def _described_offsets(request: Any, partitions: tuple[int, ...]) -> Any:
    (group,) = request.groups
    return evolve(request, groups=(evolve(group, topics=(evolve(group.topics[0], partitions=partitions),)),))


def _each(items: list[T], make: Callable[[T], Any]) -> tuple[Any, ...]:
    return tuple(map(make, items))


def _repeat(message: Any, field: str, items: int, change: Callable[[Any, int], Any]) -> Any:
    """The message with so many copies of the only element of an array, each of them changed."""
    (element,) = getattr(message, field)
    return evolve(message, **{field: tuple(change(element, n) for n in range(items))})


def _inner(message: Any, outer: str, inner: str, items: int, change: Callable[[Any, int], Any]) -> Any:
    (element,) = getattr(message, outer)
    return evolve(message, **{outer: (_repeat(element, inner, items, change),)})


class Peer:
    """A client's end of a connection that takes responses without looking at them."""

    def __init__(self) -> None:
        self.answers: asyncio.Queue[int] = asyncio.Queue()

    def frame_received(self, frame: memoryview) -> None:
        self.answers.put_nowait(len(frame))

    def connection_lost(self, error: Exception | None) -> None:
        self.answers.put_nowait(0)
