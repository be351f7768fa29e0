"""DeleteShareGroupState (key 86), v0: delete the state of share-partitions (KIP-932)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.messages.share_state import ShareStateTopicResult


@frozen(kw_only=True)
class DeleteShareStatePartition:
    """One share-partition."""

    partition: int


@frozen(kw_only=True)
class DeleteShareStateTopic:
    """Share-partitions of one topic."""

    topic_id: UUID | None = None
    partitions: tuple[DeleteShareStatePartition, ...] = ()


@frozen(kw_only=True)
class DeleteShareGroupStateRequest:
    """Sent by the group coordinator to the share coordinator."""

    group_id: str
    topics: tuple[DeleteShareStateTopic, ...] = ()


@frozen(kw_only=True)
class DeleteShareGroupStateResponse:
    """One result for each share-partition of the request."""

    results: tuple[ShareStateTopicResult, ...] = ()
