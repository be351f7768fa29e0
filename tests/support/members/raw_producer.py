"""A transactional producer that does only what a test has it do, in the versions that the test wants."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from kafka_groups.broker.log.entries import Producer
from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_groups.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kafka_groups.protocol.messages.describe_producers import (
    ActiveProducer,
    DescribeProducersRequest,
    DescribeProducersRequestTopic,
)
from kafka_groups.protocol.messages.describe_transactions import DescribedTransaction, DescribeTransactionsRequest
from kafka_groups.protocol.messages.end_txn import EndTxnRequest
from kafka_groups.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from kafka_groups.protocol.messages.find_coordinator import CoordinatorType, FindCoordinatorRequest
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_groups.protocol.messages.list_offsets import (
    LATEST,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_groups.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafka_groups.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.requests.raw_client import RawClient

NEW, OLD = 2, 0
"""Versions of transactions: the epoch increases with each of them, or not."""
_PRODUCE, _END = {NEW: 13, OLD: 11}, {NEW: 5, OLD: 4}
_COMMIT = {NEW: 5, OLD: 4}
_WALL_MS = SystemClock().wall_ms
_INIT = 5
_PRODUCE_WITH_IDS = 13
_PASSING_FOR_RECORDS = ("CONCURRENT_TRANSACTIONS", "NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_ID")
_PASSING = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)


def timed(value: bytes, wall_ms: Callable[[], int] = _WALL_MS) -> NewRecord:
    """A record of now: a real Kafka begins a new segment if markers are much younger, and a fetch ends there."""
    return NewRecord(value, timestamp_ms=wall_ms())


class Asks(Protocol):
    """A way to the broker in charge."""

    async def ask(self, request: object, version: int | None = None) -> Any:
        """The response to a request."""
        ...


class RawProducer:
    """A producer with a transactional id.

    Args:
        client: A way to the broker in charge.
        transactional_id: Its id.
        version: The version of transactions.
        wall_ms: The time of its records.

    Attributes:
        producer: Its id and epoch.
        sequences: The next sequence number in each partition.
    """

    def __init__(
        self,
        client: Asks,
        transactional_id: str,
        version: int = NEW,
        wall_ms: Callable[[], int] = _WALL_MS,
    ) -> None:
        self._client = client
        self._wall_ms = wall_ms
        self.transactional_id = transactional_id
        self.version = version
        self.producer = Producer(-1, -1)
        self.sequences: dict[tuple[str, int], int] = {}

    async def find(self) -> None:
        """Wait until the id has a coordinator."""
        request = FindCoordinatorRequest(
            key_type=CoordinatorType.TRANSACTION, coordinator_keys=(self.transactional_id,)
        )
        await until(lambda: self._client.ask(request), lambda it: it.coordinators[0].error_code is ErrorCode.NONE)

    async def init(self, timeout_ms: int = 60_000, expected: Producer | None = None, version: int = _INIT) -> str:
        """Get an id and an epoch; returns the name of the error. What passes is waited for."""
        response = await until(
            lambda: self.ask_for_id(timeout_ms, expected, version), lambda it: it.error_code not in _PASSING
        )
        if response.error_code is ErrorCode.NONE:
            self.took(Producer(response.producer_id, response.producer_epoch))
        return str(response.error_code.name)

    async def ask_for_id(
        self, timeout_ms: int = 60_000, expected: Producer | None = None, version: int = _INIT
    ) -> InitProducerIdResponse:
        """Send InitProducerId once."""
        fields: dict[str, Any] = (
            {} if expected is None else {"producer_id": expected.producer_id, "producer_epoch": expected.epoch}
        )
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=timeout_ms, **fields
        )
        response: InitProducerIdResponse = await self._client.ask(request, version)
        return response

    @property
    def produce_version(self) -> int:
        """The version of its Produce requests."""
        return _PRODUCE[self.version]

    def took(self, producer: Producer) -> None:
        """Go on with an id and an epoch: the sequence numbers begin anew."""
        if producer != self.producer:
            self.sequences.clear()
        self.producer = producer

    async def add(self, topic: Topic, *partitions: int, version: int = 3) -> dict[int, str]:
        """Send AddPartitionsToTxn, as older producers do; returns the names of the errors."""
        named = AddPartitionsToTxnTopic(name=topic.name, partitions=partitions)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer.producer_id,
            v3_and_below_producer_epoch=self.producer.epoch,
            v3_and_below_topics=(named,),
        )
        response = await self._client.ask(request, version)
        [found] = response.results_by_topic_v3_and_below
        return {each.partition_index: each.partition_error_code.name for each in found.results_by_partition}

    async def add_as_broker(
        self, topic: Topic, *partitions: int, verify_only: bool, version: int = 5
    ) -> dict[int, str]:
        """Send AddPartitionsToTxn as the leader of partitions."""
        named = AddPartitionsToTxnTopic(name=topic.name, partitions=partitions)
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=self.transactional_id,
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.epoch,
            verify_only=verify_only,
            topics=(named,),
        )
        response = await self._client.ask(AddPartitionsToTxnRequest(transactions=(transaction,)), version)
        [found] = response.results_by_transaction[0].topic_results
        return {each.partition_index: each.partition_error_code.name for each in found.results_by_partition}

    async def add_offsets(self, group_id: str, version: int = 4) -> str:
        """Send AddOffsetsToTxn; returns the name of the error."""
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.epoch,
            group_id=group_id,
        )
        return str((await self._client.ask(request, version)).error_code.name)

    async def send(
        self, topic: Topic, *values: bytes | NewRecord, partition: int = 0, version: int | None = None, **options: Any
    ) -> str:
        """Produce a batch of the transaction, of values or of records; returns the name of the error.

        A producer of the new version tries again while the transaction before is being ended.
        """
        version = _PRODUCE[self.version] if version is None else version
        request = self.produce_request(topic, values, partition, version, **options)

        async def once() -> str:
            [found] = (await self._client.ask(request, version)).responses[0].partition_responses
            return str(found.error_code.name)

        error = await until(once, lambda it: it not in _PASSING_FOR_RECORDS)
        if error == "NONE":
            self.acknowledged(topic, partition, len(values))
        return error

    def acknowledged(self, topic: Topic, partition: int, count: int) -> None:
        """A partition has taken so many records more."""
        self.sequences[topic.name, partition] = self._sequence(topic, partition) + count

    def produce_request(
        self, topic: Topic, values: Sequence[bytes | NewRecord], partition: int, version: int, **options: Any
    ) -> ProduceRequest:
        """A request with a batch of the transaction."""
        given = {
            "producer_id": self.producer.producer_id,
            "producer_epoch": self.producer.epoch,
            "base_sequence": self._sequence(topic, partition),
            "is_transactional": True,
            **options,
        }
        records = [each if isinstance(each, NewRecord) else timed(each, self._wall_ms) for each in values]
        batch = build_batch(records, 0, BatchOptions(**given))
        data = (PartitionProduceData(index=partition, records=batch),)
        named: dict[str, Any] = {"topic_id": topic.topic_id} if version >= _PRODUCE_WITH_IDS else {"name": topic.name}
        return ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=10_000,
            topic_data=(TopicProduceData(**named, partition_data=data),),
        )

    def _sequence(self, topic: Topic, partition: int) -> int:
        return self.sequences.get((topic.name, partition), 0)

    async def commit_offsets(
        self, group_id: str, topic: Topic, offsets: Mapping[int, int], version: int | None = None, **fields: Any
    ) -> dict[int, str]:
        """Send TxnOffsetCommit until no transaction is in the way; returns the names of the errors."""
        return await until(
            lambda: self.commit_offsets_once(group_id, topic, offsets, version, **fields),
            lambda it: "CONCURRENT_TRANSACTIONS" not in it.values(),
        )

    async def commit_offsets_once(
        self, group_id: str, topic: Topic, offsets: Mapping[int, int], version: int | None = None, **fields: Any
    ) -> dict[int, str]:
        """Send TxnOffsetCommit; returns the names of the errors."""
        partitions = tuple(
            TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="m")
            for index, offset in offsets.items()
        )
        named = TxnOffsetCommitRequestTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions)
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group_id,
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.epoch,
            topics=(named,),
            **fields,
        )
        response = await self._client.ask(request, _COMMIT[self.version] if version is None else version)
        return {each.partition_index: each.error_code.name for each in response.topics[0].partitions}

    async def end(self, *, committed: bool, version: int | None = None, producer: Producer | None = None) -> str:
        """Send EndTxn; returns the name of the error. The producer goes on with what the response says."""
        asking = self.producer if producer is None else producer
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=asking.producer_id,
            producer_epoch=asking.epoch,
            committed=committed,
        )
        version = _END[self.version] if version is None else version
        response = await self._client.ask(request, version)
        if response.error_code is ErrorCode.NONE and version >= _END[NEW]:
            self.took(Producer(response.producer_id, response.producer_epoch))
        return str(response.error_code.name)

    async def described(self) -> DescribedTransaction:
        """How DescribeTransactions shows the id."""
        request = DescribeTransactionsRequest(transactional_ids=(self.transactional_id,))
        found: DescribedTransaction = (await self._client.ask(request)).transaction_states[0]
        return found

    async def until_ended(self) -> str:
        """Wait until all partitions have their markers; returns the name of the state."""
        found = await until(self.described, lambda it: not it.transaction_state.startswith("Prepare"))
        return found.transaction_state

    async def listed(self, **filters: Any) -> ListTransactionsResponse:
        """What ListTransactions answers."""
        response: ListTransactionsResponse = await self._client.ask(ListTransactionsRequest(**filters))
        return response


class TransactionReader:
    """What readers see of partitions.

    Args:
        client: A connection to the only broker.
    """

    def __init__(self, client: RawClient) -> None:
        self._client = client

    async def fetch(
        self, topic: Topic, partition: int = 0, offset: int = 0, *, is_stable: bool = True
    ) -> PartitionData:
        """Fetch all there is."""
        wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1_000_000)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1_000_000,
            isolation_level=int(is_stable),
            topics=(FetchTopic(topic_id=topic.topic_id, partitions=(wanted,)),),
        )
        found: PartitionData = (await self._client.ask(request)).responses[0].partitions[0]
        return found

    async def committed(self, topic: Topic, partition: int = 0) -> list[bytes]:
        """The values of committed records, as a consumer with `read_committed` finds them."""
        data = await self.fetch(topic, partition)
        coming = [(each.first_offset, each.producer_id) for each in data.aborted_transactions or ()]
        aborted: set[int] = set()
        values: list[bytes] = []
        for batch in iter_batches(data.records):
            header = batch.header
            aborted |= {producer_id for offset, producer_id in coming if offset == header.base_offset}
            if header.is_control:
                aborted.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborted):
                values += [record.value or b"" for record in batch.records()]
        return values

    async def until_committed(self, topic: Topic, values: list[bytes], partition: int = 0) -> None:
        """Wait until these are the committed records: a leader may learn of a marker late that it can be read."""
        await until(lambda: self.committed(topic, partition), lambda it: it == values)

    async def end_offset(self, topic: Topic, partition: int = 0, *, is_stable: bool) -> int:
        """What ListOffsets says of the end."""
        wanted = ListOffsetsPartition(partition_index=partition, timestamp=LATEST)
        request = ListOffsetsRequest(
            isolation_level=int(is_stable), topics=(ListOffsetsTopic(name=topic.name, partitions=(wanted,)),)
        )
        return int((await self._client.ask(request)).topics[0].partitions[0].offset)

    async def producers(self, topic: Topic, partition: int = 0) -> dict[int, ActiveProducer]:
        """The producers of a partition by id, as DescribeProducers shows them."""
        named = DescribeProducersRequestTopic(name=topic.name, partition_indexes=(partition,))
        response = await self._client.ask(DescribeProducersRequest(topics=(named,)))
        return {each.producer_id: each for each in response.topics[0].partitions[0].active_producers}

    async def write_marker(
        self, topic: Topic, producer: Producer, *, committed: bool, coordinator_epoch: int = 0, version: int = 0
    ) -> str:
        """Send WriteTxnMarkers for partition 0; returns the name of the error."""
        named = WritableTxnMarkerTopic(name=topic.name, partition_indexes=(0,))
        marker = WritableTxnMarker(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            transaction_result=committed,
            topics=(named,),
            coordinator_epoch=coordinator_epoch,
            transaction_version=version,
        )
        response = await self._client.ask(WriteTxnMarkersRequest(markers=(marker,)))
        return str(response.markers[0].topics[0].partitions[0].error_code.name)
