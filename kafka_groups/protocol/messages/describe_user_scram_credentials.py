"""DescribeUserScramCredentials (key 50), v0: which users have SCRAM credentials (KIP-554)."""

from attrs import frozen

from kafka_groups.protocol.error_codes import ErrorCode


@frozen(kw_only=True)
class UserName:
    """One user."""

    name: str


@frozen(kw_only=True)
class DescribeUserScramCredentialsRequest:
    """No users, or null, asks for all."""

    users: tuple[UserName, ...] | None = None


@frozen(kw_only=True)
class CredentialInfo:
    """Mechanism 1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512."""

    mechanism: int
    iterations: int


@frozen(kw_only=True)
class DescribeUserScramCredentialsResult:
    """The credentials of one user."""

    user: str
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    credential_infos: tuple[CredentialInfo, ...] = ()


@frozen(kw_only=True)
class DescribeUserScramCredentialsResponse:
    """One result for each user."""

    throttle_time_ms: int = 0
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    results: tuple[DescribeUserScramCredentialsResult, ...] = ()
