"""The values of the admin client about users with SCRAM credentials (KIP-554)."""

from collections.abc import Mapping
from typing import Final, Literal

from attrs import field, frozen

__all__ = [
    "LEAST_ITERATIONS",
    "MOST_ITERATIONS",
    "ScramMechanism",
    "UserDescription",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
]

ScramMechanism = Literal["SCRAM-SHA-256", "SCRAM-SHA-512"]
LEAST_ITERATIONS: Final = 4_096
MOST_ITERATIONS: Final = 16_384
"""The bounds that brokers accept. Few iterations make guessing cheap; many slow down each login."""


@frozen
class UserScramCredentialUpsertion:
    """A password to set for a user, who has one for each mechanism. The password itself is never sent.

    Attributes:
        user: The user, without a type: `ann` is the principal `User:ann`.
        mechanism: `SCRAM-SHA-256` or `SCRAM-SHA-512`.
        password: The password. It is hashed as it is, as Kafka does it, without SASLprep.
        iterations: How often it is hashed, from 4,096 to 16,384.
    """

    user: str
    mechanism: ScramMechanism
    password: str = field(repr=False)
    iterations: int = LEAST_ITERATIONS


@frozen
class UserScramCredentialDeletion:
    """A password to remove.

    Attributes:
        user: The user.
        mechanism: `SCRAM-SHA-256` or `SCRAM-SHA-512`.
    """

    user: str
    mechanism: ScramMechanism


@frozen
class UserDescription:
    """A user with SCRAM credentials.

    Attributes:
        user: The user.
        iterations: For each mechanism that the user may log in with, how often the password is hashed.
    """

    user: str
    iterations: Mapping[str, int]
