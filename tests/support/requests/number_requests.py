"""A request of every API that an embedded broker answers without an error, and the same with one huge number in it."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast
from uuid import UUID

import attrs
from attrs import evolve, frozen

from kafka_groups.acls import AclOperation, AclPatternType, AclPermission, AclResourceType
from kafka_groups.broker.profile import DEFAULT_PROFILE
from kafka_groups.protocol.apis import ApiKey, api_of
from kafka_groups.protocol.codec import encode_request
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_groups.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafka_groups.protocol.messages.alter_configs import AlterConfigsRequest, ConfigToKeep, ReplacedConfigs
from kafka_groups.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kafka_groups.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE
from kafka_groups.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_groups.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafka_groups.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from kafka_groups.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafka_groups.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from kafka_groups.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafka_groups.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_groups.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_groups.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kafka_groups.protocol.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareStatePartition,
    DeleteShareStateTopic,
)
from kafka_groups.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafka_groups.protocol.messages.describe_acls import DescribeAclsRequest
from kafka_groups.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, QuotaFilter
from kafka_groups.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_groups.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_groups.protocol.messages.describe_producers import DescribeProducersRequest, DescribeProducersRequestTopic
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from kafka_groups.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from kafka_groups.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_groups.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kafka_groups.protocol.messages.end_txn import EndTxnRequest
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_groups.protocol.messages.find_coordinator import CoordinatorType, FindCoordinatorRequest
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest
from kafka_groups.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_groups.protocol.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareStatePartition,
    InitializeShareStateTopic,
)
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupRequestMember
from kafka_groups.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kafka_groups.protocol.messages.list_groups import ListGroupsRequest
from kafka_groups.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafka_groups.protocol.messages.list_transactions import ListTransactionsRequest
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_groups.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_groups.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafka_groups.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.messages.read_share_group_state import (
    ReadShareGroupStateRequest,
    ReadShareStatePartition,
    ReadShareStateTopic,
)
from kafka_groups.protocol.messages.read_share_group_state_summary import (
    ReadShareGroupStateSummaryRequest,
    ReadShareStateSummaryPartition,
    ReadShareStateSummaryTopic,
)
from kafka_groups.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_groups.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafka_groups.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kafka_groups.protocol.messages.share_fetch import ShareFetchPartition, ShareFetchRequest, ShareFetchTopic
from kafka_groups.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from kafka_groups.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafka_groups.protocol.messages.share_state import StateBatch
from kafka_groups.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatTopology,
)
from kafka_groups.protocol.messages.streams_group_parts import (
    CopartitionGroup,
    KeyValue,
    StreamsSubtopology,
    StreamsTopicInfo,
    TaskOffset,
    UserEndpoint,
)
from kafka_groups.protocol.messages.streams_group_topology_description_update import (
    StreamsGroupTopologyDescriptionUpdateRequest,
)
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafka_groups.protocol.messages.topology_description import (
    SOURCE_NODE,
    DescribedTopology,
    TopologyDescriptionNode,
    TopologyDescriptionSubtopology,
)
from kafka_groups.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafka_groups.protocol.messages.update_features import UPGRADE, FeatureUpdateKey, UpdateFeaturesRequest
from kafka_groups.protocol.messages.write_share_group_state import (
    WriteShareGroupStateRequest,
    WriteShareStatePartition,
    WriteShareStateTopic,
)
from kafka_groups.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

_LARGEST = (2**63 - 1, 2**31 - 1, 2**15 - 1, 2**7 - 1)


@frozen
class Place:
    """What a request may name: a topic with two partitions and records, a group and its member.

    Attributes:
        classic_member_id: Somebody in the group with that id, if anybody is.
    """

    topic: str
    topic_id: UUID
    group_id: str
    member_id: str
    batch: bytes
    classic_member_id: str = "ann"

    @property
    def committing_group_id(self) -> str:
        """A group that commits offsets."""
        return f"{self.group_id}-with-offsets"

    @property
    def classic_group_id(self) -> str:
        """A group that a member may join."""
        return f"{self.group_id}-with-members"


@frozen
class Case:
    """A request, and the ones that come before it on the same connection."""

    request: Callable[[Place], object]
    before: Callable[[Place], tuple[object, ...]] = lambda _: ()
    allowed: frozenset[ErrorCode] = frozenset({ErrorCode.NONE})
    """Errors that cannot be avoided."""


_MEMBER_ERRORS = frozenset({
    ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND,
})  # fmt: skip
"""Nobody has joined the group."""


T = TypeVar("T")


def _share_fetch(place: Place, epoch: int, acknowledged: tuple[AcknowledgementBatch, ...] = ()) -> ShareFetchRequest:
    partition = ShareFetchPartition(partition_index=0, acknowledgement_batches=acknowledged)
    return ShareFetchRequest(
        group_id=place.group_id, member_id=place.member_id, share_session_epoch=epoch, max_wait_ms=0, min_bytes=0,
        max_records=1, batch_size=1, topics=(ShareFetchTopic(topic_id=place.topic_id, partitions=(partition,)),),
    )  # fmt: skip


def _acknowledged(first: int, last: int) -> tuple[AcknowledgementBatch, ...]:
    return (AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=(1,)),)


def _share_acknowledge(place: Place) -> ShareAcknowledgeRequest:
    partition = AcknowledgePartition(partition_index=0, acknowledgement_batches=_acknowledged(0, 0))
    topic = AcknowledgeTopic(topic_id=place.topic_id, partitions=(partition,))
    return ShareAcknowledgeRequest(
        group_id=place.group_id, member_id=place.member_id, share_session_epoch=1, topics=(topic,)
    )


def _produce(place: Place) -> ProduceRequest:
    data = (PartitionProduceData(index=0, records=place.batch),)
    topic = TopicProduceData(topic_id=place.topic_id, partition_data=data)
    return ProduceRequest(acks=1, timeout_ms=100, topic_data=(topic,))


def _commit(place: Place) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")
    topic = OffsetCommitRequestTopic(topic_id=place.topic_id, partitions=(partition,))
    return OffsetCommitRequest(group_id=place.committing_group_id, topics=(topic,))


def _fetch_offsets(place: Place) -> OffsetFetchRequest:
    topic = OffsetFetchRequestTopic(topic_id=place.topic_id, partition_indexes=(0,))
    return OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=place.committing_group_id, topics=(topic,)),))


def _delete_committed(place: Place) -> OffsetDeleteRequest:
    partitions = (OffsetDeleteRequestPartition(partition_index=0),)
    topic = OffsetDeleteRequestTopic(name=place.topic, partitions=partitions)
    return OffsetDeleteRequest(group_id=place.committing_group_id, topics=(topic,))


def _join_group(place: Place) -> JoinGroupRequest:
    protocols = (JoinGroupRequestProtocol(name="range", metadata=b""),)
    return JoinGroupRequest(
        group_id=place.classic_group_id, session_timeout_ms=10_000, rebalance_timeout_ms=100, member_id="",
        protocol_type="consumer", protocols=protocols,
    )  # fmt: skip


def _sync_group(place: Place) -> SyncGroupRequest:
    assignments = (SyncGroupRequestAssignment(member_id=place.classic_member_id, assignment=b""),)
    return SyncGroupRequest(
        group_id=place.classic_group_id, generation_id=1, member_id=place.classic_member_id, protocol_type="consumer",
        protocol_name="range", assignments=assignments,
    )  # fmt: skip


def _leave_group(place: Place) -> LeaveGroupRequest:
    member = LeaveGroupRequestMember(member_id=place.classic_member_id)
    return LeaveGroupRequest(group_id=place.classic_group_id, members=(member,))


def _fetch(place: Place) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000)
    topics = (FetchTopic(topic_id=place.topic_id, partitions=(partition,)),)
    return FetchRequest(max_wait_ms=0, min_bytes=1, session_epoch=0, topics=topics)


def _create_topics(place: Place) -> CreateTopicsRequest:
    chosen = CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    assignments = (CreatableReplicaAssignment(partition_index=0, broker_ids=(1,)),)
    given = CreatableTopic(name="given", num_partitions=-1, replication_factor=-1, assignments=assignments)
    return CreateTopicsRequest(topics=(chosen, given))


def _create_partitions(place: Place) -> CreatePartitionsRequest:
    chosen = CreatePartitionsTopic(name=place.topic, count=3, assignments=None)
    given = CreatePartitionsTopic(name="other", count=2, assignments=(CreatePartitionsAssignment(broker_ids=(1,)),))
    return CreatePartitionsRequest(topics=(chosen, given), timeout_ms=100, validate_only=False)


def _delete_records(place: Place) -> DeleteRecordsRequest:
    topic = DeleteRecordsTopic(name=place.topic, partitions=(DeleteRecordsPartition(partition_index=0, offset=1),))
    return DeleteRecordsRequest(topics=(topic,), timeout_ms=100)


def _list_offsets(place: Place) -> ListOffsetsRequest:
    partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
    return ListOffsetsRequest(topics=(ListOffsetsTopic(name=place.topic, partitions=(partition,)),))


def _describe_topic_partitions(place: Place) -> DescribeTopicPartitionsRequest:
    cursor = Cursor(topic_name=place.topic, partition_index=0)
    return DescribeTopicPartitionsRequest(topics=(TopicRequest(name=place.topic),), cursor=cursor)


def _describe_offsets(place: Place) -> DescribeShareGroupOffsetsRequest:
    topics = (DescribeShareGroupOffsetsRequestTopic(topic_name=place.topic, partitions=(0,)),)
    group = DescribeShareGroupOffsetsRequestGroup(group_id=place.group_id, topics=topics)
    return DescribeShareGroupOffsetsRequest(groups=(group,))


def _replace_configs(place: Place) -> AlterConfigsRequest:
    configs = (ConfigToKeep(name="retention.ms", value="600000"),)
    resource = ReplacedConfigs(resource_type=TOPIC_RESOURCE, resource_name=place.topic, configs=configs)
    return AlterConfigsRequest(resources=(resource,), validate_only=True)


def _alter_configs(place: Place) -> IncrementalAlterConfigsRequest:
    config = AlterableConfig(name="retention.ms", config_operation=0, value="9223372036854775807")
    resource = AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=place.topic, configs=(config,))
    return IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)


def _alter_credentials(_: Place) -> AlterUserScramCredentialsRequest:
    upsertion = ScramCredentialUpsertion(
        name="ann", mechanism=1, iterations=4096, salt=b"s" * 16, salted_password=b"p" * 32
    )
    return AlterUserScramCredentialsRequest(
        deletions=(ScramCredentialDeletion(name="bob", mechanism=1),), upsertions=(upsertion,)
    )


_NO_AUTHORIZER = frozenset({ErrorCode.SECURITY_DISABLED})


def _create_acls(place: Place) -> CreateAclsRequest:
    creation = AclCreation(
        resource_type=AclResourceType.TOPIC,
        resource_name=place.topic,
        resource_pattern_type=AclPatternType.LITERAL,
        principal="User:ann",
        host="*",
        operation=AclOperation.READ,
        permission_type=AclPermission.ALLOW,
    )
    return CreateAclsRequest(creations=(creation,))


def _acl_filter(filter_class: Callable[..., T], place: Place) -> T:
    return filter_class(
        resource_type_filter=AclResourceType.TOPIC,
        resource_name_filter=place.topic,
        pattern_type_filter=AclPatternType.LITERAL,
        principal_filter=None,
        host_filter=None,
        operation=AclOperation.ANY,
        permission_type=AclPermission.ANY,
    )


def _describe_configs(place: Place) -> DescribeConfigsRequest:
    resource = DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=place.topic, configuration_keys=None)
    return DescribeConfigsRequest(resources=(resource,))


def _heartbeat(place: Place) -> ShareGroupHeartbeatRequest:
    return ShareGroupHeartbeatRequest(
        group_id=place.group_id, member_id="new", member_epoch=0, subscribed_topic_names=(place.topic,)
    )


def _consumer_heartbeat(place: Place) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=f"{place.group_id}-consumers", member_id="new", member_epoch=0, rebalance_timeout_ms=1_000,
        subscribed_topic_names=(place.topic,), topic_partitions=(),
    )  # fmt: skip


def _streams_heartbeat(place: Place) -> StreamsGroupHeartbeatRequest:
    part = StreamsSubtopology(
        subtopology_id="0",
        source_topics=(place.topic,),
        state_changelog_topics=(StreamsTopicInfo(name=f"{place.group_id}-changelog", topic_configs=(_A_CONFIG,)),),
        copartition_groups=(CopartitionGroup(source_topics=(0,)),),
    )
    return StreamsGroupHeartbeatRequest(
        group_id=f"{place.group_id}-streams", member_id="new", member_epoch=0, rebalance_timeout_ms=1_000,
        topology=StreamsGroupHeartbeatTopology(epoch=0, subtopologies=(part,)), active_tasks=(), standby_tasks=(),
        warmup_tasks=(), process_id="process", user_endpoint=UserEndpoint(host="host", port=1),
        client_tags=(_A_CONFIG,), task_offsets=(TaskOffset(subtopology_id="0", partition=0, offset=0),),
        task_end_offsets=(TaskOffset(subtopology_id="0", partition=0, offset=0),),
    )  # fmt: skip


def _describe_topology(place: Place) -> StreamsGroupTopologyDescriptionUpdateRequest:
    node = TopologyDescriptionNode(name="source", node_type=SOURCE_NODE, source_topics=(place.topic,))
    part = TopologyDescriptionSubtopology(subtopology_id="0", nodes=(node,))
    return StreamsGroupTopologyDescriptionUpdateRequest(
        group_id=f"{place.group_id}-streams", member_id="new", topology_epoch=0,
        topology_description=DescribedTopology(subtopologies=(part,)),
    )  # fmt: skip


_A_CONFIG = KeyValue(key="cleanup.policy", value="compact")


def _alter_offsets(place: Place) -> AlterShareGroupOffsetsRequest:
    partition = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    topic = AlterShareGroupOffsetsRequestTopic(topic_name=place.topic, partitions=(partition,))
    return AlterShareGroupOffsetsRequest(group_id="empty", topics=(topic,))


def _delete_offsets(place: Place) -> DeleteShareGroupOffsetsRequest:
    topics = (DeleteShareGroupOffsetsRequestTopic(topic_name=place.topic),)
    return DeleteShareGroupOffsetsRequest(group_id="empty", topics=topics)


def _read_state(place: Place) -> ReadShareGroupStateRequest:
    partition = ReadShareStatePartition(partition=0, leader_epoch=0)
    topic = ReadShareStateTopic(topic_id=place.topic_id, partitions=(partition,))
    return ReadShareGroupStateRequest(group_id=place.group_id, topics=(topic,))


def _summarise_state(place: Place) -> ReadShareGroupStateSummaryRequest:
    partition = ReadShareStateSummaryPartition(partition=0, leader_epoch=0)
    topic = ReadShareStateSummaryTopic(topic_id=place.topic_id, partitions=(partition,))
    return ReadShareGroupStateSummaryRequest(group_id=place.group_id, topics=(topic,))


def _initialize_state(place: Place) -> InitializeShareGroupStateRequest:
    partition = InitializeShareStatePartition(partition=1, state_epoch=9, start_offset=0)
    topic = InitializeShareStateTopic(topic_id=place.topic_id, partitions=(partition,))
    return InitializeShareGroupStateRequest(group_id=place.group_id, topics=(topic,))


def _write_state(place: Place) -> WriteShareGroupStateRequest:
    batch = StateBatch(first_offset=0, last_offset=0, delivery_state=2, delivery_count=1)
    partition = WriteShareStatePartition(
        partition=0, state_epoch=9, leader_epoch=0, start_offset=0, delivery_complete_count=1, state_batches=(batch,)
    )
    topic = WriteShareStateTopic(topic_id=place.topic_id, partitions=(partition,))
    return WriteShareGroupStateRequest(group_id=place.group_id, topics=(topic,))


def _delete_state(place: Place) -> DeleteShareGroupStateRequest:
    topic = DeleteShareStateTopic(topic_id=place.topic_id, partitions=(DeleteShareStatePartition(partition=0),))
    return DeleteShareGroupStateRequest(group_id=place.group_id, topics=(topic,))


_NO_DESCRIPTIONS = frozenset({ErrorCode.UNSUPPORTED_VERSION})
_NO_SASL = frozenset({ErrorCode.ILLEGAL_SASL_STATE, ErrorCode.UNSUPPORTED_SASL_MECHANISM})

_PRODUCER_ID = 1000
"""The first producer id of a broker."""
_PRODUCER: dict[str, Any] = {"transactional_id": "tx", "producer_id": _PRODUCER_ID, "producer_epoch": 0}
_PRODUCER_ERRORS = frozenset({
    ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_COORDINATOR,
    ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.ILLEGAL_GENERATION,
})  # fmt: skip
"""A huge id, epoch or partition is not that of the producer."""


def _with_producer(_place: Place) -> tuple[object, ...]:
    return (
        FindCoordinatorRequest(key_type=CoordinatorType.TRANSACTION, coordinator_keys=("tx",)),
        InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=60_000),
    )


def _add_partitions(place: Place) -> AddPartitionsToTxnRequest:
    topic = AddPartitionsToTxnTopic(name=place.topic, partitions=(0,))
    return AddPartitionsToTxnRequest(transactions=(AddPartitionsToTxnTransaction(**_PRODUCER, topics=(topic,)),))


def _write_markers(place: Place) -> WriteTxnMarkersRequest:
    topic = WritableTxnMarkerTopic(name=place.topic, partition_indexes=(0,))
    marker = WritableTxnMarker(
        producer_id=1, producer_epoch=0, transaction_result=True, topics=(topic,), coordinator_epoch=0
    )
    return WriteTxnMarkersRequest(markers=(marker,))


def _commit_in_transaction(place: Place) -> TxnOffsetCommitRequest:
    partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")
    topic = TxnOffsetCommitRequestTopic(topic_id=place.topic_id, partitions=(partition,))
    return TxnOffsetCommitRequest(**_PRODUCER, group_id=place.committing_group_id, topics=(topic,))


def _describe_producers(place: Place) -> DescribeProducersRequest:
    return DescribeProducersRequest(topics=(DescribeProducersRequestTopic(name=place.topic, partition_indexes=(0,)),))


CASES: dict[ApiKey, Case] = {
    ApiKey.API_VERSIONS: Case(lambda _: ApiVersionsRequest(client_software_name="n", client_software_version="1")),
    ApiKey.PRODUCE: Case(_produce),
    ApiKey.FETCH: Case(_fetch),
    ApiKey.LIST_OFFSETS: Case(_list_offsets),
    ApiKey.METADATA: Case(lambda place: MetadataRequest(topics=(MetadataRequestTopic(name=place.topic),))),
    ApiKey.FIND_COORDINATOR: Case(lambda place: FindCoordinatorRequest(coordinator_keys=(place.group_id,))),
    ApiKey.LIST_GROUPS: Case(lambda _: ListGroupsRequest()),
    ApiKey.CREATE_TOPICS: Case(_create_topics),
    ApiKey.DELETE_TOPICS: Case(
        lambda _: DeleteTopicsRequest(topics=(DeleteTopicState(name="other"),), timeout_ms=100)
    ),
    ApiKey.DELETE_RECORDS: Case(_delete_records),
    ApiKey.INIT_PRODUCER_ID: Case(lambda _: InitProducerIdRequest(transaction_timeout_ms=100)),
    ApiKey.ADD_PARTITIONS_TO_TXN: Case(_add_partitions, _with_producer, _PRODUCER_ERRORS),
    ApiKey.ADD_OFFSETS_TO_TXN: Case(
        lambda place: AddOffsetsToTxnRequest(**_PRODUCER, group_id=place.committing_group_id),
        _with_producer,
        _PRODUCER_ERRORS,
    ),
    ApiKey.END_TXN: Case(lambda _: EndTxnRequest(**_PRODUCER, committed=False), _with_producer, _PRODUCER_ERRORS),
    ApiKey.WRITE_TXN_MARKERS: Case(_write_markers, allowed=_PRODUCER_ERRORS),
    ApiKey.TXN_OFFSET_COMMIT: Case(_commit_in_transaction, _with_producer, _PRODUCER_ERRORS),
    ApiKey.DESCRIBE_PRODUCERS: Case(_describe_producers),
    ApiKey.DESCRIBE_TRANSACTIONS: Case(
        lambda _: DescribeTransactionsRequest(transactional_ids=("tx",)), _with_producer
    ),
    ApiKey.LIST_TRANSACTIONS: Case(lambda _: ListTransactionsRequest()),
    ApiKey.CREATE_ACLS: Case(_create_acls, allowed=_NO_AUTHORIZER),
    ApiKey.DESCRIBE_ACLS: Case(lambda place: _acl_filter(DescribeAclsRequest, place), allowed=_NO_AUTHORIZER),
    ApiKey.DELETE_ACLS: Case(
        lambda place: DeleteAclsRequest(filters=(_acl_filter(DeleteAclsFilter, place),)), allowed=_NO_AUTHORIZER
    ),
    ApiKey.DESCRIBE_CONFIGS: Case(_describe_configs),
    ApiKey.CREATE_PARTITIONS: Case(_create_partitions),
    ApiKey.DELETE_GROUPS: Case(
        lambda _: DeleteGroupsRequest(groups_names=("g",)), allowed=frozenset({ErrorCode.NON_EMPTY_GROUP})
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Case(_alter_configs),
    ApiKey.ALTER_CONFIGS: Case(_replace_configs),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Case(
        lambda _: DescribeClientQuotasRequest(components=(QuotaFilter(entity_type="user", match_type=2),), strict=True)
    ),
    ApiKey.SASL_HANDSHAKE: Case(lambda _: SaslHandshakeRequest(mechanism="PLAIN"), allowed=_NO_SASL),
    ApiKey.SASL_AUTHENTICATE: Case(lambda _: SaslAuthenticateRequest(auth_bytes=b""), allowed=_NO_SASL),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Case(lambda _: DescribeUserScramCredentialsRequest()),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: Case(
        _alter_credentials, allowed=frozenset({ErrorCode.NONE, ErrorCode.RESOURCE_NOT_FOUND})
    ),
    ApiKey.UPDATE_FEATURES: Case(
        lambda _: UpdateFeaturesRequest(
            feature_updates=(FeatureUpdateKey(feature="kraft.version", max_version_level=1, upgrade_type=UPGRADE),)
        )
    ),
    ApiKey.LIST_CONFIG_RESOURCES: Case(lambda _: ListConfigResourcesRequest(resource_types=(TOPIC_RESOURCE,))),
    ApiKey.DESCRIBE_CLUSTER: Case(lambda _: DescribeClusterRequest(include_cluster_authorized_operations=True)),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Case(_describe_topic_partitions),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: Case(_consumer_heartbeat),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Case(
        lambda place: ConsumerGroupDescribeRequest(
            group_ids=(f"{place.group_id}-consumers",), include_authorized_operations=True
        ),
        lambda place: (_consumer_heartbeat(place),),
    ),
    ApiKey.STREAMS_GROUP_HEARTBEAT: Case(_streams_heartbeat),
    ApiKey.STREAMS_GROUP_DESCRIBE: Case(
        lambda place: StreamsGroupDescribeRequest(
            group_ids=(f"{place.group_id}-streams",), include_authorized_operations=True
        ),
        lambda place: (_streams_heartbeat(place),),
    ),
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: Case(
        _describe_topology, lambda place: (_streams_heartbeat(place),), _NO_DESCRIPTIONS
    ),
    ApiKey.SHARE_GROUP_HEARTBEAT: Case(_heartbeat),
    ApiKey.SHARE_GROUP_DESCRIBE: Case(
        lambda place: ShareGroupDescribeRequest(group_ids=(place.group_id,), include_authorized_operations=True)
    ),
    ApiKey.SHARE_FETCH: Case(
        lambda place: _share_fetch(place, 1, _acknowledged(0, 0)), lambda place: (_share_fetch(place, 0),)
    ),
    ApiKey.SHARE_ACKNOWLEDGE: Case(_share_acknowledge, lambda place: (_share_fetch(place, 0),)),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: Case(_initialize_state),
    ApiKey.READ_SHARE_GROUP_STATE: Case(_read_state),
    ApiKey.WRITE_SHARE_GROUP_STATE: Case(_write_state),
    ApiKey.DELETE_SHARE_GROUP_STATE: Case(_delete_state),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: Case(_summarise_state),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: Case(_describe_offsets),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: Case(_alter_offsets),
    ApiKey.JOIN_GROUP: Case(_join_group, allowed=_MEMBER_ERRORS),
    ApiKey.SYNC_GROUP: Case(_sync_group, allowed=_MEMBER_ERRORS),
    ApiKey.HEARTBEAT: Case(
        lambda place: HeartbeatRequest(
            group_id=place.classic_group_id, generation_id=1, member_id=place.classic_member_id
        ),
        allowed=_MEMBER_ERRORS,
    ),
    ApiKey.LEAVE_GROUP: Case(_leave_group, allowed=_MEMBER_ERRORS),
    ApiKey.DESCRIBE_GROUPS: Case(
        lambda place: DescribeGroupsRequest(groups=(place.classic_group_id,)), allowed=_MEMBER_ERRORS
    ),
    ApiKey.OFFSET_COMMIT: Case(_commit),
    ApiKey.OFFSET_FETCH: Case(_fetch_offsets, lambda place: (_commit(place),)),
    ApiKey.OFFSET_DELETE: Case(_delete_committed, lambda place: (_commit(place),)),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: Case(_delete_offsets, lambda place: (_alter_offsets(place),)),
}  # fmt: skip
"""A case of every API."""


def newest_version(request: object) -> int:
    """The newest version of a request that a broker serves."""
    versions = DEFAULT_PROFILE.advertised(api_of(type(request)).key)
    assert versions is not None
    return versions.high


def with_huge_numbers(request: Any) -> Iterator[tuple[str, Any]]:
    """The request with one number at a time replaced by 2**31 - 1 and by the largest that its field can have."""
    version = newest_version(request)
    for path, variant in number_variants(request):
        seen = 0
        for number in _LARGEST:
            changed = variant(number)
            if seen < 2 and number >= min(2**31 - 1, _largest(variant, version)) and is_possible(changed, version):
                seen += 1
                yield f"{path}={number}", changed


def with_all_numbers_huge(request: Any) -> Any:
    """The request with all its numbers as large as their fields can have them, but for the time that it may wait."""
    version = newest_version(request)
    for number in range(len(list(number_variants(request)))):
        path, variant = list(number_variants(request))[number]
        if path != ".max_wait_ms" and (huge := _largest(variant, version)):
            request = variant(huge)
    return request


def error_codes(response: object) -> Iterator[ErrorCode]:
    """The error codes anywhere in a response."""
    if isinstance(response, ErrorCode):
        yield response
    elif isinstance(response, tuple):
        for item in response:
            yield from error_codes(item)
    elif attrs.has(type(response)):
        for field in attrs.fields(cast(Any, type(response))):
            yield from error_codes(getattr(response, field.name))


def _largest(variant: Callable[[int], Any], version: int) -> int:
    return next((number for number in _LARGEST if is_possible(variant(number), version)), 0)


def is_possible(request: object, version: int) -> bool:
    """Whether a version can carry a request."""
    try:
        encode_request(request, version, 1, "test")
    except Exception:
        return False
    return True


def number_variants(value: Any) -> Iterator[tuple[str, Callable[[int], Any]]]:
    """The paths of all numbers in a value, and how the value is with another number there."""
    if isinstance(value, int) and not isinstance(value, bool):
        yield "", lambda number: number
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            for path, inner in number_variants(item):
                yield f"[{index}]{path}", _in_tuple(value, index, inner)
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            for path, inner in number_variants(getattr(value, field.name)):
                yield f".{field.name}{path}", _in_field(value, field.name, inner)


def _in_tuple(value: tuple[Any, ...], index: int, inner: Callable[[int], Any]) -> Callable[[int], Any]:
    return lambda number: (*value[:index], inner(number), *value[index + 1 :])


def _in_field(value: Any, name: str, inner: Callable[[int], Any]) -> Callable[[int], Any]:
    return lambda number: evolve(value, **{name: inner(number)})
