"""The network of the operating system: TCP, with or without TLS."""

import asyncio
import socket
import ssl
import struct
from contextlib import suppress
from typing import Any, cast

from kafka_groups.errors import (
    FrameLengthError,
    KafkaGroupsError,
    MalformedFrameError,
    NameResolutionError,
    NetworkError,
)
from kafka_groups.errors.texts import sentences
from kafka_groups.net.diagnosis import of_frame_length, of_tls_error, reset_during_tls
from kafka_groups.net.network import AcceptConnection, FrameHandler, FrameTransport, Listener
from kafka_groups.protocol.framing import DEFAULT_KEPT_BYTES, DEFAULT_MAX_FRAME_BYTES, FrameBuffer

__all__ = ["TcpNetwork", "stop_listening"]

_LENGTH = struct.Struct(">i")
# Up to this size, a frame is sent in one write. Above it, a second system call is cheaper than copying the payload.
_ONE_WRITE_BYTES = 64 * 1024
_BACKLOG = 512
_NO_LIMIT_S = 24 * 3600.0


class TcpNetwork:
    """TCP connections on the running event loop.

    Args:
        client_tls: TLS context for outgoing connections; None for plaintext.
        server_tls: TLS context for accepted connections; None for plaintext.
        max_frame_bytes: Largest frame to accept from the other side.
        kept_bytes: Up to this size, a connection keeps the receive buffer that a large frame needed.
    """

    def __init__(
        self,
        *,
        client_tls: ssl.SSLContext | None = None,
        server_tls: ssl.SSLContext | None = None,
        max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        kept_bytes: int = DEFAULT_KEPT_BYTES,
    ) -> None:
        self._client_tls = client_tls
        self._server_tls = server_tls
        self._max_frame_bytes = max_frame_bytes
        self._kept_bytes = kept_bytes

    def __repr__(self) -> str:
        return "<TcpNetwork with TLS>" if self._client_tls or self._server_tls else "<TcpNetwork>"

    async def connect(self, host: str, port: int, handler: FrameHandler) -> FrameTransport:
        """Open a connection. The caller sets the timeout.

        Raises:
            NetworkError: The address is unreachable, it refused the connection, or the TLS handshake failed.
            NameResolutionError: The host is unknown.
        """
        loop = asyncio.get_running_loop()
        connection = _TcpConnection(self._buffer(), handler=handler)
        # asyncio's own limit would count the time in which the event loop was blocked.
        tls: Any = {"server_hostname": host, "ssl_handshake_timeout": _NO_LIMIT_S} if self._client_tls else {}
        try:
            await loop.create_connection(lambda: connection, host, port, ssl=self._client_tls, **tls)
        except OSError as error:
            raise _connect_error(error, f"{host}:{port}", uses_tls=self._client_tls is not None) from error
        return connection

    async def listen(self, host: str, port: int, accept: AcceptConnection) -> Listener:
        """Accept connections on an address. Port 0 picks a free port.

        Raises:
            NetworkError: The address cannot be bound.
        """
        loop = asyncio.get_running_loop()
        try:
            server = await loop.create_server(
                lambda: _TcpConnection(self._buffer(), accept=accept),
                host, port, ssl=self._server_tls, backlog=_BACKLOG,
            )  # fmt: skip
        except OSError as error:
            raise NetworkError(sentences(f"Could not listen on {host}:{port}: {_reason(error)}")) from error
        return Listener(host, server.sockets[0].getsockname()[1], lambda: stop_listening(server))

    def _buffer(self) -> FrameBuffer:
        return FrameBuffer(self._max_frame_bytes, kept_bytes=self._kept_bytes)


def stop_listening(server: asyncio.Server) -> None:
    """Close a listener, so that each connection that it has accepted comes to its protocol.

    asyncio makes the transport of an accepted connection one turn of the loop later. If the server is closed by then,
    that fails, and the connection stays open without anyone who could close it: the client would wait indefinitely.
    """
    loop = server.get_loop()
    with suppress(NotImplementedError):  # another kind of loop, which accepts in another way
        for listening in server.sockets:
            loop.remove_reader(listening.fileno())
    loop.call_soon(server.close)


