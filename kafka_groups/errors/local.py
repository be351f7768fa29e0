"""The errors that this package raises by itself, and the root of all errors."""

import enum
from functools import partial
from typing import Any


class KafkaGroupsError(Exception):
    """Root of all errors of this package.

    Attributes:
        retriable: Whether the same call may succeed later, without a change to the program or its configuration.
        says_remedy: Whether the message says what to do, so that nobody needs to add it.
    """

    retriable: bool = False
    says_remedy: bool = False


# ---------------------------------------------------------------------------------------------- misuse


class ConfigurationError(KafkaGroupsError, ValueError):
    """A configuration key is unknown, not supported, missing or has an invalid value; the message says what to do."""


class IllegalStateError(KafkaGroupsError, RuntimeError):
    """The call is not allowed in the object's current state."""


class ConcurrentUseError(IllegalStateError):
    """A second thread or task used a consumer during a call; consumers are not thread-safe."""


class ClosedError(IllegalStateError):
    """The object is closed."""


class WakeupError(KafkaGroupsError):
    """`wakeup()` interrupted a blocking call."""

    retriable = True


class ApplicationShutdownError(KafkaGroupsError):
    """A member asked all members of its streams group to shut down, and this one has left (KIP-1071)."""


class TasksLostError(KafkaGroupsError):
    """The tasks may be another member's by now: close them without committing. `poll` returns them as `TasksLost`."""


class ClientFailureError(KafkaGroupsError):
    """The client failed because of a bug in this package and cannot continue; the cause is attached."""


# ---------------------------------------------------------------------------------- network and frames


class NetworkError(KafkaGroupsError, OSError):
    """A connection could not be made or was lost."""

    retriable = True


class DisconnectedError(NetworkError):
    """The connection was lost while a response was outstanding; the request may or may not have taken effect."""


class NameResolutionError(NetworkError):
    """A host name could not be resolved."""


class BootstrapError(NetworkError):
    """None of the bootstrap servers has responded since the client started."""


class WrongProtocolError(NetworkError):
    """The server does not speak the protocol that the configuration names: TLS, plain text, SASL, or Kafka at all.

    Attributes:
        is_certain: Whether the server's bytes say so. If not, it is the likeliest reason for what the server did; an
            outage may look the same, and so the error is retriable.
    """

    retriable = False

    def __init__(self, message: str, *, is_certain: bool = True) -> None:
        super().__init__(message)
        self.is_certain = is_certain
        self.retriable = not is_certain


class TlsError(NetworkError):
    """The TLS handshake failed: a certificate or key is missing, expired, not trusted, or for another host."""

    retriable = False


class AuthenticationError(KafkaGroupsError):
    """The broker does not accept the client's credentials, or the reverse; the client has failed and must be closed.

    The subclass identifies the failure: `UnsupportedSaslMechanismError`, `IllegalSaslStateError`,
    `SaslAuthenticationFailedError` or `TokenError`. A failure of TLS is a `TlsError`.
    """


class TokenError(AuthenticationError):
    """There is no token for OAUTHBEARER: the identity provider refused, or `oauth_cb` raised or returned rubbish."""


class TokenUnavailableError(NetworkError):
    """The identity provider of OAUTHBEARER could not be reached, or did not answer properly; the client retries."""


class OperationTimeoutError(KafkaGroupsError, TimeoutError):
    """An operation did not finish within its timeout."""

    retriable = True


class ProtocolError(KafkaGroupsError):
    """Bytes that are not a valid message, or a message that its version does not support."""


class MalformedFrameError(ProtocolError):
    """A frame is truncated, too large, or shorter than its lengths say."""


class FrameLengthError(MalformedFrameError):
    """The length of a frame is negative or above the limit.

    Attributes:
        length: The length, as the first four bytes say it.
    """

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"a frame of {length} bytes; the limit is {limit}")
        self.length = length


class UnknownApiError(ProtocolError):
    """A request with an unsupported API key or version."""


