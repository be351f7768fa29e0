"""Steps of transactional producers, readers and administrators. Each knows how to take itself on one side."""

from typing import Any

from attrs import define, evolve, field, frozen

from kafka_groups.broker.log.entries import Producer
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_groups.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from kafka_groups.protocol.record_batch import iter_batches
from tests.lockstep.side import Side
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.members.raw_producer import OLD, RawProducer, TransactionReader, timed

TOPICS = ("t", "u")
GROUP = "g"
_LARGE = 1_000_000


@define(eq=False)
class TransactionSide:
    """One side of a run of transactions.

    Attributes:
        side: The side.
        topics: The topics by their names in the run, with two partitions each.
        producers: The clients by name.
        labels: What the producer ids of this side are called.
    """

    side: Side
    topics: dict[str, Topic] = field(factory=dict)
    producers: dict[str, RawProducer] = field(factory=dict)
    labels: dict[int, str] = field(factory=dict)

    def named(self, name: str) -> str:
        """The name of a transactional id or group on this side."""
        return f"{name}-{self.side.suffix}"

    def producer(self, name: str, transactional_id: str, version: int = OLD) -> RawProducer:
        """A client. Several may share a transactional id."""
        if name not in self.producers:
            client = self.side.client(name)
            self.producers[name] = RawProducer(client, self.named(transactional_id), version)
        return self.producers[name]

    def reader(self) -> TransactionReader:
        """Somebody who reads."""
        return TransactionReader(self.side.client("reader"))

    def label(self, producer_id: int) -> str:
        """What a producer id is called: by the order in which they were seen."""
        return self.labels.setdefault(producer_id, f"p{len(self.labels)}") if producer_id >= 0 else "nobody"


@frozen(kw_only=True)
class TransactionStep:
    """One request.

    Attributes:
        by: The client.
        txn: Its transactional id.
    """

    by: str = "ann"
    txn: str = "x"
    version: int | None = None

    is_question = False

    async def take(self, side: TransactionSide) -> Any:
        """Take the step on one side, and return what is compared."""
        raise NotImplementedError


def _epochs(side: TransactionSide, producer: Producer) -> tuple[str, int]:
    return side.label(producer.producer_id), producer.epoch


@frozen(kw_only=True)
class Init(TransactionStep):
    """InitProducerId, as after a start or, with `shift`, after an error: the epoch that the client claims to have."""

    shift: int | None = None

    async def take(self, side: TransactionSide) -> Any:
        client = side.producer(self.by, self.txn)
        expected = None
        if self.shift is not None and client.producer.producer_id >= 0:
            expected = Producer(client.producer.producer_id, max(client.producer.epoch + self.shift, 0))
        response = await until(
            lambda: client.ask_for_id(600_000, expected),
            lambda it: it.error_code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        )
        if response.error_code.name == "NONE":
            client.took(Producer(response.producer_id, response.producer_epoch))
        return response.error_code.name, _epochs(side, client.producer)


@frozen(kw_only=True)
class Add(TransactionStep):
    """AddPartitionsToTxn, of a producer or of a broker."""

    topic: str = "t"
    partitions: tuple[int, ...] = (0,)
    verify_only: bool | None = None

    async def take(self, side: TransactionSide) -> Any:
        client, topic = side.producer(self.by, self.txn), side.topics[self.topic]
        if self.verify_only is None:
            return await client.add(topic, *self.partitions, version=3 if self.version is None else self.version)
        return await client.add_as_broker(topic, *self.partitions, verify_only=self.verify_only)


@frozen(kw_only=True)
class AddOffsets(TransactionStep):
    """AddOffsetsToTxn."""

    async def take(self, side: TransactionSide) -> Any:
        return await side.producer(self.by, self.txn).add_offsets(side.named(GROUP))


@frozen(kw_only=True)
class Send(TransactionStep):
    """Produce."""

    topic: str = "t"
    partition: int = 0
    count: int = 1
    sequence_shift: int = 0
    is_transactional: bool = True

    async def take(self, side: TransactionSide) -> Any:
        client, topic = side.producer(self.by, self.txn), side.topics[self.topic]
        sequence = max(client.sequences.get((topic.name, self.partition), 0) + self.sequence_shift, 0)
        values = [b"v"] * self.count
        return await client.send(
            topic,
            *values,
            partition=self.partition,
            version=self.version,
            base_sequence=sequence,
            is_transactional=self.is_transactional,
        )


@frozen(kw_only=True)
class SendPlain(TransactionStep):
    """Produce without a producer id."""

    async def take(self, side: TransactionSide) -> Any:
        return await side.side.cluster.produce(side.topics["t"], [timed(b"plain")])


@frozen(kw_only=True)
class CommitInTransaction(TransactionStep):
    """TxnOffsetCommit."""

    partition: int = 0
    offset: int = 1

    async def take(self, side: TransactionSide) -> Any:
        client = side.producer(self.by, self.txn)
        # Not until no transaction is in the way: one whose marker a partition refuses is so for good.
        offsets = {self.partition: self.offset}
        return await client.commit_offsets_once(side.named(GROUP), side.topics["t"], offsets, self.version)


