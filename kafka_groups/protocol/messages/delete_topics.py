"""TODO delete_topics (key 20), versions 1-6."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class DeleteTopicState:
    """TODO."""

    name: str | None = None
    topic_id: UUID | None = None


@frozen(kw_only=True)
class DeleteTopicsRequest:
    """TODO."""

    topics: tuple[DeleteTopicState, ...] = ()  # v6+
    timeout_ms: int
    topic_names: tuple[str, ...] = ()  # v1-v5


@frozen(kw_only=True)
class DeletableTopicResult:
    """TODO."""

    name: str | None = None
    topic_id: UUID | None = None  # v6+
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None  # v5+


@frozen(kw_only=True)
class DeleteTopicsResponse:
    """TODO."""

    throttle_time_ms: int = 0
    responses: tuple[DeletableTopicResult, ...] = ()
