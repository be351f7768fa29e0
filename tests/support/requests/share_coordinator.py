"""Questions to the share coordinator about one share-partition, as its leader and the group coordinator ask them."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.coordinator_records.share_group_state import (
    SHARE_GROUP_STATE,
    ShareSnapshotValue,
    ShareUpdateValue,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.delete_share_group_state import (
    DeleteShareGroupStateRequest,
    DeleteShareStatePartition,
    DeleteShareStateTopic,
)
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_groups.protocol.messages.find_coordinator import CoordinatorType, FindCoordinatorRequest
from kafka_groups.protocol.messages.initialize_share_group_state import (
    InitializeShareGroupStateRequest,
    InitializeShareStatePartition,
    InitializeShareStateTopic,
)
from kafka_groups.protocol.messages.list_offsets import (
    EARLIEST,
    LATEST,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_groups.protocol.messages.read_share_group_state import (
    ReadShareGroupStateRequest,
    ReadShareStatePartition,
    ReadShareStatePartitionResult,
    ReadShareStateTopic,
)
from kafka_groups.protocol.messages.read_share_group_state_summary import (
    ReadShareGroupStateSummaryRequest,
    ReadShareStateSummaryPartition,
    ReadShareStateSummaryPartitionResult,
    ReadShareStateSummaryTopic,
)
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET, UNKNOWN_COUNT, StateBatch
from kafka_groups.protocol.messages.write_share_group_state import (
    WriteShareGroupStateRequest,
    WriteShareStatePartition,
    WriteShareStateTopic,
)
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.types import member_id_of
from tests.support.conditions import until
from tests.support.kafka.real_kafka import unique
from tests.support.requests.raw_client import RawClient
from tests.support.targets import Target

StateRecord = ShareSnapshotValue | ShareUpdateValue | None
"""The value of a snapshot, of an update, or of a tombstone."""

_NOT_READY = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
"""The coordinator loads, or has not heard of the topic yet."""
_LAST_VERSION_WITH_NAMES = 12


@frozen
class SharePartitionState:
    """The state of a partition, mostly partition 0 of a topic, for a group that has no members.

    The state topic has one partition, as in all clusters that tests start.
    """

    client: RawClient
    group_id: str
    topic_id: UUID
    partition: int = 0

    @classmethod
    async def of_new_group(cls, target: Target) -> "SharePartitionState":
        """The state of a new topic's partition 0 for a new group. It is not initialised."""
        topic = await target.cluster.create_topic()
        state = cls(target.client(), unique("group"), topic.topic_id)
        key = f"{state.group_id}:{member_id_of(topic.topic_id)}:0"
        request = FindCoordinatorRequest(key_type=CoordinatorType.SHARE, coordinator_keys=(key,))
        await until(lambda: state.client.ask(request), lambda it: it.coordinators[0].error_code is ErrorCode.NONE)
        await until(state.summary, lambda it: it.error_code not in _NOT_READY)
        return state

    @classmethod
    async def initialized(cls, target: Target, state_epoch: int, start_offset: int) -> "SharePartitionState":
        """The same, initialised."""
        state = await cls.of_new_group(target)
        code = await until(lambda: state.initialize(state_epoch, start_offset), lambda it: it not in _NOT_READY)
        assert code is ErrorCode.NONE
        return state

    async def initialize(self, state_epoch: int, start_offset: int = UNINITIALIZED_OFFSET) -> ErrorCode:
        """Initialise the state."""
        partition = InitializeShareStatePartition(
            partition=self.partition, state_epoch=state_epoch, start_offset=start_offset
        )
        topics = (InitializeShareStateTopic(topic_id=self.topic_id, partitions=(partition,)),)
        response = await self.client.ask(InitializeShareGroupStateRequest(group_id=self.group_id, topics=topics))
        code: ErrorCode = response.results[0].partitions[0].error_code
        return code

    async def write(
        self,
        *batches: StateBatch,
        state_epoch: int = 1,
        leader_epoch: int = 0,
        start_offset: int = UNINITIALIZED_OFFSET,
        count: int = UNKNOWN_COUNT,
    ) -> ErrorCode:
        """Write changes."""
        partition = WriteShareStatePartition(
            partition=self.partition,
            state_epoch=state_epoch,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=count,
            state_batches=batches,
        )
        topics = (WriteShareStateTopic(topic_id=self.topic_id, partitions=(partition,)),)
        response = await self.client.ask(WriteShareGroupStateRequest(group_id=self.group_id, topics=topics))
        code: ErrorCode = response.results[0].partitions[0].error_code
        return code

    async def put(self, *batches: StateBatch, **fields: int) -> None:
        """Write changes that are accepted."""
        code = await self.write(*batches, **fields)
        assert code is ErrorCode.NONE

    async def read(self, leader_epoch: int = 0) -> ReadShareStatePartitionResult:
        """Read the state as the leader with this epoch."""
        partition = ReadShareStatePartition(partition=self.partition, leader_epoch=leader_epoch)
        topics = (ReadShareStateTopic(topic_id=self.topic_id, partitions=(partition,)),)
        response = await self.client.ask(ReadShareGroupStateRequest(group_id=self.group_id, topics=topics))
        result: ReadShareStatePartitionResult = response.results[0].partitions[0]
        return result

    async def summary(self, leader_epoch: int = 0) -> ReadShareStateSummaryPartitionResult:
        """Read the state without its batches."""
        partition = ReadShareStateSummaryPartition(partition=self.partition, leader_epoch=leader_epoch)
        topics = (ReadShareStateSummaryTopic(topic_id=self.topic_id, partitions=(partition,)),)
        response = await self.client.ask(ReadShareGroupStateSummaryRequest(group_id=self.group_id, topics=topics))
        result: ReadShareStateSummaryPartitionResult = response.results[0].partitions[0]
        return result

    async def delete(self) -> ErrorCode:
        """Delete the state."""
        topics = (
            DeleteShareStateTopic(
                topic_id=self.topic_id, partitions=(DeleteShareStatePartition(partition=self.partition),)
            ),
        )
        response = await self.client.ask(DeleteShareGroupStateRequest(group_id=self.group_id, topics=topics))
        code: ErrorCode = response.results[0].partitions[0].error_code
        return code

    async def records(self, last: int | None = None) -> list[StateRecord]:
        """The records of this share-partition in the log, or the last ones of them."""
        found = await self._records()
        return found if last is None else found[-last:]

    async def _records(self) -> list[StateRecord]:
        found: list[StateRecord] = []
        offset, end = await self._offset_at(EARLIEST), await self._offset_at(LATEST)
        while offset < end:
            for batch in iter_batches(await self._fetched(offset)):
                for record in batch.records():
                    if record.offset >= offset and record.key is not None:
                        found += self._own(record.key, record.value)
                offset = batch.header.next_offset
        return found

    def _own(self, key: bytes, value: bytes | None) -> list[StateRecord]:
        record = SHARE_GROUP_STATE.decode(key, value)
        return [record.value] if (record.group_id, record.partition) == (self.group_id, 0) else []

    async def _offset_at(self, timestamp: int) -> int:
        partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        topics = (ListOffsetsTopic(name=SHARE_GROUP_STATE.topic, partitions=(partition,)),)
        response = await self.client.ask(ListOffsetsRequest(topics=topics))
        found: int = response.topics[0].partitions[0].offset
        return found

    async def _fetched(self, offset: int) -> bytes | None:
        partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=2**24)
        topics = (FetchTopic(topic=SHARE_GROUP_STATE.topic, partitions=(partition,)),)
        request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=topics)
        response = await self.client.ask(request, _LAST_VERSION_WITH_NAMES)
        data = response.responses[0].partitions[0]
        assert data.error_code is ErrorCode.NONE, data
        records: bytes | None = data.records
        return records
