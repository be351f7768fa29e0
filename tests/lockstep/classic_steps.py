"""Steps of members of classic groups. The clients `one`, `two` and `three` are static members (KIP-345)."""

from typing import Any

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_groups.protocol.messages.heartbeat import HeartbeatRequest
from kafka_groups.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_groups.protocol.messages.leave_group import (
    FIRST_WITH_MANY_MEMBERS,
    LeaveGroupRequest,
    LeaveGroupRequestMember,
)
from kafka_groups.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.lockstep.classic_members import ClassicState
from tests.lockstep.side import Side
from tests.lockstep.steps import GROUP, Change, Question
from tests.support.members.classic_member import subscription

STATIC = ("one", "two", "three")
CONSUMER = "consumer"
NAMELESS = ""
"""In a request: no instance id, although the client is a static member."""

_SESSION_MS = 1_800_000
_REBALANCE_MS = 600_000
_FIRST_WITH_INSTANCES = {JoinGroupRequest: 5, SyncGroupRequest: 3, HeartbeatRequest: 3}


@frozen(kw_only=True, repr=False)
class Classic(Change):
    """A request of a member, with what the client remembers.

    Attributes:
        instance: The instance id, if it is not that of the client.
        of: Label of a member whose id is sent instead of the client's own one.
        fresh: Whether the client has forgotten what it was.
        group: The group.
    """

    fresh: bool = False
    instance: str | None = None
    of: str | None = None
    group: str = GROUP

    @property
    def is_odd(self) -> bool:
        """Whether a client would not send this, so that it remembers nothing of the response."""
        return self.instance is not None or self.of is not None or self.group != GROUP

    def instance_id(self, kind: type) -> str | None:
        """The instance id that is sent, unless the version is too old for it."""
        if self.version is not None and self.version < _FIRST_WITH_INSTANCES[kind]:
            return None
        own = self.by if self.by in STATIC else None
        return own if self.instance is None else self.instance or None

    def member_id(self, side: Side) -> str:
        """The member id that is sent."""
        if self.fresh:
            return ""
        return side.classic[self.by].member_id if self.of is None else side.labels.member_id(self.of)

    def note(self, side: Side, response: Any) -> None:
        """Remember what the response says, as a client does."""
        if self.is_odd:
            return
        state = side.classic[self.by]
        if response.error_code is ErrorCode.NONE:
            self.succeeded(state, response)
        elif response.error_code is not ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
            state.phase = "out"
            if response.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
                state.member_id = ""
            elif response.error_code is ErrorCode.MEMBER_ID_REQUIRED:
                state.member_id = response.member_id

    def succeeded(self, state: ClassicState, response: Any) -> None:
        """Remember what a response without an error says."""


Protocols = tuple[tuple[str, tuple[str, ...]], ...]
"""Names of protocols, and the topics of the subscription for each."""


@frozen(kw_only=True, repr=False)
class JoinGroup(Classic):
    """JoinGroup."""

    protocols: Protocols = (("range", ("t",)),)
    protocol_type: str = CONSUMER
    session_timeout_ms: int = _SESSION_MS

    def request(self, side: Side) -> Any:
        """The request."""
        state = side.classic[self.by]
        if self.fresh and not self.is_odd:
            side.classic[self.by] = ClassicState(waiting=state.waiting)
        protocols = (
            JoinGroupRequestProtocol(name=name, metadata=subscription(*map(side.topic_name, topics)))
            for name, topics in self.protocols
        )
        return JoinGroupRequest(
            group_id=side.group_id(self.group),
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=_REBALANCE_MS,
            member_id=self.member_id(side),
            group_instance_id=self.instance_id(JoinGroupRequest),
            protocol_type=self.protocol_type,
            protocols=tuple(protocols),
        )

    def succeeded(self, state: ClassicState, response: Any) -> None:
        """The client is in the generation."""
        state.member_id, state.generation = response.member_id, response.generation_id
        state.protocol_type, state.protocol, state.phase = self.protocol_type, response.protocol_name, "joined"
        state.members = () if response.skip_assignment else tuple(each.member_id for each in response.members)


@frozen(kw_only=True, repr=False)
class SyncGroup(Classic):
    """SyncGroup. A leader assigns their own labels to the members, with this number."""

    number: int = 0
    leaves_out: str | None = None
    shift: int = 0
    protocol: tuple[str, str] | None = None

    @property
    def is_odd(self) -> bool:
        """Whether a client would not send this."""
        return self.shift != 0 or self.protocol is not None or super().is_odd

    def request(self, side: Side) -> Any:
        """The request."""
        state = side.classic[self.by]
        labels = {each: side.labels.of(each) for each in state.members}
        protocol_type, name = self.protocol or (state.protocol_type, state.protocol)
        return SyncGroupRequest(
            group_id=side.group_id(self.group),
            generation_id=state.generation + self.shift,
            member_id=self.member_id(side),
            group_instance_id=self.instance_id(SyncGroupRequest),
            protocol_type=protocol_type,
            protocol_name=name,
            assignments=tuple(
                SyncGroupRequestAssignment(member_id=each, assignment=f"{label}: {self.number}".encode())
                for each, label in labels.items()
                if label != self.leaves_out
            ),
        )

    def succeeded(self, state: ClassicState, _response: Any) -> None:
        """The client has its assignment."""
        state.phase = "in"


@frozen(kw_only=True, repr=False)
class ClassicHeartbeat(Classic):
    """Heartbeat."""

    shift: int = 0

    @property
    def is_odd(self) -> bool:
        """Whether a client would not send this."""
        return self.shift != 0 or super().is_odd

    def request(self, side: Side) -> Any:
        """The request."""
        return HeartbeatRequest(
            group_id=side.group_id(self.group),
            generation_id=side.classic[self.by].generation + self.shift,
            member_id=self.member_id(side),
            group_instance_id=self.instance_id(HeartbeatRequest),
        )


@frozen
class Leaver:
    """A member to remove: by the label of its id, by an instance id, or by both."""

    label: str = ""
    instance: str | None = None


@frozen(kw_only=True, repr=False)
class LeaveGroup(Change):
    """LeaveGroup."""

    members: tuple[Leaver, ...]
    group: str = GROUP

    def request(self, side: Side) -> Any:
        """The request."""
        members = tuple(
            LeaveGroupRequestMember(member_id=side.labels.member_id(each.label), group_instance_id=each.instance)
            for each in self.members
        )
        group_id = side.group_id(self.group)
        if self.version is not None and self.version < FIRST_WITH_MANY_MEMBERS:
            return LeaveGroupRequest(group_id=group_id, member_id=members[0].member_id)
        return LeaveGroupRequest(group_id=group_id, members=members)


@frozen(kw_only=True, repr=False)
class DescribeClassicGroup(Question):
    """DescribeGroups."""

    group: str = GROUP

    def request(self, side: Side) -> Any:
        """The request."""
        return DescribeGroupsRequest(groups=(side.group_id(self.group),))
