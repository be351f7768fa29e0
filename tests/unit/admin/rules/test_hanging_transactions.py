"""The search for transactions that hang: which are open for long, and which of them coordinators do not know."""

from collections.abc import Awaitable, Callable

import pytest

from kafka_groups.admin import AsyncKafkaAdmin, PartitionProducer, TransactionDescription
from kafka_groups.admin.rules.hanging_transactions import hanging_among, open_for_long
from kafka_groups.broker.faults import FaultRule, answer
from kafka_groups.errors import TransactionalIdAuthorizationFailedError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.describe_producers import (
    ActiveProducer,
    DescribeProducersResponse,
    DescribeProducersResponsePartition,
    DescribeProducersResponseTopic,
)
from kafka_groups.protocol.messages.describe_transactions import (
    DescribedTransaction,
    DescribedTransactionTopic,
    DescribeTransactionsResponse,
)
from kafka_groups.protocol.messages.list_transactions import ListedTransaction, ListTransactionsResponse
from kafka_groups.types import TopicPartition
from tests.unit.admin.worlds import FIRST, TOPIC, AdminWorld, simulate

SECOND = TopicPartition(TOPIC, 1)
NOW_MS, LONG_MS = 1_000_000, 900_000


def producer(producer_id: int, start: int | None, last_ms: int | None = 0) -> PartitionProducer:
    return PartitionProducer(producer_id, 0, 1, last_ms, None, start)


def description(name: str, *partitions: TopicPartition) -> TransactionDescription:
    return TransactionDescription(name, "Ongoing", 1, 0, 60_000, None, partitions)


def test_open_transactions_are_those_with_a_start_and_without_recent_records() -> None:
    producers = {
        FIRST: (producer(1, None), producer(2, 5), producer(3, 6, NOW_MS - LONG_MS), producer(4, 7, NOW_MS - 1)),
        SECOND: (producer(5, 0, None), producer(6, 8, NOW_MS - LONG_MS - 1)),
    }
    found = open_for_long(producers, LONG_MS, NOW_MS)
    assert [(each.partition, each.producer_id, each.start_offset) for each in found] == [
        (FIRST, 2, 5), (SECOND, 5, 0), (SECOND, 6, 8)
    ]  # fmt: skip


def test_transactions_hang_unless_their_coordinator_has_the_partition() -> None:
    candidates = list(open_for_long({FIRST: (producer(1, 0), producer(2, 3), producer(3, 4))}, 0, NOW_MS))
    described = {"known": description("known", FIRST), "elsewhere": description("elsewhere", SECOND)}
    hanging = hanging_among(candidates, {1: "known", 2: "elsewhere"}, described)
    assert [(each.producer_id, each.transactional_id) for each in hanging] == [(2, "elsewhere"), (3, None)]
    expired = hanging_among(candidates[:1], {1: "known"}, {})
    assert [(each.producer_id, each.transactional_id) for each in expired] == [(1, "known")]


def with_an_open_transaction(world: AdminWorld, times: float = float("inf")) -> FaultRule:
    """Have each leader name a producer with an open transaction in the first partition."""
    active = ActiveProducer(
        producer_id=7,
        producer_epoch=0,
        last_sequence=0,
        last_timestamp=0,
        coordinator_epoch=-1,
        current_txn_start_offset=4,
    )
    partition = DescribeProducersResponsePartition(partition_index=0, active_producers=(active,))
    topic = DescribeProducersResponseTopic(name=TOPIC, partitions=(partition,))
    told = answer(DescribeProducersResponse(topics=(topic,)))
    return world.cluster.faults.on(ApiKey.DESCRIBE_PRODUCERS, told, times=times)


def searching(test: Callable[[AdminWorld, AsyncKafkaAdmin], Awaitable[None]]) -> None:
    async def program(world: AdminWorld) -> None:
        async with world.admin() as admin:
            await test(world, admin)

    simulate(program)


def test_a_transaction_that_ends_while_coordinators_are_asked_does_not_hang() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        first = with_an_open_transaction(world, times=1)
        assert (await admin.find_hanging_transactions([FIRST], longer_than_ms=0)).transactions == ()
        assert first.is_spent
        with_an_open_transaction(world)
        [found] = (await admin.find_hanging_transactions([FIRST], longer_than_ms=0)).transactions
        assert (found.producer_id, found.start_offset, found.transactional_id) == (7, 4, None)

    searching(test)


def test_without_the_answer_of_a_coordinator_nothing_is_said_to_hang() -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        with_an_open_transaction(world)
        refusal = ListTransactionsResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        world.cluster.faults.on(ApiKey.LIST_TRANSACTIONS, answer(refusal), times=1, node_id=2)
        with pytest.raises(TransactionalIdAuthorizationFailedError):
            await admin.find_hanging_transactions([FIRST], longer_than_ms=0)

    searching(test)


@pytest.mark.parametrize(
    ("code", "topics", "hangs"),
    [
        (ErrorCode.NONE, ((TOPIC, 0),), False),
        (ErrorCode.NONE, ((TOPIC, 1),), True),
        (ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, (), True),
    ],
)
def test_coordinators_tell_whether_they_know_the_partition(
    code: ErrorCode, topics: tuple[tuple[str, int], ...], *, hangs: bool
) -> None:
    async def test(world: AdminWorld, admin: AsyncKafkaAdmin) -> None:
        with_an_open_transaction(world)
        listed = ListedTransaction(transactional_id="tx", producer_id=7, transaction_state="Ongoing")
        world.cluster.faults.on(
            ApiKey.LIST_TRANSACTIONS, answer(ListTransactionsResponse(transaction_states=(listed,)))
        )
        named = tuple(DescribedTransactionTopic(topic=name, partitions=(number,)) for name, number in topics)
        shown = DescribedTransaction(error_code=code, transactional_id="tx", topics=named)
        world.cluster.faults.on(
            ApiKey.DESCRIBE_TRANSACTIONS, answer(DescribeTransactionsResponse(transaction_states=(shown,)))
        )
        found = (await admin.find_hanging_transactions([FIRST], longer_than_ms=0)).transactions
        assert [each.transactional_id for each in found] == (["tx"] if hangs else [])

    searching(test)
