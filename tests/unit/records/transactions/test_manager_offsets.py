"""The offsets of a transaction: when they are sent, and when they lose it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.errors import IllegalStateError, TransactionFailedError
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.unit.records.transactions.answering import IN, NEW_ID, OFFSETS, OLD_ID, WHO, Transactions, ended, stored

_C = ErrorCode


def test_offsets_with_an_unknown_leader_epoch_have_minus_one() -> None:
    transactions = Transactions().prepare()
    transactions.manager.send_offsets({IN: OffsetAndMetadata(5)}, WHO)
    transactions.turn()
    assert transactions.asked().topics[0].partitions[0].committed_leader_epoch == -1


def test_the_same_offsets_may_be_given_again() -> None:
    transactions = Transactions().prepare()
    transactions.manager.send_offsets(OFFSETS, WHO)
    transactions.turn()
    transactions.answer(stored())
    transactions.manager.send_offsets(OFFSETS, WHO)
    assert transactions.turn() == []
    transactions.manager.commit()
    transactions.turn()
    transactions.answer(ended(1))
    transactions.manager.send_offsets(OFFSETS, WHO)  # it is committed, and the caller has not heard of it
    transactions.manager.commit()
    assert transactions.turn() == []
    transactions.manager.conclude()


def test_each_transaction_may_have_offsets_of_another_group() -> None:
    transactions = Transactions().prepare()
    transactions.manager.send_offsets(OFFSETS, WHO)
    with pytest.raises(IllegalStateError, match="'group', so it cannot have those of 'app'"):
        transactions.manager.send_offsets(OFFSETS, GroupMetadata("app", WHO.member))
    transactions.turn()
    transactions.answer(stored())
    transactions.commit(ended(1))
    transactions.manager.send_offsets(OFFSETS, GroupMetadata("app", WHO.member))
    transactions.turn()
    assert [(each.node_id, each.build(5).group_id) for each in transactions.sent] == [(1, "app")]  # type: ignore[attr-defined]


def test_offsets_cannot_change_while_they_are_committed() -> None:
    transactions = Transactions().prepare()
    transactions.manager.send_offsets(OFFSETS, WHO)
    transactions.manager.commit()
    transactions.manager.send_offsets(OFFSETS, WHO)
    with pytest.raises(IllegalStateError, match="with the same"):
        transactions.manager.send_offsets({IN: OffsetAndMetadata(6)}, WHO)


def test_offsets_that_the_coordinator_has_not_stored_are_sent_again() -> None:
    transactions = Transactions().prepare()
    transactions.manager.send_offsets(OFFSETS, WHO)
    transactions.turn()
    transactions.answer(stored(_C.COORDINATOR_LOAD_IN_PROGRESS))
    assert transactions.turn() == []
    assert transactions.turn(after_ms=200) == ["TXN_OFFSET_COMMIT"]


def test_a_throttled_producer_waits() -> None:
    transactions = Transactions().prepare()
    transactions.manager.send_offsets(OFFSETS, WHO)
    transactions.turn()
    response = TxnOffsetCommitResponse(throttle_time_ms=500, topics=stored(_C.NOT_COORDINATOR).topics)
    transactions.answer(response)
    assert transactions.turn(after_ms=400) == []
    assert transactions.turn(after_ms=200) == ["TXN_OFFSET_COMMIT"]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (
            _C.GROUP_AUTHORIZATION_FAILED,
            (
                "This client needs READ on the group group (GROUP_AUTHORIZATION_FAILED). Grant it: kafka-groups acls "
                "add --allow User:NAME --group group --operation READ"
            ),
        ),
        (_C.TOPIC_AUTHORIZATION_FAILED, "--topic in --operation READ"),
        (_C.CLUSTER_AUTHORIZATION_FAILED, "--transactional-id app --operation WRITE"),
    ],
)
def test_offsets_that_may_not_be_committed_end_the_producer(code: ErrorCode, text: str) -> None:
    transactions = Transactions().prepare()
    transactions.manager.send_offsets(OFFSETS, WHO)
    transactions.turn()
    transactions.answer(stored(code))
    error = transactions.failure()
    assert not isinstance(error, TransactionFailedError)
    assert str(error).endswith(text)


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("code", [_C.UNKNOWN_TOPIC_OR_PARTITION, _C.UNKNOWN_TOPIC_ID])
def test_an_offset_whose_topic_does_not_exist_is_never_sent_again(code: ErrorCode, level: int) -> None:
    transactions = Transactions(level).prepare()
    transactions.send_offsets()
    transactions.manager.commit()
    transactions.answer(stored(code))
    assert transactions.turn(after_ms=100_000) == []
    error = transactions.failure()
    assert isinstance(error, TransactionFailedError)
    assert code.name in str(error)
    assert "in-0" in str(error)
    assert transactions.dropped == 1
    transactions.manager.abort()
    assert transactions.turn() == ["END_TXN"]
    assert not transactions.asked().committed


@pytest.mark.parametrize("level", [1, 2])
def test_an_offset_whose_topic_was_made_again_is_never_sent_again(level: int) -> None:
    transactions = Transactions(level).prepare()
    transactions.send_offsets({IN: OLD_ID})
    transactions.manager.commit()
    transactions.fail()  # it may have been stored or not
    transactions.ids["in"] = NEW_ID
    assert transactions.turn(after_ms=100_000) == []
    assert str(transactions.failure()) == (
        "The transaction failed: The topic of in-0 was deleted and made again while the transaction was open, so its"
        " offset has no meaning any more."
    )
    transactions.manager.send_offsets({}, WHO)  # left out by a caller who has noticed
    assert transactions.turn(after_ms=100_000) == []
    transactions.manager.abort()
    transactions.turn()
    transactions.answer(ended())
    transactions.prepare(epoch=1)
    transactions.send_offsets({IN: NEW_ID})
    transactions.manager.commit()
    transactions.answer(stored())
    transactions.answer(ended())
    transactions.manager.conclude()


def test_the_topic_that_an_offset_is_from_is_the_first_that_was_given() -> None:
    transactions = Transactions().prepare()
    transactions.ids["in"] = OLD_ID
    transactions.manager.send_offsets(OFFSETS, WHO, {IN: OLD_ID})
    transactions.turn()
    transactions.fail()
    transactions.ids["in"] = NEW_ID
    transactions.manager.send_offsets(OFFSETS, WHO, {IN: NEW_ID})
    assert transactions.turn(after_ms=100_000) == []
    assert isinstance(transactions.failure(), TransactionFailedError)


def test_a_topic_that_is_made_again_before_the_end_loses_the_transaction_too() -> None:
    transactions = Transactions().prepare()
    transactions.send_offsets({IN: OLD_ID})
    transactions.answer(stored())
    transactions.manager.commit()
    assert transactions.turn() == ["END_TXN"]
    transactions.ids["in"] = NEW_ID
    transactions.turn()
    assert isinstance(transactions.failure(), TransactionFailedError)
    transactions.answer(ended())  # too late: the tasks begin at what the group has
    assert transactions.manager.has_failed


@pytest.mark.parametrize("now", [None, OLD_ID])
def test_a_topic_that_is_the_same_or_not_known_loses_nothing(now: UUID | None) -> None:
    transactions = Transactions().prepare()
    if now is not None:
        transactions.ids["in"] = now
    transactions.send_offsets({IN: OLD_ID})
    transactions.fail()
    assert transactions.turn(after_ms=200) == ["TXN_OFFSET_COMMIT"]


@pytest.mark.parametrize(
    ("level", "topic_ids", "newest"), [(2, {IN: OLD_ID}, 6), (2, {}, 5), (1, {IN: OLD_ID}, 4), (1, {}, 4)]
)
def test_offsets_have_the_ids_of_their_topics_if_they_are_known(
    level: int, topic_ids: Mapping[TopicPartition, UUID], newest: int
) -> None:
    transactions = Transactions(level).prepare()
    transactions.send_offsets(topic_ids)
    (request,) = transactions.sent
    message: Any = request.build(newest)
    assert request.newest_version == newest
    assert [(each.name, each.topic_id) for each in message.topics] == [("in", topic_ids.get(IN))]


def test_from_version_6_on_answers_have_ids_alone() -> None:
    transactions = Transactions().prepare()
    transactions.send_offsets({IN: OLD_ID})
    partition = TxnOffsetCommitResponsePartition(partition_index=0, error_code=_C.NONE)
    topic = TxnOffsetCommitResponseTopic(topic_id=OLD_ID, partitions=(partition,))
    transactions.answer(TxnOffsetCommitResponse(topics=(topic,)))
    assert transactions.manager.are_offsets_stored
