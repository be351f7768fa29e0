"""The search for transactions that hang: open in a partition, and unknown to their coordinators (KIP-664).

It goes the way of Kafka's `kafka-transactions find-hanging`: the leaders name producers with transactions that are open
for long, and coordinators tell whether they know them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from attrs import evolve

from kafka_groups.admin.rules.topic_descriptions import list_topics
from kafka_groups.admin.rules.topics import partitions_of_topics
from kafka_groups.admin.rules.transaction_values import (
    HangingTransaction,
    HangingTransactionList,
    PartitionProducer,
    TransactionDescription,
)
from kafka_groups.admin.rules.transactions import (
    TransactionFilter,
    describe_producers,
    describe_transactions,
    list_transactions,
)
from kafka_groups.client.calls.questions import Asking
from kafka_groups.errors import TransactionalIdNotFoundError
from kafka_groups.types import TopicPartition

__all__ = ["DEFAULT_LONGER_THAN_MS", "find_hanging", "hanging_among", "open_for_long", "partitions_to_search"]

Producers = Mapping[TopicPartition, Iterable[PartitionProducer]]

DEFAULT_LONGER_THAN_MS: Final = 900_000
"""The default of `transaction.max.timeout.ms` of brokers: no healthy transaction is open for longer."""

_NO_DURATION: Final = -1


async def partitions_to_search(
    ask: Asking, names: tuple[str, ...], single: tuple[TopicPartition, ...]
) -> tuple[TopicPartition, ...]:
    """Return these partitions, and all of some topics; without any, those of all topics, Kafka's own among them.

    Raises:
        UnknownTopicOrPartitionError: A topic does not exist.
    """
    if not names and not single:
        every = await list_topics(ask, include_internal=True)
        return tuple(TopicPartition(each.name, number) for each in every for number in range(each.partitions))
    found = (await partitions_of_topics(ask, names)).checked()
    return (*single, *(each for some in found.values.values() for each in some))


async def find_hanging(
    ask: Asking, partitions: Iterable[TopicPartition], longer_than_ms: int, now_ms: int
) -> HangingTransactionList:
    """Ask the leaders of partitions for open transactions, and their coordinators whether they know these.

    Raises:
        KafkaGroupsError: A coordinator did not answer, so that nobody knows which of its transactions hang.
    """
    producers = await describe_producers(ask, partitions)
    candidates = tuple(open_for_long(producers.values, longer_than_ms, now_ms))
    ids = await _ids_of(ask, {each.producer_id for each in candidates})
    hanging = hanging_among(candidates, ids, await _described(ask, ids.values()))
    # A coordinator does not know a transaction that ended while it was asked, either. Such a one is not open any more.
    now = await describe_producers(ask, {each.partition for each in hanging})
    still_open = {_place_of(each) for each in open_for_long(now.values, longer_than_ms, now_ms)}
    left = sorted((each for each in hanging if _place_of(each) in still_open), key=_place_of)
    return HangingTransactionList(tuple(left), {**producers.errors, **now.errors})


def open_for_long(producers: Producers, longer_than_ms: int, now_ms: int) -> Iterator[HangingTransaction]:
    """Return the open transactions whose producers have written nothing for longer. They may hang."""
    for partition, some in producers.items():
        for each in some:
            if each.transaction_start_offset is not None and now_ms - (each.last_timestamp_ms or 0) > longer_than_ms:
                yield HangingTransaction(
                    partition=partition,
                    producer_id=each.producer_id,
                    producer_epoch=each.producer_epoch,
                    transactional_id=None,
                    start_offset=each.transaction_start_offset,
                    last_timestamp_ms=each.last_timestamp_ms,
                    coordinator_epoch=each.coordinator_epoch,
                )


def hanging_among(
    candidates: Iterable[HangingTransaction], ids: Mapping[int, str], described: Mapping[str, TransactionDescription]
) -> tuple[HangingTransaction, ...]:
    """Return the transactions that no coordinator will end.

    Args:
        candidates: Open transactions.
        ids: The transactional ids of producers, as far as coordinators know them.
        described: The current transactions of these ids.
    """
    named = (evolve(each, transactional_id=ids.get(each.producer_id)) for each in candidates)
    return tuple(each for each in named if not _is_known(each, described))


def _is_known(transaction: HangingTransaction, described: Mapping[str, TransactionDescription]) -> bool:
    current = described.get(transaction.transactional_id or "")
    return current is not None and transaction.partition in current.partitions


def _place_of(transaction: HangingTransaction) -> tuple[TopicPartition, int, int]:
    return transaction.partition, transaction.start_offset, transaction.producer_id


async def _ids_of(ask: Asking, producer_ids: Iterable[int]) -> dict[int, str]:
    wanted = TransactionFilter((), tuple(sorted(producer_ids)), _NO_DURATION, None)
    if not wanted.producer_ids:  # without a filter, all ids would be listed
        return {}
    listed = await list_transactions(ask, wanted)
    # Without the answer of a coordinator, its healthy transactions would look like hanging ones.
    for error in listed.errors.values():
        raise error
    return {each.producer_id: each.transactional_id for each in listed.transactions}


async def _described(ask: Asking, ids: Iterable[str]) -> dict[str, TransactionDescription]:
    found = await describe_transactions(ask, ids)
    for error in found.errors.values():
        # An id that has expired since it was listed has no transaction.
        if not isinstance(error, TransactionalIdNotFoundError):
            raise error
    return dict(found.values)
