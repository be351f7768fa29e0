"""Turn confluent-kafka's errors into those of this package."""

from collections.abc import Callable, Mapping
from typing import Final

from attrs import frozen
from confluent_kafka import KafkaError, KafkaException

from kafka_groups.errors import (
    AuthenticationError,
    KafkaGroupsError,
    NameResolutionError,
    NetworkError,
    OffsetOutOfRangeError,
    OperationTimeoutError,
    ProducerFencedError,
    TlsError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
    error_for,
)

__all__ = ["LOCAL", "error_in", "failure_of", "fatal_error_in", "fetch_failure", "is_fatal"]


@frozen
class _Decision:
    """The decision about a local code of librdkafka.

    Attributes:
        error: The class of the error.
        reason: Why the same call may, or may not, succeed later.
        passes: True if it may. None leaves it to the class.
    """

    error: Callable[[str], KafkaGroupsError]
    reason: str
    passes: bool | None = None


_DAMAGED = _Decision(
    KafkaGroupsError, "a batch or an answer is damaged, and librdkafka may read on behind the batch", passes=False
)
_RECONNECTS = _Decision(NetworkError, "a connection failed, and another one is made", passes=True)
_OLD_METADATA = _Decision(UnknownTopicOrPartitionError, "metadata may be old")
_MISUSED = _Decision(KafkaGroupsError, "it is a mistake in the use of the client", passes=False)
_NO_MEMBER = _Decision(
    KafkaGroupsError, "it is an event of members of groups, and these clients join none", passes=False
)
_SAME_BYTES = _Decision(KafkaGroupsError, "the same bytes fail again", passes=False)
_DROPPED = _Decision(KafkaGroupsError, "this package dropped the record", passes=False)
_NEVER_MADE = _Decision(KafkaGroupsError, "librdkafka 2.16 never makes it: it is as good as unknown", passes=True)
_OUT_OF_ORDER = _Decision(KafkaGroupsError, "the producer's order of records is lost", passes=False)

