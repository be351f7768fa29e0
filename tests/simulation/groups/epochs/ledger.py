"""An independent reading of the wire: who owns what, which member of an instance is there, what must not be said."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from attrs import define, field

from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_heartbeat import JOIN_GROUP_EPOCH
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest
from kafka_groups.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_groups.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.testing.simulation.checks.ledger import SentRequest
from tests.simulation.groups.epochs.seen_member import H, SeenMember
from tests.simulation.groups.offset_requests import error_of_commit
from tests.simulation.groups.offsets import OffsetLedger
from tests.simulation.groups.topics import TopicNames

__all__ = ["EpochLedger", "LedgerRules"]

_OBSERVED = (ApiKey.LEAVE_GROUP, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH)
_NONE, _FENCED, _UNKNOWN = ErrorCode.NONE, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID
_FORGOTTEN = frozenset({_UNKNOWN, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND})
_NO_MEMBER = frozenset({_UNKNOWN, _FENCED, ErrorCode.GROUP_ID_NOT_FOUND})

O = TypeVar("O")  # noqa: E741


class LedgerRules(Protocol[H, O]):
    """The rules of one type of group for what is seen on the wire."""

    @property
    def heartbeat(self) -> ApiKey:
        """The API of its heartbeats."""
        ...

    @property
    def most_unanswered(self) -> int:
        """The number of heartbeats without a response, this one included, up to which an epoch must be valid."""
        ...

    def new_holding(self) -> H:
        """Return the holding of a member that was not seen before."""
        ...

    def shown(self, owned: O) -> str:
        """Return a text that names what a member owns."""
        ...

    def conflict(self, new: O, held: O) -> O:
        """Return the part of `new` that a member must not get while another one holds it."""
        ...

    def committed(self, topic: str, partition: int) -> Hashable:
        """Return the partition or task that a member must own to commit an offset of a partition."""
        ...

    def wrongly_accepted(self, member: SeenMember[H], request: Any) -> Iterable[str]:
        """Yield reasons why the coordinator must not have accepted a heartbeat."""
        ...

    def wrongly_given(self, member: SeenMember[H], new: O, others: list[SeenMember[H]]) -> Iterable[str]:
        """Yield reasons why a member must not have got `new`. The `others` are members for certain."""
        ...


@define(eq=False)
class EpochLedger(Generic[H, O]):
    """Everything that was seen of one group.

    Attributes:
        world: Where the group lives: virtual time, the names of topics, and what must not be.
        rules: Those of its type.
        changes: How many responses have changed an assignment or an epoch.
    """

    world: SimulatedWorld
    rules: LedgerRules[H, O]
    changes: int = 0
    _members: dict[str, SeenMember[H]] = field(factory=dict)
    _instances: dict[str, str] = field(factory=dict)
    _rivals: set[str] = field(factory=set)
    _newest: int = 0
    _may_commit: dict[int, bool] = field(factory=dict)
    _names: TopicNames = field(init=False)
    _offsets: OffsetLedger = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._names = TopicNames(self.world.cluster)
        self._offsets = OffsetLedger(self._names.of)

    def watch(self) -> None:
        """Follow the requests of the group from now on."""
        self.world.tap.watch((*_OBSERVED, self.rules.heartbeat), self)

    # ------------------------------------------------------------------------------------- what is sent

    def asked(self, sent: SentRequest) -> None:
        """A member sends a request."""
        match sent.message:
            case LeaveGroupRequest() as request:
                for leaving in request.members:
                    self._remove(leaving.group_instance_id)
            case OffsetCommitRequest() as request:
                self._offsets.commit_asked(sent)
                self._may_commit[id(sent)] = self._expects_commit(request)
            case OffsetFetchRequest():
                pass
            case heartbeat:
                self._heartbeat_asked(heartbeat)

    def answered(self, sent: SentRequest, response: Any) -> None:
        """The coordinator responds."""
        match sent.message:
            case LeaveGroupRequest():
                pass
            case OffsetCommitRequest() as request:
                self._offsets.commit_answered(sent, response, self._now_ms)
                if not self._may_commit.pop(id(sent)) and error_of_commit(response) is _NONE:
                    epoch = request.generation_id_or_member_epoch
                    self._complain(f"a commit of {request.member_id} in epoch {epoch} was accepted")
            case OffsetFetchRequest():
                self.world.violations += self._offsets.fetch_answered(sent, response)
            case heartbeat:
                self._heartbeat_answered(heartbeat, response, sent.sent_ms)

    def _heartbeat_asked(self, request: Any) -> None:
        member = self._member(request.member_id)
        foreign = member.asked(request, self._now_ms)
        if foreign:
            self._complain(f"{request.member_id} owns {self.rules.shown(foreign)}, which it was not given")
        if request.member_epoch == JOIN_GROUP_EPOCH and request.instance_id is not None:
            self._rivals.add(request.instance_id)
            for each in self._of_instance(request.instance_id):
                each.released()

    def _remove(self, instance: str | None) -> None:
        for each in self._of_instance(instance):
            each.removed_ms = self._now_ms

    def _expects_commit(self, request: OffsetCommitRequest) -> bool:
        """Return whether the coordinator may accept a commit."""
        committed = [
            self.rules.committed(topic.name or self._names.of(topic.topic_id), each.partition_index)
            for topic in request.topics
            for each in topic.partitions
        ]
        return self._member(request.member_id).may_commit(request.generation_id_or_member_epoch, committed)

    # ---------------------------------------------------------------------------------------- responses

    def _heartbeat_answered(self, request: Any, response: Any, sent_ms: int) -> None:
        member = self._member(request.member_id)
        if response.error_code is _NONE and request.member_epoch >= JOIN_GROUP_EPOCH:
            self._accepted(member, request, response, sent_ms)
        elif response.error_code is _NONE:
            member.left()
        else:
            self._complain(*self._wrong_refusals(member, request, response.error_code))
            self._refused(member, response.error_code)
        member.repeats = self._repeats

    def _accepted(self, member: SeenMember[H], request: Any, response: Any, sent_ms: int) -> None:
        self._complain(*self._rival_members(member, request))
        self._complain(*self._epochs_that_went_back(request, response))
        self._complain(*self.rules.wrongly_accepted(member, request))
        before = member.epoch, member.holding.told
        new: O = member.accepted(request, response, sent_ms)
        others = [each for each in self._members.values() if each is not member and each.is_there(self._now_ms)]
        self._complain(*self._second_owners(member, new, others))
        self._complain(*self.rules.wrongly_given(member, new, others))
        self.changes += (member.epoch, member.holding.told) != before
        self._newest = max(self._newest, response.member_epoch)

    def _second_owners(self, member: SeenMember[H], new: O, others: Iterable[SeenMember[H]]) -> Iterator[str]:
        for other in others:
            both = self.rules.conflict(new, other.holding.held)
            if both:
                yield f"{member.member_id} got {self.rules.shown(both)}, which {other.member_id} still has"

    def _rival_members(self, member: SeenMember[H], request: Any) -> Iterator[str]:
        """Yields that two members of an instance are there, or that the older one is taken for a member."""
        name = request.instance_id
        if name is None:
            return
        alive = self._instances.get(name)
        if alive is not None and alive != member.member_id:
            other = self._members[alive]
            if request.member_epoch != JOIN_GROUP_EPOCH:
                yield f"{member.member_id} was accepted after {alive} took its place as {name}"
            elif other.is_there(self._now_ms) and not other.is_away:
                yield f"{member.member_id} took the place of {alive} as {name}, which was there"
            other.lost()
        self._instances[name] = member.member_id
        self._rivals.discard(name)

    def _epochs_that_went_back(self, request: Any, response: Any) -> Iterator[str]:
        oldest = self._newest if request.member_epoch == JOIN_GROUP_EPOCH else request.member_epoch
        if response.member_epoch < oldest:
            yield f"{request.member_id} got epoch {response.member_epoch} after {oldest}"

    def _wrong_refusals(self, member: SeenMember[H], request: Any, error: ErrorCode) -> Iterator[str]:
        name, member_id = request.instance_id, request.member_id
        alive = None if name is None else self._instances.get(name)
        if alive is not None and alive != member_id:
            if error is _UNKNOWN and self._members[alive].is_there(self._now_ms):
                yield f"{member_id} got UNKNOWN_MEMBER_ID while {alive} was in its place"
        elif error is _FENCED and name not in self._rivals:
            yield f"{member_id} was fenced, and nobody took its place as {name}"
        elif error in _FORGOTTEN and self._must_be_known(member, request):
            yield f"{member_id} got {error.name} in epoch {member.epoch}, which it was given"

    def _must_be_known(self, member: SeenMember[H], request: Any) -> bool:
        """Return whether so few responses are missing that the member's epoch must be valid."""
        is_certain = member.unanswered <= self.rules.most_unanswered and member.repeats == self._repeats
        return is_certain and request.member_epoch == member.epoch > 0 and member.is_there(self._now_ms)

    def _refused(self, member: SeenMember[H], error: ErrorCode) -> None:
        if error in _NO_MEMBER:
            member.lost()
        elif error is ErrorCode.FENCED_MEMBER_EPOCH:
            member.fenced()

    # ----------------------------------------------------------------------------------------- insides

    def _member(self, member_id: str) -> SeenMember[H]:
        if member_id not in self._members:
            self._members[member_id] = SeenMember(member_id, self.rules.new_holding())
        return self._members[member_id]

    def _of_instance(self, instance: str | None) -> list[SeenMember[H]]:
        return [each for each in self._members.values() if instance is not None and each.instance == instance]

    def _complain(self, *texts: str) -> None:
        self.world.violations += [f"{self._now_ms / 1000:.3f}: {text}" for text in texts]

    @property
    def _repeats(self) -> int:
        return self.world.struck["repeated_heartbeat"]

    @property
    def _now_ms(self) -> int:
        return self.world.clock.now_ms()
