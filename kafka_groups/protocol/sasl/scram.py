"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677) as Kafka speaks them.

Like Kafka, and unlike the RFC, names and passwords are taken as they are, without SASLprep: a password with characters
that SASLprep changes would not match what Kafka stored. There is no channel binding. See decision 0013.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable

from attrs import field, frozen

from kafka_groups.protocol.sasl.exchange import Identity, RejectedError

__all__ = [
    "MAX_ITERATIONS",
    "MECHANISM_NAMES",
    "MECHANISM_NUMBERS",
    "MIN_ITERATIONS",
    "SCRAM_MECHANISMS",
    "ScramClient",
    "ScramCredential",
    "ScramServer",
    "salted_password",
    "scram_credential",
]

SCRAM_MECHANISMS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""The hash function of each mechanism."""

MECHANISM_NUMBERS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
MECHANISM_NAMES = {number: name for name, number in MECHANISM_NUMBERS.items()}
"""The numbers of the mechanisms in requests that read or change credentials (KIP-554)."""

MIN_ITERATIONS = 4_096
MAX_ITERATIONS = 1_000_000
"""Salting takes some 0.5 s with so many; a hostile broker must not be able to ask for hours."""

_HEADER = "n,,"  # no channel binding, no authorisation id
_BINDING = base64.b64encode(_HEADER.encode()).decode()


@frozen
class ScramCredential:
    """A password as a broker stores it: enough to check it, not enough to log in with it.

    Attributes:
        salt: The salt.
        iterations: How often the password was hashed.
        stored_key: Hash of the client's key.
        server_key: The key with which the broker proves itself.
    """

    salt: bytes
    iterations: int
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)


def salted_password(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    """Hash a password; the cost grows with the iterations."""
    return hashlib.pbkdf2_hmac(SCRAM_MECHANISMS[mechanism], password.encode(), salt, iterations)


def scram_credential(mechanism: str, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
    """Return what a broker keeps, from a salted password."""
    hash_name = SCRAM_MECHANISMS[mechanism]
    client_key = hmac.digest(salted, b"Client Key", hash_name)
    server_key = hmac.digest(salted, b"Server Key", hash_name)
    return ScramCredential(salt, iterations, hashlib.new(hash_name, client_key).digest(), server_key)


class ScramClient:
    """The client's end.

    Args:
        mechanism: SCRAM-SHA-256 or SCRAM-SHA-512.
        username: Name of the user.
        password: The password.
        nonce: Unguessable, of printable ASCII without commas, new for every exchange.
    """

    def __init__(self, mechanism: str, username: str, password: str, nonce: str) -> None:
        self._mechanism = mechanism
        self._hash = SCRAM_MECHANISMS[mechanism]
        self._password = password
        self._nonce = nonce
        self._first_bare = f"n={_escaped(username)},r={nonce}"
        self._server_signature: bytes | None = None
        self._is_verified = False

    def __repr__(self) -> str:
        return f"<ScramClient {self._mechanism}>"

    def first(self) -> bytes:
        """Return the client-first-message."""
        return (_HEADER + self._first_bare).encode()

    def respond(self, challenge: bytes) -> bytes | None:
        """Prove knowledge of the password, then check the broker's proof."""
        if self._server_signature is None:
            return self._final(_text(challenge))
        self._verify(_attributes(_text(challenge)))
        return None

    def _final(self, server_first: str) -> bytes:
        attributes = _attributes(server_first)
        nonce, iterations = attributes.get("r", ""), _iterations(attributes.get("i", ""))
        salt = _decoded(attributes.get("s", ""), "salt")
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise RejectedError("the broker's SCRAM nonce does not extend the client's")
        if "m" in attributes:
            raise RejectedError("the broker asks for a SCRAM extension that is not supported")
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            raise RejectedError(
                f"the broker asks for {iterations} SCRAM iterations; allowed are {MIN_ITERATIONS} to {MAX_ITERATIONS}"
            )
        without_proof = f"c={_BINDING},r={nonce}"
        message = f"{self._first_bare},{server_first},{without_proof}".encode()
        salted = salted_password(self._mechanism, self._password, salt, iterations)
        client_key = hmac.digest(salted, b"Client Key", self._hash)
        signature = hmac.digest(hashlib.new(self._hash, client_key).digest(), message, self._hash)
        self._server_signature = hmac.digest(hmac.digest(salted, b"Server Key", self._hash), message, self._hash)
        return f"{without_proof},p={_encoded(_xor(client_key, signature))}".encode()

    def _verify(self, attributes: dict[str, str]) -> None:
        if "e" in attributes:
            raise RejectedError(f"the broker refused the SCRAM proof: {attributes['e']}")
        signature = _decoded(attributes.get("v", ""), "signature")
        if self._is_verified or not hmac.compare_digest(signature, self._server_signature or b""):
            raise RejectedError("the broker could not prove that it knows the user's SCRAM credentials")
        self._is_verified = True


