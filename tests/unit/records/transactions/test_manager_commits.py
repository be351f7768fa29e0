"""The end of a transaction of version 2."""

from kafka_groups.records.producing.producer_ids import ProducerIdAndEpoch
from tests.unit.records.transactions.answering import OFFSETS, OUT, WHO, Transactions, ended, stored


def test_a_transaction_of_v2_is_offsets_and_an_end() -> None:
    transactions = Transactions().prepare()
    assert transactions.newest_produce() is None
    transactions.write()
    transactions.are_flushed = False
    transactions.manager.send_offsets(OFFSETS, WHO)
    assert transactions.turn() == ["TXN_OFFSET_COMMIT"]  # together with the last batches
    (request,) = transactions.sent
    assert (request.node_id, request.newest_version) == (2, 5)
    message = transactions.asked()
    assert (message.generation_id, message.member_id, message.group_instance_id) == (7, "member", "static")
    ((topic,), (partition,)) = message.topics, message.topics[0].partitions
    assert (topic.name, partition.committed_offset, partition.committed_leader_epoch) == ("in", 5, 3)
    assert partition.committed_metadata == "time"
    transactions.manager.commit()
    transactions.answer(stored())
    assert transactions.turn() == []  # batches are under way
    transactions.are_flushed = True
    assert transactions.turn() == ["END_TXN"]
    message = transactions.asked()
    assert (message.producer_id, message.producer_epoch, message.committed) == (9, 0, True)
    assert transactions.sent[0].newest_version is None
    transactions.answer(ended(1))
    transactions.manager.conclude()
    assert transactions.manager.producer == ProducerIdAndEpoch(9, 1)


def test_a_producer_continues_with_the_next_id_once_its_epochs_are_used_up() -> None:
    transactions = Transactions().prepare(epoch=32_766)
    transactions.write()
    transactions.commit(ended(producer_id=10, epoch=0))
    assert transactions.manager.producer == ProducerIdAndEpoch(10, 0)


def test_nothing_is_committed_before_the_caller_wants_it() -> None:
    transactions = Transactions().prepare()
    transactions.write()
    transactions.manager.send_offsets(OFFSETS, WHO)
    transactions.turn()
    transactions.answer(stored())
    assert transactions.turn() == []
    assert transactions.manager.are_offsets_stored


def test_an_empty_transaction_sends_nothing() -> None:
    transactions = Transactions().prepare()
    transactions.manager.send_offsets({}, WHO)
    transactions.manager.commit()
    assert transactions.turn() == []
    assert not transactions.manager.is_committing
    transactions.manager.conclude()
    assert transactions.manager.producer == ProducerIdAndEpoch(9, 0)


def test_a_transaction_whose_records_were_all_refused_is_aborted_and_counts_as_committed() -> None:
    transactions = Transactions().prepare()
    transactions.manager.note_produced(OUT)
    transactions.manager.commit()
    transactions.turn()
    assert transactions.asked().committed is False
    transactions.answer(ended(1))
    transactions.manager.conclude()
    assert transactions.manager.producer == ProducerIdAndEpoch(9, 1)


def test_a_commit_without_an_answer_is_asked_again_with_the_same_epoch() -> None:
    transactions = Transactions().prepare()
    transactions.write()
    transactions.manager.commit()
    transactions.turn()
    transactions.fail()
    transactions.manager.commit()
    assert transactions.turn(after_ms=200) == ["END_TXN"]
    assert transactions.asked().producer_epoch == 0
    transactions.answer(ended(1))
    transactions.manager.conclude()
    assert transactions.manager.producer == ProducerIdAndEpoch(9, 1)
