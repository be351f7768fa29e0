"""An independent reading of the wire: who owns what, which member of an instance is there, what must not be said."""

from collections.abc import Iterator
from typing import Any

from attrs import define, field

from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.consumer_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest
from kafka_groups.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_groups.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.testing.simulation.checks.ledger import SentRequest
from tests.simulation.consumer.holdings import Holding
from tests.simulation.consumer.membership import Partitions
from tests.simulation.consumer.offset_requests import error_of_commit, name_of
from tests.simulation.groups.offsets import OffsetLedger

__all__ = ["OBSERVED", "ConsumerLedger"]

OBSERVED = (
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
)
_NONE, _FENCED, _UNKNOWN = ErrorCode.NONE, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID
_FORGOTTEN = frozenset({_UNKNOWN, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND})
_NO_MEMBER = frozenset({_UNKNOWN, _FENCED, ErrorCode.GROUP_ID_NOT_FOUND})
_Key = tuple[int, int]


@define(eq=False)
class ConsumerLedger:
    """What was seen of one group.

    Attributes:
        world: Where the group lives: virtual time, the names of topics, and what must not be.
        changes: How many answers have changed an assignment or an epoch.
    """

    world: SimulatedWorld
    changes: int = 0
    _members: dict[str, Holding] = field(factory=dict)
    _instances: dict[str, str] = field(factory=dict)
    _rivals: set[str] = field(factory=set)
    _newest: int = 0
    _may_commit: dict[_Key, bool] = field(factory=dict)
    _offsets: OffsetLedger = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._offsets = OffsetLedger(lambda topic_id: name_of(self.world.cluster.metadata, topic_id))

    # ------------------------------------------------------------------------------------- what is sent

    def asked(self, sent: SentRequest) -> None:
        """A member sends a request."""
        match sent.message:
            case ConsumerGroupHeartbeatRequest() as request:
                self._heartbeat_asked(request)
            case LeaveGroupRequest() as request:
                for leaving in request.members:
                    self._remove(leaving.group_instance_id)
            case OffsetCommitRequest() as request:
                self._offsets.commit_asked(sent)
                self._may_commit[_key(sent)] = self._expects_commit(request)
            case _:
                pass

    def answered(self, sent: SentRequest, response: Any) -> None:
        """The coordinator responds."""
        match sent.message:
            case ConsumerGroupHeartbeatRequest() as request:
                self._heartbeat_answered(request, response, sent.sent_ms)
            case OffsetCommitRequest() as request:
                self._offsets.commit_answered(sent, response, self._now_ms)
                if not self._may_commit.pop(_key(sent)) and error_of_commit(response) is _NONE:
                    epoch = request.generation_id_or_member_epoch
                    self._complain(f"a commit of {request.member_id} in epoch {epoch} was accepted")
            case OffsetFetchRequest():
                self.world.violations += self._offsets.fetch_answered(sent, response)
            case _:
                pass

    def _heartbeat_asked(self, request: ConsumerGroupHeartbeatRequest) -> None:
        member = self._member(request.member_id)
        foreign = member.asked(request, self._now_ms)
        if foreign:
            self._complain(f"{request.member_id} owns {self._shown(foreign)}, which it was not given")
        if request.member_epoch == JOIN_GROUP_EPOCH and request.instance_id is not None:
            self._rivals.add(request.instance_id)
            for each in self._of_instance(request.instance_id):
                each.released()

    def _remove(self, instance: str | None) -> None:
        for each in self._of_instance(instance):
            each.removed_ms = self._now_ms

    # ---------------------------------------------------------------------------------------- answers

    def _heartbeat_answered(
        self, request: ConsumerGroupHeartbeatRequest, response: ConsumerGroupHeartbeatResponse, sent_ms: int
    ) -> None:
        member = self._member(request.member_id)
        if response.error_code is _NONE and request.member_epoch >= JOIN_GROUP_EPOCH:
            self._accepted(member, request, response, sent_ms)
        elif response.error_code is _NONE:
            member.left()
        else:
            self.world.violations += self._wrong_refusals(member, request, response.error_code)
            self._refused(member, response.error_code)
        member.repeats = self._repeats

    def _accepted(
        self,
        member: Holding,
        request: ConsumerGroupHeartbeatRequest,
        response: ConsumerGroupHeartbeatResponse,
        sent_ms: int,
    ) -> None:
        self.world.violations += self._rival_members(member, request)
        self.world.violations += self._epochs_that_went_back(request, response)
        before = member.epoch, member.told
        new = member.accepted(request, response, sent_ms)
        self.world.violations += self._second_owners(member, new)
        self.changes += (member.epoch, member.told) != before
        self._newest = max(self._newest, response.member_epoch)

    def _second_owners(self, member: Holding, new: Partitions) -> Iterator[str]:
        for other in self._members.values():
            both = new & other.held
            if both and other is not member and other.is_there(self._now_ms):
                yield self._named(f"{member.member_id} got {self._shown(both)}, which {other.member_id} still has")

    def _rival_members(self, member: Holding, request: ConsumerGroupHeartbeatRequest) -> Iterator[str]:
        """Yields that two members of an instance are there, or that the older one is taken for a member."""
        name = request.instance_id
        if name is None:
            return
        alive = self._instances.get(name)
        if alive is not None and alive != member.member_id:
            other = self._members[alive]
            if request.member_epoch != JOIN_GROUP_EPOCH:
                yield self._named(f"{member.member_id} was accepted after {alive} took its place as {name}")
            elif other.is_there(self._now_ms) and not other.is_away:
                yield self._named(f"{member.member_id} took the place of {alive} as {name}, which was there")
            other.lost()
        self._instances[name] = member.member_id
        self._rivals.discard(name)

    def _epochs_that_went_back(
        self, request: ConsumerGroupHeartbeatRequest, response: ConsumerGroupHeartbeatResponse
    ) -> Iterator[str]:
        oldest = self._newest if request.member_epoch == JOIN_GROUP_EPOCH else request.member_epoch
        if response.member_epoch < oldest:
            yield self._named(f"{request.member_id} got epoch {response.member_epoch} after {oldest}")

    def _wrong_refusals(
        self, member: Holding, request: ConsumerGroupHeartbeatRequest, error: ErrorCode
    ) -> Iterator[str]:
        name, member_id = request.instance_id, request.member_id
        alive = None if name is None else self._instances.get(name)
        if alive is not None and alive != member_id:
            if error is _UNKNOWN and self._members[alive].is_there(self._now_ms):
                yield self._named(f"{member_id} got UNKNOWN_MEMBER_ID while {alive} was in its place")
        elif error is _FENCED and name not in self._rivals:
            yield self._named(f"{member_id} was fenced, and nobody took its place as {name}")
        elif error in _FORGOTTEN and self._must_be_known(member, request):
            yield self._named(f"{member_id} got {error.name} in epoch {member.epoch}, which it was given")

    def _must_be_known(self, member: Holding, request: ConsumerGroupHeartbeatRequest) -> bool:
        """Whether at most one earlier answer is missing, so that the epoch is the current or the previous one."""
        is_certain = member.unanswered <= 2 and member.repeats == self._repeats
        return is_certain and request.member_epoch == member.epoch > 0 and member.is_there(self._now_ms)

    def _refused(self, member: Holding, error: ErrorCode) -> None:
        if error in _NO_MEMBER:
            member.lost()
        elif error is ErrorCode.FENCED_MEMBER_EPOCH:
            member.fenced()

    # ---------------------------------------------------------------------------------------- offsets

    def _expects_commit(self, request: OffsetCommitRequest) -> bool:
        """Whether a commit may be accepted."""
        partitions = [
            (topic.topic_id or self._id_of(topic.name), each.partition_index)
            for topic in request.topics
            for each in topic.partitions
        ]
        return self._member(request.member_id).may_commit(request.generation_id_or_member_epoch, partitions)

    # ----------------------------------------------------------------------------------------- insides

    def _id_of(self, name: str) -> Any:
        topic = self.world.cluster.metadata.topic(name)
        assert topic is not None
        return topic.topic_id

    def _member(self, member_id: str) -> Holding:
        return self._members.setdefault(member_id, Holding(member_id))

    def _of_instance(self, instance: str | None) -> list[Holding]:
        return [each for each in self._members.values() if instance is not None and each.instance == instance]

    def _shown(self, partitions: Partitions) -> str:
        return ", ".join(
            f"{name_of(self.world.cluster.metadata, topic_id)}-{number}" for topic_id, number in sorted(partitions)
        )

    def _named(self, text: str) -> str:
        return f"{self._now_ms / 1000:.3f}: {text}"

    def _complain(self, text: str) -> None:
        self.world.violations.append(self._named(text))

    @property
    def _repeats(self) -> int:
        return self.world.struck["repeated_heartbeat"]

    @property
    def _now_ms(self) -> int:
        return self.world.clock.now_ms()


def _key(sent: SentRequest) -> _Key:
    return sent.link.connection, sent.sent_ms