LOCAL: Final[Mapping[int, _Decision]] = {
    KafkaError._BAD_MSG: _DAMAGED,
    KafkaError._BAD_COMPRESSION: _DAMAGED,
    KafkaError._DESTROY: _Decision(KafkaGroupsError, "this client is being closed", passes=False),
    KafkaError._FAIL: _Decision(KafkaGroupsError, "an answer about offsets was incomplete", passes=True),
    KafkaError._TRANSPORT: _RECONNECTS,
    KafkaError._CRIT_SYS_RESOURCE: _Decision(
        KafkaGroupsError, "the process lacks threads or memory, which the same program does not get back", passes=False
    ),
    KafkaError._RESOLVE: _Decision(NameResolutionError, "the class decides"),
    KafkaError._MSG_TIMED_OUT: _Decision(OperationTimeoutError, "the class decides"),
    KafkaError._PARTITION_EOF: _Decision(KafkaGroupsError, "more records may come", passes=True),
    KafkaError._UNKNOWN_PARTITION: _OLD_METADATA,
    KafkaError._FS: _Decision(KafkaGroupsError, "a file cannot be used", passes=False),
    KafkaError._UNKNOWN_TOPIC: _OLD_METADATA,
    KafkaError._ALL_BROKERS_DOWN: _Decision(NetworkError, "brokers come back", passes=True),
    KafkaError._INVALID_ARG: _Decision(KafkaGroupsError, "the same call is refused again", passes=False),
    KafkaError._TIMED_OUT: _Decision(OperationTimeoutError, "the broker may answer next time", passes=True),
    KafkaError._QUEUE_FULL: _Decision(KafkaGroupsError, "the queue empties", passes=True),
    KafkaError._ISR_INSUFF: _NEVER_MADE,
    KafkaError._NODE_UPDATE: _NEVER_MADE,
    KafkaError._SSL: _Decision(TlsError, "the class decides"),
    KafkaError._WAIT_COORD: _Decision(KafkaGroupsError, "the coordinator is being looked up", passes=True),
    KafkaError._UNKNOWN_GROUP: _Decision(
        KafkaGroupsError, "no call of this package asks for a group that librdkafka must know", passes=False
    ),
    KafkaError._IN_PROGRESS: _Decision(KafkaGroupsError, "the same operation ends soon", passes=True),
    KafkaError._PREV_IN_PROGRESS: _Decision(KafkaGroupsError, "the operation before it ends soon", passes=True),
    KafkaError._EXISTING_SUBSCRIPTION: _MISUSED,
    KafkaError._ASSIGN_PARTITIONS: _NO_MEMBER,
    KafkaError._REVOKE_PARTITIONS: _NO_MEMBER,
    KafkaError._CONFLICT: _MISUSED,
    KafkaError._STATE: _Decision(KafkaGroupsError, "the client cannot make this call in its state", passes=False),
    KafkaError._UNKNOWN_PROTOCOL: _Decision(KafkaGroupsError, "the group has another protocol", passes=False),
    KafkaError._NOT_IMPLEMENTED: _Decision(KafkaGroupsError, "this librdkafka cannot do it", passes=False),
    KafkaError._AUTHENTICATION: _Decision(AuthenticationError, "the class decides"),
    KafkaError._NO_OFFSET: _Decision(KafkaGroupsError, "there is nothing to commit", passes=False),
    KafkaError._OUTDATED: _Decision(
        KafkaGroupsError, "the answer belongs to an older state of the client", passes=True
    ),
    KafkaError._TIMED_OUT_QUEUE: _Decision(OperationTimeoutError, "the request was not sent in time", passes=True),
    KafkaError._UNSUPPORTED_FEATURE: _Decision(KafkaGroupsError, "the broker is too old", passes=False),
    KafkaError._WAIT_CACHE: _Decision(KafkaGroupsError, "metadata is on its way", passes=True),
    KafkaError._INTR: _Decision(KafkaGroupsError, "a signal interrupted the call", passes=True),
    KafkaError._KEY_SERIALIZATION: _SAME_BYTES,
    KafkaError._VALUE_SERIALIZATION: _SAME_BYTES,
    KafkaError._KEY_DESERIALIZATION: _SAME_BYTES,
    KafkaError._VALUE_DESERIALIZATION: _SAME_BYTES,
    KafkaError._PARTIAL: _Decision(
        KafkaGroupsError,
        "the metadata had neither brokers nor topics, as of a broker that has just started",
        passes=True,
    ),
    KafkaError._READ_ONLY: _MISUSED,
    KafkaError._NOENT: _Decision(KafkaGroupsError, "no partition of the request has a known leader yet", passes=True),
    KafkaError._UNDERFLOW: _Decision(
        KafkaGroupsError,
        "a whole answer ends before its fields do: broker and librdkafka disagree, as they would again",
        passes=False,
    ),
    KafkaError._INVALID_TYPE: _MISUSED,
    KafkaError._RETRY: _Decision(KafkaGroupsError, "librdkafka asks for another attempt", passes=True),
    KafkaError._PURGE_QUEUE: _DROPPED,
    KafkaError._PURGE_INFLIGHT: _DROPPED,
    KafkaError._FATAL: _Decision(KafkaGroupsError, "the producer cannot be used any more", passes=False),
    KafkaError._INCONSISTENT: _OUT_OF_ORDER,
    KafkaError._GAPLESS_GUARANTEE: _OUT_OF_ORDER,
    KafkaError._MAX_POLL_EXCEEDED: _NO_MEMBER,
    KafkaError._UNKNOWN_BROKER: _Decision(KafkaGroupsError, "metadata does not have the broker yet", passes=True),
    KafkaError._NOT_CONFIGURED: _Decision(KafkaGroupsError, "a setting is missing", passes=False),
    KafkaError._FENCED: _Decision(ProducerFencedError, "the class decides"),
    KafkaError._APPLICATION: _Decision(KafkaGroupsError, "the program made the error itself", passes=False),
    KafkaError._ASSIGNMENT_LOST: _NO_MEMBER,
    KafkaError._NOOP: _Decision(KafkaGroupsError, "nothing happened", passes=True),
    KafkaError._AUTO_OFFSET_RESET: _Decision(OffsetOutOfRangeError, "the class decides"),
    KafkaError._LOG_TRUNCATION: _Decision(
        OffsetOutOfRangeError, "the class decides; librdkafka puts its text into _AUTO_OFFSET_RESET"
    ),
    KafkaError._INVALID_DIFFERENT_RECORD: _Decision(
        KafkaGroupsError, "the batch is refused for another of its records", passes=False
    ),
    KafkaError.UNKNOWN: _Decision(
        UnknownServerError, "the class decides: Kafka does not call it retriable; for fetches `fetch_failure` does"
    ),
    KafkaError._DESTROY_BROKER: _Decision(
        NetworkError, "a broker left the cluster's metadata while it was asked", passes=True
    ),
}
"""The decision about each code that librdkafka makes itself; `errors.error_for` has the classes for Kafka's."""

_UNKNOWN: Final = _Decision(KafkaGroupsError, "a newer librdkafka made it, so it may pass", passes=True)


def error_in(raised: KafkaException) -> KafkaError:
    """Return the error inside an exception of confluent-kafka."""
    error: KafkaError = raised.args[0]
    return error


def is_fatal(error: KafkaError) -> bool:
    """Return True if the client that has this error cannot be used any more."""
    return error.fatal() or error.code() == KafkaError._FATAL


def fatal_error_in(raised: KafkaException | SystemError) -> KafkaError:
    """Return the fatal error that a producer raises while it is polled or flushed.

    If one comes while a report is delivered, the report's callback fails with a SystemError about it.

    Raises:
        SystemError: It is about something else.
    """
    fatal = raised.__cause__ if isinstance(raised, SystemError) else raised
    if not isinstance(fatal, KafkaException):
        raise raised
    return error_in(fatal)


def failure_of(error: KafkaError, what: str) -> KafkaGroupsError:
    """Return the error to raise.

    Args:
        error: What librdkafka or a broker said.
        what: The beginning of the message, which names the operation and its subject.
    """
    message = f"{what}: {error.str()}"
    if error.code() >= 0:
        return error_for(error.code(), message)
    decision = LOCAL.get(error.code(), _UNKNOWN)
    failure = decision.error(message)
    if decision.passes is not None:
        failure.retriable = decision.passes
    return failure


def fetch_failure(error: KafkaError, what: str) -> KafkaGroupsError:
    """Return the error of a partition that is fetched.

    After a broker's answer without a reason, librdkafka fetches from the same offset again, as Java's consumer does
    (`FetchCollector.handleInitializeErrors`).

    Args:
        error: As for `failure_of`.
        what: As for `failure_of`.
    """
    failure = failure_of(error, what)
    failure.retriable = failure.retriable or error.code() == KafkaError.UNKNOWN
    return failure
