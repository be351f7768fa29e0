"""OAUTHBEARER (RFC 7628) with Kafka's SASL extensions (KIP-342), and unsecured JSON web tokens (RFC 7515)."""

import base64
import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kafka_groups.protocol.sasl.exchange import Identity, RejectedError

__all__ = [
    "OAUTHBEARER",
    "OAuthClient",
    "OAuthServer",
    "check_extensions",
    "check_token",
    "claims_of",
    "unsecured_token",
]

OAUTHBEARER = "OAUTHBEARER"

_SEPARATOR = "\x01"
_TOKEN = re.compile(r"[\x21-\x7E]+")
_EXTENSION_NAME = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"[\x21-\x7E \t\r\n]*")
_NONE: Mapping[str, str] = MappingProxyType({})


def check_token(token: str) -> None:
    """Check that a token can be sent.

    Raises:
        ValueError: It is empty, or has characters other than visible ASCII; the text does not show it.
    """
    if not _TOKEN.fullmatch(token):
        raise ValueError("the token is empty or has characters that no bearer token may have")


def check_extensions(extensions: Mapping[str, str]) -> None:
    """Check names and values of SASL extensions (KIP-342).

    Raises:
        ValueError: A name is reserved or not made of letters, or a value has characters that cannot be sent.
    """
    for name, value in extensions.items():
        if name == "auth" or not _EXTENSION_NAME.fullmatch(name):
            raise ValueError(f"invalid SASL extension name {name!r}: use letters only, and not 'auth'")
        if not _EXTENSION_VALUE.fullmatch(value):
            raise ValueError(f"the value of the SASL extension {name!r} has characters that cannot be sent")


class OAuthClient:
    """The client's end.

    Args:
        token: The bearer token.
        extensions: SASL extensions, such as `logicalCluster` and `identityPoolId` of Confluent Cloud.

    Raises:
        ValueError: The token or an extension cannot be sent.
    """

    def __init__(self, token: str, extensions: Mapping[str, str] = _NONE) -> None:
        check_token(token)
        check_extensions(extensions)
        pairs = [f"auth=Bearer {token}", *(f"{name}={value}" for name, value in extensions.items())]
        self._message = f"n,,{_SEPARATOR}{_SEPARATOR.join(pairs)}{_SEPARATOR}{_SEPARATOR}".encode()

    def __repr__(self) -> str:
        return "<OAuthClient>"

    def first(self) -> bytes:
        """Return the message with the token."""
        return self._message

    def respond(self, challenge: bytes) -> bytes | None:
        """Take the broker's answer: empty for success.

        A refusal has to be acknowledged; the broker then answers with the error itself.
        """
        return _SEPARATOR.encode() if challenge else None


class OAuthServer:
    """The broker's end.

    Args:
        validate: Returns who a token stands for, and raises RejectedError if it is not valid.
    """

    def __init__(self, validate: Callable[[str], Identity]) -> None:
        self._validate = validate
        self._refusal: str | None = None
        self.identity: Identity | None = None

    def evaluate(self, response: bytes) -> bytes:
        """Check the token; a refusal takes a second round (RFC 7628, section 3.2.3)."""
        if self._refusal is not None:
            raise RejectedError(self._refusal)
        token, extensions = _parsed(response)
        try:
            found = self._validate(token)
        except RejectedError as error:
            self._refusal = f"{{status={error}}}"
            return json.dumps({"status": str(error)}).encode()
        self.identity = Identity(found.name, found.lifetime_ms, extensions)
        return b""


def _parsed(response: bytes) -> tuple[str, Mapping[str, str]]:
    malformed = RejectedError("Invalid OAUTHBEARER client first message")
    try:
        header, *pairs = response.decode().split(_SEPARATOR)
    except UnicodeDecodeError:
        raise malformed from None
    if not re.fullmatch(r"n,(a=[^,]*)?,", header) or pairs[-2:] != ["", ""]:
        raise malformed
    named = dict(pair.partition("=")[::2] for pair in pairs[:-2])
    scheme, _, token = named.pop("auth", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise malformed
    try:
        check_extensions(named)
    except ValueError as error:
        raise RejectedError(str(error)) from error
    return token, named


# ------------------------------------------------------------------------------------------------ JSON web tokens


def unsecured_token(claims: Mapping[str, Any]) -> str:
    """Make a token that nobody signed; only test clusters accept such tokens.

    Args:
        claims: `sub`, the user, `iat` and `exp`, in seconds since the epoch, and others.
    """
    return f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."


def claims_of(token: str) -> Mapping[str, Any]:
    """Read the claims of a JSON web token; no signature is checked.

    Raises:
        ValueError: It is not such a token; the text does not show it.
    """
    parts = token.split(".")
    if len(parts) != 3:
        raise ValueError("the token is not a JSON web token")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        raise ValueError("the claims of the token cannot be read") from None
    if not isinstance(claims, dict):
        raise ValueError("the claims of the token are not a JSON object")
    return claims


def _encoded(part: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(dict(part)).encode()).decode().rstrip("=")
