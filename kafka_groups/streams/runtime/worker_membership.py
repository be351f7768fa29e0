"""The interface of a worker to its group. The members of applications and of simulations have these methods."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from kafka_groups.streams.member.rules.member_events import (
    GroupMembershipOperation,
    StreamsMembershipEvent,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["WorkerMembership"]


class WorkerMembership(Protocol):
    """A worker's place in the streams group. The documentation is that of `StreamsGroupMember`.

    Its methods are coroutines for simulations, which await them: all their workers share one event loop. In production
    they block instead (`BlockingMembership`).
    """

    @property
    def state(self) -> MembershipState:
        """The state of the member."""

    @property
    def is_spare(self) -> bool:
        """True if the group works, and has no task for this member."""

    @property
    def epoch(self) -> int:
        """The member's epoch; 0 while it is not in the group."""

    async def join(self) -> None:
        """Join the group."""

    async def poll(self) -> tuple[StreamsMembershipEvent, ...]:
        """Return the events that are available."""

    async def confirm(self, event: TasksRevoked | TasksLost) -> None:
        """Confirm that the tasks of an event are closed."""

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit offsets."""

    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return committed offsets."""

    def group_metadata(self) -> bytes:
        """Return the member's metadata for a transaction."""

    async def request_shutdown(self) -> None:
        """Ask all members to shut down."""

    async def close(self, timeout_s: float | None, operation: GroupMembershipOperation) -> None:
        """Leave the group."""
