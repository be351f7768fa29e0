"""A worker's place in the group in virtual time: the asynchronous member, on the worker's own event loop."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from uuid import UUID

from typing_extensions import override

from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.streams.member.aio import AsyncStreamsGroupMember
from kafka_groups.streams.member.rules.member_events import (
    GroupMembershipOperation,
    StreamsMembershipEvent,
    TasksLost,
    TasksRevoked,
)
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.streams.runtime.worker_membership import ASK_SECONDS, NO_IDS, WorkerMembership, holding
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["AsyncMembership"]

_OFFSETS_SECONDS = 5.0


class AsyncMembership(WorkerMembership):
    """The asynchronous member, as a worker wants it."""

    def __init__(self, member: AsyncStreamsGroupMember) -> None:
        self._member = member

    def __repr__(self) -> str:
        return f"<AsyncMembership of {self._member!r}>"

    @property
    @override
    def state(self) -> MembershipState:
        return self._member.state

    @property
    @override
    def is_spare(self) -> bool:
        member = self._member
        return member.state is MembershipState.STABLE and not member.statuses and not member.tasks.ids

    @property
    @override
    def epoch(self) -> int:
        return self._member.epoch

    @override
    async def join(self) -> None:
        await self._member.join()

    @override
    def group_metadata(self) -> GroupMetadata:
        return self._member._as_member()

    @override
    async def poll(self) -> tuple[StreamsMembershipEvent, ...]:
        return await self._member.poll(0)

    @override
    async def confirm(self, event: TasksRevoked | TasksLost) -> None:
        self._member.confirm(event)

    @override
    async def ask_group(self) -> None:
        await self._member._ask_group(ASK_SECONDS)

    @override
    async def request_shutdown(self) -> None:
        self._member.request_shutdown()

    @override
    def committing(self, *, is_urgent: bool = False) -> AbstractAsyncContextManager[bool]:
        if is_urgent or not self._member._has_gate:
            return nullcontext(enter_result=True)
        return holding(self._member._hold, self._member._release)

    @override
    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], topic_ids: Mapping[TopicPartition, UUID] = NO_IDS
    ) -> None:
        await self._member._commit_of(offsets, topic_ids, _OFFSETS_SECONDS)

    @override
    async def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        return await self._member.committed(partitions, _OFFSETS_SECONDS)

    @override
    async def close(self, timeout_s: float | None, operation: GroupMembershipOperation) -> None:
        await self._member.close(timeout_s, operation=operation)