@frozen(kw_only=True)
class CommitPlain(TransactionStep):
    """OffsetCommit outside of any transaction."""

    offset: int = 1

    async def take(self, side: TransactionSide) -> Any:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=self.offset, committed_metadata="")
        topic = OffsetCommitRequestTopic(name=side.topics["t"].name, partitions=(partition,))
        request = OffsetCommitRequest(group_id=side.named(GROUP), topics=(topic,))
        response = await side.side.client("admin").ask(request, 9)
        return response.topics[0].partitions[0].error_code.name


@frozen(kw_only=True)
class End(TransactionStep):
    """EndTxn, with the epoch of the client or another one."""

    committed: bool = True
    shift: int = 0

    async def take(self, side: TransactionSide) -> Any:
        client = side.producer(self.by, self.txn)
        asking = evolve(client.producer, epoch=max(client.producer.epoch + self.shift, 0))
        error = await client.end(committed=self.committed, version=self.version, producer=asking)
        return error, _epochs(side, client.producer)


@frozen(kw_only=True)
class Marker(TransactionStep):
    """WriteTxnMarkers of an administrator."""

    committed: bool = False
    shift: int = 0
    coordinator_epoch: int = 0
    transactions: int = 0

    async def take(self, side: TransactionSide) -> Any:
        producer = side.producer(self.by, self.txn).producer
        if producer.producer_id < 0:
            return None
        return await side.reader().write_marker(
            side.topics["t"],
            evolve(producer, epoch=max(producer.epoch + self.shift, 0)),
            committed=self.committed,
            coordinator_epoch=self.coordinator_epoch,
            version=self.transactions,
        )


# ------------------------------------------------------------------------------------------ questions


@frozen(kw_only=True)
class Describe(TransactionStep):
    """DescribeTransactions."""

    is_question = True

    async def take(self, side: TransactionSide) -> Any:
        found = await RawProducer(side.side.client("admin"), side.named(self.txn)).described()
        names = {topic.name: name for name, topic in side.topics.items()}
        return (
            found.error_code.name,
            found.transaction_state,
            found.transaction_timeout_ms,
            side.label(found.producer_id) if found.error_code.name == "NONE" else None,
            found.producer_epoch,
            sorted((names.get(each.topic, each.topic), sorted(each.partitions)) for each in found.topics),
            found.transaction_start_time_ms > 0,
        )


@frozen(kw_only=True)
class Look(TransactionStep):
    """What readers and administrators see of a partition."""

    topic: str = "t"
    partition: int = 0

    is_question = True

    async def take(self, side: TransactionSide) -> Any:
        reader, topic = side.reader(), side.topics[self.topic]
        stable = await reader.fetch(topic, self.partition)
        all_of_it = await reader.fetch(topic, self.partition, is_stable=False)
        producers = await reader.producers(topic, self.partition)
        return {
            "stable": _batches(side, stable.records),
            "all": _batches(side, all_of_it.records),
            "aborted": [
                (side.label(each.producer_id), each.first_offset)
                for each in stable.aborted_transactions or ()
                if each.first_offset < _end(stable.records)  # Kafka may name later ones, too
            ],
            "offsets": (stable.high_watermark, stable.last_stable_offset, stable.log_start_offset),
            "ends": [await reader.end_offset(topic, self.partition, is_stable=each) for each in (True, False)],
            "producers": sorted(
                (
                    side.label(each.producer_id),
                    each.producer_epoch,
                    each.last_sequence,
                    each.coordinator_epoch,
                    each.current_txn_start_offset,
                )
                for each in producers.values()
            ),
        }


@frozen(kw_only=True)
class FetchOffsets(TransactionStep):
    """OffsetFetch."""

    require_stable: bool = True

    is_question = True

    async def take(self, side: TransactionSide) -> Any:
        topic = OffsetFetchRequestTopic(name=side.topics["t"].name, partition_indexes=(0, 1))
        group = OffsetFetchRequestGroup(group_id=side.named(GROUP), topics=(topic,))
        request = OffsetFetchRequest(groups=(group,), require_stable=self.require_stable)
        [found] = (await side.side.client("admin").ask(request, 9)).groups
        return [
            (each.partition_index, each.committed_offset, each.metadata, each.error_code.name)
            for topic in found.topics
            for each in topic.partitions
        ]


def _end(records: bytes | None) -> int:
    """The offset after the last batch."""
    return max((batch.header.next_offset for batch in iter_batches(records)), default=0)


def _batches(side: TransactionSide, records: bytes | None) -> list[tuple[Any, ...]]:
    """The batches as far as both sides must have the same."""
    return [
        (
            each.header.base_offset,
            each.header.last_offset,
            side.label(each.header.producer_id),
            each.header.producer_epoch,
            each.header.base_sequence,
            each.header.attributes,
        )
        for each in iter_batches(records or b"")
    ]
