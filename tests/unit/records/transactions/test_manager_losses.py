"""Transactions that are lost, aborted or fenced."""

from kafka_groups.client.requests import ClientResponse
from kafka_groups.errors import (
    GroupAuthorizationFailedError,
    InvalidProducerEpochError,
    ProducerFencedError,
    TransactionExpiredError,
    TransactionFailedError,
    UnknownServerError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.end_txn import EndTxnResponse
from kafka_groups.records.producing.producer_ids import ProducerIdAndEpoch
from tests.unit.records.transactions.answering import OFFSETS, OUT, TIMEOUT_MS, WHO, Transactions, ended

_C = ErrorCode


def test_a_lost_transaction_ignores_writes_until_it_is_prepared_again() -> None:
    transactions = Transactions().prepare()
    transactions.write()
    transactions.manager.lose(UnknownServerError("broken"))
    assert transactions.manager.has_failed
    assert transactions.dropped == 1
    assert not transactions.manager.may_produce(OUT)
    transactions.manager.send_offsets(OFFSETS, WHO)
    transactions.manager.commit()
    assert transactions.turn() == []
    error = transactions.failure()
    assert (type(error), str(error)) == (TransactionFailedError, "The transaction failed: broken")
    transactions.manager.abort()
    assert transactions.turn() == ["END_TXN"]
    assert transactions.asked().committed is False
    transactions.answer(ended(1))
    transactions.manager.renew()
    transactions.prepare(epoch=2)
    transactions.manager.check()
    assert transactions.manager.producer == ProducerIdAndEpoch(9, 2)


def test_an_abort_that_takes_too_long_is_given_up() -> None:
    transactions = Transactions().prepare()
    transactions.write()
    transactions.manager.abort()
    transactions.turn()
    late = transactions.sent.pop()
    transactions.manager.renew()
    transactions.manager.prepare()
    transactions.manager.on_response(late, ClientResponse(ended(1), 5, 1), 0)
    assert transactions.manager.is_preparing
    assert transactions.turn() == ["INIT_PRODUCER_ID"]


def test_nothing_is_aborted_without_a_transaction_or_by_a_producer_that_was_fenced() -> None:
    transactions = Transactions().prepare()
    transactions.manager.abort()
    assert transactions.turn() == []
    transactions.prepare(epoch=1)
    transactions.write()
    transactions.manager.lose(InvalidProducerEpochError("older"))
    transactions.manager.abort()
    assert transactions.turn() == []


def test_a_producer_that_cannot_be_used_any_more_aborts_its_transaction_when_it_is_closed() -> None:
    transactions = Transactions().prepare()
    transactions.write()
    transactions.manager.lose(GroupAuthorizationFailedError("denied"))
    transactions.manager.abort()
    assert transactions.turn() == []
    assert isinstance(transactions.failure(), GroupAuthorizationFailedError)
    transactions.manager.close()
    assert transactions.turn() == ["END_TXN"]
    assert transactions.asked().committed is False
    transactions.answer(ended(1))
    assert not transactions.manager.is_aborting


def test_a_producer_that_cannot_be_used_any_more_and_has_no_transaction_is_closed_at_once() -> None:
    transactions = Transactions().prepare()
    transactions.manager.lose(GroupAuthorizationFailedError("denied"))
    transactions.manager.close()
    assert transactions.turn() == []
    assert not transactions.manager.is_aborting


def test_a_producer_that_was_fenced_too_often_aborts_nothing_when_it_is_closed() -> None:
    transactions = Transactions()
    for number in range(3):
        transactions.manager.abort()
        transactions.manager.renew()
        transactions.prepare(epoch=number)
        transactions.write()
        transactions.manager.lose(ProducerFencedError("a later one"))
    assert isinstance(transactions.failure(), ProducerFencedError)
    transactions.manager.close()
    assert transactions.turn() == []
    assert not transactions.manager.is_aborting


def test_batches_of_a_dropped_producer_lose_nothing() -> None:
    transactions = Transactions().prepare()
    transactions.manager.renew()
    transactions.manager.lose(UnknownServerError("late"))
    transactions.manager.prepare()
    transactions.manager.lose(UnknownServerError("late"))
    transactions.manager.check()


def test_a_transaction_that_was_open_for_too_long_says_so() -> None:
    transactions = Transactions().prepare()
    transactions.write()
    transactions.turn(after_ms=1)
    transactions.blocked_ms = TIMEOUT_MS  # a user's function takes long: the loop, and its clock, stand still
    transactions.manager.lose(InvalidProducerEpochError("older"))
    cause = transactions.failure().__cause__
    assert isinstance(cause, TransactionExpiredError)
    assert "It was open for 60001 ms" in str(cause)


def test_a_producer_that_is_fenced_three_times_in_a_row_ends_and_names_both_causes() -> None:
    transactions = Transactions()
    for number in range(3):
        transactions.prepare(epoch=number)
        transactions.write()
        transactions.manager.commit()
        transactions.turn()
        transactions.answer(EndTxnResponse(error_code=_C.PRODUCER_FENCED))
        error = transactions.failure()
        assert isinstance(error, TransactionFailedError if number < 2 else ProducerFencedError)
        transactions.manager.abort()
        transactions.manager.renew()
    text = str(transactions.failure())
    assert "The transactional id 'app' was fenced 3 times in a row" in text
    assert "copied state_dir" in text
    assert "transaction.timeout.ms, which is 60000" in text


def test_a_commit_in_between_begins_the_count_anew() -> None:
    transactions = Transactions()
    for number in range(6):
        transactions.prepare(epoch=number)
        transactions.write()
        transactions.manager.commit()
        transactions.turn()
        is_fenced = number % 3 != 2
        transactions.answer(EndTxnResponse(error_code=_C.PRODUCER_FENCED) if is_fenced else ended(number + 1))
        assert transactions.manager.has_failed == is_fenced
        transactions.manager.abort()
        transactions.manager.renew()


def test_a_gap_in_the_numbers_loses_the_transaction() -> None:
    transactions = Transactions().prepare()
    transactions.write()
    transactions.manager.raise_epoch()
    assert isinstance(transactions.failure(), TransactionFailedError)
