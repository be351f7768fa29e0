"""An independent reading of the wire: who owns which tasks, which member of an instance is there, what must not be."""

from collections.abc import Iterator
from typing import Any

from attrs import define, field

from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_groups.protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_groups.protocol.messages.streams_group_heartbeat import (
    JOIN_GROUP_EPOCH,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)
from kafka_groups.testing.simulation import SimulatedWorld
from kafka_groups.testing.simulation.checks.ledger import SentRequest
from kafka_groups.types import TaskId
from tests.simulation.groups.offsets import OffsetLedger
from tests.simulation.streams.commits import error_of_commit
from tests.simulation.streams.holdings import Holding, TaskRoles
from tests.simulation.streams.topics import subtopology_of

__all__ = ["OBSERVED", "StreamsLedger"]

OBSERVED = (ApiKey.STREAMS_GROUP_HEARTBEAT, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH)
_NONE, _FENCED, _UNKNOWN = ErrorCode.NONE, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID
_FORGOTTEN = frozenset({_UNKNOWN, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND})
_NO_MEMBER = frozenset({_UNKNOWN, _FENCED, ErrorCode.GROUP_ID_NOT_FOUND})


@define(eq=False)
class StreamsLedger:
    """What was seen of one group.

    Attributes:
        world: Where the group lives: virtual time, the names of topics, and what must not be.
        changes: How many responses have changed an assignment or an epoch.
    """

    world: SimulatedWorld
    changes: int = 0
    _members: dict[str, Holding] = field(factory=dict)
    _instances: dict[str, str] = field(factory=dict)
    _rivals: set[str] = field(factory=set)
    _newest: int = 0
    _owners: dict[tuple[TaskId, int], Holding] = field(factory=dict)
    _may_commit: dict[int, bool] = field(factory=dict)
    _names: dict[Any, str] = field(factory=dict)
    _offsets: OffsetLedger = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._offsets = OffsetLedger(self._name_of)

    # ------------------------------------------------------------------------------------- what is sent

    def asked(self, sent: SentRequest) -> None:
        """A member sends a request."""
        match sent.message:
            case StreamsGroupHeartbeatRequest() as request:
                self._heartbeat_asked(request)
            case OffsetCommitRequest() as request:
                self._offsets.commit_asked(sent)
                self._may_commit[id(sent)] = self._expects_commit(request)
            case _:
                pass

    def answered(self, sent: SentRequest, response: Any) -> None:
        """The coordinator responds."""
        match sent.message:
            case StreamsGroupHeartbeatRequest() as request:
                self._heartbeat_answered(request, response, sent.sent_ms)
            case OffsetCommitRequest() as request:
                self._offsets.commit_answered(sent, response, self._now_ms)
                if not self._may_commit.pop(id(sent)) and error_of_commit(response) is _NONE:
                    epoch = request.generation_id_or_member_epoch
                    self._complain(f"a commit of {request.member_id} in epoch {epoch} was accepted")
            case OffsetFetchRequest():
                self.world.violations += self._offsets.fetch_answered(sent, response)
            case _:
                pass

    def _heartbeat_asked(self, request: StreamsGroupHeartbeatRequest) -> None:
        member = self._member(request.member_id)
        foreign = member.asked(request, self._now_ms)
        if foreign:
            self._complain(f"{request.member_id} owns {_shown(foreign)}, which it was not given")
        if request.member_epoch == JOIN_GROUP_EPOCH and request.instance_id is not None:
            self._rivals.add(request.instance_id)
            for each in self._of_instance(request.instance_id):
                each.released()

    # ---------------------------------------------------------------------------------------- responses

    def _heartbeat_answered(
        self, request: StreamsGroupHeartbeatRequest, response: StreamsGroupHeartbeatResponse, sent_ms: int
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
        request: StreamsGroupHeartbeatRequest,
        response: StreamsGroupHeartbeatResponse,
        sent_ms: int,
    ) -> None:
        self.world.violations += self._rival_members(member, request)
        self.world.violations += self._epochs_that_went_back(request, response)
        if request.active_tasks is None and request.member_epoch < member.epoch:
            self._complain(f"{member.member_id} stayed in epoch {request.member_epoch} after {member.epoch}")
        before = member.epoch, member.told
        new = member.accepted(request, response, sent_ms)
        self.world.violations += self._second_owners(member, new)
        self.world.violations += self._copies_in_one_process(member, new)
        self.world.violations += self._second_owners_in_an_epoch(member, new)
        self.changes += (member.epoch, member.told) != before
        self._newest = max(self._newest, response.member_epoch)

    def _second_owners(self, member: Holding, new: TaskRoles) -> Iterator[str]:
        for other in self._others(member):
            if both := new.active & other.held.active:
                yield self._named(
                    f"{member.member_id} got {_shown(TaskRoles(both))}, which {other.member_id} still has"
                )

    def _second_owners_in_an_epoch(self, member: Holding, new: TaskRoles) -> Iterator[str]:
        """Yields that an epoch does not tell two owners of a task apart, unless they are lives of a static member."""
        for task in sorted(new.active):
            first = self._owners.setdefault((task, member.epoch), member)
            if first is not member and (member.instance is None or first.instance != member.instance):
                yield self._named(f"{member.member_id} got {task} in epoch {member.epoch}, as {first.member_id} did")

    def _copies_in_one_process(self, member: Holding, new: TaskRoles) -> Iterator[str]:
        """Yields that a process has two copies of a task's state."""
        if both := member.told.active & member.told.standby:
            yield self._named(f"{member.member_id} has both roles of {_shown(TaskRoles(both))}")
        for other in self._others(member):
            copies = (new.active & other.held.standby) | (new.standby & (other.held.active | other.held.standby))
            if copies and other.process == member.process:
                yield self._named(
                    f"{member.member_id} got {_shown(new)}, and {other.member_id} of its process has "
                    f"{_shown(other.held)}"
                )

    def _others(self, member: Holding) -> Iterator[Holding]:
        """Yields the other members that are there for certain."""
        for other in self._members.values():
            if other is not member and other.is_there(self._now_ms):
                yield other

    def _rival_members(self, member: Holding, request: StreamsGroupHeartbeatRequest) -> Iterator[str]:
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
        self, request: StreamsGroupHeartbeatRequest, response: StreamsGroupHeartbeatResponse
    ) -> Iterator[str]:
        oldest = self._newest if request.member_epoch == JOIN_GROUP_EPOCH else request.member_epoch
        if response.member_epoch < oldest:
            yield self._named(f"{request.member_id} got epoch {response.member_epoch} after {oldest}")

    def _wrong_refusals(
        self, member: Holding, request: StreamsGroupHeartbeatRequest, error: ErrorCode
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

    def _must_be_known(self, member: Holding, request: StreamsGroupHeartbeatRequest) -> bool:
        """Whether no earlier response is missing, so that the epoch is the current one."""
        is_certain = member.unanswered <= 1 and member.repeats == self._repeats
        return is_certain and request.member_epoch == member.epoch > 0 and member.is_there(self._now_ms)

    def _refused(self, member: Holding, error: ErrorCode) -> None:
        if error in _NO_MEMBER:
            member.lost()
        elif error is ErrorCode.FENCED_MEMBER_EPOCH:
            member.fenced()

    # ---------------------------------------------------------------------------------------- offsets

    def _expects_commit(self, request: OffsetCommitRequest) -> bool:
        """Whether a commit may be accepted."""
        tasks = [
            TaskId(subtopology_of(topic.name or self._name_of(topic.topic_id)), each.partition_index)
            for topic in request.topics
            for each in topic.partitions
        ]
        return self._member(request.member_id).may_commit(request.generation_id_or_member_epoch, tasks)

    # ----------------------------------------------------------------------------------------- insides

    def _name_of(self, topic_id: Any) -> str:
        """The name of a topic, which may have been deleted since."""
        topic = self.world.cluster.metadata.topic_by_id(topic_id)
        if topic is not None:
            self._names[topic_id] = topic.name
        return self._names[topic_id]

    def _member(self, member_id: str) -> Holding:
        return self._members.setdefault(member_id, Holding(member_id))

    def _of_instance(self, instance: str) -> list[Holding]:
        return [each for each in self._members.values() if each.instance == instance]

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


def _shown(tasks: TaskRoles) -> str:
    roles = (("active", tasks.active), ("standby", tasks.standby))
    return "; ".join(f"{role} {', '.join(map(str, sorted(each)))}" for role, each in roles if each)
