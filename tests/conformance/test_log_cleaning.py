"""Retention and compaction: what is left of a log, on every kind of broker (KIP-71, KIP-354, KIP-534)."""

from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen

from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE
from kafka_groups.protocol.messages.fetch import PartitionData
from kafka_groups.protocol.messages.list_offsets import (
    EARLIEST,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_groups.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.protocol.record_builder import BatchOptions, NewRecord, build_batch
from tests.conformance.test_transactions import new_producer
from tests.support.cluster_client import Topic
from tests.support.conditions import until
from tests.support.members.raw_member import RawMember, accept
from tests.support.members.raw_producer import TransactionReader
from tests.support.targets import Target, everywhere_with

OFTEN: Mapping[str, str] = MappingProxyType({
    "log.cleaner.backoff.ms": "100",
    "log.initial.task.delay.ms": "0",
    "log.retention.check.interval.ms": "100",
})  # fmt: skip
"""Brokers that look often for what may go."""
everywhere = everywhere_with(OFTEN)

SEGMENT_MS = 10_000
COMPACTED: Mapping[str, str] = MappingProxyType({
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0",
    "segment.ms": str(SEGMENT_MS),
})  # fmt: skip
DAY_MS = 86_400_000
MIB = 1_048_576


@frozen
class Left:
    """A batch in a log."""

    base_offset: int
    last_offset: int
    keys: tuple[str, ...]
    base_sequence: int = -1


class Scene:
    """A topic with one partition, and its log as readers find it."""

    def __init__(self, target: Target, topic: Topic) -> None:
        self.target = target
        self.topic = topic
        self.reader = TransactionReader(target.client())
        self.now_ms = SystemClock().wall_ms()
        self.time_ms = self.now_ms - 600_000

    async def write(self, *keys: str, value: bytes | None = b"v") -> int:
        """Append a batch with these keys. A key with a minus becomes a tombstone."""
        return await self.target.cluster.produce(self.topic, self.records(*keys, value=value))

    def records(self, *keys: str, value: bytes | None = b"v") -> list[NewRecord]:
        return [
            NewRecord(None if key.startswith("-") else value, key.strip("-").encode(), self.time_ms) for key in keys
        ]

    async def end_segment(self, *keys: str) -> None:
        """Begin a segment, with a batch that is too young for the one before."""
        self.time_ms += SEGMENT_MS + 1
        await self.write(*(keys or ("end",)))

    async def left(self) -> list[Left]:
        """All batches, of every segment."""
        found: list[Left] = []
        offset = await self.start_offset()
        while True:
            batches = [each for each in iter_batches((await self.fetch(offset)).records) if each.header.magic]
            if not batches:
                return found
            for batch in batches:
                header = batch.header
                is_control = header.is_control
                keys = tuple("marker" if is_control else (r.key or b"").decode() for r in batch.records(check_crc=True))
                found.append(Left(header.base_offset, header.last_offset, keys, header.base_sequence))
            offset = found[-1].last_offset + 1

    async def until_left(self, *expected: Left) -> None:
        await until(self.left, lambda it: it == list(expected), timeout_s=20)

    async def fetch(self, offset: int) -> PartitionData:
        return await self.reader.fetch(self.topic, offset=offset, is_stable=False)

    async def start_offset(self) -> int:
        wanted = ListOffsetsPartition(partition_index=0, timestamp=EARLIEST)
        request = ListOffsetsRequest(topics=(ListOffsetsTopic(name=self.topic.name, partitions=(wanted,)),))
        return int((await self.target.client().ask(request)).topics[0].partitions[0].offset)

    async def until_start(self, offset: int) -> None:
        await until(self.start_offset, lambda it: it == offset, timeout_s=20)


async def scene_of(target: Target, configs: Mapping[str, str], **more: str) -> Scene:
    topic = await target.cluster.create_topic(configs={**configs, **more})
    return Scene(target, topic)


# ------------------------------------------------------------------------------------------- compaction


@everywhere
async def test_the_last_record_of_each_key_stays(target: Target) -> None:
    scene = await scene_of(target, COMPACTED)
    await scene.write("a", "b", "c")
    await scene.write("a", "b")
    await scene.write("d")
    await scene.end_segment()
    await scene.until_left(Left(0, 2, ("c",)), Left(3, 4, ("a", "b")), Left(5, 5, ("d",)), Left(6, 6, ("end",)))
    await scene.write("c", "d")
    await scene.end_segment()
    await scene.until_left(Left(3, 4, ("a", "b")), Left(6, 6, ("end",)), Left(7, 8, ("c", "d")), Left(9, 9, ("end",)))


@everywhere
async def test_the_active_segment_is_not_compacted(target: Target) -> None:
    scene = await scene_of(target, COMPACTED)
    await scene.write("a", "b")
    await scene.end_segment("a", "a", "a")
    await scene.until_left(Left(0, 1, ("a", "b")), Left(2, 4, ("a", "a", "a")))
    await scene.end_segment("c")
    await scene.until_left(Left(0, 1, ("b",)), Left(2, 4, ("a",)), Left(5, 5, ("c",)))


@everywhere
async def test_tombstones_stay_for_a_while(target: Target) -> None:
    scene = await scene_of(target, COMPACTED, **{"delete.retention.ms": str(DAY_MS)})
    await scene.write("a", "b", "c")
    await scene.write("-a", "-b")
    await scene.end_segment()
    await scene.until_left(Left(0, 2, ("c",)), Left(3, 4, ("a", "b")), Left(5, 5, ("end",)))
    await scene.write("d")
    await scene.end_segment()
    await scene.until_left(
        Left(0, 2, ("c",)), Left(3, 4, ("a", "b")), Left(5, 5, ("end",)), Left(6, 6, ("d",)), Left(7, 7, ("end",))
    )


@everywhere
async def test_tombstones_go_with_a_later_pass(target: Target) -> None:
    scene = await scene_of(target, COMPACTED, **{"delete.retention.ms": "0"})
    await scene.write("a", "b", "c")
    await scene.write("-a", "b")
    await scene.end_segment()
    await scene.until_left(Left(0, 2, ("c",)), Left(3, 4, ("a", "b")), Left(5, 5, ("end",)))
    await scene.write("d")
    await scene.end_segment()
    await scene.until_left(
        Left(0, 2, ("c",)), Left(3, 4, ("b",)), Left(5, 5, ("end",)), Left(6, 6, ("d",)), Left(7, 7, ("end",))
    )


@everywhere
async def test_too_little_that_is_new(target: Target) -> None:
    patient = await scene_of(target, COMPACTED, **{"min.cleanable.dirty.ratio": "0.5"})
    eager = await scene_of(target, COMPACTED)
    for scene in (patient, eager):
        await scene.write(*"abcdefgh")
        await scene.write("a")
        await scene.end_segment("a")
        await scene.until_left(Left(0, 7, tuple("bcdefgh")), Left(8, 8, ("a",)), Left(9, 9, ("a",)))
    for scene in (patient, eager):
        await scene.end_segment("b")
    await eager.until_left(Left(0, 7, tuple("bcdefgh")), Left(9, 9, ("a",)), Left(10, 10, ("b",)))
    await patient.until_left(Left(0, 7, tuple("bcdefgh")), Left(8, 8, ("a",)), Left(9, 9, ("a",)), Left(10, 10, ("b",)))


@everywhere
async def test_records_that_are_too_young(target: Target) -> None:
    scene = await scene_of(target, COMPACTED, **{"min.compaction.lag.ms": "300000"})
    await scene.write("a", "b")  # ten minutes ago
    await scene.write("a")
    scene.time_ms = scene.now_ms - 60_000
    await scene.write("b")
    await scene.end_segment()
    await scene.until_left(Left(0, 1, ("b",)), Left(2, 2, ("a",)), Left(3, 3, ("b",)), Left(4, 4, ("end",)))


@everywhere
async def test_records_that_have_waited_for_too_long(target: Target) -> None:
    scene = await scene_of(target, COMPACTED, **{"min.cleanable.dirty.ratio": "1", "max.compaction.lag.ms": "60000"})
    await scene.write("a", "b")
    await scene.write("a")
    await scene.end_segment()
    await scene.until_left(Left(0, 1, ("b",)), Left(2, 2, ("a",)), Left(3, 3, ("end",)))


@everywhere
async def test_a_producer_goes_on_after_its_records_are_gone(target: Target) -> None:
    scene = await scene_of(target, COMPACTED)
    options = {"producer_id": 4_242, "producer_epoch": 0}

    async def send(sequence: int, *keys: str) -> None:
        batch = build_batch(scene.records(*keys), 0, BatchOptions(base_sequence=sequence, **options))  # type: ignore[arg-type]
        await target.cluster.produce_raw(scene.topic, batch)

    await send(0, "a")
    await send(1, "b", "c")
    await scene.end_segment(*"abc")
    await scene.end_segment()
    await scene.until_left(Left(1, 2, (), 1), Left(3, 5, tuple("abc")), Left(6, 6, ("end",)))
    await send(3, "d")


# ----------------------------------------------------------------------------------------- transactions


@everywhere
async def test_aborted_records_go_and_markers_stay(target: Target) -> None:
    scene = await scene_of(target, COMPACTED)
    aborting, committing = await new_producer(target), await new_producer(target)
    scene.time_ms = scene.now_ms
    assert await committing.send(scene.topic, *scene.records("a", "b")) == "NONE"
    assert await aborting.send(scene.topic, *scene.records("a", "c")) == "NONE"
    assert await aborting.end(committed=False) == "NONE"
    await aborting.until_ended()
    assert await committing.end(committed=True) == "NONE"
    await committing.until_ended()
    await scene.end_segment()
    await scene.until_left(
        Left(0, 1, ("a", "b"), 0),
        Left(4, 4, ("marker",)),
        Left(5, 5, ("marker",)),
        Left(6, 6, ("end",)),
    )
    assert await scene.reader.committed(scene.topic) == [b"v", b"v"]  # a fetch ends with the segment


@everywhere
async def test_nothing_is_compacted_from_an_open_transaction_on(target: Target) -> None:
    scene = await scene_of(target, COMPACTED)
    scene.time_ms = scene.now_ms
    await scene.write("a", "a")
    scene.time_ms += SEGMENT_MS + 1
    producer = await new_producer(target)
    assert await producer.send(scene.topic, *scene.records("a", "b")) == "NONE"
    await scene.end_segment("b", "b")
    await scene.end_segment()
    await scene.until_left(
        Left(0, 1, ("a",)),
        Left(2, 3, ("a", "b"), 0),
        Left(4, 5, ("b", "b")),
        Left(6, 6, ("end",)),
    )
    assert await producer.end(committed=True) == "NONE"
    await producer.until_ended()
    await scene.end_segment()
    await scene.until_left(
        Left(2, 3, ("a",), 0),
        Left(4, 5, ("b",)),
        Left(6, 6, ("end",)),
        Left(7, 7, ("marker",)),
        Left(8, 8, ("end",)),
    )


# -------------------------------------------------------------------------------------------- retention


@everywhere
async def test_old_records_are_deleted_with_their_segment(target: Target) -> None:
    scene = await scene_of(target, {}, **{"retention.ms": "300000", "segment.ms": str(SEGMENT_MS)})
    await scene.write("a")
    await scene.end_segment("b")
    scene.time_ms = scene.now_ms
    await scene.write("c")
    await scene.until_start(2)
    await scene.until_left(Left(2, 2, ("c",)))
    assert (await scene.fetch(1)).error_code is ErrorCode.OFFSET_OUT_OF_RANGE


@everywhere
async def test_the_active_segment_is_deleted_when_it_is_old(target: Target) -> None:
    scene = await scene_of(target, {}, **{"retention.ms": "300000"})
    await scene.write("a", "b", "c")
    await scene.until_start(3)
    scene.time_ms = scene.now_ms
    assert await scene.write("d") == 3
    await scene.until_left(Left(3, 3, ("d",)))


@everywhere
async def test_a_young_record_keeps_its_segment(target: Target) -> None:
    scene = await scene_of(target, {}, **{"retention.ms": "300000"})
    old_ms, scene.time_ms = scene.time_ms, scene.now_ms
    await scene.write("a")
    scene.time_ms = old_ms
    await scene.write("b")
    other = await scene_of(target, {}, **{"retention.ms": "300000"})
    await other.write("a")
    await other.until_start(1)
    await scene.until_left(Left(0, 0, ("a",)), Left(1, 1, ("b",)))


@everywhere
async def test_a_log_keeps_its_size(target: Target) -> None:
    scene = await scene_of(target, {}, **{"retention.bytes": str(2 * MIB), "segment.bytes": str(MIB)})
    for _ in range(45):
        await scene.write("k", value=bytes(100_000))
    # Segments of ten batches. Of the five, those may go that leave 2 MiB: the first, and the second.
    await scene.until_start(20)
    assert (await scene.left())[0].base_offset == 20


@everywhere
async def test_compacted_and_deleted(target: Target) -> None:
    scene = await scene_of(target, COMPACTED, **{"cleanup.policy": "compact,delete", "retention.ms": "300000"})
    await scene.write("a", "b")
    await scene.until_start(2)  # before a compaction makes one segment of this one and the next
    scene.time_ms = scene.now_ms - 100_000
    await scene.write("a", "b")
    await scene.end_segment("a")
    await scene.end_segment()
    await scene.until_left(Left(2, 3, ("b",)), Left(4, 4, ("a",)), Left(5, 5, ("end",)))


@everywhere
async def test_a_batch_that_is_larger_than_a_segment(target: Target) -> None:
    topic = await target.cluster.create_topic(
        configs={"segment.bytes": str(MIB), "max.message.bytes": str(3 * MIB)},
    )
    batch = build_batch([NewRecord(bytes(2 * MIB), b"k")])
    data = TopicProduceData(topic_id=topic.topic_id, partition_data=(PartitionProduceData(index=0, records=batch),))
    response = await target.client().ask(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=(data,)))
    [found] = response.responses[0].partition_responses
    assert found.error_code is ErrorCode.RECORD_LIST_TOO_LARGE


