"""Every error that this package raises, as one tree under `KafkaGroupsError`.

Every error has `retriable`: whether the same call may succeed later without a change to your program or configuration.
A wire error code that a user can act on has a class of its own (`code` is Kafka's number, `retriable` what Kafka's
own table says); `error_for` turns a code into its class and is the one place where that is done. A code without a class
of its own becomes a `BrokerError` that carries the number.
"""

from functools import partial
from typing import Any


class KafkaGroupsError(Exception):
    """Root of all errors of this package.

    Attributes:
        retriable: Whether the same call may succeed later, without a change to the program or its configuration.
    """

    retriable: bool = False


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


class CorruptRecordError(KafkaGroupsError):
    """A record batch failed its CRC check or cannot be parsed; its offsets are rejected as a whole."""


class DeliveryFailedError(KafkaGroupsError):
    """Records were not written, or it is not known whether they were; the message names the first.

    Attributes:
        failed: Records that were refused.
        unanswered: Records of which it is not known; they may have been written.
    """

    retriable = True

    def __init__(self, message: str, *, failed: int, unanswered: int) -> None:
        super().__init__(message)
        self.failed = failed
        self.unanswered = unanswered

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), failed=self.failed, unanswered=self.unanswered), self.args, self.__dict__


# -------------------------------------------------------------------------------------- wire error codes


class BrokerError(KafkaGroupsError):
    """An error code that a broker sent.

    Attributes:
        code: Kafka's number of the error.
        retriable: Whether the same request may succeed later.
    """

    code: int = -1

    def __init__(self, message: str | None = None, *, code: int | None = None) -> None:
        super().__init__(message or (self.__doc__ or "").split("\n", 1)[0])
        if code is not None:
            self.code = code
            self.retriable = code in _RETRIABLE_WITHOUT_CLASS


_RETRIABLE_WITHOUT_CLASS = frozenset({19, 20, 51, 72, 83, 84})
"""Codes that Kafka calls retriable and that have no class here: too few replicas, a transaction under way, a missing
listener, and elections."""


class UnknownServerError(BrokerError):
    """The broker failed without a more specific error."""

    code = -1


class OffsetOutOfRangeError(BrokerError):
    """The offset is outside the log."""

    code = 1


class CorruptMessageError(BrokerError):
    """A record batch failed its CRC check or is malformed."""

    code = 2
    retriable = True


class UnknownTopicOrPartitionError(BrokerError):
    """The broker does not know the topic or partition."""

    code = 3
    retriable = True


class NotLeaderOrFollowerError(BrokerError):
    """The broker is no longer the leader of the partition."""

    code = 6
    retriable = True


class LeaderNotAvailableError(BrokerError):
    """The partition currently has no leader."""

    code = 5
    retriable = True


class RequestTimedOutError(BrokerError):
    """The broker could not finish the request in time."""

    code = 7
    retriable = True


class ReplicaNotAvailableError(BrokerError):
    """The replica is not available on the broker."""

    code = 9
    retriable = True


class MessageTooLargeError(BrokerError):
    """A record batch is larger than the topic allows."""

    code = 10


class NetworkExceptionError(BrokerError):
    """The server disconnected before a response was received."""

    code = 13
    retriable = True


class CoordinatorLoadInProgressError(BrokerError):
    """The coordinator is still loading the state of the group."""

    code = 14
    retriable = True


class CoordinatorNotAvailableError(BrokerError):
    """The group currently has no coordinator."""

    code = 15
    retriable = True


class NotCoordinatorError(BrokerError):
    """The broker is no longer the coordinator of the group."""

    code = 16
    retriable = True


class InvalidTopicError(BrokerError):
    """The topic name is not valid."""

    code = 17


class RecordListTooLargeError(BrokerError):
    """The record batch is larger than a segment."""

    code = 18


class InvalidRequiredAcksError(BrokerError):
    """The acks of a Produce request must be -1, 0 or 1."""

    code = 21


class IllegalGenerationError(BrokerError):
    """The generation is not the group's current one."""

    code = 22


class InvalidGroupIdError(BrokerError):
    """The group id is not valid."""

    code = 24


class UnknownMemberIdError(BrokerError):
    """The coordinator does not know the member."""

    code = 25


class InvalidSessionTimeoutError(BrokerError):
    """The session timeout is outside the range that the broker allows."""

    code = 26


class TopicAuthorizationFailedError(BrokerError):
    """Access to the topic is denied."""

    code = 29


class GroupAuthorizationFailedError(BrokerError):
    """Access to the group is denied."""

    code = 30


class ClusterAuthorizationFailedError(BrokerError):
    """Access to the cluster is denied."""

    code = 31


class InvalidTimestampError(BrokerError):
    """The timestamp of a record is outside the acceptable range."""

    code = 32


class UnsupportedSaslMechanismError(BrokerError, AuthenticationError):
    """The broker does not support the SASL mechanism."""

    code = 33


class IllegalSaslStateError(BrokerError, AuthenticationError):
    """The request is not valid in the current SASL state."""

    code = 34


class UnsupportedVersionError(BrokerError):
    """The broker does not support the version of the API or the feature."""

    code = 35


class RenewalUnsupportedError(UnsupportedVersionError):
    """The broker cannot renew acquisition locks: it runs a release before Kafka 4.2 (KIP-1222)."""


class TopicAlreadyExistsError(BrokerError):
    """A topic of that name already exists."""

    code = 36


class InvalidPartitionsError(BrokerError):
    """The number of partitions is not valid."""

    code = 37


