"""A partition that a broker leads for a coordinator, with its shard and those who wait for it."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from attrs import define, field, frozen

from kafka_groups.broker.coordinators.result import Effect, Result
from kafka_groups.broker.coordinators.shard import Shard
from kafka_groups.broker.log.entries import Producer, TransactionEnd
from kafka_groups.broker.log.internal_log import InternalLog
from kafka_groups.errors import BrokerError
from kafka_groups.types import TopicIdPartition

__all__ = ["Done", "LedShard", "ShardAddress", "Unanswered"]

S = TypeVar("S", bound=Shard[Any])
T = TypeVar("T")

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
    loaded_up_to: int
    readable_up_to: int
    beginning: Iterator[Result[None, Any]] | None = None
    outstanding: list[Effect] = field(factory=list)
    is_active: bool = False
    open_transactions: set[int] = field(factory=set)
    unanswered: deque[Unanswered] = field(factory=deque)
    parked: dict[int, Done[Any]] = field(factory=dict)

    def replay(self, record: Any, offset: int, producer: Producer | None) -> None:
        """Let the shard apply a record."""
        if producer is not None:
            self.open_transactions.add(producer.producer_id)
        self.shard.replay(record, offset, producer)

    def end_transaction(self, end: TransactionEnd) -> None:
        """Let the shard apply the records of a transaction or forget them, if it has some."""
        if end.producer.producer_id in self.open_transactions:
            self.open_transactions.discard(end.producer.producer_id)
            self.shard.end_transaction(end.producer, end.offset, committed=end.committed)

    def forsake(self) -> Iterator[Done[Any]]:
        """Return those who wait for an answer, which this shard will not give."""
        yield from (each.done for each in self.unanswered)
        yield from self.parked.values()
        self.unanswered.clear()
        self.parked.clear()