class ScramServer:
    """The broker's end.

    Args:
        mechanism: SCRAM-SHA-256 or SCRAM-SHA-512.
        credential_of: Returns what is stored of a user, or None if there is no such user.
        nonce: The broker's part of the nonce, unguessable and new for every exchange.
    """

    def __init__(self, mechanism: str, credential_of: Callable[[str], ScramCredential | None], nonce: str) -> None:
        self._mechanism = mechanism
        self._hash = SCRAM_MECHANISMS[mechanism]
        self._credential_of = credential_of
        self._nonce = nonce
        self._username = ""
        self._credential: ScramCredential | None = None
        self._messages = ""
        self.identity: Identity | None = None

    def evaluate(self, response: bytes) -> bytes:
        """Answer the client's first message with the salt, and the final one with the broker's proof."""
        try:
            text = _text(response)
            return self._first(text) if self._credential is None else self._final(text, self._credential)
        except RejectedError as error:
            raise RejectedError(_refusal(self._mechanism)) from error

    def _first(self, text: str) -> bytes:
        header, _, rest = text.partition(",")
        authorization, _, bare = rest.partition(",")
        attributes = _attributes(bare)
        self._username = _unescaped(attributes.get("n", ""))
        if header != "n" or not attributes.get("r"):
            raise RejectedError("the client's first SCRAM message is malformed, or asks for channel binding")
        if authorization not in ("", f"a={attributes['n']}"):
            raise RejectedError("the client asks to act as another user")
        credential = self._credential_of(self._username)
        if credential is None:
            raise RejectedError("there is no such user")
        self._nonce = attributes["r"] + self._nonce
        server_first = f"r={self._nonce},s={_encoded(credential.salt)},i={credential.iterations}"
        self._credential, self._messages = credential, f"{bare},{server_first}"
        return server_first.encode()

    def _final(self, text: str, credential: ScramCredential) -> bytes:
        without_proof, _, _ = text.rpartition(",p=")
        attributes = _attributes(text)
        if attributes.get("r") != self._nonce or attributes.get("c") != _BINDING:
            raise RejectedError("the client's final SCRAM message has another nonce or channel binding")
        message = f"{self._messages},{without_proof}".encode()
        signature = hmac.digest(credential.stored_key, message, self._hash)
        proof = _decoded(attributes.get("p", ""), "proof")
        if len(proof) != len(signature):
            raise RejectedError("the client's SCRAM proof has the wrong length")
        stored_key = hashlib.new(self._hash, _xor(proof, signature)).digest()
        if not hmac.compare_digest(stored_key, credential.stored_key):
            raise RejectedError("the password is wrong")
        self.identity = Identity(self._username)
        return f"v={_encoded(hmac.digest(credential.server_key, message, self._hash))}".encode()


def _refusal(mechanism: str) -> str:
    return f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"


# -------------------------------------------------------------------------------------------- the messages' syntax


def _escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise RejectedError("a SCRAM message is not UTF-8") from None


def _attributes(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(","))
    return {name: value for name, equals, value in pairs if equals}


def _iterations(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        raise RejectedError("the broker's SCRAM message has no iteration count")
    return int(text)


def _encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _decoded(text: str, what: str) -> bytes:
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise RejectedError(f"the {what} in a SCRAM message is not base64") from None
    if not decoded:
        raise RejectedError(f"a SCRAM message has no {what}")
    return decoded


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