class InvalidReplicationFactorError(BrokerError):
    """The replication factor is below 1 or larger than the number of brokers."""

    code = 38


class InvalidReplicaAssignmentError(BrokerError):
    """The replica assignment is not valid."""

    code = 39


class InvalidConfigError(BrokerError):
    """A configuration name or value is not valid."""

    code = 40


class NotControllerError(BrokerError):
    """The broker is not the controller."""

    code = 41
    retriable = True


class InvalidRequestError(BrokerError):
    """The request is not valid."""

    code = 42


class UnsupportedForMessageFormatError(BrokerError):
    """The message format does not support the request."""

    code = 43


class PolicyViolationError(BrokerError):
    """A policy of the cluster forbids the request."""

    code = 44


class OutOfOrderSequenceNumberError(BrokerError):
    """The producer sent a sequence number out of order."""

    code = 45


class DuplicateSequenceNumberError(BrokerError):
    """The producer sent a batch that was already appended."""

    code = 46


class InvalidProducerEpochError(BrokerError):
    """The producer epoch is older than the current one."""

    code = 47


class InvalidTxnStateError(BrokerError):
    """The producer attempted a transactional operation in a state that does not allow it."""

    code = 48


class KafkaStorageError(BrokerError):
    """The disk of the broker failed."""

    code = 56
    retriable = True


class SaslAuthenticationFailedError(BrokerError, AuthenticationError):
    """The broker refused the credentials, or could not prove that it knows them."""

    code = 58


class UnknownProducerIdError(BrokerError):
    """The broker has no state of the producer."""

    code = 59


class NonEmptyGroupError(BrokerError):
    """The group still has members."""

    code = 68


class GroupIdNotFoundError(BrokerError):
    """The group does not exist, or is of another type."""

    code = 69


class FetchSessionIdNotFoundError(BrokerError):
    """The broker does not know the fetch session."""

    code = 70
    retriable = True


class InvalidFetchSessionEpochError(BrokerError):
    """The fetch session epoch is not the expected one."""

    code = 71
    retriable = True


class TopicDeletionDisabledError(BrokerError):
    """Deleting topics is disabled."""

    code = 73


class FencedLeaderEpochError(BrokerError):
    """The leader epoch is older than the current one."""

    code = 74
    retriable = True


class UnknownLeaderEpochError(BrokerError):
    """The leader epoch is newer than the one that the broker knows."""

    code = 75
    retriable = True


class UnsupportedCompressionTypeError(BrokerError):
    """The broker does not support the compression type."""

    code = 76


class OffsetNotAvailableError(BrokerError):
    """The leader does not know the offset yet."""

    code = 78
    retriable = True


class PreferredLeaderNotAvailableError(BrokerError):
    """The preferred leader is not available."""

    code = 80
    retriable = True


class GroupMaxSizeReachedError(BrokerError):
    """The group has reached its maximum number of members."""

    code = 81


class FencedInstanceIdError(BrokerError):
    """Another member took over the group instance id."""

    code = 82


class InvalidRecordError(BrokerError):
    """A record is not valid."""

    code = 87


class UnstableOffsetCommitError(BrokerError):
    """There are pending transactional offsets."""

    code = 88
    retriable = True


class ThrottlingQuotaExceededError(BrokerError):
    """A quota is exceeded."""

    code = 89
    retriable = True


class ResourceNotFoundError(BrokerError):
    """The resource does not exist."""

    code = 91


class UnknownTopicIdError(BrokerError):
    """The broker does not know the topic id."""

    code = 100
    retriable = True


class InconsistentTopicIdError(BrokerError):
    """The topic id differs from the one in the log."""

    code = 103
    retriable = True


class FetchSessionTopicIdError(BrokerError):
    """The request's use of topic ids does not match its fetch session."""

    code = 106
    retriable = True


class FencedMemberEpochError(BrokerError):
    """The member epoch is not the one that the coordinator knows."""

    code = 110


class UnreleasedInstanceIdError(BrokerError):
    """The group instance id is held by another member."""

    code = 111


class UnsupportedAssignorError(BrokerError):
    """The assignor is not supported."""

    code = 112


class StaleMemberEpochError(BrokerError):
    """The member epoch is out of date."""

    code = 113


class InvalidRecordStateError(BrokerError):
    """The record is not in a state that allows the acknowledgement."""

    code = 121


class ShareSessionNotFoundError(BrokerError):
    """The broker does not know the share session."""

    code = 122
    retriable = True


class InvalidShareSessionEpochError(BrokerError):
    """The share session epoch is not the expected one."""

    code = 123
    retriable = True


class FencedStateEpochError(BrokerError):
    """The share-group state epoch is older than the current one."""

    code = 124


class ShareSessionLimitReachedError(BrokerError):
    """The broker has reached its limit of share sessions."""

    code = 133
    retriable = True


_BY_CODE: dict[int, type[BrokerError]] = {cls.code: cls for cls in BrokerError.__subclasses__()}


def error_for(code: int, message: str | None = None) -> BrokerError:
    """The error for a wire code; one without a class of its own becomes a plain `BrokerError` with that code."""
    cls = _BY_CODE.get(code)
    if cls is not None:
        return cls(message)
    return BrokerError(message or f"the broker answered with error code {code}", code=code)


def is_retriable(error: BaseException) -> bool:
    """Whether the operation that failed with this error may succeed when it is tried again."""
    return isinstance(error, KafkaGroupsError) and error.retriable
