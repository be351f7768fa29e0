"""The interfaces of a SASL exchange, for the client and for the broker."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from attrs import frozen

__all__ = ["ClientExchange", "Identity", "RejectedError", "ServerExchange"]

_NONE: Mapping[str, str] = MappingProxyType({})


class RejectedError(Exception):
    """The other side is not who it should be, or it broke the rules of the mechanism.

    The text may go to the other side and into logs: it never contains a secret.
    """


class ClientExchange(Protocol):
    """The client's end of one authentication."""

    def first(self) -> bytes:
        """Return the message that opens the exchange."""
        ...

    def respond(self, challenge: bytes) -> bytes | None:
        """Return the answer to the broker's message, or None if the exchange is complete.

        Raises:
            RejectedError: The broker failed to prove itself, refused the client, or sent something malformed.
        """
        ...


@frozen
class Identity:
    """The user that authenticated.

    Attributes:
        name: Name of the user.
        lifetime_ms: How long the credentials are still valid, or None if they do not expire.
        extensions: SASL extensions that the client sent (OAUTHBEARER).
    """

    name: str
    lifetime_ms: int | None = None
    extensions: Mapping[str, str] = _NONE


class ServerExchange(Protocol):
    """The broker's end of one authentication."""

    @property
    def identity(self) -> Identity | None:
        """The user that authenticated; None until the exchange is complete."""
        ...

    def evaluate(self, response: bytes) -> bytes:
        """Return the answer to the client's message.

        Raises:
            RejectedError: The credentials are wrong, or the message is malformed.
        """
        ...
