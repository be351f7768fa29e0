"""ReadShareGroupState (key 84), v0: read the state of share-partitions, as their new leader (KIP-932)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_state import StateBatch


@frozen(kw_only=True)
class ReadShareStatePartition:
    """One share-partition. Leaders with an older epoch are fenced from then on."""

    partition: int
    leader_epoch: int


@frozen(kw_only=True)
class ReadShareStateTopic:
    """Share-partitions of one topic."""

    topic_id: UUID | None = None
    partitions: tuple[ReadShareStatePartition, ...] = ()


@frozen(kw_only=True)
class ReadShareGroupStateRequest:
    """Sent by the leader of the share-partitions to the share coordinator."""

    group_id: str
    topics: tuple[ReadShareStateTopic, ...] = ()


@frozen(kw_only=True)
class ReadShareStatePartitionResult:
    """The full state of one share-partition. `start_offset` is -1 if no leader has resolved it yet."""

    partition: int
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    state_epoch: int = 0
    start_offset: int = 0
    state_batches: tuple[StateBatch, ...] = ()


@frozen(kw_only=True)
class ReadShareStateTopicResult:
    """Share-partitions of one topic."""

    topic_id: UUID | None = None
    partitions: tuple[ReadShareStatePartitionResult, ...] = ()


@frozen(kw_only=True)
class ReadShareGroupStateResponse:
    """One result for each share-partition of the request."""

    results: tuple[ReadShareStateTopicResult, ...] = ()
