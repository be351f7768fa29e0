"""A partition that a broker leads for a coordinator, with its shard and those who wait for it."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from attrs import define, field, frozen

from kafka_groups.broker.coordinators.result import Effect, Result
from kafka_groups.broker.coordinators.shard import Shard
from kafka_groups.broker.log.entries import EndMarker, LogEntry, Producer, TransactionEnd
from kafka_groups.broker.log.internal_log import InternalLog
from kafka_groups.errors import BrokerError, UnknownServerError
from kafka_groups.net.clock import Clock
from kafka_groups.protocol.record_batch import HEADER_BYTES
from kafka_groups.types import TopicIdPartition

__all__ = ["Done", "LedShard", "ShardAddress", "Unanswered"]

S = TypeVar("S", bound=Shard[Any])
T = TypeVar("T")
R = TypeVar("R")

Done = Callable[[T | BrokerError], None]
"""Takes a response or an error. It may be called before the function that it was given to returns."""


@frozen
class ShardAddress:
    """A shard on one broker in one leader epoch. The outcome of an effect of an earlier epoch is dropped."""

    index: int
    epoch: int


@define(eq=False)
class Unanswered:
    """A result that waits until its records are committed."""

    end_offset: int
    result: Result[Any, Any]
    done: Done[Any]


@define(eq=False)
class LedShard(Generic[S]):
    """A partition that this broker leads, with its shard."""

    partition: TopicIdPartition
    address: ShardAddress
    log: InternalLog[Any]
    shard: S
    clock: Clock
    max_batch_bytes: Callable[[], int]
    loaded_up_to: int = field(init=False)
    readable_up_to: int = field(init=False)
    beginning: Iterator[Result[None, Any]] | None = None
    outstanding: list[Effect] = field(factory=list)
    is_active: bool = False
    open_transactions: set[int] = field(factory=set)
    unanswered: deque[Unanswered] = field(factory=deque)
    parked: dict[int, Done[Any]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.loaded_up_to, self.readable_up_to = self.log.log_start_offset, self.log.committed_offset

    def append(self, records: tuple[Any, ...], producer: Producer | None = None) -> None:
        """Append the records of an operation, let the shard apply them, and tidy the log.

        Raises:
            UnknownServerError: A record does not fit into a batch, and nothing was appended.
            BrokerError: The log refused the records.
        """
        wall_ms = self.clock.wall_ms() if records else 0
        while records:
            for batch in _batches_of(records, self.log.size_of, self.max_batch_bytes()):
                base_offset = self.log.append_records(batch, self.address.epoch, wall_ms, producer)
                self._note(producer)
                for offset, record in enumerate(batch, base_offset):
                    self.shard.replay(record, offset, producer)
            # What `tidy` returns is about other records, and belongs to no transaction.
            records, producer = self.shard.tidy(self.log, wall_ms), None

    def append_end(self, marker: EndMarker) -> None:
        """Append the marker that ends a producer's transaction, and let the shard apply it.

        Raises:
            BrokerError: The log refused it.
        """
        offset = self.log.append_end(marker, self.address.epoch, self.clock.wall_ms())
        self._end_transaction(TransactionEnd(offset, marker.producer, marker.committed))

    def load(self, entries: Iterable[LogEntry[Any] | TransactionEnd]) -> None:
        """Let the shard apply what the log has."""
        for entry in entries:
            if isinstance(entry, TransactionEnd):
                self._end_transaction(entry)
            else:
                self._note(entry.producer)
                self.shard.replay(entry.record, entry.offset, entry.producer)

    def forsake(self) -> Iterator[Done[Any]]:
        """Return those who wait for an answer, which this shard will not give."""
        yield from (each.done for each in self.unanswered)
        yield from self.parked.values()
        self.unanswered.clear()
        self.parked.clear()

    def _note(self, producer: Producer | None) -> None:
        if producer is not None:
            self.open_transactions.add(producer.producer_id)

    def _end_transaction(self, end: TransactionEnd) -> None:
        """Let the shard apply the records of a transaction or forget them, if it has some."""
        # Most markers come to partitions whose transaction has no records here. The shard hears only of its own.
        if end.producer.producer_id in self.open_transactions:
            self.open_transactions.discard(end.producer.producer_id)
            self.shard.end_transaction(end.producer, end.offset, committed=end.committed)


def _batches_of(records: Iterable[R], size_of: Callable[[R], int], max_bytes: int) -> list[list[R]]:
    """Return the records in order, in batches that are as large as they may be (`max.message.bytes`).

    Raises:
        UnknownServerError: A record does not fit into a batch. Kafka's coordinators answer that, too.
    """
    batches: list[list[R]] = []
    room = 0
    for record in records:
        size = size_of(record)
        # All batches are made before the first is appended, so a record that is too large changes nothing (the error is
        # that of CoordinatorOperationExceptionHelper.handleOperationException in Kafka).
        if size > max_bytes - HEADER_BYTES:
            raise UnknownServerError(f"A record of {size} bytes does not fit into a batch of {max_bytes} bytes.")
        if size > room:
            batches.append([])
            room = max_bytes - HEADER_BYTES
        batches[-1].append(record)
        room -= size
    return batches
