"""A classic group whose members do only what a test has them do."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from kafka_groups.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponseGroup
from tests.support.conditions import until
from tests.support.members.classic_member import NONE, ClassicMember, subscription
from tests.support.requests.raw_client import RawClient

__all__ = ["BOTH", "Group", "generations"]

BOTH = (("range", subscription("t")), ("roundrobin", subscription("t")))


class Group:
    """A group, and its members.

    Args:
        new_client: Opens a connection to the group's coordinator.
        group_id: Its id.
    """

    def __init__(self, new_client: Callable[[], RawClient], group_id: str) -> None:
        self.new_client = new_client
        self.group_id = group_id

    def member(self, instance: str | None = None, **keywords: Any) -> ClassicMember:
        """A member that has not joined yet."""
        return ClassicMember(self.new_client(), self.group_id, instance, **keywords)

    async def stable(self, *instances: str | None, **keywords: Any) -> list[ClassicMember]:
        """Members of a stable group, the leader first; each has its own name as its assignment."""
        members = [self.member(instance, **keywords) for instance in instances]
        for number, member in enumerate(members):
            await self.rebalanced(member, *members[:number])
        members.sort(key=lambda member: not member.leads)
        await self.synced(*members)
        return members

    async def rebalanced(self, first: ClassicMember, *others: ClassicMember, **fields: Any) -> None:
        """Let a member join, so that a round begins, and then the others, so that it ends."""
        joining = asyncio.create_task(first.join(**fields))
        if others:
            await self.in_state("PreparingRebalance")
        await asyncio.gather(joining, *(each.join(**fields) for each in others))

    async def synced(self, *members: ClassicMember) -> None:
        """Let the leader assign."""
        assignments = {member.member_id: member.member_id.encode() for member in members}
        leader = next(member for member in members if member.leads)
        answers = await asyncio.gather(*(each.sync(assignments if each is leader else None) for each in members))
        assert answers == [(NONE, member.member_id.encode()) for member in members]

    async def described(self, version: int = 6) -> DescribeGroupsResponseGroup:
        """What DescribeGroups shows."""
        response = await self.new_client().ask(DescribeGroupsRequest(groups=(self.group_id,)), version)
        [group] = response.groups
        assert isinstance(group, DescribeGroupsResponseGroup)
        return group

    async def in_state(self, state: str) -> DescribeGroupsResponseGroup:
        """Wait until the group is in a state."""
        return await until(self.described, lambda it: it.group_state == state)


def generations(members: Sequence[ClassicMember]) -> set[int]:
    """The generations that members are in."""
    return {member.generation for member in members}
