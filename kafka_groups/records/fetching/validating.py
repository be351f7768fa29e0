"""The meaning of a leader's answer about one partition for its reader."""

import enum
from collections.abc import Mapping
from typing import Final

from kafka_groups.client.rights import refused
from kafka_groups.errors import BrokerError, KafkaGroupsError, error_for
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.fetch import PartitionData
from kafka_groups.types import TopicPartition

__all__ = ["FetchOutcome", "failure_of", "not_readable", "outcome_of"]


class FetchOutcome(enum.Enum):
    """The next step for a partition."""

    TAKE = "take its records"
    DIVERGED = "go back to where the leader's log differs from what was read"
    FIND_LEADER = "ask the leader that the response names, or ask for metadata"
    ASK_AGAIN = "ask again later"
    FIND_TOPIC = "ask for metadata, and fetch again later"
    OUT_OF_RANGE = "the log does not have the offset"
    FAIL = "stop reading it, with an error"


_OUTCOMES: Final[Mapping[ErrorCode, FetchOutcome]] = {
    # A leader that has moved, or was replaced: FetchCollector.handleInitializeErrors in Kafka asks for metadata after
    # these. KIP-951 tells the leader at once.
    ErrorCode.NOT_LEADER_OR_FOLLOWER: FetchOutcome.FIND_LEADER,
    ErrorCode.FENCED_LEADER_EPOCH: FetchOutcome.FIND_LEADER,
    ErrorCode.REPLICA_NOT_AVAILABLE: FetchOutcome.FIND_LEADER,
    ErrorCode.KAFKA_STORAGE_ERROR: FetchOutcome.FIND_LEADER,
    ErrorCode.OFFSET_NOT_AVAILABLE: FetchOutcome.FIND_LEADER,
    ErrorCode.LEADER_NOT_AVAILABLE: FetchOutcome.FIND_LEADER,
    # The broker has not heard of the epoch yet: our metadata is newer than its own.
    ErrorCode.UNKNOWN_LEADER_EPOCH: FetchOutcome.ASK_AGAIN,
    # Kafka does not call it retriable, but its consumer fetches again (FetchCollector.handleInitializeErrors).
    ErrorCode.UNKNOWN_SERVER_ERROR: FetchOutcome.ASK_AGAIN,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: FetchOutcome.FIND_TOPIC,
    ErrorCode.UNKNOWN_TOPIC_ID: FetchOutcome.FIND_TOPIC,
    ErrorCode.INCONSISTENT_TOPIC_ID: FetchOutcome.FIND_TOPIC,
    ErrorCode.OFFSET_OUT_OF_RANGE: FetchOutcome.OUT_OF_RANGE,
    # The broker found the damage itself. Its class is retriable, but the same bytes are there the next time.
    ErrorCode.CORRUPT_MESSAGE: FetchOutcome.FAIL,
}


def outcome_of(data: PartitionData) -> FetchOutcome:
    """Return what the answer about a partition means. Errors that are not in the table are judged by their class."""
    code = data.error_code
    if code is ErrorCode.NONE:
        return FetchOutcome.DIVERGED if data.diverging_epoch.end_offset >= 0 else FetchOutcome.TAKE
    if code in _OUTCOMES:
        return _OUTCOMES[code]
    return FetchOutcome.FIND_TOPIC if error_for(code, code.name).retriable else FetchOutcome.FAIL


def failure_of(code: ErrorCode, partition: TopicPartition, offset: int, principal: str | None) -> KafkaGroupsError:
    """Return the error for a partition that cannot be read.

    Args:
        code: The broker's error.
        partition: The partition.
        offset: The offset of the next record.
        principal: Who reads, for errors of permissions.
    """
    if code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return not_readable(partition, principal)
    return error_for(code, f"{partition} cannot be read from offset {offset} on: {code.name}")


def not_readable(place: TopicPartition | str, principal: str | None) -> BrokerError:
    """Return the error for a partition, or a topic, that somebody may not read, which says what to grant."""
    topic = place if isinstance(place, str) else place.topic
    return refused(ApiKey.FETCH, ErrorCode.TOPIC_AUTHORIZATION_FAILED, (topic,), principal)
