"""The account of one share group: who holds which lock, what was accepted, by the frames that the brokers sent.

Of the broker's insides it learns no more than when a leader moves; whatever it finds wrong is wrong for any client that
sees these frames.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any

from attrs import frozen

from kafka_groups.config.cluster.share_group import ShareGroupConfig
from kafka_groups.errors.texts import counted
from kafka_groups.net.memory import Link
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_acknowledge import ShareAcknowledgeResponse
from kafka_groups.protocol.messages.share_fetch import FINAL_EPOCH, INITIAL_EPOCH, ShareFetchRequest, ShareFetchResponse
from kafka_groups.protocol.messages.share_fetch import ShareFetchPartitionData as FetchedPartition
from kafka_groups.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from kafka_groups.testing.clock import VirtualClock
from kafka_groups.types import AcknowledgeType, RecordId, TopicIdPartition

__all__ = ["GroupLedger", "MemberEpochs", "RecordLock", "SentRequest", "shown"]

_FORGOTTEN = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)
_FATE_UNKNOWN = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER)
"""A write that was repeated because its answer was lost may be refused, and the first one may have succeeded."""


@frozen
class RecordLock:
    """A record is locked.

    Attributes:
        member_id: The member that holds it.
        connection: The connection over which it came.
        deadline_ms: Until when at most.
        certain_ms: Until when at least. A response that waits until the acknowledgements of its request are written
            tells of locks that began before.
    """

    member_id: str
    connection: int
    deadline_ms: int
    certain_ms: int


@frozen
class SentRequest:
    """A request that was sent.

    Attributes:
        link: Its connection.
        message: The request.
        sent_ms: Time when it was sent.
    """

    link: Link
    message: Any
    sent_ms: int


class GroupLedger:
    """The state of one group as seen on the wire: locks, results of records, and violations.

    Args:
        clock: Virtual time.
        is_open: Whether a connection is still up.
        config: Returns the group's configuration.

    Attributes:
        topics: The topics to which members have subscribed.
        locks: The locks of records.
        accepted: The records that were accepted.
        rejected: The records that were rejected.
        delivery_counts: The number of deliveries of each record, since its leader moved.
        large_fetches: The number of fetches that asked for more records than a poll returns.
        violations: Descriptions of events that must never happen.
    """

    def __init__(
        self, clock: VirtualClock, is_open: Callable[[int], bool], config: Callable[[], ShareGroupConfig]
    ) -> None:
        self._clock = clock
        self._is_open = is_open
        self._config = config
        self.topics: set[str] = set()
        self.locks: dict[RecordId, RecordLock] = {}
        self.accepted: set[RecordId] = set()
        self.rejected: set[RecordId] = set()
        self.delivery_counts: dict[RecordId, int] = {}
        self.large_fetches = 0
        self.violations: list[str] = []
        self._at_limit: set[RecordId] = set()
        self._near_limit: set[RecordId] = set()  # the last delivery may have been counted, and its response not sent
        self._epochs = MemberEpochs(lambda: config().session_timeout_ms)
        self._unanswered: Counter[tuple[RecordId, str]] = Counter()
        self._members: set[str] = set()
        self._sessions: dict[str, set[TopicIdPartition]] = {}
        self._moved_ms: dict[TopicIdPartition, int] = {}
        self._begin_anew: set[int] = set()
        self._closing: set[tuple[str, int]] = set()
        self._first_finished: dict[TopicIdPartition, int] = {}

    # --------------------------------------------------------------------------------------- what happens

    def heartbeat_asked(self, request: ShareGroupHeartbeatRequest) -> None:
        """Note a heartbeat that a member sends."""
        self.topics.update(request.subscribed_topic_names or ())
        self._epochs.asked(request)

    def heartbeat_answered(self, sent: SentRequest, response: ShareGroupHeartbeatResponse) -> None:
        """Check the response to a heartbeat, as a broker sends it."""
        self.violations += self._epochs.answered(sent.message, response, sent.sent_ms, self._clock.now_ms())

    def leader_moved(self, partition: TopicIdPartition) -> None:
        """Forget the locks and delivery counts of a partition, which its new leader may not know."""
        self._moved_ms[partition] = self._clock.now_ms()
        for known in (self.locks, self.delivery_counts):
            for place in [place for place in known if place[0] == partition]:
                del known[place]

    def asked(self, sent: SentRequest) -> None:
        """Note a ShareFetch or ShareAcknowledge that a member sends."""
        request = sent.message
        self._members.add(request.member_id)
        if isinstance(request, ShareFetchRequest):
            self._check_size(sent)
            self._update_session(request)
        if request.share_session_epoch == FINAL_EPOCH:
            self._closing.add((request.member_id, sent.link.connection))
        self._unanswered.update((place, request.member_id) for place, _ in _acknowledged(request))

    def answered(self, sent: SentRequest, response: ShareFetchResponse | ShareAcknowledgeResponse) -> None:
        """Note the response to a ShareFetch or ShareAcknowledge, as a broker sends it."""
        request = sent.message
        unknown = set(_refused_partitions(response, _FATE_UNKNOWN))
        self._unanswered.subtract(
            (place, request.member_id)
            for place, _ in _acknowledged(request)
            if place[0] not in unknown  # the write may have succeeded
        )
        if response.error_code is not ErrorCode.NONE:
            return
        self._acknowledgements(sent, response)
        if isinstance(response, ShareFetchResponse):
            self._acquisitions(sent, response)
        if request.share_session_epoch == FINAL_EPOCH:
            self._release_all(request.member_id, sent.link.connection)

    # ----------------------------------------------------------------------------------------- what is known

    def is_done(self, place: RecordId) -> bool:
        """Return whether a record was accepted, rejected or delivered as often as the group allows."""
        return place in self.accepted or place in self.rejected or place in self._at_limit

    def may_be_done(self, place: RecordId, *, other_than: str = "") -> bool:
        """Return whether a broker may take a record to be done, for all that the wire shows.

        Args:
            place: The record.
            other_than: A member whose acknowledgements without an answer do not count.
        """
        return self.is_done(place) or place in self._near_limit or self.is_unanswered(place, other_than=other_than)

    @property
    def reads_committed(self) -> bool:
        """True if aborted records are none of the group's (`share.isolation.level`)."""
        return self._config().isolation_level == "read_committed"

    def start_of(self, partition: TopicIdPartition) -> int | None:
        """Return where the group begins in a partition: it has to finish the records from there on.

        The brokers store where a group is when a record is finished. Until then a group that starts at the latest
        records begins at the end again whenever a leader moves, so it is None.
        """
        is_from_start = self._config().auto_offset_reset == "earliest"
        return 0 if is_from_start else self._first_finished.get(partition)

    def is_unanswered(self, place: RecordId, *, other_than: str = "") -> bool:
        """Return whether a member other than this one acknowledged the record and never received a response."""
        return any(self._unanswered[place, member_id] > 0 for member_id in self._members - {other_than})

    # ---------------------------------------------------------------------------------------------- rules

    def _check_size(self, sent: SentRequest) -> None:
        """After records that were delivered before, a fetch asks for no more than a poll returns: its `BatchSize`."""
        request, connection = sent.message, sent.link.connection
        is_large = request.max_records > request.batch_size
        self.large_fetches += is_large
        if is_large and connection in self._begin_anew:
            self.violations.append(
                f"{request.member_id} asks for {counted(request.max_records, 'record')} after a redelivery"
            )
        self._begin_anew.discard(connection)

    def _update_session(self, request: ShareFetchRequest) -> None:
        session = self._sessions.setdefault(request.member_id or "", set())
        if request.share_session_epoch == INITIAL_EPOCH:
            session.clear()
        session.update(_listed(request))
        session.difference_update(_forgotten(request))

    def _acknowledgements(self, sent: SentRequest, response: ShareFetchResponse | ShareAcknowledgeResponse) -> None:
        refused = set(_refused_partitions(response))
        for place, kind in _acknowledged(sent.message):
            if place[0] not in refused:
                self._check_fence(place, kind, sent)
                self._settle(place, kind, sent)

    def _check_fence(self, place: RecordId, kind: AcknowledgeType, sent: SentRequest) -> None:
        """Check that no record is delivered by a new leader after a write of the old leader succeeded."""
        is_final = kind in (AcknowledgeType.ACCEPT, AcknowledgeType.REJECT)
        is_known = place in self.accepted or place in self.rejected
        lock = self.locks.get(place)
        if not is_final or is_known or lock is None or _is_of_sender(lock, sent):
            return
        if self._unanswered[place, lock.member_id] > 0:
            return  # its next holder may have finished it before: then the leader takes this one without a word
        if self._moved_ms.get(place[0], -1) > sent.sent_ms:
            self._violation(place, f"taken by the old leader, and delivered by the next one ({lock})")

    def _settle(self, place: RecordId, kind: AcknowledgeType, sent: SentRequest) -> None:
        """Apply an acknowledgement that the broker accepted at some moment since the request was sent."""
        if place in self.accepted or place in self.rejected:
            return  # below the start offset anything is taken without a word, and changes nothing
        lock = self.locks.get(place)
        is_mine = lock is not None and _is_of_sender(lock, sent)
        if not is_mine and self._may_be_too_late(place, kind, sent, lock):
            return
        if not self._may_take(place, sent, lock):
            if not self._may_be_below_start(place):
                who = sent.message.member_id
                self._violation(place, f"the broker took {kind.name} from {who}, who has no lock ({lock})")
        elif kind is AcknowledgeType.RENEW:
            self._renew(place, sent, lock)
        else:
            self._end(place, kind)

    def _may_be_too_late(
        self, place: RecordId, kind: AcknowledgeType, sent: SentRequest, lock: RecordLock | None
    ) -> bool:
        """Return whether the sender may have held the record, although its next holder's result was seen first."""
        if kind is AcknowledgeType.RELEASE:
            return True  # released and acquired by the next one while the fetch that carried this was waiting
        if lock is None:
            return False
        if kind is AcknowledgeType.RENEW and lock.certain_ms - self._lock_ms >= sent.sent_ms:
            return True  # renewed in time, and expired while the answer waited for other acknowledgements to be written
        # The holder's own acknowledgement came first, on a fetch that still waits: as above.
        return self._unanswered[place, lock.member_id] > 0

    def _may_be_below_start(self, place: RecordId) -> bool:
        """Return whether a record may be archived: after its last delivery, or before the group's new start."""
        start = self.start_of(place[0])
        return place in self._at_limit or place in self._near_limit or start is None or place[1] < start

    def _may_take(self, place: RecordId, sent: SentRequest, lock: RecordLock | None) -> bool:
        """Return whether the sender may have held the lock at some moment since then."""
        if self._moved_ms.get(place[0], 0) >= sent.sent_ms:
            return True  # taken by the old leader, answered by none
        if lock is None:
            # The holder's own acknowledgement came first, as above, but the leader has moved since.
            return self.is_unanswered(place, other_than=sent.message.member_id)
        return _is_of_sender(lock, sent) and lock.deadline_ms >= sent.sent_ms

    def _renew(self, place: RecordId, sent: SentRequest, lock: RecordLock | None) -> None:
        if lock is not None:
            certain_ms = max(lock.certain_ms, sent.sent_ms + self._lock_ms)
            deadline_ms = self._clock.now_ms() + self._lock_ms
            self.locks[place] = RecordLock(sent.message.member_id, lock.connection, deadline_ms, certain_ms)

    def _end(self, place: RecordId, kind: AcknowledgeType) -> None:
        self.locks.pop(place, None)
        if kind is not AcknowledgeType.RELEASE:
            self._first_finished[place[0]] = min(place[1], self._first_finished.get(place[0], place[1]))
        if kind is AcknowledgeType.ACCEPT:
            self.accepted.add(place)
        elif kind is AcknowledgeType.REJECT:
            self.rejected.add(place)

    def _acquisitions(self, sent: SentRequest, response: ShareFetchResponse) -> None:
        now_ms, connection = self._clock.now_ms(), sent.link.connection
        began_ms = sent.sent_ms if any(True for _ in _acknowledged(sent.message)) else now_ms
        lock = RecordLock(sent.message.member_id, connection, now_ms + self._lock_ms, began_ms + self._lock_ms)
        for partition, first, last, count in _acquired(response):
            for offset in range(first, last + 1):
                self._acquire((partition, offset), lock, count)
            if count > 1:
                self._begin_anew.add(connection)

    def _acquire(self, place: RecordId, lock: RecordLock, count: int) -> None:
        self._check_acquisition(place, lock.member_id, count)
        self.locks[place] = lock
        self.delivery_counts[place] = count
        limit = self._config().delivery_count_limit
        if count >= limit:
            self._at_limit.add(place)
        elif count == limit - 1:
            self._near_limit.add(place)

    def _check_acquisition(self, place: RecordId, member_id: str, count: int) -> None:
        if place in self.accepted:
            self._violation(place, f"accepted before, and delivered again to {member_id}")
        if place in self.rejected:
            self._violation(place, f"rejected before, and delivered again to {member_id}")
        held = self.locks.get(place)
        if held is not None and self._is_held(place, held):
            self._violation(place, f"acquired for {member_id} while {held.member_id} holds it ({held})")
        if count < self._least_count(place):
            self._violation(place, f"delivery count {count} after {self.delivery_counts[place]}")

    def _least_count(self, place: RecordId) -> int:
        """Return the lowest delivery count that the next delivery of a record may have.

        A count is stored with the next change of the record. There are two cases in which none may be stored when the
        group's last session on the leader ends, and the leader forgets the group: an acknowledgement was under way, or
        the holder had removed the partition from its session, whose end then releases nothing of it.
        """
        may_be_lost = self.is_unanswered(place) or self._is_apart(place)
        return self.delivery_counts.get(place, 0) + (0 if may_be_lost else 1)

    def _is_apart(self, place: RecordId) -> bool:
        """Return whether a record is held by a member whose session does not contain its partition any more."""
        lock = self.locks.get(place)
        return lock is not None and place[0] not in self._sessions.get(lock.member_id, ())

    def _is_held(self, place: RecordId, lock: RecordLock) -> bool:
        """Return whether nothing can have ended the lock: it has not expired, and its holder has not released it."""
        if self._unanswered[place, lock.member_id] > 0 or (lock.member_id, lock.connection) in self._closing:
            return False
        return lock.certain_ms > self._clock.now_ms() and self._is_open(lock.connection)

    def _release_all(self, member_id: str, connection: int) -> None:
        self._closing.discard((member_id, connection))
        for place, lock in list(self.locks.items()):
            if lock.member_id == member_id and lock.connection == connection:
                del self.locks[place]

    def _violation(self, place: RecordId, what: str) -> None:
        self.violations.append(f"{shown(place)}: {what}")

    @property
    def _lock_ms(self) -> int:
        return self._config().record_lock_duration_ms