# ----------------------------------------------------------------------------------------- share groups


@everywhere
async def test_a_share_group_skips_what_compaction_took(target: Target) -> None:
    scene = await scene_of(target, COMPACTED)
    await scene.write("a", "b")
    await scene.write("c")
    await scene.write("a", "b", "d")
    await scene.end_segment("c")
    await scene.end_segment()
    await scene.until_left(
        Left(3, 5, ("a", "b", "d")),
        Left(6, 6, ("c",)),
        Left(7, 7, ("end",)),
    )
    group_id = await target.group_of(scene.topic)
    async with target.consumer(group_id) as consumer:
        await consumer.subscribe([scene.topic.name])
        taken: list[int] = []
        while len(taken) < 5:
            taken += [record.offset for record in await consumer.poll(1_000)]
        assert taken == [3, 4, 5, 6, 7]
        await consumer.commit_sync()
    await target.cluster.until_lag(group_id, scene.topic, 0)


@everywhere
async def test_acquired_records_that_are_deleted_may_be_acknowledged(target: Target) -> None:
    scene = await scene_of(target, {})
    await scene.write("a", "b", "c")
    group_id = await target.group_of(scene.topic)
    member: RawMember = await target.joined(group_id, scene.topic)
    acquired = await member.fetch_until_acquired()
    assert acquired.offsets == [0, 1, 2]
    await target.cluster.alter_config(TOPIC_RESOURCE, scene.topic.name, {"retention.ms": "300000"})
    await scene.until_start(3)
    await member.settle(accept(0), accept(1), accept(2))
    scene.time_ms = scene.now_ms
    await scene.write("d")
    acquired = await member.fetch_until_acquired()
    assert acquired.offsets == [3]
    await member.settle(accept(3))
    await target.cluster.until_lag(group_id, scene.topic, 0)
    await member.close_session()
