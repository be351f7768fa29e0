"""Connections over which a test sends any request in any version, to see what the broker itself says."""

import asyncio
from types import TracebackType
from typing import Any, Self

from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.network import Network
from kafka_groups.protocol.apis import api_of
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest

CLIENT_ID = "conformance"
PATIENCE_S = 30.0
_VERSIONS_OF_ALL = 3  # a version of ApiVersions that all releases have


class RawClient:
    """One connection to one broker; requests go as they are, nothing is tried again.

    Args:
        network: The way to the broker.
        host: Its host.
        port: Its port.
        client_id: The client id of its requests.
        patience_s: How long to wait for a response.
        negotiates: Whether the broker may be older than we are: its newest versions are asked for first.
    """

    def __init__(
        self,
        network: Network,
        host: str,
        port: int,
        client_id: str = CLIENT_ID,
        patience_s: float = PATIENCE_S,
        *,
        negotiates: bool = False,
    ) -> None:
        self._network = network
        self._address = (host, port)
        self._client_id = client_id
        self._patience_s = patience_s
        self._negotiates = negotiates
        self._newest: dict[int, int] = {}
        self._connection: ClientConnection | None = None
        self._lost = asyncio.Event()
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.disconnect()

    async def ask(self, request: object, version: int | None = None) -> Any:
        """The response to a request, in the newest version that we speak unless the test wants another."""
        connection = await self._opened()
        version = await self.newest(type(request)) if version is None else version
        return await connection.request(request, version, self._deadline_ms())

    async def newest(self, request: type[Any]) -> int:
        """The newest version of a request that we speak, and the broker, if it is asked."""
        await self._opened()
        api = api_of(request)
        return min(api.versions.high, self._newest[api.key]) if self._negotiates else api.versions.high

    def broker_newest(self, request: type[Any], default: int) -> int:
        """The newest version of a request that the broker has; the default for an API that it lacks."""
        return self._newest.get(api_of(request).key, default)

    async def _opened(self) -> ClientConnection:
        async with self._opening:
            if self._connection is None:
                self._connection = await self._open()
                if self._negotiates:
                    await self._negotiate(self._connection)
            return self._connection

    async def _negotiate(self, connection: ClientConnection) -> None:
        asked = ApiVersionsRequest(client_software_name=self._client_id, client_software_version="0")
        told = await connection.request(asked, _VERSIONS_OF_ALL, self._deadline_ms())
        self._newest = {each.api_key: each.max_version for each in told.api_keys}

    def _deadline_ms(self) -> float:
        return (asyncio.get_running_loop().time() + self._patience_s) * 1000

    async def disconnect(self) -> None:
        """Break the connection, if there is one, and wait until it is gone; the next request opens another."""
        if self._connection is not None:
            self._connection.abort()
            self._connection = None
            await self._lost.wait()

    async def _open(self) -> ClientConnection:
        lost = self._lost = asyncio.Event()
        return await ClientConnection.open(
            self._network, *self._address, self._client_id, on_lost=lambda _reason: lost.set()
        )