class _TcpConnection(asyncio.BufferedProtocol):
    """A connection: both asyncio's protocol and the handler's `FrameTransport`."""

    def __init__(
        self, buffer: FrameBuffer, *, handler: FrameHandler | None = None, accept: AcceptConnection | None = None
    ) -> None:
        self._buffer = buffer
        self._handler = handler
        self._accept = accept
        self._peer = "?"
        self._error: Exception | None = None
        self._room: asyncio.Future[None] | None = None
        self._reading_paused = False
        self._has_frame = False

    def __repr__(self) -> str:
        return f"<TCP connection with {self._peer}>"

    # -------------------------------------------------------------------------- asyncio.BufferedProtocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._write = self._transport.write
        self._peer = _address(transport.get_extra_info("peername"))
        if self._accept is not None:
            self._handler = self._accept(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer.space()

    def buffer_updated(self, nbytes: int) -> None:
        handler = self._handler
        assert handler is not None  # noqa: S101 - for the type checker
        try:
            for frame in self._buffer.received(nbytes):
                self._has_frame = True
                handler.frame_received(frame)
        except FrameLengthError as error:
            is_stranger = self._accept is None and not self._has_frame
            self._error = of_frame_length(error.length, self._peer) if is_stranger else error
            self._transport.abort()
        except MalformedFrameError as error:
            self._error = error
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.resume_writing()
        if self._handler is not None:
            self._handler.connection_lost(self._error or _lost_error(exc, self._peer))

    def pause_writing(self) -> None:
        self._room = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)

    # ------------------------------------------------------------------------------------ FrameTransport

    @property
    def peer(self) -> str:
        return self._peer

    @property
    def peer_certificate(self) -> bytes | None:
        tls: ssl.SSLObject | None = self._transport.get_extra_info("ssl_object")
        return None if tls is None or tls.context.verify_mode is ssl.CERT_NONE else tls.getpeercert(binary_form=True)

    @property
    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def send(self, payload: bytes) -> None:
        if self._transport.is_closing():
            return
        if len(payload) <= _ONE_WRITE_BYTES:
            self._write(_LENGTH.pack(len(payload)) + payload)
        else:
            self._write(_LENGTH.pack(len(payload)))
            self._write(payload)

    async def drain(self) -> None:
        if self._room is not None:
            # Shielded, because several senders may wait for the same future and one of them may be cancelled.
            await asyncio.shield(self._room)

    def pause_reading(self) -> None:
        if not self._reading_paused:
            self._reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._reading_paused:
            self._reading_paused = False
            self._transport.resume_reading()

    def close(self) -> None:
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()


def _address(peername: Any) -> str:
    return f"{peername[0]}:{peername[1]}" if isinstance(peername, tuple) else str(peername)


def _connect_error(error: OSError, address: str, *, uses_tls: bool) -> NetworkError:
    if isinstance(error, socket.gaierror):
        return NameResolutionError(sentences(f"Could not resolve the host name of {address}: {_reason(error)}"))
    if isinstance(error, ssl.SSLError):
        return of_tls_error(error, address)
    if uses_tls and isinstance(error, (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)):
        return reset_during_tls(address)
    return NetworkError(sentences(f"Could not connect to {address}: {_reason(error)}"))


def _lost_error(error: Exception | None, peer: str) -> Exception | None:
    if error is None or isinstance(error, KafkaGroupsError):
        return error
    if isinstance(error, ssl.SSLError):
        mapped = of_tls_error(error, peer)
    else:
        mapped = NetworkError(sentences(f"The connection to {peer} broke: {_reason(error)}"))
    mapped.__cause__ = error
    return mapped


def _reason(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"  # asyncio's own text is about the failed call and its arguments
    strerror = error.strerror if isinstance(error, OSError) else None
    return strerror or str(error) or type(error).__name__
