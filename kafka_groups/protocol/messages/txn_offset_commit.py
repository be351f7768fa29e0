"""TxnOffsetCommit (key 28), v0-v6: commits offsets as part of a transaction (KIP-98, KIP-447, KIP-890, KIP-1319)."""

from typing import Final
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.fields import ignorable

FIRST_WITH_TOPIC_IDS: Final = 6
"""Version from which topics have an id instead of a name (KIP-1319)."""
FIRST_THAT_ADDS: Final = 5
"""Version from which the request adds the offsets to the transaction by itself (`transaction.version` 2)."""


@frozen(kw_only=True)
class TxnOffsetCommitRequestPartition:
    """The offset of the next record to consume from one partition.

    The leader epoch is that of the last consumed record, or -1 if it is unknown (KIP-320).
    """

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = ignorable(-1)  # v2+
    committed_metadata: str | None = None


@frozen(kw_only=True)
class TxnOffsetCommitRequestTopic:
    """Offsets of one topic: by id from v6, by name before. A request may set both."""

    name: str = ignorable("")  # v0-v5
    topic_id: UUID | None = ignorable(None)  # v6+
    partitions: tuple[TxnOffsetCommitRequestPartition, ...] = ()


@frozen(kw_only=True)
class TxnOffsetCommitRequest:
    """The producer and the member. Without a member, the generation is -1 and `member_id` is empty."""

    transactional_id: str
    group_id: str
    producer_id: int
    producer_epoch: int
    generation_id: int = -1  # v3+
    member_id: str = ""  # v3+
    group_instance_id: str | None = None  # v3+
    topics: tuple[TxnOffsetCommitRequestTopic, ...] = ()


@frozen(kw_only=True)
class TxnOffsetCommitResponsePartition:
    """The result for one partition. An error of the whole group is repeated for each partition."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class TxnOffsetCommitResponseTopic:
    """Results of one topic: by id from v6, by name before."""

    name: str = ""  # v0-v5
    topic_id: UUID | None = None  # v6+
    partitions: tuple[TxnOffsetCommitResponsePartition, ...] = ()


@frozen(kw_only=True)
class TxnOffsetCommitResponse:
    """One result for each partition of the request."""

    throttle_time_ms: int = 0
    topics: tuple[TxnOffsetCommitResponseTopic, ...] = ()
