"""The requests of a transactional producer, one by one, and what becomes of their answers."""

import random
from collections.abc import Mapping
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.membership.group_metadata import AsMember, GroupMetadata
from kafka_groups.client.metadata import Metadata, Node
from kafka_groups.client.requests import ClientResponse, OutgoingRequest
from kafka_groups.errors import (
    DisconnectedError,
    IllegalStateError,
    InvalidProducerEpochError,
    InvalidTransactionTimeoutError,
    KafkaGroupsError,
    ProducerFencedError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
    TransactionExpiredError,
    TransactionFailedError,
    UnknownServerError,
    UnsupportedVersionError,
)
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from kafka_groups.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafka_groups.protocol.messages.end_txn import EndTxnResponse
from kafka_groups.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_groups.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch
from kafka_groups.records.transactions.coordinator_channel import ChannelSettings
from kafka_groups.records.transactions.manager import BatchesOfTransaction, TransactionManager, TransactionOptions
from kafka_groups.types import OffsetAndMetadata, TopicPartition

OUT, OUT_1, IN = TopicPartition("out", 0), TopicPartition("out", 1), TopicPartition("in", 0)
WHO = GroupMetadata("group", AsMember("member", 7, "static"))
OFFSETS = {IN: OffsetAndMetadata(5, 3, "time")}
NODES = {"app": 1, "group": 2}
TIMEOUT_MS = 60_000
OLD_ID, NEW_ID = UUID(int=1), UUID(int=2)
_C = ErrorCode


class Transactions:
    """A producer whose test is the brokers and the batches."""

    def __init__(self, level: int = 2) -> None:
        self.levels = {1: level}
        self.ids: dict[str, UUID] = {}
        self.metadata = Metadata()
        rng = random.Random(1)
        settings = ChannelSettings(self.metadata, 30_000, lambda: BackoffTimer(100, 1_000, rng), rng)
        self.manager = TransactionManager(
            TransactionOptions(
                "app",
                TIMEOUT_MS,
                self.features,
                lambda: self.now_ms + self.blocked_ms,
                self.ids.get,
            ),
            settings,
        )
        self.are_flushed, self.confirmed, self.now_ms, self.blocked_ms, self.dropped = True, 0, 0, 0, 0
        self.manager.attach(BatchesOfTransaction(lambda: self.are_flushed, lambda: self.confirmed, self.drop))
        self.sent: list[OutgoingRequest] = []

    def drop(self) -> None:
        self.dropped += 1

    def features(self, node_id: int) -> Mapping[str, int]:
        return {"metadata.version": 20, "transaction.version": self.levels[node_id]} if node_id in self.levels else {}

    def turn(self, after_ms: int = 0) -> list[str]:
        """Ask for requests, and find coordinators. Return the APIs of all other requests that wait for an answer."""
        self.now_ms += after_ms
        while True:
            requests = self.manager.poll(self.now_ms).requests
            finding = [each for each in requests if each.api.name == "FIND_COORDINATOR"]
            self.sent += [each for each in requests if each not in finding]
            for each in finding:
                self.answer_found(each)
            if not finding:
                return [each.api.name for each in self.sent]

    def answer_found(self, request: OutgoingRequest, code: ErrorCode = _C.NONE) -> None:
        message: Any = request.build(6)
        (key,) = message.coordinator_keys
        found = Coordinator(key=key, node_id=NODES[key], host="b", port=NODES[key], error_code=code)
        response = FindCoordinatorResponse(coordinators=(found,))
        self.manager.on_response(request, ClientResponse(response, 6, 1), self.now_ms)

    def asked(self, version: int = 5) -> Any:
        """The message of the only request that waits for an answer."""
        (request,) = self.sent
        return request.build(version)

    def answer(self, response: Any, index: int = 0) -> None:
        """Answer a request, and turn."""
        request = self.sent.pop(index)
        self.manager.on_response(request, ClientResponse(response, 5, 1), self.now_ms)
        self.turn()

    def fail(self, error: Exception | None = None) -> None:
        """Let the only request fail, and turn."""
        self.manager.on_failure(self.sent.pop(), error or DisconnectedError("gone"), self.now_ms)
        self.turn()

    def prepare(self, producer_id: int = 9, epoch: int = 0) -> "Transactions":
        self.manager.prepare()
        assert self.turn() == ["INIT_PRODUCER_ID"]
        self.answer(initialised(producer_id, epoch))
        return self

    def send_offsets(self, topic_ids: Mapping[TopicPartition, UUID] | None = None) -> None:
        """Give the offsets, and let them be sent."""
        self.manager.send_offsets(OFFSETS, WHO, topic_ids or {})
        if self.turn() == ["ADD_OFFSETS_TO_TXN"]:
            self.answer(AddOffsetsToTxnResponse())
        assert self.turn() == ["TXN_OFFSET_COMMIT"]

    def write(self, partition: TopicPartition = OUT) -> None:
        """A batch is sent and confirmed."""
        assert self.manager.may_produce(partition)
        self.manager.note_produced(partition)
        self.confirmed += 1

    def commit(self, response: EndTxnResponse) -> None:
        """Commit what was written."""
        self.manager.commit()
        assert self.turn() == ["END_TXN"]
        self.answer(response)
        self.manager.conclude()

    def newest_produce(self) -> int | None:
        return self.manager.newest_produce_version

    def failure(self) -> KafkaGroupsError:
        with pytest.raises(KafkaGroupsError) as raised:
            self.manager.check()
        return raised.value


