"""An independent reading of the wire: which id of each instance is alive, and what a coordinator must not say."""

from collections.abc import Callable, Iterator
from typing import Any

from attrs import define, field

from kafka_groups.net.memory import Link
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest
from kafka_groups.protocol.messages.join_group import JoinGroupRequest
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest
from kafka_groups.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_groups.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest
from kafka_groups.testing.clock import VirtualClock
from kafka_groups.testing.simulation.checks.ledger import SentRequest
from tests.simulation.classic.generations import Generations
from tests.simulation.classic.member import owner_of
from tests.simulation.groups.offsets import OffsetLedger

__all__ = ["OBSERVED", "ClassicLedger"]

OBSERVED = (
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
)
_NONE, _FENCED, _UNKNOWN = ErrorCode.NONE, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID
_TAKEN = frozenset({_NONE, ErrorCode.REBALANCE_IN_PROGRESS})
_CAME_TO_NOTHING = frozenset({
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
})  # fmt: skip
_LONGEST_MS = 50_000
"""A round may take two rebalance timeouts; loading, late commits and slow frames take some seconds more."""
_FENCED_WITHIN_MS, _SLOWEST_MS = 10_000, 5_000
"""How long it takes until the older one hears that it is fenced, and how late a request may arrive."""

_Key = tuple[int, int]


@define(eq=False)
class _Instance:
    """An instance.

    Attributes:
        stored: Its member id that is stored.
        joined: A newer one, which a coordinator that takes over does not know until its generation is stored.
        generation: The generation that the newer one has joined.
        fenced: Ids that were replaced for good, each with the time.
        rivals: Requests to join as this instance that may have taken the place of the stored id.
        unknown: An id that should have been fenced and was not, with the one that was alive.
        taken_over: When the last new member of the instance that joined had asked to, and when it was answered.
    """

    stored: str | None = None
    joined: str | None = None
    generation: int = 0
    fenced: dict[str, int] = field(factory=dict)
    rivals: set[_Key] = field(factory=set)
    unknown: tuple[str, str] | None = None
    taken_over: tuple[int, int] = (-1, -1)

    @property
    def alive(self) -> str | None:
        return self.joined or self.stored


