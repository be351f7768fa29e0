"""DeleteTopics (key 20), v1-v6: deletes topics by name, or by id from v6 (KIP-516)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class DeleteTopicState:
    """One topic by name or by id. The other one is None."""

    name: str | None = None
    topic_id: UUID | None = None


@frozen(kw_only=True)
class DeleteTopicsRequest:
    """`topics` from v6, `topic_names` before. `timeout_ms` limits the wait for the controller."""

    topics: tuple[DeleteTopicState, ...] = ()  # v6+
    timeout_ms: int
    topic_names: tuple[str, ...] = ()  # v1-v5


@frozen(kw_only=True)
class DeletableTopicResult:
    """The result for one topic. The name is None if the request used an unknown id."""

    name: str | None = None
    topic_id: UUID | None = None  # v6+
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None  # v5+


@frozen(kw_only=True)
class DeleteTopicsResponse:
    """One result for each topic of the request."""

    throttle_time_ms: int = 0
    responses: tuple[DeletableTopicResult, ...] = ()
