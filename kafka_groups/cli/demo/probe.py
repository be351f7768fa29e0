"""Queries the coordinator for the group's members and lag (KIP-932, KIP-1226)."""

import asyncio
from types import TracebackType
from typing import Self

from attrs import frozen

from kafka_groups.admin.rules.share_groups import describe_groups
from kafka_groups.client.assembly import Environment
from kafka_groups.client.calls.client import admin_client
from kafka_groups.client.reachability import Address
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.config.readers import read_host_ports
from kafka_groups.errors import BrokerError, NetworkError, OperationTimeoutError
from kafka_groups.net.network import Network
from kafka_groups.net.tcp import TcpNetwork

__all__ = ["GroupProbe", "GroupSnapshot", "GroupWatch"]

_TIMEOUT_MS = 2_000


@frozen
class GroupSnapshot:
    """The number of members and the lag; `None` if unknown."""

    members: int | None = None
    lag: int | None = None


class GroupProbe:
    """Queries a share group over its own connections.

    A query that fails returns an empty view: it only serves the display and must not fail a run.
    """

    def __init__(self, network: Network, bootstrap: Address, group_id: str) -> None:
        self._group_id = group_id
        config = admin_config(
            bootstrap_servers=[bootstrap], client_id="kafka-groups-demo-probe", default_api_timeout_ms=_TIMEOUT_MS
        )
        self._client = admin_client(config, Environment(network))

    def __repr__(self) -> str:
        return f"<GroupProbe of {self._group_id}>"

    async def look(self) -> GroupSnapshot:
        """Return the group's members and lag."""
        try:
            group = (await describe_groups(self._client.within(_TIMEOUT_MS), [self._group_id]))[self._group_id]
        except (NetworkError, OperationTimeoutError, BrokerError):
            return GroupSnapshot()
        return GroupSnapshot(len(group.members), group.total_lag)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


class GroupWatch:
    """Queries a share group at an interval. Use it as an asynchronous context manager.

    Args:
        servers: Addresses of the brokers.
        group_id: The group.
        every_seconds: The interval.
    """

    def __init__(self, servers: str, group_id: str, every_seconds: float) -> None:
        self._probe = GroupProbe(TcpNetwork(), read_host_ports(servers)[0], group_id)
        self._every_seconds = every_seconds
        self._looking: asyncio.Task[None]
        self.view = GroupSnapshot()

    def __repr__(self) -> str:
        return f"<GroupWatch with {self._probe}: {self.view}>"

    async def __aenter__(self) -> Self:
        """Start to query."""
        self._looking = asyncio.create_task(self._look())
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop, and close the connections."""
        self._looking.cancel()
        await asyncio.wait([self._looking])
        await self._probe.close()

    async def _look(self) -> None:
        while True:
            self.view = await self._probe.look()
            await asyncio.sleep(self._every_seconds)
