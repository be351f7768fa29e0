"""DeleteShareGroupOffsets (key 92), v0: forget the topics of a share group without members (KIP-932)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class DeleteShareGroupOffsetsRequestTopic:
    """One topic, by its name."""

    topic_name: str


@frozen(kw_only=True)
class DeleteShareGroupOffsetsRequest:
    """Topics of one group."""

    group_id: str
    topics: tuple[DeleteShareGroupOffsetsRequestTopic, ...] = ()


@frozen(kw_only=True)
class DeleteShareGroupOffsetsResponseTopic:
    """The result for one topic. The id is None if the topic is unknown."""

    topic_name: str
    topic_id: UUID | None = None
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class DeleteShareGroupOffsetsResponse:
    """The error applies to the group: NON_EMPTY_GROUP if it has members."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    responses: tuple[DeleteShareGroupOffsetsResponseTopic, ...] = ()