def _is_of_sender(lock: RecordLock, sent: SentRequest) -> bool:
    """Return whether a request is from the holder of a lock, to the leader that gave it. The lock may be newer."""
    return lock.member_id == sent.message.member_id and lock.connection == sent.link.connection


def shown(place: RecordId) -> str:
    """Return a record as text: topic, partition and offset."""
    return f"{place[0]}@{place[1]}"


def _acknowledged(request: Any) -> Iterator[tuple[RecordId, AcknowledgeType]]:
    for topic in request.topics:
        for part in topic.partitions:
            partition = TopicIdPartition(topic.topic_id, part.partition_index)
            for batch in part.acknowledgement_batches:
                for position, offset in enumerate(range(batch.first_offset, batch.last_offset + 1)):
                    kinds = batch.acknowledge_types
                    yield (partition, offset), AcknowledgeType(kinds[position] if len(kinds) > 1 else kinds[0])


def _listed(request: ShareFetchRequest) -> Iterator[TopicIdPartition]:
    for topic in request.topics:
        if topic.topic_id is not None:
            yield from (TopicIdPartition(topic.topic_id, part.partition_index) for part in topic.partitions)


def _forgotten(request: ShareFetchRequest) -> Iterator[TopicIdPartition]:
    for topic in request.forgotten_topics_data:
        if topic.topic_id is not None:
            yield from (TopicIdPartition(topic.topic_id, index) for index in topic.partitions)


