"""WriteShareGroupState (key 85), v0-v1: persist changes to share-partitions (KIP-932, KIP-1226)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.fields import ignorable
from kafka_groups.protocol.messages.share_state import UNKNOWN_COUNT, ShareStateTopicResult, StateBatch


@frozen(kw_only=True)
class WriteShareStatePartition:
    """Changes to one share-partition.

    A `start_offset` of -1 means that it has not changed. `delivery_complete_count` is the number of offsets from the
    start offset on that are done, or -1 if it is unknown.
    """

    partition: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int = ignorable(UNKNOWN_COUNT)  # v1+
    state_batches: tuple[StateBatch, ...] = ()


@frozen(kw_only=True)
class WriteShareStateTopic:
    """Share-partitions of one topic."""

    topic_id: UUID | None = None
    partitions: tuple[WriteShareStatePartition, ...] = ()


@frozen(kw_only=True)
class WriteShareGroupStateRequest:
    """Sent by the leader of the share-partitions to the share coordinator."""

    group_id: str
    topics: tuple[WriteShareStateTopic, ...] = ()


@frozen(kw_only=True)
class WriteShareGroupStateResponse:
    """One result for each share-partition of the request."""

    results: tuple[ShareStateTopicResult, ...] = ()
