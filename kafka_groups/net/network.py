"""What a network is to the client and the broker: frames over connections; TCP and memory both provide it."""

from collections.abc import Callable
from typing import Protocol

__all__ = ["AcceptConnection", "FrameHandler", "FrameTransport", "Listener", "Network"]


class FrameHandler(Protocol):
    """The receiving end of a connection; called on the event loop, never concurrently."""

    def frame_received(self, frame: memoryview) -> None:
        """One whole payload came; the view is read-only, and valid until this returns: copy what is kept."""
        ...

    def connection_lost(self, error: Exception | None) -> None:
        """The connection ended: `None` when this side closed it or the peer did so in good order. Called once."""
        ...


class FrameTransport(Protocol):
    """The sending end of a connection."""

    @property
    def peer(self) -> str:
        """Address of the other side, `host:port`."""
        ...

    @property
    def is_closing(self) -> bool:
        """Whether `close` or `abort` was called, or the connection is lost."""
        ...

    def send(self, payload: bytes) -> None:
        """Send one frame; never blocks. Dropped without an error when the connection is closing."""
        ...

    async def drain(self) -> None:
        """Wait until the send buffer has room again."""
        ...

    def pause_reading(self) -> None:
        """Take no more frames until `resume_reading`; a few that came already may still be handed over."""
        ...

    def resume_reading(self) -> None:
        """Take frames again."""
        ...

    def close(self) -> None:
        """Close after what was sent has left."""
        ...

    def abort(self) -> None:
        """Close at once."""
        ...


AcceptConnection = Callable[[FrameTransport], FrameHandler]
"""Called for every accepted connection; returns the handler of its frames."""


class Listener(Protocol):
    """A bound address."""

    @property
    def host(self) -> str:
        """Host that clients connect to."""
        ...

    @property
    def port(self) -> int:
        """The port, also when 0 was asked for."""
        ...

    def close(self) -> None:
        """Stop accepting; connections that were accepted stay open."""
        ...


class Network(Protocol):
    """A way to reach addresses."""

    async def connect(self, host: str, port: int, handler: FrameHandler) -> FrameTransport:
        """Open a connection.

        Raises:
            NetworkError: It could not be opened; `NameResolutionError` when the host is unknown.
        """
        ...

    async def listen(self, host: str, port: int, accept: AcceptConnection) -> Listener:
        """Accept connections on an address; port 0 picks a free one.

        Raises:
            NetworkError: The address cannot be bound.
        """
        ...
