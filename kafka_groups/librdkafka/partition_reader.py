"""Read partitions that the caller chooses, from offsets that the caller chooses, without a group."""

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self, cast

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
)
from confluent_kafka import TopicPartition as Position

from kafka_groups.errors import ConfigurationError
from kafka_groups.librdkafka.client_log import process_log
from kafka_groups.librdkafka.configuration import reader_config
from kafka_groups.librdkafka.failures import error_in, failure_of, fetch_failure
from kafka_groups.librdkafka.offset_queries import bounds_of
from kafka_groups.types import Header, TopicPartition

__all__ = ["BEGINNING", "PartitionReader", "ReadRecord", "log_ends"]

BEGINNING: Final = OFFSET_BEGINNING
"""The offset to assign for the first record that the partition still has."""

_METADATA_SECONDS: Final = 10.0


class ReadRecord(NamedTuple):
    """A record as it is in the log. A tuple, because there is one for each record.

    Attributes:
        topic: Name of the topic.
        partition: Number of the partition.
        offset: The record's offset.
        timestamp_ms: Milliseconds since the epoch; None if the producer set no timestamp.
        is_append_time: Whether the broker set the timestamp, and not the producer.
        key: The key; None is a null key.
        value: The value; None is a null value.
        headers: Keys and values, in the producer's order.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int | None
    is_append_time: bool
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]


class PartitionReader:
    """Reads the records of assigned partitions. Use it as a context manager, and from one thread at a time.

    No record is skipped silently. An offset that the log does not have any more is an error, and so is a batch that
    cannot be read. A partition with such an error is not read further until it is assigned again. After an error that
    may pass (`retriable`), it is read on from the same offset.

    Args:
        config: Keys of a share consumer or of librdkafka's consumer; see `reader_config`. By default only committed
            records are read; `isolation.level` changes that.
        group_id: The name under which librdkafka looks for a coordinator. Nothing joins or changes the group.

    Raises:
        ConfigurationError: A key is invalid.
    """

    def __init__(self, config: Mapping[str, object], group_id: str) -> None:
        self._starts: dict[TopicPartition, int] = {}
        self._unread: list[Message] = []
        """Messages that were fetched together with an error and come after it."""
        try:
            self._consumer = Consumer({**reader_config(config, group_id), "logger": process_log()})
        except KafkaException as error:
            raise ConfigurationError(f"librdkafka refuses the reader's configuration: {error}") from error

    def __repr__(self) -> str:
        return f"<PartitionReader of {', '.join(map(str, self._starts)) or 'nothing'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()

    # -------------------------------------------------------------------------------------- assignment

    @property
    def assigned(self) -> frozenset[TopicPartition]:
        """The partitions that are read."""
        return frozenset(self._starts)

    def assign(self, starts: Mapping[TopicPartition, int]) -> None:
        """Read more partitions, or read assigned ones from another offset on. Others are not disturbed.

        Args:
            starts: For each partition the offset of the first record to read, or `BEGINNING`.
        """
        self.unassign(self._starts.keys() & starts.keys())
        self._consumer.incremental_assign([Position(at.topic, at.partition, start) for at, start in starts.items()])
        self._starts.update(starts)

    def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop reading partitions. `read` returns no more of their records."""
        ended = self._starts.keys() & set(partitions)
        if ended:
            self._consumer.incremental_unassign([Position(at.topic, at.partition) for at in ended])
        self._starts = {at: start for at, start in self._starts.items() if at not in ended}
        self._unread = [message for message in self._unread if _place(message) not in ended]

    # ----------------------------------------------------------------------------------------- reading

    def read(self, most: int, timeout_s: float) -> list[ReadRecord]:
        """Return records in the order of each partition; blocks only while there are none.

        If a partition has an error, the records before it are returned first, and the next call raises the error.

        Args:
            most: Return at most this many records.
            timeout_s: Longest wait for the first one, in seconds.

        Raises:
            OffsetOutOfRangeError: The log does not have the next offset of a partition.
            KafkaGroupsError: A partition cannot be read. If the error is retriable, call it again. Otherwise the
                partition is not assigned any more; other partitions are.
        """
        messages = self._unread or self._fetched(most, timeout_s)
        good = next((at for at, message in enumerate(messages) if message.error() is not None), len(messages))
        self._unread = messages[good:]
        if self._unread and not good:
            self._fail(self._unread.pop(0))
        return [_record(message) for message in messages[:good]]

    def _fetched(self, most: int, timeout_s: float) -> list[Message]:
        """Return the messages there are, or the first to arrive. `consume` with a timeout waits for all of them."""
        if (messages := self._consumer.consume(most, 0)) or not timeout_s:
            return messages
        first = self._consumer.poll(timeout_s)
        if first is None:
            return []
        return [first, *(self._consumer.consume(most - 1, 0) if most > 1 else ())]

    def _fail(self, message: Message) -> None:
        error, place = cast("KafkaError", message.error()), _place(message)
        failure = fetch_failure(
            error, f"{place} cannot be read" if message.topic() else "the partitions cannot be read"
        )
        if not failure.retriable:
            self.unassign([place])
        raise failure

    # ----------------------------------------------------------------------------------------- offsets

    def position(self, partition: TopicPartition, timeout_s: float = _METADATA_SECONDS) -> int:
        """Return the offset from which an assigned partition is read next, behind the markers of transactions.

        Asks the broker only if the partition is read from its `BEGINNING` and nothing has come yet.

        Raises:
            KafkaGroupsError: The broker did not answer, or refused.
        """
        for message in self._unread:
            if _place(message) == partition and message.error() is None:
                return cast("int", message.offset())
        (reached,) = self._consumer.position([Position(partition.topic, partition.partition)])
        if reached.offset >= 0:
            return reached.offset
        start = self._starts[partition]
        return start if start != BEGINNING else self.bounds(partition, timeout_s)[0]

    def bounds(self, partition: TopicPartition, timeout_s: float) -> tuple[int, int]:
        """Return the offset of a partition's first record, and its end.

        The end is where open transactions begin (the last stable offset), or the end of the log with the isolation
        level `read_uncommitted`. The partition need not be assigned.

        Raises:
            OperationTimeoutError: The broker did not answer in time.
            NetworkError: No broker could be reached.
            KafkaGroupsError: The broker refused.
        """
        return bounds_of(self._consumer, partition, timeout_s)

    def has_topic(self, topic: str, timeout_s: float = _METADATA_SECONDS) -> bool:
        """Return whether the brokers have a topic.

        Raises:
            KafkaGroupsError: No broker answered in time, or it refused.
        """
        try:
            return topic in self._consumer.list_topics(timeout=timeout_s).topics
        except KafkaException as error:
            raise failure_of(error_in(error), "the topics are not known") from error


