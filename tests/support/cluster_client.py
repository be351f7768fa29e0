"""What tests do to a cluster around the share consumers: topics, configs, records, questions about groups."""

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any
from uuid import UUID

from attrs import frozen

from kafka_groups.net.network import Network
from kafka_groups.protocol.compression import Compression
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafka_groups.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kafka_groups.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_groups.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafka_groups.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_groups.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
)
from kafka_groups.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponseTopic
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.messages.share_group_describe import DescribedGroup, ShareGroupDescribeRequest
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.requests.raw_client import RawClient

TOPIC_RESOURCE, GROUP_RESOURCE = 2, 32
_SET, _DELETE = 0, 1
_NOT_YET = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_ID)
_FIRST_WITH_IDS = 13
_TIMEOUT_MS = 15_000
_NO_CONFIGS: Mapping[str, str] = MappingProxyType({})


@frozen
class Topic:
    """A topic that exists."""

    name: str
    topic_id: UUID


@frozen
class Progress:
    """How far a share group is in one partition: its start offset and lag, -1 each when that is not known."""

    start_offset: int
    lag: int


class ClusterClient:
    """Sends administration and produce requests to the brokers that are in charge.

    Args:
        network: The way to the brokers.
        host: Host of one of them.
        port: Its port.
        negotiates: Whether they may be older than we are.
    """

    def __init__(self, network: Network, host: str, port: int, *, negotiates: bool = False) -> None:
        self._network = network
        self._negotiates = negotiates
        self._any = RawClient(network, host, port, negotiates=negotiates)
        self._by_address: dict[tuple[str, int], RawClient] = {}

    async def close(self) -> None:
        """Break all connections."""
        for client in (self._any, *self._by_address.values()):
            await client.disconnect()

    # ------------------------------------------------------------------------------------------ topics

    async def create_topic(
        self,
        partitions: int = 1,
        *,
        name: str | None = None,
        configs: Mapping[str, str] = _NO_CONFIGS,
        replicas: int = 1,
    ) -> Topic:
        """Create a topic and wait until every partition has a leader.

        It keeps its records whatever their timestamps: most tests write them as of 1970, and half a minute after its
        start, and every five minutes, a real Kafka deletes what is older than its retention.
        """
        name = name or unique("topic")
        given = {"retention.ms": "-1", **configs}
        wanted = tuple(CreatableTopicConfig(name=key, value=value) for key, value in given.items())
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas, configs=wanted)
        response = await self._any.ask(CreateTopicsRequest(topics=(topic,), timeout_ms=_TIMEOUT_MS))
        assert response.topics[0].error_code is ErrorCode.NONE, response.topics[0]
        return await self._led(name, partitions)

    async def add_partitions(self, topic: Topic, count: int) -> None:
        """Let a topic have so many partitions, and wait until they have leaders."""
        grown = CreatePartitionsTopic(name=topic.name, count=count, assignments=None)
        request = CreatePartitionsRequest(topics=(grown,), timeout_ms=_TIMEOUT_MS, validate_only=False)
        response = await self._any.ask(request)
        assert response.results[0].error_code is ErrorCode.NONE, response.results[0]
        await self._led(topic.name, count)

    async def delete_topic(self, topic: Topic) -> None:
        """Delete a topic and wait until the broker does not know it any more."""
        await self.delete_topic_named(topic.name)

    async def delete_topic_named(self, name: str) -> None:
        """As `delete_topic`, for a topic that somebody else has created."""
        request = DeleteTopicsRequest(topics=(DeleteTopicState(name=name),), timeout_ms=_TIMEOUT_MS)
        response = await self._any.ask(request)
        assert response.responses[0].error_code is ErrorCode.NONE, response.responses[0]
        await until(lambda: self.describe_topic(name), lambda it: it.error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    async def describe_topic(self, name: str) -> MetadataResponseTopic:
        """What the metadata says of a topic."""
        request = MetadataRequest(topics=(MetadataRequestTopic(name=name),), allow_auto_topic_creation=False)
        topic: MetadataResponseTopic = (await self._any.ask(request)).topics[0]
        return topic

    async def _led(self, name: str, partitions: int) -> Topic:
        described = await until(
            lambda: self.describe_topic(name),
            lambda it: len(it.partitions) == partitions and all(p.leader_id >= 0 for p in it.partitions),
        )
        assert described.topic_id is not None
        return Topic(name, described.topic_id)

    # ----------------------------------------------------------------------------------------- records

    async def produce(
        self,
        topic: Topic,
        records: Sequence[bytes | NewRecord],
        partition: int = 0,
        compression: Compression = Compression.NONE,
    ) -> int:
        """Append one batch that holds these records; returns its first offset."""
        made = [record if isinstance(record, NewRecord) else NewRecord(record) for record in records]
        return await self.produce_raw(topic, build_batch(made, 0, BatchOptions(compression=compression)), partition)

    async def produce_each(self, topic: Topic, values: Sequence[bytes], partition: int = 0) -> None:
        """Append one batch per value."""
        leader = await self.leader_of(topic.name, partition)
        batches = (build_batch([NewRecord(value)]) for value in values)
        await asyncio.gather(*(_append(leader, topic, batch, partition) for batch in batches))

    async def delete_before(self, topic: Topic, offset: int, partition: int = 0) -> None:
        """Delete the records before an offset."""
        part = DeleteRecordsPartition(partition_index=partition, offset=offset)
        named = DeleteRecordsTopic(name=topic.name, partitions=(part,))
        leader = await self.leader_of(topic.name, partition)
        response = await leader.ask(DeleteRecordsRequest(topics=(named,), timeout_ms=_TIMEOUT_MS))
        result = response.topics[0].partitions[0]
        assert result.error_code is ErrorCode.NONE, result

    async def produce_raw(self, topic: Topic, batch: bytes, partition: int = 0) -> int:
        """Append a batch as it is; returns the first offset that the broker gave it."""
        return await _append(await self.leader_of(topic.name, partition), topic, batch, partition)

    async def until_replicated(self) -> None:
        """Wait until every replica of every partition is in sync again."""
        await until(
            lambda: self._any.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False)),
            lambda it: all(
                set(partition.isr_nodes) == set(partition.replica_nodes)
                for topic in it.topics
                for partition in topic.partitions
            ),
        )

    async def leader_id_of(self, name: str, partition: int) -> int:
        """The node id of the broker that leads a partition, as soon as one does."""
        described = await until(
            lambda: self.describe_topic(name),
            lambda it: any(each.partition_index == partition and each.leader_id >= 0 for each in it.partitions),
        )
        return next(each.leader_id for each in described.partitions if each.partition_index == partition)

    async def leader_of(self, name: str, partition: int) -> RawClient:
        """A connection to the leader of a partition, shared by the questions of this class."""
        request = MetadataRequest(topics=(MetadataRequestTopic(name=name),), allow_auto_topic_creation=False)
        response = await self._any.ask(request)
        leaders = {p.partition_index: p.leader_id for p in response.topics[0].partitions}
        address = next((b.host, b.port) for b in response.brokers if b.node_id == leaders[partition])
        return self._client_of(*address)

    def _client_of(self, host: str, port: int) -> RawClient:
        if (host, port) not in self._by_address:
            self._by_address[host, port] = RawClient(self._network, host, port, negotiates=self._negotiates)
        return self._by_address[host, port]

    # ------------------------------------------------------------------------------------------ groups

    async def coordinator_of(self, group_id: str) -> RawClient:
        """A connection to the group's coordinator, shared by the questions of this class."""
        return self._client_of(*await self.coordinator_address(group_id))

    async def coordinator_address(self, group_id: str) -> tuple[str, int]:
        """Where the group's coordinator is, as soon as there is one."""
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=(group_id,))
        response = await until(
            lambda: self._any.ask(request),
            lambda it: it.coordinators[0].error_code is not ErrorCode.COORDINATOR_NOT_AVAILABLE,
        )
        found = response.coordinators[0]
        assert found.error_code is ErrorCode.NONE, found
        return found.host, found.port

    async def describe_group(self, group_id: str) -> DescribedGroup:
        """State, epochs, members and assignments of a group."""
        request = ShareGroupDescribeRequest(group_ids=(group_id,), include_authorized_operations=False)
        described: DescribedGroup = (await (await self.coordinator_of(group_id)).ask(request)).groups[0]
        return described

    async def progress(self, group_id: str, topic: Topic) -> dict[int, Progress]:
        """Start offset and lag of each partition of a topic that the group has state for."""
        wanted = DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None)
        coordinator = await self.coordinator_of(group_id)
        group = (await coordinator.ask(DescribeShareGroupOffsetsRequest(groups=(wanted,)))).groups[0]
        assert group.error_code is ErrorCode.NONE, group
        return {
            partition.partition_index: Progress(partition.start_offset, partition.lag)
            for described in group.topics
            if described.topic_id == topic.topic_id
            for partition in described.partitions
        }

    async def until_lag(self, group_id: str, topic: Topic, lag: int = 0, partition: int = 0) -> Progress:
        """Wait until the group has so many records to deliver to an end; 0 means that all are accepted or archived."""
        progress = await until(
            lambda: self.progress(group_id, topic), lambda it: partition in it and it[partition].lag == lag
        )
        return progress[partition]

    # ----------------------------------------------------------------------------------------- configs

    async def alter_config(
        self, resource_type: int, name: str, configs: Mapping[str, str | None]
    ) -> AlterConfigsResourceResponse:
        """Change configs of a resource (None deletes one); returns what the broker says to that."""
        changes = tuple(
            AlterableConfig(name=key, config_operation=_DELETE if value is None else _SET, value=value)
            for key, value in configs.items()
        )
        resource = AlterConfigsResource(resource_type=resource_type, resource_name=name, configs=changes)
        request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
        result: AlterConfigsResourceResponse = (await self._any.ask(request)).responses[0]
        return result

    async def set_group_config(self, group_id: str, configs: Mapping[str, str]) -> None:
        """Set configs of a group, and wait until the broker acts on them.

        A real Kafka shows a change a little before its coordinators know of it, once in a thousand times too early for
        a member that joins then. It applies changes one after the other, though: when it shows a second one, the first
        is in force everywhere.
        """
        await self._shown(group_id, configs)
        await self._shown(unique("after"), configs)

    async def _shown(self, group_id: str, configs: Mapping[str, str]) -> None:
        result = await self.alter_config(GROUP_RESOURCE, group_id, configs)
        assert result.error_code is ErrorCode.NONE, result
        await until(lambda: self.group_config(group_id), lambda it: configs.items() <= it.items())

    async def group_config(self, group_id: str) -> dict[str, Any]:
        """The configs of a group, defaults included."""
        return await self._config(GROUP_RESOURCE, group_id)

    async def topic_config(self, name: str) -> dict[str, Any]:
        """The configs of a topic, defaults included."""
        return await self._config(TOPIC_RESOURCE, name)

    async def _config(self, kind: int, name: str) -> dict[str, Any]:
        resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        result = (await self._any.ask(DescribeConfigsRequest(resources=(resource,)))).results[0]
        assert result.error_code is ErrorCode.NONE, result
        return {config.name: config.value for config in result.configs}


async def _append(leader: RawClient, topic: Topic, batch: bytes, partition: int) -> int:
    part = PartitionProduceData(index=partition, records=batch)
    by_id = await leader.newest(ProduceRequest) >= _FIRST_WITH_IDS
    data = (
        TopicProduceData(topic_id=topic.topic_id, partition_data=(part,))
        if by_id
        else TopicProduceData(name=topic.name, partition_data=(part,))
    )
    request = ProduceRequest(acks=-1, timeout_ms=_TIMEOUT_MS, topic_data=(data,))
    # The metadata of a real Kafka may name the leader of a new partition before that broker knows of it.
    response = await until(
        lambda: leader.ask(request),
        lambda it: it.responses[0].partition_responses[0].error_code not in _NOT_YET,
    )
    result = response.responses[0].partition_responses[0]
    assert result.error_code is ErrorCode.NONE, result
    offset: int = result.base_offset
    return offset
