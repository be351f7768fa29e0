"""A transactional producer whose test answers its requests one by one."""

import random
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.membership.group_metadata import AsMember, GroupMetadata
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse, OutgoingRequest
from kafka_groups.errors import DisconnectedError, KafkaGroupsError
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
