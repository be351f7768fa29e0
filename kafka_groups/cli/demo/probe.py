"""What the coordinator says about the group: its members and its lag (KIP-932, KIP-1226)."""

from typing import Any, Protocol

from attrs import frozen

from kafka_groups.errors import BrokerError, KafkaGroupsError, NetworkError, OperationTimeoutError, error_for
from kafka_groups.net.clock import SystemClock
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.handshake import BrokerVersions, negotiate
from kafka_groups.net.network import Network
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafka_groups.protocol.messages.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse

__all__ = ["GroupProbe", "GroupView", "Probe"]

_TIMEOUT_MS = 5_000
_GROUP_COORDINATOR = 0


@frozen
class GroupView:
    """What is known of the group; `None` where nothing is."""

    members: int | None = None
    lag: int | None = None


class Probe(Protocol):
    """A way to look at the group."""

    async def look(self) -> GroupView:
        """The group as it is now."""
        ...

    def close(self) -> None:
        """Give back what looking needs."""
        ...


class GroupProbe:
    """Looks at a share group over a connection of its own to the group's coordinator.

    A look that fails says nothing and lets the next one connect anew; looking is for people and must not fail a run.
    """

    def __init__(self, network: Network, bootstrap: tuple[str, int], group_id: str) -> None:
        self._network = network
        self._bootstrap = bootstrap
        self._group_id = group_id
        self._clock = SystemClock()
        self._coordinator: tuple[ClientConnection, BrokerVersions] | None = None

    def __repr__(self) -> str:
        return f"<GroupProbe of {self._group_id}>"

    async def look(self) -> GroupView:
        """The group as the coordinator describes it."""
        try:
            connection, versions = self._coordinator = self._coordinator or await self._find_coordinator()
            return GroupView(await self._members(connection, versions), await self._lag(connection, versions))
        except (NetworkError, OperationTimeoutError, BrokerError):
            self.close()
            return GroupView()

    def close(self) -> None:
        """Close the connection."""
        if self._coordinator is not None:
            self._coordinator[0].close()
            self._coordinator = None

    async def _find_coordinator(self) -> tuple[ClientConnection, BrokerVersions]:
        connection, versions = await self._connect(*self._bootstrap)
        try:
            request = FindCoordinatorRequest(key_type=_GROUP_COORDINATOR, coordinator_keys=(self._group_id,))
            response: FindCoordinatorResponse = await self._ask(connection, versions, request)
        finally:
            connection.close()
        (found,) = response.coordinators
        if found.error_code:
            raise error_for(found.error_code, found.error_message)
        return await self._connect(found.host, found.port)

    async def _connect(self, host: str, port: int) -> tuple[ClientConnection, BrokerVersions]:
        connection = await ClientConnection.open(self._network, host, port, "kafka-groups-demo-probe")
        try:
            return connection, await negotiate(connection, self._clock.now_ms() + _TIMEOUT_MS)
        except KafkaGroupsError:
            connection.close()
            raise

    async def _members(self, connection: ClientConnection, versions: BrokerVersions) -> int | None:
        request = ShareGroupDescribeRequest(group_ids=(self._group_id,), include_authorized_operations=False)
        response: ShareGroupDescribeResponse = await self._ask(connection, versions, request)
        (group,) = response.groups
        return None if group.error_code else len(group.members)

    async def _lag(self, connection: ClientConnection, versions: BrokerVersions) -> int | None:
        asked = DescribeShareGroupOffsetsRequestGroup(group_id=self._group_id, topics=None)
        request = DescribeShareGroupOffsetsRequest(groups=(asked,))
        response: DescribeShareGroupOffsetsResponse = await self._ask(connection, versions, request)
        (group,) = response.groups
        lags = [partition.lag for topic in group.topics for partition in topic.partitions]
        return None if group.error_code or not lags or min(lags) < 0 else sum(lags)

    async def _ask(self, connection: ClientConnection, versions: BrokerVersions, request: object) -> Any:
        deadline_ms = self._clock.now_ms() + _TIMEOUT_MS
        return await connection.request(request, versions.version_for(type(request)), deadline_ms)
