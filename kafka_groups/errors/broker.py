"""The errors that a broker tells: one class for each wire code that a user can act on.

The class statement has Kafka's number of the error, and whether Kafka's own table calls it retriable. `error_for` turns
a code into its class and is the one place where that is done. A code without a class of its own becomes a `BrokerError`
that carries the number.
"""

from kafka_groups.errors.local import AuthenticationError, KafkaGroupsError

_RETRIABLE_WITHOUT_CLASS = frozenset({19, 20, 51, 72, 83, 84})
"""Codes that Kafka calls retriable and that have no class here: too few replicas, a transaction under way, a missing
listener, and elections."""

_BY_CODE: dict[int, type["BrokerError"]] = {}


class BrokerError(KafkaGroupsError):
    """An error code that a broker sent.

    Attributes:
        code: Kafka's number of the error.
        retriable: Whether the same request may succeed later.
    """

    code: int = -1

    def __init_subclass__(cls, *, code: int | None = None, retriable: bool = False) -> None:
        super().__init_subclass__()
        if code is not None:
            cls.code, cls.retriable = code, retriable
            _BY_CODE.setdefault(code, cls)

    def __init__(self, message: str | None = None, *, code: int | None = None) -> None:
        super().__init__(message or (self.__doc__ or "").split("\n", 1)[0])
        if code is not None:
            self.code = code
            self.retriable = code in _RETRIABLE_WITHOUT_CLASS


def error_for(code: int, message: str | None = None) -> BrokerError:
    """The error for a wire code; one without a class of its own becomes a plain `BrokerError` with that code."""
    cls = _BY_CODE.get(code)
    if cls is not None:
        return cls(message)
    return BrokerError(message or f"the broker answered with error code {code}", code=code)


class UnknownServerError(BrokerError, code=-1):
    """The broker failed without a more specific error."""


class OffsetOutOfRangeError(BrokerError, code=1):
    """The offset is outside the log."""


class CorruptMessageError(BrokerError, code=2, retriable=True):
    """A record batch failed its CRC check or is malformed."""


class UnknownTopicOrPartitionError(BrokerError, code=3, retriable=True):
    """The broker does not know the topic or partition."""


class NotLeaderOrFollowerError(BrokerError, code=6, retriable=True):
    """The broker is no longer the leader of the partition."""


class LeaderNotAvailableError(BrokerError, code=5, retriable=True):
    """The partition currently has no leader."""


class RequestTimedOutError(BrokerError, code=7, retriable=True):
    """The broker could not finish the request in time."""


class ReplicaNotAvailableError(BrokerError, code=9, retriable=True):
    """The replica is not available on the broker."""


class MessageTooLargeError(BrokerError, code=10):
    """A record batch is larger than the topic allows."""


class NetworkExceptionError(BrokerError, code=13, retriable=True):
    """The server disconnected before a response was received."""


class CoordinatorLoadInProgressError(BrokerError, code=14, retriable=True):
    """The coordinator is still loading the state of the group."""


class CoordinatorNotAvailableError(BrokerError, code=15, retriable=True):
    """The group currently has no coordinator."""


class NotCoordinatorError(BrokerError, code=16, retriable=True):
    """The broker is no longer the coordinator of the group."""


class InvalidTopicError(BrokerError, code=17):
    """The topic name is not valid."""


class RecordListTooLargeError(BrokerError, code=18):
    """The record batch is larger than a segment."""


class NotEnoughReplicasError(BrokerError, code=19, retriable=True):
    """The partition has too few replicas, or the leader could not verify that it is part of the transaction."""


class InvalidRequiredAcksError(BrokerError, code=21):
    """The acks of a Produce request must be -1, 0 or 1."""


class IllegalGenerationError(BrokerError, code=22):
    """The generation is not the group's current one."""


class InvalidGroupIdError(BrokerError, code=24):
    """The group id is not valid."""


class UnknownMemberIdError(BrokerError, code=25):
    """The coordinator does not know the member."""


