"""Incremental fetch sessions (KIP-227): the broker remembers what a client fetches and returns only changes.

A full request (epoch 0) lists all partitions and opens a session. Each of the following requests has the next epoch and
lists only changes. Epoch -1 closes the session, or means that there is none.
"""

from collections.abc import Iterator
from uuid import UUID

from attrs import define, frozen

from kafka_groups.errors import (
    FetchSessionIdNotFoundError,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpochError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MAX_EPOCH,
    NO_DIVERGENCE,
    NO_SESSION,
    FetchPartition,
    FetchRequest,
    PartitionData,
)

__all__ = ["FetchPlan", "FetchSessions", "FetchTarget", "TargetKey", "targets"]

_MAX_SESSION_ID = 2**31 - 1
_EVICTABLE_AFTER_MS = 120_000

TargetKey = tuple[int | str, int]
_Seen = tuple[int, int]


@frozen
class FetchTarget:
    """One partition to fetch, by topic id (from v13) or by name."""

    topic_id: UUID | None
    topic: str
    request: FetchPartition

    @property
    def key(self) -> TargetKey:
        """The key of the partition in its session."""
        return (self.topic if self.topic_id is None else self.topic_id.int, self.request.partition)


@define
class _Session:
    id: int
    uses_topic_ids: bool
    next_epoch: int
    targets: dict[TargetKey, FetchTarget]
    seen: dict[TargetKey, _Seen]  # high watermark and log start offset that were last sent to the client
    last_used_ms: int


@frozen
class FetchPlan:
    """The partitions and session of one request.

    Attributes:
        targets: The partitions, in the order in which to read them.
        session_id: The session id for the response; 0 without a session.
    """

    targets: tuple[FetchTarget, ...]
    session_id: int = NO_SESSION
    _session: _Session | None = None
    _is_incremental: bool = False

    def must_tell(self, target: FetchTarget, data: PartitionData) -> bool:
        """Return whether the response contains this result: always, or if it has news and the session already exists.

        Call this once, because the session notes the result. A partition that returned records moves to the end of the
        session's order, so that no partition starves.
        """
        session = self._session
        # Without a session, nothing is known of what the client has seen.
        if session is None:
            return True
        has_news = _note(session, target, data)
        if data.records and target.key in session.targets:
            session.targets[target.key] = session.targets.pop(target.key)
        return has_news or not self._is_incremental