def log_ends(
    config: Mapping[str, object], group_id: str, partitions: Iterable[TopicPartition], timeout_s: float
) -> dict[TopicPartition, int]:
    """Return where the logs end, records of open transactions included.

    A reader of committed records has read everything that is there now when its position has reached this offset. It
    waits for open transactions until they end.

    Args:
        config: Keys as for `PartitionReader`.
        group_id: The name under which librdkafka looks for a coordinator. Nothing joins or changes the group.
        partitions: The partitions.
        timeout_s: Longest wait for each, in seconds.

    Raises:
        OperationTimeoutError: A broker did not answer in time.
        NetworkError: No broker could be reached.
        KafkaGroupsError: A broker refused.
    """
    with PartitionReader({**config, "isolation.level": "read_uncommitted"}, group_id) as reader:
        return {each: reader.bounds(each, timeout_s)[1] for each in partitions}


def _place(message: Message) -> TopicPartition:
    return TopicPartition(message.topic() or "", cast("int", message.partition()))


def _record(message: Message) -> ReadRecord:
    kind, timestamp_ms = message.timestamp()
    return ReadRecord(
        cast("str", message.topic()),
        cast("int", message.partition()),
        cast("int", message.offset()),
        None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms,
        kind == TIMESTAMP_LOG_APPEND_TIME,
        message.key(),
        message.value(),
        cast("Sequence[Header]", message.headers() or ()),
    )
