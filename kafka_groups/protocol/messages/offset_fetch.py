"""OffsetFetch (key 9), v1-v10: returns the committed offsets of groups."""

from typing import Final
from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.fields import ignorable

FIRST_WITH_GROUPS: Final = 8
"""Version from which a request can contain several groups (KIP-709)."""
FIRST_WITH_TOPIC_IDS: Final = 10
"""Version from which topics have an id instead of a name (KIP-848)."""
NO_OFFSET: Final = -1
"""The offset of a partition without a committed one, which is not an error."""


@frozen(kw_only=True)
class OffsetFetchRequestTopic:
    """Partitions of one topic: by id from v10, by name before. A request may set both."""

    name: str = ignorable("")  # v1-v9
    topic_id: UUID | None = ignorable(None)  # v10+
    partition_indexes: tuple[int, ...] = ()


@frozen(kw_only=True)
class OffsetFetchRequestGroup:
    """One group. If `topics` is None, all its offsets are returned.

    A member of a consumer group sends its id and epoch, so that a stale member gets an error. Others send None and -1.
    """

    group_id: str
    member_id: str | None = ignorable(None)  # v9+
    member_epoch: int = ignorable(-1)  # v9+
    topics: tuple[OffsetFetchRequestTopic, ...] | None = ()


@frozen(kw_only=True)
class OffsetFetchRequest:
    """`groups` from v8 (KIP-709). Before, the request itself has the fields of the only group.

    With `require_stable`, offsets that an open transaction may change get UNSTABLE_OFFSET_COMMIT (KIP-447).
    """

    group_id: str = ""  # v1-v7
    topics: tuple[OffsetFetchRequestTopic, ...] | None = ()  # v1-v7; None (all) from v2
    groups: tuple[OffsetFetchRequestGroup, ...] = ()  # v8+
    require_stable: bool = False  # v7+


@frozen(kw_only=True)
class OffsetFetchResponsePartition:
    """The committed offset of one partition, or -1 if there is none or an error.

    The leader epoch is -1 if it is unknown.
    """

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int = -1  # v5+
    metadata: str | None = None
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class OffsetFetchResponseTopic:
    """Offsets of one topic: by id from v10, by name before."""

    name: str = ""  # v1-v9
    topic_id: UUID | None = None  # v10+
    partitions: tuple[OffsetFetchResponsePartition, ...] = ()


@frozen(kw_only=True)
class OffsetFetchResponseGroup:
    """One group. If the error applies to the whole group, it has no topics."""

    group_id: str
    topics: tuple[OffsetFetchResponseTopic, ...] = ()
    error_code: ErrorCode = ErrorCode.NONE


@frozen(kw_only=True)
class OffsetFetchResponse:
    """`groups` from v8. Before, the response itself has the fields of the only group.

    Version 1 has no error of the group, so it is repeated for each partition.
    """

    throttle_time_ms: int = 0  # v3+
    topics: tuple[OffsetFetchResponseTopic, ...] = ()  # v1-v7
    error_code: ErrorCode = ErrorCode.NONE  # v2-v7
    groups: tuple[OffsetFetchResponseGroup, ...] = ()  # v8+