class UnknownRecordTypeError(ProtocolError):
    """A record of an internal topic has an unknown type. A newer release may have written it.

    Attributes:
        topic: The internal topic.
        record_type: The number of the type.
    """

    def __init__(self, topic: str, record_type: int) -> None:
        super().__init__(f"Unknown record type {record_type} in {topic}.")
        self.topic = topic
        self.record_type = record_type

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.topic, self.record_type), self.__dict__


class MalformedRecordError(ProtocolError):
    """A record of an internal topic is truncated, shorter than its lengths say, or of an unknown version."""


class MemberDataProblem(enum.Enum):
    """The reasons why bytes that members of a classic group exchange can't be read or written."""

    BROKEN = "broken"
    """The bytes are missing, end too early, or are not what their field needs."""
    TOO_OLD = "too old"
    """User data of a version that cannot share a group: that of Kafka Streams 2.3 and older."""
    TOO_NEW = "too new"
    """An assignment of a version that is not known yet."""
    NAMED_TOPOLOGY = "named topology"
    """A task of a named topology, which only Kafka Streams has."""
    INVALID_VALUE = "invalid value"
    """A value to write does not fit its field."""


class MemberDataError(ProtocolError):
    """Bytes that members of a classic group exchange cannot be read or written.

    Attributes:
        problem: The reason.
        field: The field, such as `AssignmentInfo.active_tasks`. The message names it, too.
    """

    def __init__(self, message: str, *, problem: MemberDataProblem, field: str) -> None:
        super().__init__(message)
        self.problem = problem
        self.field = field

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), problem=self.problem, field=self.field), self.args, self.__dict__


# -------------------------------------------------------------------------------------------- records


class RecordDeserializationError(KafkaGroupsError):
    """A record's key or value could not be deserialised; the raw bytes are in `key` and `value`."""

    key: bytes | None = None
    value: bytes | None = None

    def __init__(self, message: str, *, topic: str, partition: int, offset: int) -> None:
        super().__init__(message)
        self.topic = topic
        self.partition = partition
        self.offset = offset

    def __reduce__(self) -> tuple[Any, ...]:
        make = partial(type(self), topic=self.topic, partition=self.partition, offset=self.offset)
        return make, self.args, self.__dict__


class SerializationError(KafkaGroupsError):
    """A serde cannot turn a value into bytes: the value has another type, or its range or content does not fit.

    If a function of the program raised, its exception is the cause (`__cause__`). The error is retriable only if the
    operating system is behind that: an `OSError`, for example because a schema registry could not be reached.
    """


class DeserializationError(KafkaGroupsError):
    """A serde cannot turn bytes into a value.

    If a function of the program raised, its exception is the cause (`__cause__`). The error is retriable only if the
    operating system is behind that: an `OSError`, for example because a schema registry could not be reached.
    """


class CorruptRecordError(KafkaGroupsError):
    """A record batch failed its CRC check or cannot be parsed; its offsets are rejected as a whole."""


class DeliveryFailedError(KafkaGroupsError):
    """Records were not written, or it is not known whether they were; the message names the first.

    Attributes:
        failed: Records that were refused.
        unanswered: Records of which it is not known; they may have been written.
        retriable: Whether the records may be written if they are sent again. False if one was refused for good.
    """

    def __init__(self, message: str, *, failed: int, unanswered: int, retriable: bool | None = None) -> None:
        super().__init__(message)
        self.failed = failed
        self.unanswered = unanswered
        self.retriable = not failed if retriable is None else retriable

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), failed=self.failed, unanswered=self.unanswered), self.args, self.__dict__


class TransactionFailedError(KafkaGroupsError):
    """A transaction did not succeed: it was aborted, or will be.

    Drop its producer, or let it begin with a new epoch: the same transactional id may continue after that.
    """

    retriable = True


class TransactionExpiredError(KafkaGroupsError):
    """The coordinator has aborted a transaction, as it was open for longer than its `transaction.timeout.ms`."""


def is_retriable(error: BaseException) -> bool:
    """Return True if the operation that failed with this error may succeed when it is tried again."""
    return isinstance(error, KafkaGroupsError) and error.retriable
