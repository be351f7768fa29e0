"""Single requests to brokers, outside the engine of a client."""

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_groups.client.logbook import NETWORK_LOG
from kafka_groups.errors import KafkaGroupsError, OperationTimeoutError, error_for
from kafka_groups.net.clock import Clock
from kafka_groups.net.login import Login
from kafka_groups.net.network import Network
from kafka_groups.net.session import Access, Session, open_session
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from kafka_groups.protocol.messages.find_coordinator import (
    CoordinatorType,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_groups.types import TopicPartition

__all__ = ["Address", "Brokers", "raise_for", "total_lag"]

_TIMEOUT_MS = 5_000

Address = tuple[str, int]


def raise_for(code: ErrorCode, message: str | None) -> None:
    """Raise the error of a broker's response, if it has one."""
    if code is not ErrorCode.NONE:
        raise error_for(code, message)


def total_lag(lags: Mapping[TopicPartition, int]) -> int | None:
    """Return the sum of the lags; None if there are no partitions, or if one lag is unknown."""
    return sum(lags.values()) if lags and min(lags.values()) >= 0 else None


class Brokers:
    """Sends single requests to brokers. Use it on one event loop.

    The first request to a broker opens a connection, which stays open. If it is lost, the next request opens another.
    Each request waits 5 seconds for its response.

    Args:
        bootstrap_servers: Brokers for requests that any broker can answer.
        network: Connects to the brokers.
        clock: The clock.
        client_id: Name that the requests carry.
        login: How connections authenticate; None if they do not.
    """

    def __init__(
        self,
        bootstrap_servers: Sequence[Address],
        network: Network,
        clock: Clock,
        client_id: str,
        login: Login | None,
    ) -> None:
        self._bootstrap_servers = tuple(bootstrap_servers)
        self._network = network
        self._clock = clock
        self._access = Access(client_id, login)
        self._links: dict[Address, Session] = {}

    async def ask(self, address: Address, request: object) -> Any:
        """Send a request to one broker and return its response.

        Raises:
            AuthenticationError: Authentication with the broker failed.
            NetworkError: The broker cannot be reached.
            OperationTimeoutError: The broker did not respond in time.
            KafkaGroupsError: The broker does not support the request, or its response is malformed.
        """
        deadline_ms = self._clock.now_ms() + _TIMEOUT_MS
        link = self._links.get(address)
        if link is None or not link.connection.is_open:
            link = self._links[address] = await self._open(address)
        return await link.connection.request(request, link.versions.version_for(type(request)), deadline_ms)

    async def ask_any(self, request: object) -> Any:
        """Send a request to the bootstrap servers in turn and return the first response.

        Raises:
            KafkaGroupsError: None of them responded. The error is that of the last one.
        """
        *others, last = self._bootstrap_servers
        for address in others:
            try:
                return await self.ask(address, request)
            except KafkaGroupsError as error:
                NETWORK_LOG.info("%s:%d did not answer a request about a group: %s", *address, error)
        return await self.ask(last, request)

    async def coordinator_of(self, group_id: str) -> Address:
        """Return the broker that coordinates a group (KIP-699; brokers with share groups support version 4 and newer).

        Raises:
            KafkaGroupsError: No bootstrap server responded, the group has no coordinator right now, or access is
                denied.
        """
        request = FindCoordinatorRequest(key_type=CoordinatorType.GROUP, coordinator_keys=(group_id,))
        answer: FindCoordinatorResponse = await self.ask_any(request)
        (found,) = answer.coordinators
        raise_for(found.error_code, found.error_message)
        return found.host, found.port

    async def share_group_lags(self, coordinator: Address, group_id: str) -> Mapping[TopicPartition, int]:
        """Return a share group's lag in each partition: how many records it has not finished (KIP-1226).

        Only partitions for which the group has state are included. The lag is -1 in a partition where the group has
        not acknowledged a record yet.

        Raises:
            KafkaGroupsError: The coordinator refused the request or cannot be reached.
        """
        asked = DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None)
        request = DescribeShareGroupOffsetsRequest(groups=(asked,))
        answer: DescribeShareGroupOffsetsResponse = await self.ask(coordinator, request)
        (group,) = answer.groups
        raise_for(group.error_code, group.error_message)
        return {TopicPartition(t.topic_name, p.partition_index): p.lag for t in group.topics for p in t.partitions}

    def close(self) -> None:
        """Close all connections immediately."""
        for link in self._links.values():
            link.connection.abort()
        self._links.clear()

    async def _open(self, address: Address) -> Session:
        try:
            return await open_session(self._network, address, self._access, timeout_ms=_TIMEOUT_MS)
        except TimeoutError as error:
            if isinstance(error, OperationTimeoutError):
                raise
            host, port = address
            raise OperationTimeoutError(f"Could not connect to {host}:{port} within {_TIMEOUT_MS} ms.") from error
