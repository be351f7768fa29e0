"""A member of a classic group that follows every round, with a subscription and assignments that a test gives it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.messages.join_group import JoinGroupResponse
from tests.support.cluster_client import ClusterClient
from tests.support.conditions import until
from tests.support.members.classic_member import NONE, ClassicMember
from tests.support.requests.raw_client import RawClient

__all__ = ["Assign", "NoLeader", "stranger"]

Assign = Callable[[JoinGroupResponse], Mapping[str, bytes]]
"""Returns the assignments of a round, by member id."""

STREAM: Final = "stream"
_PAUSE_S: Final = 0.1


class NoLeader(AssertionError):  # noqa: N818 - it ends a test
    """A member that must not lead was made the leader."""


def _never(_response: JoinGroupResponse) -> Mapping[str, bytes]:
    raise NoLeader("this member was not made to lead")


@asynccontextmanager
async def stranger(
    servers: str, group_id: str, subscription: bytes, assign: Assign = _never, instance: str | None = None
) -> AsyncIterator[ClassicMember]:
    """Have a member in a group for a while. It is in the group, with what the first round gave it, when this begins.

    Args:
        servers: A broker.
        group_id: The group.
        subscription: The bytes with which it joins.
        assign: Assigns if it leads.
        instance: Its group.instance.id.
    """
    host, port = servers.rsplit(":", 1)
    cluster = ClusterClient(TcpNetwork(), host, int(port), negotiates=True)
    client = RawClient(TcpNetwork(), host, int(port), patience_s=60, negotiates=True)
    member = ClassicMember(client, group_id, instance, protocols=[(STREAM, subscription)])
    try:
        await cluster.coordinator_of(group_id)
        await until(member.heartbeat, lambda it: it != "COORDINATOR_LOAD_IN_PROGRESS", 60)  # of a broker that is new
        following = asyncio.create_task(_follow(member, assign))
        try:
            await until(lambda: _generation(member, following), lambda it: it > 0, 60)
            yield member
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following
    finally:
        await client.disconnect()
        await cluster.close()


async def _generation(member: ClassicMember, following: "asyncio.Task[None]") -> int:
    if following.done():
        await following
    return member.generation


async def _follow(member: ClassicMember, assign: Assign) -> None:
    while True:
        answer = await member.join()
        given: Any = assign(answer) if member.leads else None
        error, _ = await member.sync(given)
        while error == NONE:
            await asyncio.sleep(_PAUSE_S)
            error = await member.heartbeat()
        if error == "UNKNOWN_MEMBER_ID":
            member.known_as("")