def _refused_partitions(
    response: ShareFetchResponse | ShareAcknowledgeResponse, only: Collection[ErrorCode] = tuple(ErrorCode)
) -> Iterator[TopicIdPartition]:
    for topic in response.responses:
        for part in topic.partitions:
            code = part.acknowledge_error_code if isinstance(part, FetchedPartition) else part.error_code
            if code is not ErrorCode.NONE and code in only and topic.topic_id is not None:
                yield TopicIdPartition(topic.topic_id, part.partition_index)


def _acquired(response: ShareFetchResponse) -> Iterator[tuple[TopicIdPartition, int, int, int]]:
    for topic in response.responses:
        if topic.topic_id is None:
            continue
        for part in topic.partitions:
            for acquired in part.acquired_records:
                partition = TopicIdPartition(topic.topic_id, part.partition_index)
                yield partition, acquired.first_offset, acquired.last_offset, acquired.delivery_count


class MemberEpochs:
    """The epoch with which each member of a group was answered last.

    Args:
        session_timeout_ms: Returns how long a member stays in the group at least, after it has sent a heartbeat.
    """

    def __init__(self, session_timeout_ms: Callable[[], int]) -> None:
        self._session_timeout_ms = session_timeout_ms
        self._known: dict[str, tuple[int, int]] = {}
        self._asked: Counter[str] = Counter()  # since the last answer

    def asked(self, request: Any) -> None:
        """Note a heartbeat that is being sent."""
        self._asked[request.member_id] += 1

    def answered(self, request: Any, response: Any, sent_ms: int, now_ms: int) -> Iterator[str]:
        """Yield the errors of a response that is being sent.

        After a heartbeat without an answer it is not certain what the group knows: it may have been lost, or handled.
        """
        member_id = request.member_id
        if response.error_code is ErrorCode.NONE:
            self._asked[member_id] = 0
            self._known[member_id] = (response.member_epoch, sent_ms)
            return
        epoch, known_ms = self._known.get(member_id, (0, 0))
        is_forgotten = response.error_code in _FORGOTTEN and request.member_epoch == epoch > 0
        if is_forgotten and self._asked[member_id] == 1 and now_ms < known_ms + self._session_timeout_ms():
            yield f"{member_id}: was answered with epoch {epoch}, and then {response.error_code.name}"
