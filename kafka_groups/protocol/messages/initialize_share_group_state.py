"""InitializeShareGroupState (key 83), v0: create the state of share-partitions (KIP-932)."""

from uuid import UUID

from attrs import frozen

from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET, ShareStateTopicResult


@frozen(kw_only=True)
class InitializeShareStatePartition:
    """One share-partition. A `start_offset` of -1 leaves the start to the group's `share.auto.offset.reset`."""

    partition: int
    state_epoch: int
    start_offset: int = UNINITIALIZED_OFFSET


@frozen(kw_only=True)
class InitializeShareStateTopic:
    """Share-partitions of one topic."""

    topic_id: UUID | None = None
    partitions: tuple[InitializeShareStatePartition, ...] = ()


@frozen(kw_only=True)
class InitializeShareGroupStateRequest:
    """Sent by the group coordinator to the share coordinator."""

    group_id: str
    topics: tuple[InitializeShareStateTopic, ...] = ()


@frozen(kw_only=True)
class InitializeShareGroupStateResponse:
    """One result for each share-partition of the request."""

    results: tuple[ShareStateTopicResult, ...] = ()
