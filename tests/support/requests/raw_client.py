"""Connections over which a test sends any request in any version, to see what the broker itself says."""

import asyncio
from types import TracebackType
from typing import Any, Self

from kafka_groups.net.connection import ClientConnection
from kafka_groups.net.network import Network
from kafka_groups.protocol.apis import api_of

CLIENT_ID = "conformance"
PATIENCE_S = 30.0


class RawClient:
    """One connection to one broker; requests go as they are, nothing is tried again.

    Args:
        network: The way to the broker.
        host: Its host.
        port: Its port.
        client_id: The client id of its requests.
        patience_s: How long to wait for a response.
    """

    def __init__(
        self, network: Network, host: str, port: int, client_id: str = CLIENT_ID, patience_s: float = PATIENCE_S
    ) -> None:
        self._network = network
        self._address = (host, port)
        self._client_id = client_id
        self._patience_s = patience_s
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
        async with self._opening:
            if self._connection is None:
                self._connection = await self._open()
            connection = self._connection
        version = api_of(type(request)).versions.high if version is None else version
        deadline_ms = (asyncio.get_running_loop().time() + self._patience_s) * 1000
        return await connection.request(request, version, deadline_ms)

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
