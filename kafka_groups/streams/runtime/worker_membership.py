"""The interface of a worker to its group. The members of applications and of simulations have these methods."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import MappingProxyType
from typing import Protocol
from uuid import UUID

from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.streams.member.rules.member_events import (
    GroupMembershipOperation,
    StreamsMembershipEvent,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["ASK_SECONDS", "NO_IDS", "WorkerMembership", "holding"]

NO_IDS: Mapping[TopicPartition, UUID] = MappingProxyType({})
"""Nobody knows the ids of the topics."""


ASK_SECONDS = 2.0
"""The time in which a worker waits for its group to say whether it still has the member."""


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

    def committing(self, *, is_urgent: bool = False) -> AbstractAsyncContextManager[bool]:
        """Hold the member in its generation during a whole commit, and say whether the commit may begin.

        Args:
            is_urgent: Whether the commit begins in any case. The group may refuse it.
        """

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], topic_ids: Mapping[TopicPartition, UUID] = NO_IDS
    ) -> None:
        """Commit offsets.

        Args:
            offsets: For each partition the offset of the next record to process.
            topic_ids: The ids of the topics that the offsets are from. If all are known, the coordinator refuses those
                of a topic that was deleted, even if there is another one of its name.
        """

    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """Return committed offsets."""

    def group_metadata(self) -> GroupMetadata:
        """Return who commits offsets in a transaction.

        Raises:
            TasksLostError: The member has lost tasks that are not closed.
        """

    async def ask_group(self) -> None:
        """Ask the group whether it still has the member, and wait briefly for the answer.

        Raises:
            KafkaGroupsError: The group has refused the member for good, for example because another process has its
                `group.instance.id`.
        """

    async def request_shutdown(self) -> None:
        """Ask all members to shut down."""

    async def close(self, timeout_s: float | None, operation: GroupMembershipOperation) -> None:
        """Leave the group."""


@asynccontextmanager
async def holding(hold: Callable[[], bool], release: Callable[[], None]) -> AsyncIterator[bool]:
    """Hold a member in its generation during the block. Yield whether it could be held.

    Args:
        hold: Holds it, and returns True; or returns False.
        release: Lets it go. Called only if it was held.
    """
    is_held = hold()
    try:
        yield is_held
    finally:
        if is_held:
            release()
