"""The documents of `kafka-groups users`."""

from attrs import frozen

__all__ = ["CredentialEntry", "UserEntry"]


@frozen
class CredentialEntry:
    """A password of a user.

    Attributes:
        user: The user, without a type: `ann` is the principal `User:ann`.
        mechanism: `SCRAM-SHA-256` or `SCRAM-SHA-512`.
    """

    user: str
    mechanism: str


@frozen
class UserEntry(CredentialEntry):
    """A password of a user, in a list.

    Attributes:
        iterations: How often the password is hashed.
    """

    iterations: int
