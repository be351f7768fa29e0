"""A worker's place in its group in production: the blocking member, whose heartbeats come from a thread of its own."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from uuid import UUID

from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.streams.member.member import StreamsGroupMember
from kafka_groups.streams.member.rules.member_events import (
    GroupMembershipOperation,
    StreamsMembershipEvent,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.runtime.worker_membership import ASK_SECONDS, NO_IDS, holding
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["BlockingMembership"]

_OFFSETS_SECONDS = 5.0
"""The time in which a worker waits for committed offsets and does nothing else. It asks again later."""


class BlockingMembership:
    """The blocking member, for a worker that may block briefly, too.

    Its methods are coroutines because simulations await them: there, all workers share one event loop in virtual time.
    In production a worker has a thread of its own, with nothing else to run while it waits for its group, so they await
    nothing.

    Args:
        member: The member.
    """

    def __init__(self, member: StreamsGroupMember) -> None:
        self._member = member

    def __repr__(self) -> str:
        return f"<BlockingMembership of {self._member!r}>"

    @property
    def state(self) -> MembershipState:
        """The state of the member."""
        return self._member.state

    @property
    def is_spare(self) -> bool:
        """True if the group works, and has no task for this member."""
        member = self._member
        return member.state is MembershipState.STABLE and not member.statuses and not member.tasks.ids

    @property
    def epoch(self) -> int:
        """The member's epoch; 0 while it is not in the group."""
        return self._member.epoch

    async def join(self) -> None:
        """Join the group. Blocks, in spite of `async def`, until the member's thread has begun to."""
        self._member.join()

    async def poll(self) -> tuple[StreamsMembershipEvent, ...]:
        """Return the events that are available. Does not block, unless the member has to join again, or to leave."""
        return self._member.poll(0)

    async def confirm(self, event: TasksRevoked | TasksLost) -> None:
        """Confirm that the tasks of an event are closed. Blocks, in spite of `async def`, until the member knows."""
        self._member.confirm(event)

    def committing(self, *, is_urgent: bool = False) -> AbstractAsyncContextManager[bool]:
        """Hold the member in its generation. In a streams group, a commit may begin at any time, without a wait.

        Entering and leaving block, in spite of `async with`, until the member knows.
        """
        if is_urgent or not self._member._has_gate:
            return nullcontext(enter_result=True)
        return holding(self._member._hold, self._member._release)

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], topic_ids: Mapping[TopicPartition, UUID] = NO_IDS
    ) -> None:
        """Commit offsets. Blocks, in spite of `async def`, until the coordinator answers, for five seconds at most."""
        self._member._commit_of(offsets, topic_ids, _OFFSETS_SECONDS)

    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return committed offsets. Blocks, in spite of `async def`, in the same way."""
        return self._member.committed(partitions, _OFFSETS_SECONDS)

    def group_metadata(self) -> GroupMetadata:
        """Return who commits offsets in a transaction. Does not block."""
        return self._member._as_member()

    async def ask_group(self) -> None:
        """Ask the group whether it still has the member. Blocks, in spite of `async def`, for two seconds at most."""
        self._member._ask_group(ASK_SECONDS)

    async def request_shutdown(self) -> None:
        """Ask all members to shut down. Blocks, in spite of `async def`, until the member knows."""
        self._member.request_shutdown()

    async def close(self, timeout_s: float | None, operation: GroupMembershipOperation) -> None:
        """Leave the group. Blocks, in spite of `async def`, until the coordinator knows, or the time is up."""
        self._member.close(timeout_s, operation=operation)
