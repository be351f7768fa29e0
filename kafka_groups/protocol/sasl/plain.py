"""PLAIN (RFC 4616): name and password in one message, in clear text, so that only TLS protects them."""

import hmac
from collections.abc import Callable

from kafka_groups.protocol.sasl.exchange import Identity, RejectedError

__all__ = ["PLAIN", "PlainClient", "PlainServer"]

PLAIN = "PLAIN"


class PlainClient:
    """The client's end.

    Args:
        username: Name of the user.
        password: The password.
    """

    def __init__(self, username: str, password: str) -> None:
        self._message = f"\0{username}\0{password}".encode()

    def __repr__(self) -> str:
        return "<PlainClient>"

    def first(self) -> bytes:
        """Return the only message."""
        return self._message

    def respond(self, challenge: bytes) -> bytes | None:
        """Take the broker's answer, which is empty."""
        if challenge:
            raise RejectedError("the broker sent a challenge, but PLAIN does not use challenges")
        return None


class PlainServer:
    """The broker's end.

    Args:
        password_of: Returns the password of a user, or None if there is no such user.
    """

    def __init__(self, password_of: Callable[[str], str | None]) -> None:
        self._password_of = password_of
        self.identity: Identity | None = None

    def evaluate(self, response: bytes) -> bytes:
        """Check name and password."""
        authorization, username, password = _parts(response)
        expected = self._password_of(username)
        matches = hmac.compare_digest((expected or "").encode(), password.encode())
        if expected is None or not matches:
            raise RejectedError("Authentication failed: Invalid username or password")
        if authorization not in ("", username):
            raise RejectedError("Authentication failed: Client requested an authorization id that is different")
        self.identity = Identity(username)
        return b""


def _parts(response: bytes) -> tuple[str, str, str]:
    try:
        parts = response.decode().split("\0")
    except UnicodeDecodeError:
        raise RejectedError("Authentication failed: the PLAIN message is not UTF-8") from None
    if len(parts) != 3:
        raise RejectedError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
    authorization, username, password = parts
    if not username or not password:
        missing = "password" if username else "username"
        raise RejectedError(f"Authentication failed: {missing} not specified")
    return authorization, username, password
