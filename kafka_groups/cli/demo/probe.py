"""Queries the coordinator for the group's members and lag (KIP-932, KIP-1226)."""

import asyncio
from types import TracebackType
from typing import Self

from attrs import frozen

from kafka_groups.client.brokers import Address, Brokers, raise_for, total_lag
from kafka_groups.config.readers import read_host_ports
from kafka_groups.errors import BrokerError, NetworkError, OperationTimeoutError
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.network import Network
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.messages.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse

__all__ = ["GroupProbe", "GroupSnapshot", "GroupWatch"]


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
        self._brokers = Brokers((bootstrap,), network, SystemClock(), "kafka-groups-demo-probe", None)

    def __repr__(self) -> str:
        return f"<GroupProbe of {self._group_id}>"

    async def look(self) -> GroupSnapshot:
        """Return the group's members and lag."""
        try:
            coordinator = await self._brokers.coordinator_of(self._group_id)
            lags = await self._brokers.share_group_lags(coordinator, self._group_id)
            return GroupSnapshot(await self._members(coordinator), total_lag(lags))
        except (NetworkError, OperationTimeoutError, BrokerError):
            return GroupSnapshot()

    def close(self) -> None:
        """Close the connections."""
        self._brokers.close()

    async def _members(self, coordinator: Address) -> int:
        request = ShareGroupDescribeRequest(group_ids=(self._group_id,), include_authorized_operations=False)
        response: ShareGroupDescribeResponse = await self._brokers.ask(coordinator, request)
        (group,) = response.groups
        raise_for(group.error_code, group.error_message)
        return len(group.members)


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
        self._probe.close()

    async def _look(self) -> None:
        while True:
            self.view = await self._probe.look()
            await asyncio.sleep(self._every_seconds)
