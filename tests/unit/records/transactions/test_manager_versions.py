"""Transactions of version 1, and the change to version 2."""

from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.errors import TopicAuthorizationFailedError, TransactionFailedError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from kafka_groups.protocol.messages.end_txn import EndTxnResponse
from kafka_groups.records.producing.producer_ids import ProducerIdAndEpoch
from kafka_groups.types import TopicPartition
from tests.unit.records.transactions.answering import OFFSETS, OUT, OUT_1, WHO, Transactions, added, ended, stored

_C = ErrorCode


def test_in_v1_batches_wait_until_their_partitions_are_added_with_one_request() -> None:
    transactions = Transactions(level=1).prepare()
    assert transactions.newest_produce() == 11
    assert not transactions.manager.may_produce(OUT)
    assert not transactions.manager.may_produce(OUT_1)
    assert transactions.turn() == ["ADD_PARTITIONS_TO_TXN"]
    assert transactions.sent[0].newest_version == 3
    message = transactions.asked(3)
    assert [(each.name, each.partitions) for each in message.v3_and_below_topics] == [("out", (0, 1))]
    transactions.answer(added({OUT: _C.NONE, OUT_1: _C.NONE}))
    assert transactions.manager.may_produce(OUT)
    assert transactions.manager.may_produce(OUT_1)
    assert transactions.turn() == []


def test_a_transaction_of_v1_adds_its_offsets_first_and_keeps_its_epoch() -> None:
    transactions = Transactions(level=1).prepare()
    transactions.manager.send_offsets(OFFSETS, WHO)
    assert transactions.turn() == ["ADD_OFFSETS_TO_TXN"]
    assert transactions.asked().group_id == "group"
    transactions.answer(AddOffsetsToTxnResponse())
    assert transactions.turn() == ["TXN_OFFSET_COMMIT"]
    assert transactions.sent[0].newest_version == 4
    transactions.answer(stored())
    transactions.manager.commit()
    transactions.turn()
    assert transactions.sent[0].newest_version == 4
    transactions.answer(EndTxnResponse())
    transactions.manager.conclude()
    assert transactions.manager.producer == ProducerIdAndEpoch(9, 0)
    assert not transactions.manager.may_produce(OUT)  # partitions are added to each transaction


def test_in_v1_offsets_are_added_when_the_next_transaction_begins() -> None:
    transactions = Transactions(level=1).prepare()
    transactions.manager.may_produce(OUT)
    transactions.turn()
    transactions.answer(added({OUT: _C.NONE}))
    assert transactions.turn() == [], "it is not known yet that the producer has a group"
    transactions.send_offsets()
    transactions.answer(stored())
    transactions.commit(EndTxnResponse())
    transactions.manager.may_produce(OUT)
    assert transactions.turn() == ["ADD_PARTITIONS_TO_TXN"], "batches wait for these"
    transactions.answer(added({OUT: _C.NONE}))
    assert transactions.turn() == ["ADD_OFFSETS_TO_TXN"]
    assert transactions.asked().group_id == "group"
    transactions.answer(AddOffsetsToTxnResponse())
    transactions.manager.send_offsets(OFFSETS, WHO)
    assert transactions.turn() == ["TXN_OFFSET_COMMIT"]


def test_in_v1_the_offsets_of_another_group_are_added_for_themselves() -> None:
    transactions = Transactions(level=1).prepare()
    transactions.send_offsets()
    transactions.answer(stored())
    transactions.commit(EndTxnResponse())
    transactions.manager.may_produce(OUT)
    transactions.turn()
    transactions.answer(added({OUT: _C.NONE}))
    transactions.answer(AddOffsetsToTxnResponse())
    transactions.manager.send_offsets(OFFSETS, GroupMetadata("app", WHO.member))
    assert transactions.turn() == ["ADD_OFFSETS_TO_TXN"]
    assert transactions.asked().group_id == "app"


def test_partitions_are_added_again_20_ms_after_the_transaction_before_was_in_the_way() -> None:
    transactions = Transactions(level=1).prepare()
    transactions.manager.may_produce(OUT)
    transactions.turn()
    transactions.answer(added({OUT: _C.CONCURRENT_TRANSACTIONS}))
    assert transactions.turn(after_ms=15) == []
    assert transactions.turn(after_ms=10) == ["ADD_PARTITIONS_TO_TXN"]


def test_a_topic_that_is_gone_does_not_hold_the_others_up() -> None:
    transactions = Transactions(level=1).prepare()
    gone = TopicPartition("gone", 0)
    transactions.manager.may_produce(gone)
    transactions.manager.may_produce(OUT)
    transactions.turn()
    transactions.answer(added({gone: _C.UNKNOWN_TOPIC_OR_PARTITION, OUT: _C.OPERATION_NOT_ATTEMPTED}))
    transactions.turn(after_ms=200)
    assert [each.name for each in transactions.asked(3).v3_and_below_topics] == ["out"]
    transactions.answer(added({OUT: _C.NONE}))
    transactions.turn(after_ms=200)
    assert [each.name for each in transactions.asked(3).v3_and_below_topics] == ["gone"]
    assert transactions.manager.may_produce(OUT)


def test_a_topic_that_may_not_be_written_loses_the_transaction_and_is_named() -> None:
    transactions = Transactions(level=1).prepare()
    transactions.manager.may_produce(OUT)
    transactions.turn()
    transactions.answer(added({OUT: _C.TOPIC_AUTHORIZATION_FAILED}))
    error = transactions.failure()
    assert isinstance(error, TransactionFailedError)
    assert isinstance(error.__cause__, TopicAuthorizationFailedError)
    assert str(error.__cause__).startswith("This client needs WRITE on the topic out (TOPIC_AUTHORIZATION_FAILED).")


def test_a_transaction_of_v1_of_which_the_coordinator_has_not_heard_ends_without_it() -> None:
    transactions = Transactions(level=1).prepare()
    transactions.manager.may_produce(OUT)
    transactions.turn()
    transactions.answer(added({OUT: _C.UNKNOWN_TOPIC_OR_PARTITION}))
    transactions.manager.commit()
    assert transactions.turn(after_ms=200) == ["END_TXN"]
    transactions.answer(EndTxnResponse(error_code=_C.INVALID_TXN_STATE))
    transactions.manager.conclude()


def test_a_raised_feature_counts_from_the_next_transaction_on() -> None:
    transactions = Transactions(level=1).prepare()
    transactions.manager.may_produce(OUT)
    transactions.turn()
    transactions.answer(added({OUT: _C.NONE}))
    transactions.levels[1] = 2
    transactions.turn()
    assert transactions.newest_produce() == 11
    transactions.write()
    transactions.commit(EndTxnResponse())
    assert transactions.manager.may_produce(OUT)  # although nothing has turned since
    assert transactions.newest_produce() is None
    transactions.write()
    transactions.commit(ended(1))
    assert transactions.manager.producer == ProducerIdAndEpoch(9, 1)


def test_the_level_stays_once_a_batch_waits_for_its_partition() -> None:
    transactions = Transactions(level=1).prepare()
    assert not transactions.manager.may_produce(OUT)
    transactions.levels[1] = 2
    assert transactions.turn() == ["ADD_PARTITIONS_TO_TXN"]
    assert transactions.newest_produce() == 11


def test_a_broker_without_the_feature_speaks_v1() -> None:
    transactions = Transactions()
    transactions.levels.clear()
    assert transactions.prepare().newest_produce() == 11
