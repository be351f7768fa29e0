"""A transaction coordinator, a group coordinator and logs, as simple as the KIPs allow: what must be true, and no more.

Markers are written when the test says so. Producer epochs are used up early, so that new producer ids are seen.
"""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kafka_groups.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafka_groups.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_groups.protocol.messages.find_coordinator import (
    Coordinator,
    CoordinatorType,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_groups.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch
from kafka_groups.types import TopicPartition

__all__ = ["FORBIDDEN", "TOO_SMALL", "Batch", "NaiveCluster"]

LAST_EPOCH = 3
FORBIDDEN, TOO_SMALL = TopicPartition("forbidden", 0), TopicPartition("small", 0)
"""Partitions that take no batch: before the transaction has begun with it, or when it has."""
_C = ErrorCode


@define(frozen=True)
class Batch:
    """A Produce request for one partition."""

    producer: ProducerIdAndEpoch
    sequence: int
    partition: TopicPartition
    values: tuple[int, ...]


@define
class Id:
    """The transactional id."""

    producer: ProducerIdAndEpoch = NO_PRODUCER
    before: ProducerIdAndEpoch | None = None
    state: str = "Empty"
    partitions: set[object] = field(factory=set)
    started_ms: int = 0
    timeout_ms: int = 0


class NaiveCluster:
    """All brokers: one transactional id, one group, some partitions.

    Args:
        level: The level of transaction.version.

    Attributes:
        committed: The values of committed records, in the order of the commits.
        offsets: The committed offsets of the group.
        nodes: The coordinators by their type.
    """

    def __init__(self, level: int) -> None:
        self.level = level
        self.id = Id()
        self.committed: list[int] = []
        self.offsets: dict[TopicPartition, int] = {}
        self.nodes = {CoordinatorType.TRANSACTION: 1, CoordinatorType.GROUP: 2}
        self._last_id = 0
        self._open: list[int] = []
        self._open_offsets: dict[TopicPartition, int] = {}
        self._sequences: dict[tuple[ProducerIdAndEpoch, TopicPartition], int] = {}

    @property
    def features(self) -> Mapping[str, int]:
        """What a new connection tells."""
        return {"metadata.version": 20, "transaction.version": self.level}

    def answer(self, node_id: int | None, message: Any, version: int, now_ms: int) -> Any:
        """The response of a broker."""
        name = type(message).__name__
        if name == "FindCoordinatorRequest":
            return self._found(message)
        kind = CoordinatorType.GROUP if name.startswith("TxnOffset") else CoordinatorType.TRANSACTION
        here = node_id == self.nodes[kind]
        handlers: dict[str, Callable[[Any, int, int, ErrorCode | None], Any]] = {
            "InitProducerIdRequest": self._initialise,
            "AddPartitionsToTxnRequest": self._add_partitions,
            "AddOffsetsToTxnRequest": self._add_offsets,
            "TxnOffsetCommitRequest": self._store,
            "EndTxnRequest": self._end,
        }
        return handlers[name](message, version, now_ms, None if here else _C.NOT_COORDINATOR)

    # ---------------------------------------------------------------------------- what happens by itself

    def write_markers(self) -> None:
        """All partitions get their markers."""
        if self.id.state.startswith("Prepare"):
            if self.id.state == "PrepareCommit":
                self.committed += self._open
                self.offsets |= self._open_offsets
            self._open, self._open_offsets = [], {}
            self.id.partitions.clear()
            self.id.state = self.id.state.replace("Prepare", "Complete")

    def time_out(self, now_ms: int) -> bool:
        """Abort a transaction that is open for too long."""
        is_late = self.id.state == "Ongoing" and self.id.started_ms + self.id.timeout_ms < now_ms
        if is_late:
            self._fence()
        return is_late

    def start_other(self, now_ms: int) -> None:
        """Another process with the same transactional id begins, and does nothing more."""
        message = InitProducerIdRequest(transactional_id="app", transaction_timeout_ms=60_000)
        node = self.nodes[CoordinatorType.TRANSACTION]
        while self.answer(node, message, 5, now_ms).error_code is _C.CONCURRENT_TRANSACTIONS:
            self.write_markers()

    # ------------------------------------------------------------------------------------------- records

    def produce(self, batch: Batch, version: int, now_ms: int) -> ErrorCode:
        """Append a batch to the open transaction."""
        if batch.partition == FORBIDDEN:
            return _C.TOPIC_AUTHORIZATION_FAILED
        refusal = self._refusal(batch.producer)
        if refusal is not None:
            return _C.INVALID_PRODUCER_EPOCH if refusal is _C.PRODUCER_FENCED else refusal
        if version >= 12:
            self._add({batch.partition}, now_ms)
        elif batch.partition not in self.id.partitions:
            return _C.TRANSACTION_ABORTABLE
        if batch.partition == TOO_SMALL:
            return _C.MESSAGE_TOO_LARGE
        known = self._sequences.get((batch.producer, batch.partition), 0)
        if batch.sequence + len(batch.values) <= known:
            return _C.DUPLICATE_SEQUENCE_NUMBER
        if batch.sequence != known:
            return _C.OUT_OF_ORDER_SEQUENCE_NUMBER
        self._sequences[batch.producer, batch.partition] = known + len(batch.values)
        self._open += batch.values
        return _C.NONE

    # ---------------------------------------------------------------------------------------- operations

    def _found(self, message: FindCoordinatorRequest) -> FindCoordinatorResponse:
        (key,) = message.coordinator_keys
        node_id = self.nodes[CoordinatorType(message.key_type)]
        return FindCoordinatorResponse(coordinators=(Coordinator(key=key, node_id=node_id, host="b", port=node_id),))

    def _initialise(
        self, message: InitProducerIdRequest, _version: int, _now_ms: int, elsewhere: ErrorCode | None
    ) -> InitProducerIdResponse:
        if elsewhere is not None or self.id.state.startswith("Prepare"):
            return InitProducerIdResponse(error_code=elsewhere or _C.CONCURRENT_TRANSACTIONS, producer_epoch=-1)
        if self.id.state == "Ongoing":
            self._fence()
            return InitProducerIdResponse(error_code=_C.CONCURRENT_TRANSACTIONS, producer_epoch=-1)
        used_up = self.id.producer.epoch >= LAST_EPOCH - 1 or self.id.producer.epoch < 0
        producer = self.id.producer
        following = (self._new_id(), 0) if used_up else (producer.producer_id, producer.epoch + 1)
        self.id = Id(ProducerIdAndEpoch(*following), timeout_ms=message.transaction_timeout_ms)
        return InitProducerIdResponse(producer_id=following[0], producer_epoch=following[1])

    def _add_partitions(
        self, message: AddPartitionsToTxnRequest, _version: int, now_ms: int, elsewhere: ErrorCode | None
    ) -> AddPartitionsToTxnResponse:
        producer = ProducerIdAndEpoch(message.v3_and_below_producer_id, message.v3_and_below_producer_epoch)
        code = elsewhere or self._refusal(producer) or _C.NONE
        wanted = {TopicPartition(t.name, each) for t in message.v3_and_below_topics for each in t.partitions}
        if code is _C.NONE:
            self._add(wanted, now_ms)
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=tuple(
                AddPartitionsToTxnTopicResult(
                    name=topic.name,
                    results_by_partition=tuple(
                        AddPartitionsToTxnPartitionResult(partition_index=each, partition_error_code=code)
                        for each in topic.partitions
                    ),
                )
                for topic in message.v3_and_below_topics
            )
        )

    def _add_offsets(
        self, message: AddOffsetsToTxnRequest, _version: int, now_ms: int, elsewhere: ErrorCode | None
    ) -> AddOffsetsToTxnResponse:
        code = elsewhere or self._refusal(ProducerIdAndEpoch(message.producer_id, message.producer_epoch))
        if code is None:
            self._add({message.group_id}, now_ms)
        return AddOffsetsToTxnResponse(error_code=code or _C.NONE)

    def _store(
        self, message: TxnOffsetCommitRequest, version: int, now_ms: int, elsewhere: ErrorCode | None
    ) -> TxnOffsetCommitResponse:
        code = elsewhere or self._refusal(ProducerIdAndEpoch(message.producer_id, message.producer_epoch))
        if code is None and version >= 5:
            self._add({message.group_id}, now_ms)
        if code is None and message.group_id not in self.id.partitions:
            code = _C.INVALID_TXN_STATE
        if code is None:
            for topic in message.topics:
                for each in topic.partitions:
                    assert each.committed_metadata == "m"
                    self._open_offsets[TopicPartition(topic.name, each.partition_index)] = each.committed_offset
        return TxnOffsetCommitResponse(
            topics=tuple(
                TxnOffsetCommitResponseTopic(
                    name=topic.name,
                    partitions=tuple(
                        TxnOffsetCommitResponsePartition(
                            partition_index=each.partition_index, error_code=code or _C.NONE
                        )
                        for each in topic.partitions
                    ),
                )
                for topic in message.topics
            )
        )

    def _end(self, message: EndTxnRequest, version: int, _now_ms: int, elsewhere: ErrorCode | None) -> EndTxnResponse:
        has_new_epochs = version >= 5
        code = elsewhere or self._refusal_to_end(message, has_new_epochs=has_new_epochs)
        if code is not None:
            return EndTxnResponse(error_code=code)
        if self.id.state != "Complete" + _ended(message) or (
            has_new_epochs and _producer_of(message) != self.id.before
        ):
            self._prepare_end(message, has_new_epochs=has_new_epochs)
        if not has_new_epochs:
            return EndTxnResponse()
        return EndTxnResponse(producer_id=self.id.producer.producer_id, producer_epoch=self.id.producer.epoch)

    def _refusal_to_end(self, message: EndTxnRequest, *, has_new_epochs: bool) -> ErrorCode | None:
        producer, state = _producer_of(message), self.id.state
        if has_new_epochs and producer == self.id.before:
            if state == "Complete" + _ended(message):
                return None
            return _C.CONCURRENT_TRANSACTIONS if state == "Prepare" + _ended(message) else _C.INVALID_TXN_STATE
        if producer != self.id.producer:
            return _C.PRODUCER_FENCED
        if state.startswith("Prepare"):
            return _C.PRODUCER_FENCED if has_new_epochs else _C.CONCURRENT_TRANSACTIONS
        # With new epochs, an empty transaction may be aborted. Without them, a request may come again.
        may_end = state == "Ongoing" or (
            not message.committed if has_new_epochs else state == "Complete" + _ended(message)
        )
        return None if may_end else _C.INVALID_TXN_STATE

    def _prepare_end(self, message: EndTxnRequest, *, has_new_epochs: bool) -> None:
        producer = self.id.producer
        self.id.state = "Prepare" + _ended(message)
        if has_new_epochs:
            self.id.before = producer
            is_last = producer.epoch >= LAST_EPOCH - 1
            following = (self._new_id(), 0) if is_last else (producer.producer_id, producer.epoch + 1)
            self.id.producer = ProducerIdAndEpoch(*following)

    # -------------------------------------------------------------------------------------------- insides

    def _new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _refusal(self, producer: ProducerIdAndEpoch) -> ErrorCode | None:
        if self.id.state.startswith("Prepare"):
            return _C.CONCURRENT_TRANSACTIONS
        return None if producer == self.id.producer else _C.PRODUCER_FENCED

    def _add(self, added: set[Any], now_ms: int) -> None:
        if self.id.state != "Ongoing":
            self.id.state, self.id.started_ms, self.id.partitions = "Ongoing", now_ms, set()
        self.id.partitions |= added

    def _fence(self) -> None:
        """Abort with an epoch that nobody has."""
        producer = self.id.producer
        self.id.before = None
        self.id.producer = ProducerIdAndEpoch(producer.producer_id, producer.epoch + 1)
        self.id.state = "PrepareAbort"


def _producer_of(message: EndTxnRequest) -> ProducerIdAndEpoch:
    return ProducerIdAndEpoch(message.producer_id, message.producer_epoch)


def _ended(message: EndTxnRequest) -> str:
    return "Commit" if message.committed else "Abort"
