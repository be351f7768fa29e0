"""ShareFetch (key 78), v1-v2: acquires records for a member of a share group and acknowledges others (KIP-932).

Epoch 0 opens a share session with the listed partitions. The following epochs add and remove partitions. Epoch -1
closes the session and releases all records that the member holds. The fetch acquires what it finds, and then the
acknowledgements take effect. If it has not found enough, it waits, like any other fetch, until `min_bytes` can be read
or `max_wait_ms` have passed. The response also contains the result of the acknowledgements. A partition that a request
both lists and removes is only acknowledged. With `is_renew_ack` (v2, KIP-1222) nothing is fetched.

The order in which the partitions of a session are read rotates with the epoch, and those that gave records to the
fetch before come last. `max_bytes` is divided evenly between the partitions below their in-flight limit. `max_records`
applies to all of them together: as a hint, by whole batches, or strictly with `share_acquire_mode` 1 (v2, KIP-1206).
Only the first response of a session contains every partition.

Errors of the request: UNSUPPORTED_VERSION (share.version=0), GROUP_AUTHORIZATION_FAILED, INVALID_REQUEST (no group id,
invalid member id, acknowledgements with epoch 0, renewal with limits other than 0), SHARE_SESSION_NOT_FOUND,
INVALID_SHARE_SESSION_EPOCH, SHARE_SESSION_LIMIT_REACHED (after `max_wait_ms`, so that clients don't retry at once),
UNKNOWN_SERVER_ERROR (unknown acquire mode; with an authorizer also an unknown topic id; the epoch counts, as in Kafka).
Errors per partition: TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER
with the leader, UNKNOWN_SERVER_ERROR (its state is not initialised). Errors of acknowledgements: as for
ShareAcknowledge.
"""

import asyncio
from collections.abc import Hashable, Mapping
from uuid import UUID

from kafka_groups.broker.requests.context import RequestContext
from kafka_groups.broker.requests.error_fields import code_of, message_unless_refused
from kafka_groups.broker.requests.leadership import node_endpoints
from kafka_groups.broker.requests.share_sessions import (
    AcknowledgementErrors,
    acknowledged,
    by_topic,
    close_session,
    leader_hint,
    let_waiting_fetches_check,
    listed_partitions,
    notify_changed,
    outcomes_of,
    partition_of,
    session_key,
    unreadable_partitions,
)
from kafka_groups.broker.runtime.scheduling.cooperative_yield import CHEAP, CooperativeYield, at_once
from kafka_groups.broker.share_partitions.fetching import (
    NOTHING_FETCHED,
    FetchedPartition,
    FetchRequested,
    ShareFetching,
    ShareFetchLimits,
)
from kafka_groups.broker.share_partitions.partition import SharePartitionKey
from kafka_groups.broker.share_partitions.writing import StateChange
from kafka_groups.errors import BrokerError, InvalidRequestError, ShareSessionLimitReachedError, UnknownServerError
from kafka_groups.protocol.messages.share_fetch import (
    FINAL_EPOCH,
    AcquireMode,
    ShareFetchableTopicResponse,
    ShareFetchPartitionData,
    ShareFetchRequest,
    ShareFetchResponse,
)
from kafka_groups.types import TopicIdPartition

__all__ = ["handle"]

_ACQUIRE_MODES = frozenset(AcquireMode)

Fetched = Mapping[TopicIdPartition, FetchedPartition]
_Result = tuple[Fetched, AcknowledgementErrors]

_MOST_AT_ONCE = 100
"""A fetch of so many partitions is served in one turn, up to its wait."""


async def handle(request: ShareFetchRequest, context: RequestContext) -> ShareFetchResponse:
    """Return the acquired records and the results of the acknowledgements."""
    services = context.services
    try:
        begun = await _begin(request, context)
        unreadable = unreadable_partitions((*begun.order, *begun.requested.acknowledgements), context)
    except BrokerError as error:
        # The client would open a session again at once, so the error waits as long as the fetch would have
        # (SharePartitionManager.createIdleShareFetchTimerTask in Kafka).
        if isinstance(error, ShareSessionLimitReachedError):
            await services.purgatory.wait((), _never, context.now_ms + request.max_wait_ms, context.turns)
        message = message_unless_refused(error)
        return ShareFetchResponse(error_code=code_of(error), error_message=message, acquisition_lock_timeout_ms=0)
    # The session has these partitions all the same, and does not wait for them.
    fetching = begun.without(unreadable) if unreadable else begun
    # There are two ways. A fetch of few partitions runs in one turn of the loop, so that nothing comes between its
    # parts. One of thousands would block all other requests for seconds, so it takes turns with them.
    is_long = len(fetching.requested.listed) + len(fetching.order) > _MOST_AT_ONCE
    fetched, outcomes = await (_fetch_long if is_long else _fetch)(fetching, request, context)
    if unreadable:
        errors = {each: FetchedPartition(error=unreadable[each]) for each in begun.order if each in unreadable}
        fetched = {**fetched, **errors}
        outcomes |= {each: unreadable[each] for each in begun.requested.acknowledgements if each in unreadable}
    return await _response(fetching, fetched, outcomes, context)


