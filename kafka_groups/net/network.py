"""The network interface of client and broker: frames over connections, over TCP or in memory."""

from collections.abc import Callable
from typing import Protocol

from attrs import field, frozen

__all__ = ["AcceptConnection", "FrameHandler", "FrameTransport", "Listener", "Network"]


class FrameHandler(Protocol):
    """The receiving end of a connection. Its methods are called on the event loop, never concurrently."""

    def frame_received(self, frame: memoryview) -> None:
        """Handle one whole payload. The view is read-only and valid only until this method returns."""
        ...

    def connection_lost(self, error: Exception | None) -> None:
        """Handle the end of the connection. Called once; `error` is None if either side closed it normally."""
        ...


class FrameTransport(Protocol):
    """The sending end of a connection."""

    @property
    def peer(self) -> str:
        """Address of the other side, `host:port`."""
        ...

    @property
    def peer_certificate(self) -> bytes | None:
        """The certificate of the other side in DER, which TLS has verified, or None."""
        ...

    @property
    def is_closing(self) -> bool:
        """True if `close` or `abort` was called, or the connection has ended."""
        ...

    def send(self, payload: bytes) -> None:
        """Send one frame without blocking. If the connection is closing, the frame is dropped without an error."""
        ...

    async def drain(self) -> None:
        """Wait until the send buffer has room."""
        ...

    def pause_reading(self) -> None:
        """Stop receiving frames until `resume_reading`. A few that have already arrived may still be handed over."""
        ...

    def resume_reading(self) -> None:
        """Receive frames again."""
        ...

    def close(self) -> None:
        """Close once everything has been sent."""
        ...

    def abort(self) -> None:
        """Close immediately."""
        ...


AcceptConnection = Callable[[FrameTransport], FrameHandler]
"""Called for every accepted connection. Returns the handler of its frames."""


@frozen(eq=False)
class Listener:
    """A bound address.

    Attributes:
        host: Host that was asked for.
        port: Port that is bound, even if 0 was asked for.
        close: Stops accepting connections. Accepted connections stay open.
    """

    host: str
    port: int
    close: Callable[[], object] = field(repr=False)


class Network(Protocol):
    """Connects to addresses and listens on them."""

    async def connect(self, host: str, port: int, handler: FrameHandler) -> FrameTransport:
        """Open a connection.

        Raises:
            NetworkError: It could not be opened; `NameResolutionError` if the host is unknown.
        """
        ...

    async def listen(self, host: str, port: int, accept: AcceptConnection) -> Listener:
        """Accept connections on an address. Port 0 picks a free port.

        Raises:
            NetworkError: The address cannot be bound.
        """
        ...