def initialised(producer_id: int = 9, epoch: int = 0) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch)


def ended(epoch: int = 1, producer_id: int = 9) -> EndTxnResponse:
    return EndTxnResponse(producer_id=producer_id, producer_epoch=epoch)


def added(codes: Mapping[TopicPartition, ErrorCode]) -> AddPartitionsToTxnResponse:
    results = (
        AddPartitionsToTxnTopicResult(
            name=each.topic,
            results_by_partition=(
                AddPartitionsToTxnPartitionResult(partition_index=each.partition, partition_error_code=code),
            ),
        )
        for each, code in codes.items()
    )
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=tuple(results))


def stored(code: ErrorCode = _C.NONE) -> TxnOffsetCommitResponse:
    partition = TxnOffsetCommitResponsePartition(partition_index=0, error_code=code)
    return TxnOffsetCommitResponse(topics=(TxnOffsetCommitResponseTopic(name="in", partitions=(partition,)),))


# ---------------------------------------------------------------------------------------------- beginning


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
        "The client's user may not use the transactional id 'app'. Grant the operations Write and Describe on the "
        "transactional id."
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


# ----------------------------------------------------------------------------------------------- version 2


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


def test_offsets_with_an_unknown_leader_epoch_have_minus_one() -> None:
    transactions = Transactions().prepare()
    transactions.manager.send_offsets({IN: OffsetAndMetadata(5)}, WHO)
    transactions.turn()
    assert transactions.asked().topics[0].partitions[0].committed_leader_epoch == -1


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
            "may not commit offsets of the group 'group'. Grant the operation Read on the group.",
        ),
        (_C.TOPIC_AUTHORIZATION_FAILED, "may not commit offsets of in-0. Grant the operation Read on the topic."),
        (_C.CLUSTER_AUTHORIZATION_FAILED, "or IdempotentWrite on the cluster."),
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


# ------------------------------------------------------------------------------------- topics that are deleted


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


# ----------------------------------------------------------------------------------------------- version 1


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
    assert str(error.__cause__) == "The client's user may not write to out-0. Grant the operation Write on the topic."


def test_a_transaction_of_v1_of_which_the_coordinator_has_not_heard_ends_without_it() -> None:
    transactions = Transactions(level=1).prepare()
    transactions.manager.may_produce(OUT)
    transactions.turn()
    transactions.answer(added({OUT: _C.UNKNOWN_TOPIC_OR_PARTITION}))
    transactions.manager.commit()
    assert transactions.turn(after_ms=200) == ["END_TXN"]
    transactions.answer(EndTxnResponse(error_code=_C.INVALID_TXN_STATE))
    transactions.manager.conclude()


# ----------------------------------------------------------------------------------------------- the level


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


# ------------------------------------------------------------------------------------------------- losses


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


def test_transactions_without_batches_are_a_mistake() -> None:
    rng = random.Random(1)
    settings = ChannelSettings(Metadata(), 30_000, lambda: BackoffTimer(100, 1_000, rng), rng)
    manager = TransactionManager(
        TransactionOptions("app", TIMEOUT_MS, lambda _: {}, lambda: 0, lambda _: None), settings
    )
    with pytest.raises(IllegalStateError, match="attach"):
        _ = manager._attached
