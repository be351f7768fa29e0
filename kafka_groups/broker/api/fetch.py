"""Fetch (key 1), v4-v18: returns whole record batches of partitions, with incremental sessions (KIP-227, v7).

Waits until `min_bytes` are available, a partition has an error, or `max_wait_ms` have passed. A response contains at
most `max_bytes` (and at most the broker's `fetch.max.bytes`), and at most its own limit for each partition. The first
partition with data always returns at least one batch. Topics are identified by name up to v12 and by id from v13. With
the isolation level `read_committed`, a consumer gets the records before the last stable offset, and a list of the
transactions among them that were aborted. From v12 a consumer may name the leader epoch of the last batch that it has:
if the log was truncated since, the response says where the two diverge, and contains no records. Replicas are not
supported: every fetch is from a consumer.

Errors of the request: FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR.
Errors per partition: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID (v13),
OFFSET_OUT_OF_RANGE, NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH (with the leader from v16), UNKNOWN_LEADER_EPOCH.
"""

from collections.abc import Collection, Sequence
from functools import partial
from uuid import UUID

from kafka_groups.acls import AclOperation, AclResourceType
from kafka_groups.broker.log.batches import ReadResult
from kafka_groups.broker.log.leader_epochs import EpochEnd
from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of
from kafka_groups.broker.requests.fetch_sessions import FetchPlan, FetchTarget, TargetKey, targets
from kafka_groups.broker.requests.leadership import current_leader, led_partition, node_endpoints, topic_by_id_or_name
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP
from kafka_groups.errors import (
    BrokerError,
    FencedLeaderEpochError,
    NotLeaderOrFollowerError,
    TopicAuthorizationFailedError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.messages.fetch import (
    READ_COMMITTED,
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kafka_groups.protocol.messages.leadership import NO_LEADER_EPOCH, LeaderIdAndEpoch
from kafka_groups.types import TopicIdPartition

__all__ = ["handle"]

_FIRST_WITH_TOPIC_IDS, _FIRST_WITH_ADDRESSES = 13, 16
_UNKNOWN_OFFSET = -1
_UNKNOWN = (UnknownTopicIdError, UnknownTopicOrPartitionError)

Answers = list[tuple[FetchTarget, PartitionData]]


async def handle(request: FetchRequest, context: RequestContext) -> FetchResponse:
    """Return the batches."""
    services = context.services
    try:
        plan = services.fetch_sessions.plan(
            request,
            {target.key: target async for target in context.turns.each(targets(request), CHEAP)},
            uses_topic_ids=context.version >= _FIRST_WITH_TOPIC_IDS,
            max_sessions=services.cluster.settings.max_incremental_fetch_session_cache_slots,
            now_ms=context.now_ms,
        )
    except BrokerError as error:
        return FetchResponse(error_code=code_of(error))
    unreadable = await _unreadable(plan.targets, context)
    readable = [each for each in plan.targets if each.key not in unreadable] if unreadable else plan.targets
    await _wait_for_bytes(readable, request, context)
    answers = await _read_all(plan, request, unreadable, context)
    leaders = (data.current_leader for _, data in answers)
    return FetchResponse(
        session_id=plan.session_id,
        responses=await _by_topic(answers, context),
        node_endpoints=node_endpoints(services.cluster.metadata, leaders),
    )


# ------------------------------------------------------------------------------------------- waiting


async def _unreadable(targets: Sequence[FetchTarget], context: RequestContext) -> Collection[TargetKey]:
    """Return the partitions that the client may not read. As in Kafka, they do not end the wait for others."""
    if not context.has_authorizer:
        return ()
    readable: dict[int | str, bool] = {}
    for target in targets:
        # Every fetch comes here: an asynchronous iterator would cost more than the question.
        if context.turns.takes(CHEAP):
            await context.turns.pause()
        # One question for each topic, as topics may have many partitions.
        if target.key[0] not in readable:
            readable[target.key[0]] = _may_read(target, context)
    if all(readable.values()):
        return ()
    return {target.key for target in targets if not readable[target.key[0]]}


def _may_read(target: FetchTarget, context: RequestContext) -> bool:
    topic = None if target.topic_id is None else context.services.cluster.metadata.topic_by_id(target.topic_id)
    name = target.topic if topic is None else topic.name
    # Nothing is asked about an unknown id.
    return not name or context.may(AclOperation.READ, AclResourceType.TOPIC, name)


async def _wait_for_bytes(targets: Sequence[FetchTarget], request: FetchRequest, context: RequestContext) -> None:
    services, turns = context.services, context.turns
    deadline_ms = context.now_ms + request.max_wait_ms
    found = [_partition_key(target, context) async for target in turns.each(targets)]
    keys = [key for key in found if key is not None]
    # Without any partition, nothing could end the wait.
    if keys and request.max_wait_ms > 0:
        can_answer = partial(_can_answer, targets, request, context)
        await services.purgatory.wait(keys, can_answer, deadline_ms, turns)


def _partition_key(target: FetchTarget, context: RequestContext) -> TopicIdPartition | None:
    try:
        topic = topic_by_id_or_name(context.services.cluster.metadata, target.topic_id, target.topic)
    except BrokerError:
        return None  # returned as this error as soon as the partitions are read
    return topic.topic_id_partition(target.request.partition)


async def _can_answer(targets: Sequence[FetchTarget], request: FetchRequest, context: RequestContext) -> bool:
    missing, is_stable = request.min_bytes, request.isolation_level == READ_COMMITTED
    async for target in context.turns.each(targets):
        # The conditions that end a wait are those of DelayedFetch.tryComplete in Kafka: enough bytes, an error of a
        # partition, or a log that diverges.
        if missing <= 0:
            return True
        try:
            log, diverging = _log_of(target, context)
            if diverging is not None:
                return True
            available = log.available_bytes(target.request.fetch_offset, is_stable=is_stable)
        except BrokerError:
            return True  # an error is returned at once
        # The response could not contain more of the partition than this.
        missing -= min(available, target.request.partition_max_bytes)
    return missing <= 0


# ------------------------------------------------------------------------------------------- reading


async def _read_all(
    plan: FetchPlan, request: FetchRequest, unreadable: Collection[TargetKey], context: RequestContext
) -> Answers:
    services = context.services
    left = min(request.max_bytes, services.cluster.settings.fetch_max_bytes)
    is_stable = request.isolation_level == READ_COMMITTED
    answers: Answers = []
    is_empty = True
    async for target in context.turns.each(plan.targets):
        max_bytes = max(min(left, target.request.partition_max_bytes), 0)
        # Only the first partition with data may exceed the limits, by its first batch (ReplicaManager.readFromLog in
        # Kafka), so a large batch cannot stop a consumer.
        if unreadable and target.key in unreadable:
            data = _refusal(target, TopicAuthorizationFailedError(), context)
        else:
            data = _read_or_refuse(target, max_bytes, context, min_one=is_empty, is_stable=is_stable)
        size = len(data.records or b"")
        left -= size
        is_empty = is_empty and not size
        if plan.must_tell(target, data):
            answers.append((target, data))
    return answers


def _read_or_refuse(
    target: FetchTarget,
    max_bytes: int,
    context: RequestContext,
    *,
    min_one: bool,
    is_stable: bool,
) -> PartitionData:
    offset = target.request.fetch_offset
    try:
        log, diverging = _log_of(target, context)
        if diverging is not None:
            return _diverging(target, log, diverging)
        read = log.read(offset, max_bytes, min_one=min_one, is_stable=is_stable)
    except BrokerError as error:
        return _refusal(target, error, context)
    return PartitionData(
        partition_index=target.request.partition,
        high_watermark=read.high_watermark,
        last_stable_offset=read.last_stable_offset,
        log_start_offset=read.log_start_offset,
        aborted_transactions=_aborted(log, offset, read) if is_stable else None,
        records=read.records,
    )


def _aborted(log: PartitionLog, offset: int, read: ReadResult) -> tuple[AbortedTransaction, ...]:
    """Return the aborted transactions with records among those that were read."""
    end_offset = read.batches[-1].last_offset + 1 if read.batches else offset
    return tuple(
        AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
        for each in log.aborted_between(offset, end_offset)
    )


def _log_of(target: FetchTarget, context: RequestContext) -> tuple[PartitionLog, EpochEnd | None]:
    """Return the log, and where it diverges from what the consumer has."""
    topic, wanted = (
        topic_by_id_or_name(context.services.cluster.metadata, target.topic_id, target.topic),
        target.request,
    )
    # Any negative epoch means that there is none (FetchRequest.optionalEpoch in Kafka).
    led = led_partition(context.services, topic, wanted.partition, max(wanted.current_leader_epoch, NO_LEADER_EPOCH))
    log = context.services.cluster.logs.get(topic.topic_id, wanted.partition)
    # Without an epoch there is nothing to compare, as for consumers before v12.
    if wanted.last_fetched_epoch < 0:
        return log, None
    return log, log.divergence(wanted.fetch_offset, wanted.last_fetched_epoch, led.leader_epoch)


def _diverging(target: FetchTarget, log: PartitionLog, end: EpochEnd) -> PartitionData:
    return PartitionData(
        partition_index=target.request.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        diverging_epoch=EpochEndOffset(epoch=end.epoch, end_offset=end.end_offset),
        aborted_transactions=None,
        records=b"",
    )


def _refusal(target: FetchTarget, error: BrokerError, context: RequestContext) -> PartitionData:
    leader = LeaderIdAndEpoch()
    # With the new leader in the response, the client need not ask for metadata first (KIP-951). Kafka fills the field,
    # which is older, only together with the addresses (KafkaApis.handleFetchRequest).
    is_hinted = context.version >= _FIRST_WITH_ADDRESSES
    if is_hinted and isinstance(error, (NotLeaderOrFollowerError, FencedLeaderEpochError)):
        topic = topic_by_id_or_name(context.services.cluster.metadata, target.topic_id, target.topic)
        leader = current_leader(topic, target.request.partition)
    return PartitionData(
        partition_index=target.request.partition,
        error_code=code_of(error),
        high_watermark=_UNKNOWN_OFFSET,
        aborted_transactions=() if isinstance(error, _UNKNOWN) else None,
        current_leader=leader,
        records=b"",
    )


async def _by_topic(answers: Answers, context: RequestContext) -> tuple[FetchableTopicResponse, ...]:
    topics: dict[tuple[UUID | None, str], list[PartitionData]] = {}
    async for target, data in context.turns.each(answers, CHEAP):
        topics.setdefault((target.topic_id, target.topic), []).append(data)
    return tuple(
        [
            FetchableTopicResponse(topic_id=topic_id, topic=name, partitions=tuple(partitions))
            async for (topic_id, name), partitions in context.turns.each(topics.items())
        ]
    )
