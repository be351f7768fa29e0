"""A classic group as its members see it, in the plainest form: one round at a time, and sessions."""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

__all__ = ["NaiveClassicGroup"]

Reply = Callable[[Any], None]


@define(eq=False)
class _Known:
    """A member that the group knows."""

    member_id: str
    instance_id: str | None
    session_ms: int
    metadata: bytes = b""
    assignment: bytes = b""
    until_ms: int = 0
    join: Reply | None = None
    sync: Reply | None = None


@define(eq=False)
class NaiveClassicGroup:
    """The group.

    Attributes:
        now_ms: The time.
        phase: Where its round is: empty, preparing, completing or stable.
        members: The members by id.
        silent: The members whose session has ended.
        late: The members that have not joined in time.
    """

    now_ms: int = 0
    rebalance_ms: int = 20_000
    generation: int = 0
    phase: str = "empty"
    leader: str = ""
    members: dict[str, _Known] = field(factory=dict)
    silent: list[str] = field(factory=list)
    late: list[str] = field(factory=list)
    _pending: set[str] = field(factory=set)
    _count: int = 0
    _until_ms: int = 0

    def handle(self, request: object, reply: Reply) -> None:
        """Answer a request, now or when other members have joined."""
        if isinstance(request, JoinGroupRequest):
            self._join(request, reply)
        elif isinstance(request, SyncGroupRequest):
            self._sync(request, reply)
        elif isinstance(request, HeartbeatRequest):
            reply(HeartbeatResponse(error_code=self._heartbeat(request)))
        elif isinstance(request, LeaveGroupRequest):
            for each in request.members:
                self._remove(each.member_id)
            reply(LeaveGroupResponse())

    def commit(self, member_id: str, generation: int) -> ErrorCode:
        """Take offsets."""
        if member_id not in self.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return ErrorCode.REBALANCE_IN_PROGRESS if self.phase == "completing" else ErrorCode.NONE

    def after(self, ms: int) -> None:
        """Let time pass: sessions end, and so does the time to join."""
        self.now_ms += ms
        is_late = self.phase == "preparing" and self.now_ms >= self._until_ms
        for member in list(self.members.values()):
            is_silent = self.now_ms >= member.until_ms
            if member.join is None and (is_late or is_silent):
                (self.silent if is_silent else self.late).append(member.member_id)
                self._remove(member.member_id)
        self._complete()

    # ------------------------------------------------------------------------------------- joining

    def _join(self, request: JoinGroupRequest, reply: Reply) -> None:
        metadata, instance_id = request.protocols[0].metadata, request.group_instance_id
        if not request.member_id and instance_id is None:
            self._pending.add(self._new_id())
            reply(JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=f"m{self._count}"))
            return
        if not request.member_id and (old := self._static(instance_id)) is not None:
            self._replace(old, metadata, reply)
            return
        if request.member_id and request.member_id not in self.members | dict.fromkeys(self._pending):
            reply(JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID, member_id=request.member_id))
            return
        member_id = request.member_id or self._new_id()
        self._pending.discard(member_id)
        new = _Known(member_id, instance_id, request.session_timeout_ms)
        self._wait(self.members.setdefault(member_id, new), metadata, reply)

    def _new_id(self) -> str:
        self._count += 1
        return f"m{self._count}"

    def _static(self, instance_id: str | None) -> _Known | None:
        return next((each for each in self.members.values() if each.instance_id == instance_id), None)

    def _replace(self, old: _Known, metadata: bytes, reply: Reply) -> None:
        """Let a static member that was restarted take the place of its former life."""
        new = _Known(self._new_id(), old.instance_id, old.session_ms, metadata, old.assignment)
        if old.join is not None:
            old.join(JoinGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
        if old.sync is not None:
            old.sync(SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
        del self.members[old.member_id]
        self.members[new.member_id] = new
        was_leader = self.leader == old.member_id
        self.leader = new.member_id if was_leader else self.leader
        if self.phase == "stable":
            self._heard(new)
            reply(self._joined(new, skips=was_leader))
        else:
            self._wait(new, metadata, reply)

    def _wait(self, member: _Known, metadata: bytes, reply: Reply) -> None:
        if member.join is not None:
            member.join(JoinGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        member.metadata, member.join = metadata, reply
        self._prepare()
        self._complete()

    def _prepare(self) -> None:
        if self.phase == "preparing":
            return
        self.phase, self._until_ms = "preparing", self.now_ms + self.rebalance_ms
        for member in self.members.values():
            parked, member.sync = member.sync, None
            if parked is not None:
                parked(SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))

    def _complete(self) -> None:
        """Begin the next generation if all members have joined."""
        if self.phase != "preparing" or any(each.join is None for each in self.members.values()):
            return
        self.generation += 1
        self.phase = "completing" if self.members else "empty"
        self.leader = self.leader if self.leader in self.members else next(iter(self.members), "")
        for member in list(self.members.values()):
            parked, member.join = member.join, None
            self._heard(member)
            assert parked is not None
            parked(self._joined(member))

    def _joined(self, member: _Known, *, skips: bool = False) -> JoinGroupResponse:
        leads = member.member_id == self.leader
        listed = tuple(
            JoinGroupResponseMember(
                member_id=each.member_id, group_instance_id=each.instance_id, metadata=each.metadata
            )
            for each in self.members.values()
        )
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type="consumer",
            protocol_name="stream",
            leader=self.leader,
            skip_assignment=skips,
            member_id=member.member_id,
            members=listed if leads else (),
        )

    # ------------------------------------------------------------------------------------- the rest

    def _sync(self, request: SyncGroupRequest, reply: Reply) -> None:
        code = self._checked(request.member_id, request.generation_id)
        if code is ErrorCode.NONE and self.phase == "preparing":
            code = ErrorCode.REBALANCE_IN_PROGRESS
        if code is not ErrorCode.NONE:
            reply(SyncGroupResponse(error_code=code))
            return
        member = self.members[request.member_id]
        if self.phase == "stable":
            reply(SyncGroupResponse(assignment=member.assignment))
            return
        member.sync = reply
        if request.member_id == self.leader:
            self._assign({each.member_id: each.assignment for each in request.assignments})

    def _assign(self, assignments: Mapping[str, bytes]) -> None:
        self.phase = "stable"
        for member in self.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            parked, member.sync = member.sync, None
            if parked is not None:
                parked(SyncGroupResponse(assignment=member.assignment))

    def _heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        code = self._checked(request.member_id, request.generation_id)
        if code is not ErrorCode.NONE:
            return code
        self._heard(self.members[request.member_id])
        return ErrorCode.REBALANCE_IN_PROGRESS if self.phase == "preparing" else ErrorCode.NONE

    def _checked(self, member_id: str, generation: int) -> ErrorCode:
        if member_id not in self.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if generation == self.generation else ErrorCode.ILLEGAL_GENERATION

    def _heard(self, member: _Known) -> None:
        member.until_ms = self.now_ms + member.session_ms

    def _remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        self._pending.discard(member_id)
        if member is None:
            return
        if member.join is not None:
            member.join(JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        if member.sync is not None:
            member.sync(SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        self._prepare()
        self._complete()
