"""A transactional producer gets its id, or an error that is final."""

import random
from itertools import pairwise

import pytest

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.metadata import Metadata, Node
from kafka_groups.client.requests import ClientResponse
from kafka_groups.errors import (
    IllegalStateError,
    InvalidTransactionTimeoutError,
    TransactionalIdAuthorizationFailedError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch
from kafka_groups.records.transactions.coordinator_channel import ChannelSettings
from kafka_groups.records.transactions.manager import TransactionManager, TransactionOptions
from tests.unit.records.transactions.answering import OUT, TIMEOUT_MS, Transactions, initialised

_C = ErrorCode


def test_nothing_is_sent_before_it_is_prepared() -> None:
    transactions = Transactions()
    assert transactions.turn() == []
    assert transactions.manager.producer == NO_PRODUCER
    assert not transactions.manager.may_produce(OUT)


def test_a_producer_gets_its_id_from_the_coordinator_of_its_transactional_id() -> None:
    transactions = Transactions()
    transactions.manager.prepare()
    transactions.turn()
    assert [each.node_id for each in transactions.sent] == [1]
    assert transactions.metadata.nodes[1] == Node(1, "b", 1)
    message = transactions.asked()
    assert (message.transactional_id, message.transaction_timeout_ms, message.producer_id) == ("app", TIMEOUT_MS, -1)
    transactions.answer(initialised(9, 4))
    assert transactions.manager.producer == ProducerIdAndEpoch(9, 4)
    transactions.manager.prepare()
    assert transactions.turn() == []


def test_the_transaction_before_is_waited_for_at_growing_intervals_from_20_ms_on() -> None:
    transactions = Transactions()
    transactions.manager.prepare()
    waits = []
    for _ in range(4):
        while transactions.turn() == []:
            transactions.now_ms += 1
        waits.append(transactions.now_ms)
        transactions.answer(InitProducerIdResponse(error_code=_C.CONCURRENT_TRANSACTIONS, producer_epoch=-1))
    gaps = [after - before for before, after in pairwise(waits)]
    assert [16 * 2**number <= gap <= 24 * 2**number for number, gap in enumerate(gaps)] == [True] * 3


def test_a_coordinator_that_has_moved_is_found_again() -> None:
    transactions = Transactions()
    transactions.manager.prepare()
    transactions.turn()
    request = transactions.sent.pop()
    refused = InitProducerIdResponse(error_code=_C.NOT_COORDINATOR, producer_epoch=-1)
    transactions.manager.on_response(request, ClientResponse(refused, 5, 1), 0)
    (finding,) = transactions.manager.poll(0).requests
    assert finding.api.name == "FIND_COORDINATOR"
    transactions.answer_found(finding)
    assert transactions.turn() == []
    assert transactions.turn(after_ms=200) == ["INIT_PRODUCER_ID"]


def test_a_timeout_that_is_too_long_is_final_and_names_the_remedy() -> None:
    transactions = Transactions()
    transactions.manager.prepare()
    transactions.turn()
    transactions.answer(InitProducerIdResponse(error_code=_C.INVALID_TRANSACTION_TIMEOUT, producer_epoch=-1))
    error = transactions.failure()
    assert type(error) is InvalidTransactionTimeoutError
    assert "60000 ms. Set transaction.timeout.ms" in str(error)
    assert "transaction.max.timeout.ms" in str(error)


def test_a_right_that_is_missing_is_final_and_names_operation_and_resource() -> None:
    transactions = Transactions()
    transactions.manager.prepare()
    (finding,) = transactions.manager.poll(0).requests
    transactions.answer_found(finding, _C.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    error = transactions.failure()
    assert type(error) is TransactionalIdAuthorizationFailedError
    assert str(error) == (
        "This client needs WRITE on the transactional id app (TRANSACTIONAL_ID_AUTHORIZATION_FAILED). Grant it: "
        "kafka-groups acls add --allow User:NAME --transactional-id app --operation WRITE"
    )
    transactions.manager.renew()
    transactions.manager.prepare()
    assert transactions.turn(after_ms=10_000) == []
    assert type(transactions.failure()) is TransactionalIdAuthorizationFailedError


def test_a_broker_without_the_api_is_final() -> None:
    transactions = Transactions()
    transactions.manager.prepare()
    transactions.turn()
    transactions.fail(UnsupportedVersionError("too old"))
    assert type(transactions.failure()) is UnsupportedVersionError


def test_transactions_without_batches_are_a_mistake() -> None:
    rng = random.Random(1)
    settings = ChannelSettings(Metadata(), 30_000, lambda: BackoffTimer(100, 1_000, rng), rng)
    manager = TransactionManager(
        TransactionOptions("app", TIMEOUT_MS, lambda _: {}, lambda: 0, lambda _: None), settings
    )
    with pytest.raises(IllegalStateError, match="attach"):
        _ = manager._attached
