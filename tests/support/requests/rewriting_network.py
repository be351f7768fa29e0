"""A network on which a test reads and changes what a broker answers, whatever the network below is.

So a client meets what a well-behaved broker never sends: a batch whose bytes were damaged on the way, offsets that
compaction took, an error on every fetch.
"""

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from kafka_groups.net.network import AcceptConnection, FrameHandler, FrameTransport, Listener, Network
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.codec import (
    RequestHeader,
    correlation_id_of,
    decode_request_header,
    decode_response,
    encode_response,
)
from kafka_groups.protocol.messages.share_fetch import ShareFetchPartitionData, ShareFetchResponse

Rewrite = Callable[[Any], Any]
"""From a response message to the one that the client gets."""


class RewritingNetwork:
    """Passes everything on, and responses of some APIs through a function.

    Args:
        below: The network that it stands on.
        rewrites: The functions, by API.
    """

    def __init__(self, below: Network, rewrites: Mapping[ApiKey, Rewrite]) -> None:
        self._below = below
        self.rewrites: Mapping[int, Rewrite] = dict(rewrites.items())

    async def connect(self, host: str, port: int, handler: FrameHandler) -> FrameTransport:
        """Open a connection."""
        connection = _RewritingConnection(self, handler)
        connection.transport = await self._below.connect(host, port, connection)
        return connection

    async def listen(self, host: str, port: int, accept: AcceptConnection) -> Listener:
        """Accept connections; nothing is changed on those."""
        return await self._below.listen(host, port, accept)


class _RewritingConnection:
    """Handler of the transport below, and transport of the handler above."""

    transport: FrameTransport

    def __init__(self, network: RewritingNetwork, handler: FrameHandler) -> None:
        self._network = network
        self._handler = handler
        self._headers: dict[int, RequestHeader] = {}

    @property
    def peer(self) -> str:
        return self.transport.peer

    @property
    def peer_certificate(self) -> bytes | None:
        return self.transport.peer_certificate

    @property
    def is_closing(self) -> bool:
        return self.transport.is_closing

    def send(self, payload: bytes) -> None:
        header = decode_request_header(payload)
        self._headers[header.correlation_id] = header
        self.transport.send(payload)

    async def drain(self) -> None:
        await self.transport.drain()

    def pause_reading(self) -> None:
        self.transport.pause_reading()

    def resume_reading(self) -> None:
        self.transport.resume_reading()

    def close(self) -> None:
        self.transport.close()

    def abort(self) -> None:
        self.transport.abort()

    def frame_received(self, frame: memoryview) -> None:
        header = self._headers.pop(correlation_id_of(frame))
        rewrite = self._network.rewrites.get(header.api_key)
        if rewrite is not None:
            response = rewrite(decode_response(frame, ApiKey(header.api_key), header.version))
            frame = memoryview(encode_response(response, header.version, header.correlation_id))
        self._handler.frame_received(frame)

    def connection_lost(self, error: Exception | None) -> None:
        self._handler.connection_lost(error)


def records_rewritten(rewrite: Callable[[bytes], bytes]) -> Rewrite:
    """A rewrite of ShareFetch responses: their record batches, as one string of bytes for each partition."""

    def changed(data: ShareFetchPartitionData) -> ShareFetchPartitionData:
        return attrs.evolve(data, records=rewrite(data.records)) if data.records else data

    def rewritten(response: ShareFetchResponse) -> ShareFetchResponse:
        topics = tuple(
            attrs.evolve(topic, partitions=tuple(map(changed, topic.partitions))) for topic in response.responses
        )
        return attrs.evolve(response, responses=topics)

    return rewritten
