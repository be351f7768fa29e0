"""Clients of consumer and streams groups: each life of a client has a member id and an epoch."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from attrs import evolve, frozen

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupRequestMember
from kafka_groups.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_groups.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.lockstep.classic_steps import STATIC
from tests.lockstep.side import Side
from tests.lockstep.steps import GROUP

__all__ = ["CONSUMERS", "REBALANCE_MS", "STREAMS", "EpochMembers", "EpochState", "instance_sent", "remember"]

REBALANCE_MS = 600_000
_FENCED = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNRELEASED_INSTANCE_ID)


class EpochState(Protocol):
    """A client's knowledge of its membership."""

    @property
    def life(self) -> int:
        """The number of earlier lives. Each life has a member id of its own."""
        ...

    @property
    def epoch(self) -> int:
        """Its member epoch; 0 if it is not a member."""
        ...

    def left(self) -> None:
        """Note that it is not a member any more."""
        ...

    def answered(self, response: Any) -> None:
        """Remember a response without an error."""
        ...


@frozen
class EpochMembers:
    """The members of one type of group, and the requests that they send.

    Attributes:
        states: Returns the knowledge of each client of a side.
    """

    states: Callable[[Side], Mapping[str, EpochState]]

    def id_of(self, side: Side, name: str) -> str:
        """Return the member id that a client has in its present life."""
        return side.member(f"{name} {self.states(side)[name].life}").member_id

    def committing(self, request: OffsetCommitRequest, side: Side, name: str, shift: int) -> OffsetCommitRequest:
        """Return a commit with a member's id, and with `shift` added to its epoch."""
        return evolve(
            request,
            generation_id_or_member_epoch=self.states(side)[name].epoch + shift,
            member_id=self.id_of(side, name),
            group_instance_id=instance_sent(name),
        )

    def fetching(self, request: OffsetFetchRequest, side: Side, name: str, shift: int) -> OffsetFetchRequest:
        """Return an OffsetFetch with a member's id, and with `shift` added to its epoch."""
        (group,) = request.groups
        epoch = self.states(side)[name].epoch + shift
        return OffsetFetchRequest(groups=(evolve(group, member_id=self.id_of(side, name), member_epoch=epoch),))

    def removing(self, side: Side, members: Iterable[tuple[str | None, str | None]]) -> LeaveGroupRequest:
        """Return a LeaveGroup with members: by member id, instance id, or both."""
        removed = (
            LeaveGroupRequestMember(
                member_id="" if name is None else self.id_of(side, name), group_instance_id=instance
            )
            for name, instance in members
        )
        return LeaveGroupRequest(group_id=side.group_id(GROUP), members=tuple(removed))


CONSUMERS = EpochMembers(lambda side: side.consumers)
STREAMS = EpochMembers(lambda side: side.streams)


def instance_sent(name: str, instance: str | None = None) -> str | None:
    """Return the instance id that a client sends: its own one unless another is given; empty for none."""
    own = name if name in STATIC else None
    return own if instance is None else instance or None


def remember(state: EpochState, response: Any) -> None:
    """Remember what the response to a heartbeat says, as a client does."""
    if response.error_code in _FENCED or (response.error_code is ErrorCode.NONE and response.member_epoch <= 0):
        state.left()
    elif response.error_code is ErrorCode.NONE:
        state.answered(response)
