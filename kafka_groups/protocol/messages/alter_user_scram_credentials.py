"""AlterUserScramCredentials (key 51), v0: sets and deletes SCRAM credentials (KIP-554)."""

from attrs import field, frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class ScramCredentialDeletion:
    """Mechanism 1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512."""

    name: str
    mechanism: int


@frozen(kw_only=True)
class ScramCredentialUpsertion:
    """The salted password is as good as the password, and never shown."""

    name: str
    mechanism: int
    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


@frozen(kw_only=True)
class AlterUserScramCredentialsRequest:
    """Each user may be named once for each mechanism."""

    deletions: tuple[ScramCredentialDeletion, ...] = ()
    upsertions: tuple[ScramCredentialUpsertion, ...] = ()


@frozen(kw_only=True)
class AlterUserScramCredentialsResult:
    """The result for one user."""

    user: str
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None


@frozen(kw_only=True)
class AlterUserScramCredentialsResponse:
    """One result for each user."""

    throttle_time_ms: int = 0
    results: tuple[AlterUserScramCredentialsResult, ...] = ()
