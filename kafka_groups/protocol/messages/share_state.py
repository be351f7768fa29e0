"""The state of share-partitions: parts that several APIs, and the records of `__share_group_state`, share (KIP-932)."""

from typing import Final
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.fields import Int8, Int16, Int64

UNINITIALIZED_OFFSET: Final = -1
"""Start offset of a share-partition before its group's `share.auto.offset.reset` is resolved."""
UNKNOWN_COUNT: Final = -1
"""Delivery complete count of a share-partition whose start offset is not known yet, or from an older release."""


@frozen(kw_only=True)
class StateBatch:
    """The state of the offsets from first to last, both included.

    `delivery_state` is 0 (available), 2 (acknowledged), 3 (being archived, with dead letters; KIP-1191) or 4
    (archived). Acquired records are not persisted.
    """

    first_offset: Int64
    last_offset: Int64
    delivery_state: Int8
    delivery_count: Int16


@frozen(kw_only=True)
class ShareStatePartitionResult:
    """The result for one share-partition."""

    partition: int
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class ShareStateTopicResult:
    """Share-partitions of one topic."""

    topic_id: UUID | None = None
    partitions: tuple[ShareStatePartitionResult, ...] = ()
