"""A member's connection to the coordinator of its group."""

import asyncio
from typing import Any

from kafka_groups.errors import BrokerError, KafkaGroupsError, error_for
from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.network import Network
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.find_coordinator import FindCoordinatorRequest

__all__ = ["CoordinatorLink", "check"]

_CONNECT_S = 3.0
_ANSWER_S = 6.0


class CoordinatorLink:
    """Asks the coordinator of one group, one request at a time.

    Args:
        network: The way to the brokers.
        bootstrap_servers: Their addresses.
        group_id: The group.
        client_id: The client id of the requests.
    """

    def __init__(self, network: Network, bootstrap_servers: str, group_id: str, client_id: str) -> None:
        self._network = network
        self._servers = bootstrap_servers.split(",")
        self._group_id = group_id
        self._client_id = client_id
        self._connection: ClientConnection | None = None

    async def find(self, server: int) -> None:
        """Connect to the coordinator, after asking one of the brokers where it is.

        Raises:
            KafkaGroupsError: It is not known, or cannot be reached.
        """
        self.close()
        anybody = await self._open(self._servers[server % len(self._servers)])
        try:
            request = FindCoordinatorRequest(key_type=0, coordinator_keys=(self._group_id,))
            [found] = (await self._ask(anybody, request, 6, _ANSWER_S)).coordinators
        finally:
            anybody.abort()
        check(found.error_code)
        self._connection = await self._open(f"{found.host}:{found.port}")

    async def ask(self, request: object, version: int, within_s: float = _ANSWER_S) -> Any:
        """Send a request to the coordinator, and return its response.

        Raises:
            KafkaGroupsError: There is no response.
        """
        if self._connection is None:
            raise error_for(ErrorCode.COORDINATOR_NOT_AVAILABLE, "not connected")
        return await self._ask(self._connection, request, version, within_s)

    def close(self) -> None:
        """Break the connection."""
        if self._connection is not None:
            self._connection.abort()
            self._connection = None

    async def _open(self, address: str) -> ClientConnection:
        host, _, port = address.rpartition(":")
        try:
            async with asyncio.timeout(_CONNECT_S):
                return await ClientConnection.open(self._network, host, int(port), self._client_id)
        except TimeoutError as error:
            raise KafkaGroupsError(f"{address} does not accept the connection") from error

    @staticmethod
    async def _ask(connection: ClientConnection, request: object, version: int, within_s: float) -> Any:
        deadline_ms = (asyncio.get_running_loop().time() + within_s) * 1000
        return await connection.request(request, version, deadline_ms)


def check(code: ErrorCode) -> None:
    """Raise the error of a response, if there is one.

    Raises:
        BrokerError: There is one.
    """
    if code is not ErrorCode.NONE:
        error: BrokerError = error_for(code, None)
        raise error
