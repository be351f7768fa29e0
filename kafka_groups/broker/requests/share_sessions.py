"""Code that the handlers of ShareFetch and ShareAcknowledge share."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar
from uuid import UUID

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.authorization.refusals import refusal_of
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.group_coordination import check_share_groups_enabled
from kafka_groups.broker.requests.leadership import current_leader
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, CooperativeYield
from kafka_groups.broker.share_partitions.partition import SharePartitionKey
from kafka_groups.broker.share_partitions.sessions import ShareSessionKey
from kafka_groups.broker.share_partitions.writing import StateChange
from kafka_groups.errors import (
    BrokerError,
    FencedLeaderEpochError,
    InvalidRequestError,
    NotLeaderOrFollowerError,
    UnknownServerError,
)
from kafka_groups.protocol.messages.leadership import LeaderIdAndEpoch
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.types import TopicIdPartition

__all__ = [
    "AcknowledgementErrors",
    "ListedTopic",
    "acknowledged",
    "by_topic",
    "close_session",
    "leader_hint",
    "let_waiting_fetches_check",
    "listed_partitions",
    "notify_changed",
    "outcomes_of",
    "partition_of",
    "session_key",
    "unreadable_partitions",
]

P = TypeVar("P")

PlannedChanges: TypeAlias = Mapping[TopicIdPartition, StateChange | BrokerError]
"""The change that the acknowledgements of each partition make, or why they are refused."""

AcknowledgementErrors: TypeAlias = dict[TopicIdPartition, BrokerError | None]
"""The error of each partition, or None for success."""

_MAX_MEMBER_ID_LENGTH = 36
_ZERO_ID = UUID(int=0)
_NO_HINT = LeaderIdAndEpoch()


class ListedPartition(Protocol):
    """A partition in a request of either API."""

    @property
    def partition_index(self) -> int:
        """The number of the partition."""
        ...

    @property
    def acknowledgement_batches(self) -> tuple[AcknowledgementBatch, ...]:
        """The acknowledgements of the partition."""
        ...


class ListedTopic(Protocol):
    """A topic in a request of either API."""

    @property
    def topic_id(self) -> UUID | None:
        """The id of the topic."""
        ...

    @property
    def partitions(self) -> Sequence[ListedPartition]:
        """The partitions of the topic."""
        ...


def session_key(group_id: str | None, member_id: str | None, context: RequestContext) -> ShareSessionKey:
    """Return the group and member of a request's session.

    Raises:
        UnsupportedVersionError: The feature share.version is at level 0.
        InvalidRequestError: The group id is missing, or the member id is missing, empty or longer than 36 characters.
        GroupAuthorizationFailedError: The client may not read with the group.
    """
    # The order of checks is that of KafkaApis.handleShareFetchRequest: feature, group id, member id.
    check_share_groups_enabled(context.services)
    if group_id is None:
        raise InvalidRequestError("The request has no group id.")
    # The client makes the member id since Kafka 4.1 (KIP-932, "Member ID", has the coordinator make it). 36 is the
    # length of a UUID in its usual form.
    if not member_id or len(member_id) > _MAX_MEMBER_ID_LENGTH:
        raise InvalidRequestError(
            f"Invalid member id: expected 1 to {_MAX_MEMBER_ID_LENGTH} characters, got {len(member_id or '')}."
        )
    context.require(AclOperation.READ, AclResourceType.GROUP, group_id)
    return ShareSessionKey(group_id, member_id)


def unreadable_partitions(
    partitions: Collection[TopicIdPartition], context: RequestContext
) -> dict[TopicIdPartition, BrokerError]:
    """Return the partitions that the client may not read, with the error. The session has them all the same.

    Raises:
        UnknownServerError: A topic does not exist, and there is an authorizer.
    """
    if not context.has_authorizer:
        return {}
    topics = {partition.topic for partition in partitions}
    # Kafka asks its authorizer about a topic without a name, which fails (KafkaApis.handleShareFetchRequest). Only
    # without an authorizer the client learns that the id is unknown.
    if None in topics:
        raise UnknownServerError
    names = [topic for topic in topics if topic is not None]
    readable = context.visible(AclOperation.READ, AclResourceType.TOPIC, names)
    if len(readable) == len(names):
        return {}
    refusal = refusal_of(AclResourceType.TOPIC)
    return {partition: refusal for partition in partitions if partition.topic not in readable}


def partition_of(context: RequestContext, topic_id: UUID | None, partition: int) -> TopicIdPartition:
    """Return a partition by its topic's id, with the topic's name if the topic exists."""
    # The name stays with the partition in the session, so that a topic that is deleted later is still known by name.
    topic = None if topic_id is None else context.services.cluster.metadata.topic_by_id(topic_id)
    return TopicIdPartition(topic_id or _ZERO_ID, partition, None if topic is None else topic.name)


async def listed_partitions(
    topics: Iterable[ListedTopic], context: RequestContext
) -> dict[TopicIdPartition, tuple[AcknowledgementBatch, ...]]:
    """Return the partitions of a request with their acknowledgements."""
    return {
        partition_of(context, topic.topic_id, partition.partition_index): partition.acknowledgement_batches
        for topic in topics
        async for partition in context.turns.each(topic.partitions, CHEAP)
    }


async def acknowledged(
    key: ShareSessionKey,
    acknowledgements: Mapping[TopicIdPartition, tuple[AcknowledgementBatch, ...]],
    context: RequestContext,
    *,
    is_renew_ack: bool,
) -> AcknowledgementErrors:
    """Apply the acknowledgements of a request partition by partition, so that others have their turn in between."""
    share, turns = context.services.share, context.turns
    await let_waiting_fetches_check(key.group_id, acknowledgements, context)
    changes: dict[TopicIdPartition, StateChange | BrokerError] = {}
    async for partition, batches in turns.each(acknowledgements.items()):
        planned = share.plan(key, partition, batches, is_renew_ack=is_renew_ack, now_ms=context.now_ms)
        if isinstance(planned, StateChange):
            # Partitions are independent: one that is refused does not keep the others from being written (KIP-932,
            # "Client programming interface", has one error for each share-partition).
            share.led.write(planned)
        changes[partition] = planned
    return await outcomes_of(changes, turns)


async def outcomes_of(changes: PlannedChanges, turns: CooperativeYield) -> AcknowledgementErrors:
    """Wait until acknowledgements are written or refused, and return the error of each partition."""
    return {
        partition: await written(each) if isinstance(each, StateChange) else each
        async for partition, each in turns.each(changes.items(), CHEAP)
    }


async def written(change: StateChange) -> BrokerError | None:
    """Wait until a change is written, and return None, or why it was refused."""
    # A write to this broker's own coordinator may end at once; otherwise the request waits, as in Kafka
    # (SharePartition.rollbackOrProcessStateUpdates).
    if not change.has_ended:
        change.waiter = waiter = asyncio.get_running_loop().create_future()
        await waiter
    return change.error


async def close_session(key: ShareSessionKey, context: RequestContext) -> None:
    """Close a session, and wait until the release of its records is written."""
    for change in context.services.share.close_session(key, context.now_ms):
        await written(change)


def leader_hint(partition: TopicIdPartition, error: BrokerError | None, context: RequestContext) -> LeaderIdAndEpoch:
    """Return the leader, for a client that asked the wrong broker (KIP-951)."""
    # Only these two errors say that another broker should be asked.
    if not isinstance(error, NotLeaderOrFollowerError | FencedLeaderEpochError):
        return _NO_HINT
    return current_leader(context.services.cluster.metadata.topic_by_id(partition.topic_id), partition.partition)


async def by_topic(answers: Mapping[TopicIdPartition, P], turns: CooperativeYield) -> dict[UUID, tuple[P, ...]]:
    """Return the results of partitions, grouped by topic as in responses."""
    topics: dict[UUID, list[P]] = {}
    async for partition, answer in turns.each(answers.items(), CHEAP):
        topics.setdefault(partition.topic_id, []).append(answer)
    return {topic_id: tuple(partitions) async for topic_id, partitions in turns.each(topics.items(), CHEAP)}


async def let_waiting_fetches_check(
    group_id: str, partitions: Iterable[TopicIdPartition], context: RequestContext
) -> None:
    """Let waiting share fetches check share-partitions before acknowledgements change them, as Kafka does.

    What was released before is theirs then. Releasing alone does not end their wait.
    """
    keys = context.turns.each((SharePartitionKey(group_id, partition) for partition in partitions), CHEAP)
    waits_ended = [context.services.purgatory.notify(key) async for key in keys]
    if any(waits_ended):
        await asyncio.sleep(0)


def notify_changed(context: RequestContext) -> bool:
    """Let waiting share fetches check the share-partitions that changed; return whether any has."""
    changed = context.services.share.led.take_changed()
    for key in changed:
        context.services.purgatory.notify(key)
    return bool(changed)
