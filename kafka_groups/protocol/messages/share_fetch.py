"""ShareFetch (key 78), v1-v2: acquires records of a share group and acknowledges others (KIP-932)."""

import enum
from typing import Final
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.fields import ignorable
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch, NodeEndpoint
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch

INITIAL_EPOCH: Final = 0
"""Epoch that opens a share session, or replaces it."""
FINAL_EPOCH: Final = -1
"""Epoch that closes a share session."""
MAX_EPOCH: Final = 2**31 - 1
"""The epoch after this one is 1."""


class AcquireMode(enum.IntEnum):
    """The strictness with which the broker applies MaxRecords (KIP-1206)."""

    BATCH_OPTIMIZED = 0
    """Acquire whole batches. The last one is the one that reaches MaxRecords, and it may exceed it."""
    RECORD_LIMIT = 1
    """Never acquire more than MaxRecords. Batches are split."""


@frozen(kw_only=True)
class ShareFetchPartition:
    """A partition to add to the session, or with acknowledgements (not allowed with epoch 0)."""

    partition_index: int
    acknowledgement_batches: tuple[AcknowledgementBatch, ...] = ()


@frozen(kw_only=True)
class ShareFetchTopic:
    """Partitions of one topic."""

    topic_id: UUID | None = None
    partitions: tuple[ShareFetchPartition, ...] = ()


@frozen(kw_only=True)
class ShareForgottenTopic:
    """Partitions to remove from the session."""

    topic_id: UUID | None = None
    partitions: tuple[int, ...] = ()


@frozen(kw_only=True)
class ShareFetchRequest:
    """Waits up to `max_wait_ms` for `min_bytes`. Epoch 0 opens a share session, -1 closes it.

    The broker may exceed `max_records` to finish a batch of the log, unless `share_acquire_mode` is 1, record limit
    (KIP-1206). `batch_size` is the number of records that one acquired range should contain. A request with
    `is_renew_ack` fetches nothing, and all of its limits must be 0 (KIP-1222).
    """

    group_id: str | None = None
    member_id: str | None = None
    share_session_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int = 2147483647
    max_records: int
    batch_size: int
    share_acquire_mode: int = ignorable(0)  # v2+
    is_renew_ack: bool = False  # v2+
    topics: tuple[ShareFetchTopic, ...] = ()
    forgotten_topics_data: tuple[ShareForgottenTopic, ...] = ()


@frozen(kw_only=True)
class AcquiredRecords:
    """Acquired offsets, both ends included. `delivery_count` is 1 for the first delivery."""

    first_offset: int
    last_offset: int
    delivery_count: int


@frozen(kw_only=True)
class ShareFetchPartitionData:
    """Records of one partition as raw batches, or None.

    Only records in `acquired_records` may be returned to the application. The acknowledgement error applies to the
    acknowledgements in the request.
    """

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    acknowledge_error_code: ErrorCode = ErrorCode.NONE
    acknowledge_error_message: str | None = None
    current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch()
    records: bytes | None = None
    acquired_records: tuple[AcquiredRecords, ...] = ()


@frozen(kw_only=True)
class ShareFetchableTopicResponse:
    """Partitions of one topic."""

    topic_id: UUID | None = None
    partitions: tuple[ShareFetchPartitionData, ...] = ()


@frozen(kw_only=True)
class ShareFetchResponse:
    """The error applies to the session or the request. Records stay acquired for `acquisition_lock_timeout_ms`."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    acquisition_lock_timeout_ms: int
    responses: tuple[ShareFetchableTopicResponse, ...] = ()
    node_endpoints: tuple[NodeEndpoint, ...] = ()
