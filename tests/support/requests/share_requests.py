"""Everything that members and administrators of share groups ask a broker, by hand, over one blocking connection.

Members, epochs and offsets are exactly what the caller says. Nothing is tried again.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from kafka_groups.protocol.apis import api_of
from kafka_groups.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kafka_groups.protocol.messages.config_resources import GROUP_RESOURCE
from kafka_groups.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kafka_groups.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_groups.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kafka_groups.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_groups.protocol.messages.incremental_alter_configs import (
    SET,
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kafka_groups.protocol.messages.share_fetch import (
    FINAL_EPOCH,
    AcquireMode,
    ShareFetchPartition,
    ShareFetchRequest,
    ShareFetchTopic,
)
from kafka_groups.protocol.messages.share_group_heartbeat import JOIN_EPOCH, ShareGroupHeartbeatRequest
from kafka_groups.protocol.record_builder import NewRecord, build_batch
from tests.support.kafka.real_kafka import RawConnection

Kinds = Mapping[tuple[int, int], int]
"""(first offset, last offset) → acknowledge type."""


class ShareRequests:
    """Requests about one group."""

    def __init__(self, connection: RawConnection, group_id: str) -> None:
        self._connection = connection
        self._group_id = group_id

    def ask(self, request: object) -> Any:
        """Send a request in the newest version that we speak."""
        return self._connection.ask(request, api_of(type(request)).versions.high)

    # ------------------------------------------------------------------------------------- administrators

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> UUID:
        """Create a topic and return its id."""
        entries = tuple(CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items())
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=entries)
        (result,) = self.ask(CreateTopicsRequest(topics=(topic,))).topics
        assert not result.error_code, result
        topic_id: UUID = result.topic_id
        return topic_id

    def delete_topic(self, topic_id: UUID) -> Any:
        """Delete a topic."""
        return self.ask(DeleteTopicsRequest(topics=(DeleteTopicState(topic_id=topic_id),), timeout_ms=30_000))

    def configure(self, **configs: str) -> Any:
        """Set configurations of the group; underscores stand for dots."""
        entries = tuple(
            AlterableConfig(name=name.replace("_", "."), config_operation=SET, value=value)
            for name, value in configs.items()
        )
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=self._group_id, configs=entries)
        (result,) = self.ask(IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)).responses
        assert not result.error_code, result
        return result

    def produce(self, topic_id: UUID, partition: int, count: int) -> Any:
        """Produce a batch of records."""
        batch = build_batch([NewRecord(b"value-%d" % n, timestamp_ms=1_700_000_000_000) for n in range(count)])
        topic = TopicProduceData(
            topic_id=topic_id, partition_data=(PartitionProduceData(index=partition, records=batch),)
        )
        response = self.ask(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=(topic,)))
        assert not response.responses[0].partition_responses[0].error_code, response
        return response

    def alter_offsets(self, topic: str, offsets: Mapping[int, int]) -> Any:
        """Set start offsets."""
        partitions = tuple(
            AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset)
            for index, offset in offsets.items()
        )
        topics = (AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=partitions),)
        return self.ask(AlterShareGroupOffsetsRequest(group_id=self._group_id, topics=topics))

    def delete_offsets(self, topic: str) -> Any:
        """Forget a topic."""
        topics = (DeleteShareGroupOffsetsRequestTopic(topic_name=topic),)
        return self.ask(DeleteShareGroupOffsetsRequest(group_id=self._group_id, topics=topics))

    def delete_group(self) -> Any:
        """Delete the group."""
        return self.ask(DeleteGroupsRequest(groups_names=(self._group_id,)))

    # --------------------------------------------------------------------------------------------- members

    def has_coordinator(self) -> bool:
        """Whether a group coordinator is found; the first look-up creates its topic."""
        request = FindCoordinatorRequest(coordinator_keys=(self._group_id,))
        return not any(found.error_code for found in self.ask(request).coordinators)

    def heartbeat(self, member_id: str, epoch: int, topics: Sequence[str] | None = None) -> Any:
        """One heartbeat: epoch 0 joins, -1 leaves."""
        return self.ask(
            ShareGroupHeartbeatRequest(
                group_id=self._group_id,
                member_id=member_id,
                member_epoch=epoch,
                rack_id="rack-a" if epoch == JOIN_EPOCH else None,
                subscribed_topic_names=None if topics is None else tuple(topics),
            )
        )

    def fetch(
        self, member_id: str, epoch: int, topic_id: UUID, partitions: Sequence[int] = (0,), *, max_records: int = 500
    ) -> Any:
        """One share fetch of some partitions, without acknowledgements."""
        topic = ShareFetchTopic(
            topic_id=topic_id, partitions=tuple(ShareFetchPartition(partition_index=p) for p in partitions)
        )
        return self.ask(
            ShareFetchRequest(
                group_id=self._group_id,
                member_id=member_id,
                share_session_epoch=epoch,
                max_wait_ms=2_000,
                min_bytes=1,
                max_records=max_records,
                batch_size=max_records,
                share_acquire_mode=AcquireMode.RECORD_LIMIT,
                topics=(topic,),
            )
        )

    def acknowledge(self, member_id: str, epoch: int, topic_id: UUID, kinds: Kinds, partition: int = 0) -> Any:
        """Acknowledge ranges of offsets of one partition."""
        batches = tuple(
            AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=(kind,))
            for (first, last), kind in kinds.items()
        )
        partitions = (AcknowledgePartition(partition_index=partition, acknowledgement_batches=batches),)
        return self.ask(
            ShareAcknowledgeRequest(
                group_id=self._group_id,
                member_id=member_id,
                share_session_epoch=epoch,
                topics=(AcknowledgeTopic(topic_id=topic_id, partitions=partitions),),
            )
        )

    def close_session(self, member_id: str) -> Any:
        """End a share session, which releases what it holds."""
        return self.ask(
            ShareAcknowledgeRequest(group_id=self._group_id, member_id=member_id, share_session_epoch=FINAL_EPOCH)
        )