async def _fetch(fetching: ShareFetching, request: ShareFetchRequest, context: RequestContext) -> _Result:
    share = context.services.share
    acknowledgements = fetching.requested.acknowledgements
    await let_waiting_fetches_check(fetching.key.group_id, acknowledgements, context)
    now_ms = context.now_ms
    planned = {
        partition: share.plan(fetching.key, partition, batches, is_renew_ack=request.is_renew_ack, now_ms=now_ms)
        for partition, batches in acknowledgements.items()
    }
    # Acquired before the acknowledgements take effect: in Kafka they take effect when they are written, which is later.
    fetched = _collected_at_once(fetching, request.max_wait_ms, context)
    changes = [each for each in planned.values() if isinstance(each, StateChange)]
    for change in changes:
        share.led.write(change)
    if request.share_session_epoch == FINAL_EPOCH:
        # KIP-932, "Share sessions": the acknowledgements first, then the release of what is left.
        await outcomes_of(planned, context.turns)
        await close_session(fetching.key, context)
    if notify_changed(context):
        # Fetches that wait for these records come first, as in Kafka, or busy members would starve them.
        await asyncio.sleep(0)
    if fetched is None:
        # Nothing was found at once. This is the wait of DelayedShareFetch in Kafka; what is there at its end is
        # acquired.
        await _wait_for_bytes(fetching, request.max_wait_ms, context)
        fetched = at_once(share.collect(fetching, context.now_ms))
    notify_changed(context)
    # If the answer had to wait for a write, locks may have expired and the leader may have moved since the records were
    # acquired, so they are looked at again.
    are_written = all(change.has_ended for change in changes)
    outcomes = await outcomes_of(planned, context.turns)
    return fetched if are_written else at_once(share.confirm(fetching, fetched)), outcomes


async def _fetch_long(fetching: ShareFetching, request: ShareFetchRequest, context: RequestContext) -> _Result:
    """Serve a fetch that takes several turns. What it acknowledges takes effect first, partition by partition."""
    share, turns = context.services.share, context.turns
    acknowledgements = fetching.requested.acknowledgements
    outcomes = await acknowledged(fetching.key, acknowledgements, context, is_renew_ack=request.is_renew_ack)
    if request.share_session_epoch == FINAL_EPOCH:
        await close_session(fetching.key, context)
    notify_changed(context)
    await _wait_for_bytes(fetching, request.max_wait_ms, context)
    fetched = await turns.through(share.collect(fetching, context.now_ms), CHEAP)
    notify_changed(context)
    # Others had their turn since the first records were acquired.
    return await turns.through(share.confirm(fetching, fetched), CHEAP), outcomes


async def _begin(request: ShareFetchRequest, context: RequestContext) -> ShareFetching:
    turns = context.turns
    key = session_key(request.group_id, request.member_id, context)
    _check_renewal(request)
    requested = FetchRequested(
        epoch=request.share_session_epoch,
        listed=await listed_partitions(request.topics, context),
        forgotten=[
            partition_of(context, topic.topic_id, partition)
            for topic in request.forgotten_topics_data
            async for partition in turns.each(topic.partitions, CHEAP)
        ],
        limits=_limits(request, context),
        is_renew_ack=request.is_renew_ack,
    )
    beginning = context.services.share.begin_fetch(key, requested, context.connection.id, context.wall_ms)
    fetching = await turns.through(beginning, CHEAP)
    if request.share_acquire_mode not in _ACQUIRE_MODES:
        # After the session, because the epoch counts for this request as well.
        raise UnknownServerError(f"Unknown share acquire mode id: {request.share_acquire_mode}")
    return fetching


def _collected_at_once(fetching: ShareFetching, max_wait_ms: int, context: RequestContext) -> Fetched | None:
    """Acquire what the fetch finds before its own acknowledgements take effect, or return None if it has to wait.

    In Kafka both happen side by side, and acknowledgements take effect when they are written. So a fetch that releases
    records gets them itself only if it has found nothing else.
    """
    share = context.services.share
    # There are two cases. A fetch that may wait acquires only if it has enough, since it could get more later. A fetch
    # that may not wait acquires what there is.
    if max_wait_ms > 0 and not at_once(share.has_enough(fetching, context.now_ms)):
        return None
    return at_once(share.collect(fetching, context.now_ms))


