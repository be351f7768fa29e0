"""The internal topics of a real Kafka, read as a consumer would: raw keys and values, in the order of their offsets."""

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from kafka_groups.protocol.coordinator_records.consumer_offsets import CONSUMER_OFFSETS
from kafka_groups.protocol.coordinator_records.record import CoordinatorRecord, RecordTable
from kafka_groups.protocol.coordinator_records.share_group_state import SHARE_GROUP_STATE
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_groups.protocol.record_batch import iter_batches
from tests.support.kafka.real_kafka import RawConnection

TABLES: dict[str, RecordTable[Any]] = {table.topic: table for table in (CONSUMER_OFFSETS, SHARE_GROUP_STATE)}
"""What we know of the records of each topic."""

_LAST_VERSION_WITH_NAMES = 12
_NOT_THERE_YET = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER
)  # fmt: skip


@frozen(kw_only=True)
class StoredRecord:
    """One record of an internal topic, as it is in the log."""

    topic: str
    offset: int
    timestamp_ms: int
    key: bytes
    value: bytes | None

    @property
    def table(self) -> RecordTable[Any]:
        """The record types of the topic."""
        return TABLES[self.topic]

    def decode(self) -> CoordinatorRecord:
        """The record as our classes."""
        record: CoordinatorRecord = self.table.decode(self.key, self.value)
        return record


class InternalTopics:
    """Reads what was appended since the last reading. The topics have one partition each."""

    def __init__(self, connection: RawConnection) -> None:
        self._connection = connection
        self._next = dict.fromkeys(TABLES, 0)

    def read(self) -> list[StoredRecord]:
        """The new records of all topics."""
        return [record for topic in TABLES for record in self._new(topic)]

    def _new(self, topic: str) -> Iterator[StoredRecord]:
        for batch in iter_batches(self._fetched(topic)):
            for record in batch.records():
                if record.offset < self._next[topic]:
                    continue
                assert record.key is not None
                yield StoredRecord(
                    topic=topic,
                    offset=record.offset,
                    timestamp_ms=record.timestamp or 0,
                    key=record.key,
                    value=record.value,
                )
            self._next[topic] = max(self._next[topic], batch.header.next_offset)

    def _fetched(self, topic: str) -> bytes | None:
        partition = FetchPartition(partition=0, fetch_offset=self._next[topic], partition_max_bytes=2**24)
        request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=(FetchTopic(topic=topic, partitions=(partition,)),))
        (answer,) = self._connection.ask(request, _LAST_VERSION_WITH_NAMES).responses
        (data,) = answer.partitions
        if data.error_code in _NOT_THERE_YET:
            return None
        assert data.error_code is ErrorCode.NONE, data
        records: bytes | None = data.records
        return records