class FetchSessions:
    """The fetch sessions of one broker."""

    def __init__(self) -> None:
        self._sessions: dict[int, _Session] = {}  # least recently used first
        self._last_id = NO_SESSION

    def __len__(self) -> int:
        return len(self._sessions)

    def plan(
        self,
        request: FetchRequest,
        listed: dict[TargetKey, FetchTarget],
        *,
        uses_topic_ids: bool,
        max_sessions: int,
        now_ms: int,
    ) -> FetchPlan:
        """Open, continue or close the session of a request and return what the request fetches.

        Args:
            request: The request.
            listed: Its partitions by key, from `targets`.
            uses_topic_ids: Whether it has ids of topics, and no names.
            max_sessions: Maximum number of sessions.
            now_ms: Monotonic time.

        Raises:
            FetchSessionIdNotFoundError: The session does not exist (any more).
            InvalidFetchSessionEpochError: The epoch is not the next one.
            FetchSessionTopicIdError: The session uses topic ids and the request does not, or the other way round.
        """
        # Both are full requests, which list everything that they fetch (FetchManager.newContext in Kafka).
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            return self._full(request, listed, uses_topic_ids=uses_topic_ids, max_sessions=max_sessions, now_ms=now_ms)
        session = self._continued(request, uses_topic_ids=uses_topic_ids)
        session.targets |= listed
        _forget(session, request)
        return self._rest(session, now_ms)

    def _full(
        self,
        request: FetchRequest,
        targets: dict[TargetKey, FetchTarget],
        *,
        uses_topic_ids: bool,
        max_sessions: int,
        now_ms: int,
    ) -> FetchPlan:
        # A client that sends a full request gives up its session. If it begins another one, that gets a new id.
        self._sessions.pop(request.session_id, None)
        # If there is no room for a session, the client simply sends full requests from then on: id 0 tells it.
        if request.session_epoch == FINAL_EPOCH or not self._has_room(max_sessions, now_ms):
            return FetchPlan(tuple(targets.values()))
        self._last_id = self._last_id % _MAX_SESSION_ID + 1
        session = _Session(self._last_id, uses_topic_ids, INITIAL_EPOCH + 1, targets, {}, now_ms)
        self._sessions[session.id] = session
        return FetchPlan(tuple(targets.values()), session.id, session)

    def _continued(self, request: FetchRequest, *, uses_topic_ids: bool) -> _Session:
        session = self._sessions.get(request.session_id)
        # The broker was restarted or has evicted the session. The client opens another one.
        if session is None:
            raise FetchSessionIdNotFoundError(f"Fetch session {request.session_id} does not exist.")
        # A request was lost or repeated, so broker and client may differ in what the session has.
        if request.session_epoch != session.next_epoch:
            raise InvalidFetchSessionEpochError(
                f"Fetch session {session.id} expects epoch {session.next_epoch}, not {request.session_epoch}."
            )
        # The keys of the session would be names and ids mixed. This happens when a client is upgraded, or finds a topic
        # without an id.
        if session.uses_topic_ids is not uses_topic_ids:
            raise FetchSessionTopicIdError(
                f"Fetch session {session.id} mixes topic names and topic ids: use the same in all requests."
            )
        return session

    def _rest(self, session: _Session, now_ms: int) -> FetchPlan:
        # A session of nothing is closed, as in Kafka (FetchManager.newContext).
        if not session.targets:
            del self._sessions[session.id]
            return FetchPlan(())
        # 0 and -1 have a meaning of their own, so the epoch wraps around to 1.
        session.next_epoch = session.next_epoch % MAX_EPOCH + 1
        session.last_used_ms = now_ms
        self._sessions[session.id] = self._sessions.pop(session.id)
        return FetchPlan(tuple(session.targets.values()), session.id, session, is_incremental=True)

    def _has_room(self, max_sessions: int, now_ms: int) -> bool:
        if len(self._sessions) < max_sessions:
            return True
        oldest = next(iter(self._sessions.values()), None)
        # Only a session that was idle for two minutes makes room (FetchSessionCacheShard.tryEvict in Kafka). Kafka also
        # evicts smaller sessions, and those of consumers for those of replicas.
        if oldest is None or now_ms - oldest.last_used_ms <= _EVICTABLE_AFTER_MS:
            return False
        del self._sessions[oldest.id]
        return True


def targets(request: FetchRequest) -> Iterator[FetchTarget]:
    """Return the partitions that a request lists."""
    for topic in request.topics:
        for partition in topic.partitions:
            yield FetchTarget(topic.topic_id, topic.topic, partition)


def _forget(session: _Session, request: FetchRequest) -> None:
    for forgotten in request.forgotten_topics_data:
        topic = forgotten.topic if forgotten.topic_id is None else forgotten.topic_id.int
        for partition in forgotten.partitions:
            session.targets.pop((topic, partition), None)
            session.seen.pop((topic, partition), None)


def _note(session: _Session, target: FetchTarget, data: PartitionData) -> bool:
    # An error is returned each time until it is over. The next response must then include the partition again.
    key = target.key
    # See FetchSession.CachedPartition.maybeUpdateResponseData in Kafka.
    if data.error_code is not ErrorCode.NONE:
        session.seen.pop(key, None)
        return True
    now_seen = (data.high_watermark, data.log_start_offset)
    changed = session.seen.get(key) != now_seen
    session.seen[key] = now_seen
    return changed or bool(data.records) or data.diverging_epoch != NO_DIVERGENCE
