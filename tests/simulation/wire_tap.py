"""An independent reading of the wire: who holds which lock, what was accepted, by the frames that the brokers sent.

Of the broker's insides it learns no more than when a leader moves; whatever it finds wrong is wrong for any client that
sees these frames.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any

from attrs import define, frozen

from kafka_groups.broker.metadata.delta import MetadataDelta
from kafka_groups.broker.metadata.image import MetadataImage
from kafka_groups.net.memory import FaultPlan, Link, Passage
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.codec import correlation_id_of, decode_request, decode_request_header, decode_response
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.share_acknowledge import ShareAcknowledgeResponse
from kafka_groups.protocol.messages.share_fetch import ShareFetchPartitionData as FetchedPartition
from kafka_groups.protocol.messages.share_fetch import ShareFetchResponse
from kafka_groups.testing.clock import VirtualClock
from kafka_groups.types import AcknowledgeType, TopicIdPartition

_FATE_UNKNOWN = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER)
"""A write that was repeated because its answer was lost may be refused, and the first one may have succeeded."""
_OBSERVED = frozenset({ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE})

Place = tuple[TopicIdPartition, int]


@frozen
class Lock:
    """A record is locked.

    Attributes:
        member_id: Who has it.
        connection: The connection over which it came.
        deadline_ms: Until when at most.
        certain_ms: Until when at least. A response that waits until the acknowledgements of its request are written
            tells of locks that began before.
    """

    member_id: str
    connection: int
    deadline_ms: int
    certain_ms: int


@define
class _Asked:
    request: Any
    version: int
    key: ApiKey
    sent_ms: int


class WireTap:
    """A fault plan that watches every share request and response and lets another plan decide.

    Args:
        plan: Decides what becomes of the frames.
        clock: Virtual time.
        is_open: Whether a connection is still up.
        lock_timeout_ms: How long locks last.
    """

    def __init__(
        self, plan: FaultPlan, clock: VirtualClock, is_open: Callable[[int], bool], lock_timeout_ms: int
    ) -> None:
        self._plan = plan
        self._clock = clock
        self._is_open = is_open
        self._lock_timeout_ms = lock_timeout_ms
        self._asked: dict[tuple[int, int], _Asked] = {}
        self.locks: dict[Place, Lock] = {}
        self.accepted: set[Place] = set()
        self.rejected: set[Place] = set()
        self.unanswered: Counter[tuple[Place, str]] = Counter()
        self.delivery_counts: dict[Place, int] = {}
        self.frames = 0
        self.large_fetches = 0
        self.violations: list[str] = []
        self._members: set[str] = set()
        self._moved_ms: dict[TopicIdPartition, int] = {}
        self._begin_anew: set[int] = set()

    def on_connect(self, address: str) -> Passage:
        """Somebody connects."""
        return self._plan.on_connect(address)

    def on_frame(self, link: Link, payload: bytes) -> Passage:
        """A frame is being sent: a response counts when the broker sends it, whatever becomes of it later."""
        self.frames += 1
        if link.to_server:
            self._request(link, payload)
        else:
            self._response(link, payload)
        return self._plan.on_frame(link, payload)

    def metadata_changed(self, _image: MetadataImage, delta: MetadataDelta) -> None:
        """When a leader moves, its locks are gone, and so are delivery counts that were not persisted."""
        for moved in delta.leaders:
            self._moved_ms[moved.partition] = self._clock.now_ms()
            self._forget(moved.partition)

    def _forget(self, partition: TopicIdPartition) -> None:
        for known in (self.locks, self.delivery_counts):
            for place in [place for place in known if place[0] == partition]:
                del known[place]

    # --------------------------------------------------------------------------------------- frames

    def _request(self, link: Link, payload: bytes) -> None:
        header = decode_request_header(payload)
        if header.api_key not in _OBSERVED:
            return
        request = decode_request(payload, header)
        asked = _Asked(request, header.version, ApiKey(header.api_key), self._clock.now_ms())
        self._asked[link.connection, header.correlation_id] = asked
        self._members.add(request.member_id)
        if header.api_key == ApiKey.SHARE_FETCH:
            self._check_size(link, request)
        self.unanswered.update((place, request.member_id) for place, _ in _acknowledged(request))

    def _response(self, link: Link, payload: bytes) -> None:
        asked = self._asked.pop((link.connection, correlation_id_of(payload)), None)
        if asked is None:
            return
        response = decode_response(payload, asked.key, asked.version)
        unknown = set(_refused_partitions(response, _FATE_UNKNOWN))
        self.unanswered.subtract(
            (place, asked.request.member_id)
            for place, _ in _acknowledged(asked.request)
            if place[0] not in unknown  # the write may have succeeded
        )
        if response.error_code is not ErrorCode.NONE:
            return
        self._acknowledgements(asked, response)
        if isinstance(response, ShareFetchResponse):
            self._acquisitions(link, asked, response)
        if asked.request.share_session_epoch == -1:
            self._release_all(asked.request.member_id, link.connection)

    def _check_size(self, link: Link, request: Any) -> None:
        """After records that were delivered before, a fetch asks for no more than a poll returns: its `BatchSize`."""
        is_large = request.max_records > request.batch_size
        self.large_fetches += is_large
        if is_large and link.connection in self._begin_anew:
            self.violations.append(f"{request.member_id} asks for {request.max_records} records after a redelivery")
        self._begin_anew.discard(link.connection)

    def _acknowledgements(self, asked: _Asked, response: ShareFetchResponse | ShareAcknowledgeResponse) -> None:
        refused = set(_refused_partitions(response))
        for place, kind in _acknowledged(asked.request):
            if place[0] not in refused:
                self._settle(place, kind, asked)

    def _settle(self, place: Place, kind: AcknowledgeType, asked: _Asked) -> None:
        """The broker took an acknowledgement, at some moment since the request was sent."""
        member_id = asked.request.member_id
        lock = self.locks.get(place)
        if place in self.accepted or place in self.rejected:
            return  # below the start offset anything is taken without a word, and changes nothing
        if kind is AcknowledgeType.RELEASE and (lock is None or lock.member_id != member_id):
            return  # released and acquired by the next one while the fetch that carried this was waiting
        is_anothers = lock is not None and lock.member_id != member_id
        began_ms = 0 if lock is None else lock.certain_ms - self._lock_timeout_ms
        if kind is AcknowledgeType.RENEW and is_anothers and began_ms >= asked.sent_ms:
            return  # renewed in time, and expired while the answer waited for other acknowledgements to be written
        if lock is not None and lock.member_id != member_id and self.unanswered[place, lock.member_id] > 0:
            return  # the holder's own acknowledgement came first, on a fetch that still waits: as above
        has_moved = self._moved_ms.get(place[0], 0) >= asked.sent_ms  # taken by the old leader, answered by none
        is_valid = lock is not None and lock.member_id == member_id and lock.deadline_ms >= asked.sent_ms
        # The holder's own acknowledgement came first, as above, but the leader moved since and the lock is forgotten.
        is_behind = lock is None and self.is_unanswered(place, besides=member_id)
        if not is_valid and not has_moved and not is_behind:
            self.violations.append(f"{place}: the broker took {kind.name} from {member_id}, who has no lock ({lock})")
            return
        if kind is AcknowledgeType.RENEW:
            deadline_ms = self._clock.now_ms() + self._lock_timeout_ms
            if lock is not None:
                certain_ms = max(lock.certain_ms, asked.sent_ms + self._lock_timeout_ms)
                self.locks[place] = Lock(member_id, lock.connection, deadline_ms, certain_ms)
            return
        self.locks.pop(place, None)
        if kind is AcknowledgeType.ACCEPT:
            self.accepted.add(place)
        elif kind is AcknowledgeType.REJECT:
            self.rejected.add(place)

    def _acquisitions(self, link: Link, asked: _Asked, response: ShareFetchResponse) -> None:
        now_ms, member_id = self._clock.now_ms(), asked.request.member_id
        began_ms = asked.sent_ms if any(True for _ in _acknowledged(asked.request)) else now_ms
        for partition, first, last, count in _acquired(response):
            for offset in range(first, last + 1):
                place = (partition, offset)
                self._check_acquisition(place, member_id, count, now_ms)
                self.locks[place] = Lock(
                    member_id, link.connection, now_ms + self._lock_timeout_ms, began_ms + self._lock_timeout_ms
                )
                self.delivery_counts[place] = count
            if count > 1:
                self._begin_anew.add(link.connection)

    def _check_acquisition(self, place: Place, member_id: str, count: int, now_ms: int) -> None:
        if place in self.accepted:
            self.violations.append(f"{place}: accepted before, and delivered again to {member_id}")
        if place in self.rejected:
            self.violations.append(f"{place}: rejected before, and delivered again to {member_id}")
        held = self.locks.get(place)
        if held is not None and self._is_held(place, held, now_ms):
            self.violations.append(f"{place}: acquired for {member_id} while {held.member_id} holds it ({held})")
        if count <= self.delivery_counts.get(place, 0):
            self.violations.append(f"{place}: delivery count {count} after {self.delivery_counts[place]}")

    def _is_held(self, place: Place, lock: Lock, now_ms: int) -> bool:
        is_acknowledged = self.unanswered[place, lock.member_id] > 0
        return lock.certain_ms > now_ms and self._is_open(lock.connection) and not is_acknowledged

    def is_unanswered(self, place: Place, besides: str = "") -> bool:
        """Whether somebody, other than the member with this id, acknowledged the record and never heard of it again."""
        return any(self.unanswered[place, member_id] > 0 for member_id in self._members - {besides})

    def _release_all(self, member_id: str, connection: int) -> None:
        for place, lock in list(self.locks.items()):
            if lock.member_id == member_id and lock.connection == connection:
                del self.locks[place]


def _acknowledged(request: Any) -> Iterator[tuple[Place, AcknowledgeType]]:
    for topic in request.topics:
        for part in topic.partitions:
            partition = TopicIdPartition(topic.topic_id, part.partition_index)
            for batch in part.acknowledgement_batches:
                for position, offset in enumerate(range(batch.first_offset, batch.last_offset + 1)):
                    kinds = batch.acknowledge_types
                    yield (partition, offset), AcknowledgeType(kinds[position] if len(kinds) > 1 else kinds[0])


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
        for part in topic.partitions:
            for acquired in part.acquired_records:
                assert topic.topic_id is not None
                partition = TopicIdPartition(topic.topic_id, part.partition_index)
                yield partition, acquired.first_offset, acquired.last_offset, acquired.delivery_count