class RebalanceInProgressError(BrokerError, code=27):
    """The group rebalances: a member has to join again, and offsets are not taken before that."""


class InvalidSessionTimeoutError(BrokerError, code=26):
    """The session timeout is outside the range that the broker allows."""


class TopicAuthorizationFailedError(BrokerError, code=29):
    """Access to the topic is denied."""


class GroupAuthorizationFailedError(BrokerError, code=30):
    """Access to the group is denied."""


class ClusterAuthorizationFailedError(BrokerError, code=31):
    """Access to the cluster is denied."""


class InvalidTimestampError(BrokerError, code=32):
    """The timestamp of a record is outside the acceptable range."""


class UnsupportedSaslMechanismError(BrokerError, AuthenticationError, code=33):
    """The broker does not support the SASL mechanism."""


class IllegalSaslStateError(BrokerError, AuthenticationError, code=34):
    """The request is not valid in the current SASL state."""


class UnsupportedVersionError(BrokerError, code=35):
    """The broker does not support the version of the API or the feature."""


class RenewalUnsupportedError(UnsupportedVersionError):
    """The broker cannot renew acquisition locks: it runs a release before Kafka 4.2 (KIP-1222)."""


class TopicAlreadyExistsError(BrokerError, code=36):
    """A topic of that name already exists."""


class InvalidPartitionsError(BrokerError, code=37):
    """The number of partitions is not valid."""


class InvalidReplicationFactorError(BrokerError, code=38):
    """The replication factor is below 1 or larger than the number of brokers."""


class InvalidReplicaAssignmentError(BrokerError, code=39):
    """The replica assignment is not valid."""


class InvalidConfigError(BrokerError, code=40):
    """A configuration name or value is not valid."""


class NotControllerError(BrokerError, code=41, retriable=True):
    """The broker is not the controller."""


class InvalidRequestError(BrokerError, code=42):
    """The request is not valid."""


class UnsupportedForMessageFormatError(BrokerError, code=43):
    """The message format does not support the request."""


class PolicyViolationError(BrokerError, code=44):
    """A policy of the cluster forbids the request."""


class OutOfOrderSequenceNumberError(BrokerError, code=45):
    """The producer sent a sequence number out of order."""


class DuplicateSequenceNumberError(BrokerError, code=46):
    """The producer sent a batch that was already appended."""


class InvalidProducerEpochError(BrokerError, code=47):
    """The producer epoch is older than the current one."""


class InvalidTxnStateError(BrokerError, code=48):
    """The producer attempted a transactional operation in a state that does not allow it."""


class InvalidProducerIdMappingError(BrokerError, code=49):
    """The transactional id is not known, or it has another producer id."""


class InvalidTransactionTimeoutError(BrokerError, code=50):
    """The transaction timeout is not positive, or longer than the broker allows."""


class ConcurrentTransactionsError(BrokerError, code=51, retriable=True):
    """The transactional id has a transaction that is being ended."""


class TransactionCoordinatorFencedError(BrokerError, code=52):
    """Another transaction coordinator has taken over."""


class TransactionalIdAuthorizationFailedError(BrokerError, code=53):
    """The client may not use this transactional id."""


class SecurityDisabledError(BrokerError, code=54):
    """The cluster has no authorizer, and so no ACLs."""


class OperationNotAttemptedError(BrokerError, code=55):
    """The broker did nothing for this one, because another one of the same request failed."""


class KafkaStorageError(BrokerError, code=56, retriable=True):
    """The disk of the broker failed."""


class SaslAuthenticationFailedError(BrokerError, AuthenticationError, code=58):
    """The broker refused the credentials, or could not prove that it knows them."""


class UnknownProducerIdError(BrokerError, code=59):
    """The broker has no state of the producer."""


class NonEmptyGroupError(BrokerError, code=68):
    """The group still has members."""


class GroupIdNotFoundError(BrokerError, code=69):
    """The group does not exist, or is of another type."""


class FetchSessionIdNotFoundError(BrokerError, code=70, retriable=True):
    """The broker does not know the fetch session."""