def _check_renewal(request: ShareFetchRequest) -> None:
    limits = (request.max_wait_ms, request.min_bytes, request.max_bytes, request.max_records)
    # KIP-1222; the check of KafkaApis.handleShareFetchRequest.
    if request.is_renew_ack and any(limits):
        raise InvalidRequestError(
            "A share fetch that renews locks must have MaxWaitMs, MinBytes, MaxBytes and MaxRecords of 0."
        )


def _limits(request: ShareFetchRequest, context: RequestContext) -> ShareFetchLimits:
    is_known = request.share_acquire_mode in _ACQUIRE_MODES
    return ShareFetchLimits(
        min_bytes=request.min_bytes,
        # The broker's `fetch.max.bytes` bounds what a client may ask for.
        max_bytes=min(request.max_bytes, context.services.cluster.settings.fetch_max_bytes),
        max_records=request.max_records,
        batch_size=request.batch_size,
        # An unknown mode never fetches: `_begin` refuses the request once the session has been continued.
        mode=AcquireMode(request.share_acquire_mode) if is_known else AcquireMode.BATCH_OPTIMIZED,
    )


async def _wait_for_bytes(fetching: ShareFetching, max_wait_ms: int, context: RequestContext) -> None:
    services, turns = context.services, context.turns
    deadline_ms = context.now_ms + max_wait_ms
    # A closing or renewing fetch reads nothing, so there is nothing to wait for.
    if not fetching.order or max_wait_ms <= 0:
        return
    keys = await _reasons_to_look(fetching, turns)

    async def has_enough() -> bool:
        enough = await turns.through(services.share.has_enough(fetching, context.now_ms), CHEAP)
        notify_changed(context)  # checking releases expired locks, which other fetches may wait for
        return enough

    await services.purgatory.wait(keys, has_enough, deadline_ms, turns)


async def _reasons_to_look(fetching: ShareFetching, turns: CooperativeYield) -> list[Hashable]:
    """Return the keys to wait for. New records notify the partition; others' releases notify the share-partition."""
    keys: list[Hashable] = []
    async for partition in turns.each(fetching.order, CHEAP):
        keys += [partition, SharePartitionKey(fetching.key.group_id, partition)]
    return keys


async def _never() -> bool:
    return False


# ----------------------------------------------------------------------------------------- the response


async def _response(
    fetching: ShareFetching, fetched: Fetched, outcomes: AcknowledgementErrors, context: RequestContext
) -> ShareFetchResponse:
    services, turns = context.services, context.turns
    # The response names partitions with news (ShareSessionContext.updateAndGenerateResponseData in Kafka), and each
    # whose acknowledgements were processed.
    told = {
        partition: None
        async for partition, each in turns.each(fetched.items(), CHEAP)
        if fetching.must_tell(partition, each)
    } | dict.fromkeys(outcomes)
    answers = {
        partition: _answer(partition, fetched.get(partition, NOTHING_FETCHED), outcomes.get(partition), context)
        async for partition in turns.each(told)
    }
    topics = await by_topic(answers, turns)
    return ShareFetchResponse(
        acquisition_lock_timeout_ms=services.share.group_config(fetching.key.group_id).record_lock_duration_ms,
        responses=tuple([_topic(topic_id, found) async for topic_id, found in turns.each(topics.items(), CHEAP)]),
        node_endpoints=node_endpoints(
            services.cluster.metadata, (answer.current_leader for answer in answers.values())
        ),
    )


def _topic(topic_id: UUID, partitions: tuple[ShareFetchPartitionData, ...]) -> ShareFetchableTopicResponse:
    return ShareFetchableTopicResponse(topic_id=topic_id, partitions=partitions)


def _answer(
    partition: TopicIdPartition,
    fetched: FetchedPartition,
    acknowledge_error: BrokerError | None,
    context: RequestContext,
) -> ShareFetchPartitionData:
    return ShareFetchPartitionData(
        partition_index=partition.partition,
        error_code=code_of(fetched.error),
        error_message=message_unless_refused(fetched.error),
        acknowledge_error_code=code_of(acknowledge_error),
        acknowledge_error_message=message_unless_refused(acknowledge_error),
        current_leader=leader_hint(partition, fetched.error or acknowledge_error, context),
        records=fetched.acquired.records,
        acquired_records=fetched.acquired.ranges,
    )