@define(eq=False)
class ClassicLedger:
    """What was seen of one group.

    Attributes:
        clock: Virtual time.
        is_open: Whether a connection is up.
        is_coordinated: Whether a coordinator has loaded the group.
        violations: What must not be.
        generations: The group's generations.
    """

    clock: VirtualClock
    is_open: Callable[[Link], bool]
    is_coordinated: Callable[[], bool]
    violations: list[str]
    generations: Generations = field(factory=Generations)
    _instances: dict[str, _Instance] = field(factory=dict)
    _offsets: OffsetLedger = field(factory=OffsetLedger)
    _lost_ms: int = -1
    _waiting: dict[_Key, SentRequest] = field(factory=dict)

    # ------------------------------------------------------------------------------------- what is sent

    def asked(self, sent: SentRequest) -> None:
        """A member sends a request."""
        match sent.message:
            case JoinGroupRequest() as request:
                self._waiting[_key(sent)] = sent
                self.generations.join_asked(request)
                if request.group_instance_id is not None and not request.member_id:
                    self._instance(request.group_instance_id).rivals.add(_key(sent))
            case SyncGroupRequest():
                self._waiting[_key(sent)] = sent
            case LeaveGroupRequest() as request:
                self._waiting[_key(sent)] = sent
                instances = (each.group_instance_id for each in request.members)
                self.generations.leave_asked((each for each in instances if each is not None), self._now_ms)
            case OffsetCommitRequest():
                self._offsets.commit_asked(sent)
            case _:
                pass

    def answered(self, sent: SentRequest, response: Any) -> None:
        """The coordinator responds."""
        self._waiting.pop(_key(sent), None)
        match sent.message:
            case JoinGroupRequest() as request:
                self._join_answered(sent, request, response)
            case SyncGroupRequest() as request:
                self._look(request, response.error_code)
                if response.error_code is _NONE:
                    self._synced(request, response.assignment)
            case HeartbeatRequest() as request:
                if self.is_coordinated():  # while a group is loaded, every heartbeat succeeds
                    self._look(request, response.error_code)
                if response.error_code is ErrorCode.REBALANCE_IN_PROGRESS:
                    self.violations += self.generations.rebalancing(request.generation_id, self._now_ms)
            case OffsetCommitRequest() as request:
                self._offsets.commit_answered(sent, response, self._now_ms)
                self._look(request, response.topics[0].partitions[0].error_code)
            case OffsetFetchRequest():
                self.violations += self._offsets.fetch_answered(sent, response)
            case _:
                pass

    def coordinator_lost(self) -> None:
        """The coordinator is gone with all that is not stored."""
        self._lost_ms = self._now_ms
        self.generations.forget_unstored()
        for instance in self._instances.values():
            instance.joined = instance.unknown = None

    def unanswered(self) -> Iterator[str]:
        """Requests on connections that are up that should have been answered.

        They have waited for longer than any round takes, or a newer member of their instance has taken over.
        """
        for key, sent in tuple(self._waiting.items()):
            is_overdue = self._now_ms - sent.sent_ms > _LONGEST_MS
            if is_overdue or self._should_be_fenced(sent):
                del self._waiting[key]
                if self.is_open(sent.link):
                    yield f"{sent.message} was never answered"

    def _should_be_fenced(self, sent: SentRequest) -> bool:
        name = getattr(sent.message, "group_instance_id", None)
        if name is None or self._now_ms - sent.sent_ms <= _FENCED_WITHIN_MS:
            return False
        instance = self._instance(name)
        asked_ms, answered_ms = instance.taken_over
        replaced_ms = instance.fenced.get(sent.message.member_id)
        if sent.message.member_id:
            return replaced_ms is not None and self._now_ms - replaced_ms > _FENCED_WITHIN_MS
        return sent.sent_ms + _SLOWEST_MS < asked_ms and self._now_ms - answered_ms > _FENCED_WITHIN_MS

    # ------------------------------------------------------------------------------------------ rounds

    def _join_answered(self, sent: SentRequest, request: JoinGroupRequest, response: Any) -> None:
        error, name = response.error_code, request.group_instance_id
        if name is not None and error in _CAME_TO_NOTHING:
            self._instance(name).rivals.discard(_key(sent))
        if request.member_id:
            self._look(request, error)
        if error is not _NONE or self._lost_ms == self._now_ms:  # what it says of a round may be void already
            return
        self.violations += self.generations.joined(response.generation_id, response.members, self._now_ms)
        self.generations.heard(owner_of(response.member_id, name), self._now_ms)
        if name is not None:
            instance = self._instance(name)
            if not request.member_id:
                instance.taken_over = max(instance.taken_over, (sent.sent_ms, self._now_ms))
            self._joined(instance, response.member_id, response.generation_id)

    def _joined(self, instance: _Instance, member_id: str, generation: int) -> None:
        if member_id in instance.fenced:
            self._complain(f"{member_id} joined generation {generation} after it was replaced")
        if member_id in (instance.stored, instance.joined):
            return
        instance.joined, instance.generation, instance.unknown = member_id, generation, None
        if self.generations.is_stored(generation):
            self._store(instance)

    def _synced(self, request: SyncGroupRequest, assignment: bytes) -> None:
        number, owner = request.generation_id, owner_of(request.member_id, request.group_instance_id)
        is_disputed = any(self._is_late(each) for each in self._waiting.values())
        self.violations += self.generations.synced(number, owner, assignment, is_disputed=is_disputed)
        for instance in self._instances.values():
            if instance.joined is not None and instance.generation <= number:
                self._store(instance)

    def _is_late(self, sent: SentRequest) -> bool:
        is_on_its_way = self._now_ms - sent.sent_ms < _SLOWEST_MS or self.is_open(sent.link)
        return isinstance(sent.message, JoinGroupRequest | LeaveGroupRequest) and is_on_its_way

    def _store(self, instance: _Instance) -> None:
        """The newer id is stored, so that the older one is replaced for good."""
        if instance.stored is not None:
            instance.fenced[instance.stored] = self._now_ms
        instance.stored, instance.joined = instance.joined, None
        instance.rivals = {each for each in instance.rivals if each in self._waiting}

    # ----------------------------------------------------------------------------------------- fencing

    def _look(self, request: Any, error: ErrorCode) -> None:
        """See whether the coordinator treats the older of two as it must."""
        name, member_id = request.group_instance_id, request.member_id
        if error in _TAKEN:
            self.generations.heard(owner_of(member_id, name), self._now_ms)
        if name is None:
            return
        instance = self._instance(name)
        replaced_ms = instance.fenced.get(member_id)
        if replaced_ms is not None:
            self._look_at_replaced(instance, request, error, replaced_ms)
        elif member_id == instance.alive:
            self._look_at_living(instance, request, error)

    def _look_at_replaced(self, instance: _Instance, request: Any, error: ErrorCode, replaced_ms: int) -> None:
        kind = type(request).__name__
        if error in _TAKEN and self._now_ms > replaced_ms:
            self._complain(f"{kind} of {request.member_id} got {error.name} after {instance.alive} took its place")
        if error is _UNKNOWN and instance.alive is not None:
            instance.unknown = (request.member_id, instance.alive)

    def _look_at_living(self, instance: _Instance, request: Any, error: ErrorCode) -> None:
        if error in _TAKEN and instance.unknown is not None and instance.unknown[1] == request.member_id:
            self._complain(f"{instance.unknown[0]} got UNKNOWN_MEMBER_ID while {request.member_id} was in its place")
            instance.unknown = None
        if error is _FENCED and instance.joined is None and not instance.rivals:
            self._complain(f"{type(request).__name__} of {request.member_id} was fenced, and nobody took its place")

    def _instance(self, name: str) -> _Instance:
        return self._instances.setdefault(name, _Instance())

    def _complain(self, text: str) -> None:
        self.violations.append(text)

    @property
    def _now_ms(self) -> int:
        return self.clock.now_ms()


def _key(sent: SentRequest) -> _Key:
    return sent.link.connection, sent.sent_ms