class InvalidFetchSessionEpochError(BrokerError, code=71, retriable=True):
    """The fetch session epoch is not the expected one."""


class TopicDeletionDisabledError(BrokerError, code=73):
    """Deleting topics is disabled."""


class FencedLeaderEpochError(BrokerError, code=74, retriable=True):
    """The leader epoch is older than the current one."""


class UnknownLeaderEpochError(BrokerError, code=75, retriable=True):
    """The leader epoch is newer than the one that the broker knows."""


class UnsupportedCompressionTypeError(BrokerError, code=76):
    """The broker does not support the compression type."""


class OffsetNotAvailableError(BrokerError, code=78, retriable=True):
    """The leader does not know the offset yet."""


class PreferredLeaderNotAvailableError(BrokerError, code=80, retriable=True):
    """The preferred leader is not available."""


class GroupMaxSizeReachedError(BrokerError, code=81):
    """The group has reached its maximum number of members."""


class FencedInstanceIdError(BrokerError, code=82):
    """Another member took over the group instance id."""


class InvalidRecordError(BrokerError, code=87):
    """A record is not valid."""


class GroupSubscribedToTopicError(BrokerError, code=86):
    """Members of the group subscribe to the topic, so its offsets cannot be deleted."""


class UnstableOffsetCommitError(BrokerError, code=88, retriable=True):
    """There are pending transactional offsets."""


class ThrottlingQuotaExceededError(BrokerError, code=89, retriable=True):
    """A quota is exceeded."""


class ProducerFencedError(BrokerError, code=90):
    """Another producer with the same transactional id has taken over."""


class ResourceNotFoundError(BrokerError, code=91):
    """The resource does not exist."""


class DuplicateResourceError(BrokerError, code=92):
    """The request names a resource twice."""


class UnacceptableCredentialError(BrokerError, code=93):
    """The broker does not accept the credential."""


class InvalidUpdateVersionError(BrokerError, code=95):
    """The level of a feature is not possible."""


class UnknownTopicIdError(BrokerError, code=100, retriable=True):
    """The broker does not know the topic id."""


class InconsistentTopicIdError(BrokerError, code=103, retriable=True):
    """The topic id differs from the one in the log."""


class TransactionalIdNotFoundError(BrokerError, code=105):
    """The transactional id does not exist."""


class FetchSessionTopicIdError(BrokerError, code=106, retriable=True):
    """The request's use of topic ids does not match its fetch session."""


class FencedMemberEpochError(BrokerError, code=110):
    """The member epoch is not the one that the coordinator knows."""


class UnreleasedInstanceIdError(BrokerError, code=111):
    """The group instance id is held by another member."""


class UnsupportedAssignorError(BrokerError, code=112):
    """The assignor is not supported."""


class StaleMemberEpochError(BrokerError, code=113):
    """The member epoch is out of date."""


class TransactionAbortableError(BrokerError, code=120):
    """The transaction cannot be committed any more. The producer may abort it and go on."""


class InvalidRecordStateError(BrokerError, code=121):
    """The record is not in a state that allows the acknowledgement."""


class ShareSessionNotFoundError(BrokerError, code=122, retriable=True):
    """The broker does not know the share session."""


class InvalidShareSessionEpochError(BrokerError, code=123, retriable=True):
    """The share session epoch is not the expected one."""


class FencedStateEpochError(BrokerError, code=124):
    """The share-group state epoch is older than the current one."""


class InvalidRegularExpressionError(BrokerError, code=128):
    """The regular expression is invalid."""


class StreamsInvalidTopologyError(BrokerError, code=130):
    """The topology of a streams application is not valid."""


class StreamsInvalidTopologyEpochError(BrokerError, code=131):
    """The epoch of a streams application's topology is not valid."""


class StreamsTopologyFencedError(BrokerError, code=132):
    """The topology of a streams application is out of date."""


class ShareSessionLimitReachedError(BrokerError, code=133, retriable=True):
    """The broker has reached its limit of share sessions."""
