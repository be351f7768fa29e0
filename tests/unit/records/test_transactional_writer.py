"""A transactional writer on the embedded cluster, in memory and in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from kafka_groups.broker.faults import DROP_CONNECTION, DROP_RESPONSE, LOSE_RESPONSE, answer, delay
from kafka_groups.client.membership.group_metadata import NOBODY, GroupMetadata
from kafka_groups.errors import (
    ClusterAuthorizationFailedError,
    DeliveryFailedError,
    GroupAuthorizationFailedError,
    InvalidProducerEpochError,
    InvalidTransactionTimeoutError,
    KafkaGroupsError,
    MessageTooLargeError,
    OperationTimeoutError,
    ProducerFencedError,
    TransactionalIdAuthorizationFailedError,
    TransactionExpiredError,
    TransactionFailedError,
)
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from kafka_groups.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kafka_groups.protocol.messages.update_features import UPGRADE
from kafka_groups.records.transactional_writer import TransactionalEngineWriter, TransactionSettings
from kafka_groups.testing.simulation import Simulation, run_simulated
from kafka_groups.testing.simulation.virtual_time import VirtualTimeLoop
from kafka_groups.types import OffsetAndMetadata, TopicPartition
from tests.support.members.negotiated_cluster import NegotiatedCluster
from tests.unit.records.clusters import KEPT, TOPIC, RecordsWorld

SOURCE, GROUP, FEATURE = TopicPartition("in", 0), GroupMetadata("group", NOBODY), "transaction.version"
FLUSH_MS, COMMIT_MS, TIMEOUT_MS = 60_000, 60_000, 60_000
LEVELS = (1, 2)
ENDING = (ApiKey.PRODUCE, ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN)


def offset(number: int) -> Mapping[TopicPartition, OffsetAndMetadata]:
    return {SOURCE: OffsetAndMetadata(number, 2, "time")}


class Bench:
    """A writer, and what readers of committed records see."""

    def __init__(self, world: RecordsWorld, timeout_ms: int = TIMEOUT_MS) -> None:
        self.world = world
        self.timeout_ms = timeout_ms
        self.cluster = NegotiatedCluster(world.cluster.bootstrap_servers.split(",")[0], world.environment())
        self.opened: list[Any] = []
        self.writer = self.another()

    def another(self) -> TransactionalEngineWriter:
        """Another writer with the same transactional id."""
        client = self.world.client()
        settings = TransactionSettings("tx", self.timeout_ms)
        writer = TransactionalEngineWriter(client, self._count, self.world.simulation.rng, settings)
        self.opened.append((writer, client))
        return writer

    def _count(self, topic: str) -> int | None:
        known = self.world.cluster.metadata.topic(topic)
        return None if known is None else known.num_partitions

    async def close(self) -> None:
        for writer, client in self.opened:
            await writer.close()
            await client.close()
        await self.cluster.__aexit__(None, None, None)

    def write(self, *values: bytes, partition: int = 0, topic: str = TOPIC) -> None:
        # A fetch ends with its segment, and a marker that is much younger than the record before it begins another one.
        now_ms = self.world.simulation.clock.wall_ms()
        for value in values:
            self.writer.write(topic, b"k", value, now_ms, (), partition, (value,))

    async def commit(self, number: int, timeout_ms: int = COMMIT_MS) -> None:
        """Flush the records together with an offset, and commit them."""
        self.writer.send_offsets(offset(number), GROUP)
        await self.writer.flush(FLUSH_MS)
        await self.writer.commit(offset(number), GROUP, timeout_ms)

    async def seen(self, expected: list[bytes]) -> bool:
        """Whether readers see exactly these records in partition 0, after a while at most."""
        for _ in range(100):
            if await self.values() == expected:
                return True
            await self.writer._client.wait(100, lambda: False)
        return False

    async def values(self) -> list[bytes]:
        partitions = (TopicPartition(TOPIC, each) for each in range(self.world.partitions))
        return await self.cluster.committed(*partitions)


def simulated(
    scene: Callable[[Bench], Awaitable[None]],
    level: int = 2,
    seed: int = 1,
    timeout_ms: int = TIMEOUT_MS,
    **options: Any,
) -> None:
    async def run(simulation: Simulation) -> None:
        async with RecordsWorld(simulation, **options) as world:
            world.cluster.create_topic(SOURCE.topic, configs=KEPT)
            bench = Bench(world, timeout_ms)
            await bench.cluster.finalise(FEATURE, level)
            try:
                await scene(bench)
            finally:
                await bench.close()

    run_simulated(run, seed=seed)


# ---------------------------------------------------------------------------------------------- commits


@pytest.mark.parametrize("level", LEVELS)
def test_records_and_offsets_are_committed_together(level: int) -> None:
    async def scene(bench: Bench) -> None:
        await bench.writer.prepare(COMMIT_MS)
        for number in range(3):
            bench.write(b"%d" % number)
            await bench.commit(number + 1)
        assert await bench.seen([b"0", b"1", b"2"])
        assert await bench.cluster.offsets("group") == offset(3)
        assert not bench.writer.has_failed

    simulated(scene, level)


def test_a_commit_takes_two_round_trips() -> None:
    async def scene(bench: Bench) -> None:
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"warm")
        await bench.commit(1)
        clock = bench.world.simulation.clock
        # The connections of Produce and of coordinators answer late, each in its own time.
        for api in ENDING:
            bench.world.cluster.faults.on(api, delay(1_000), times=1)
        started_ms = clock.now_ms()
        bench.write(b"1")
        await bench.commit(2)
        assert 2_000 <= clock.now_ms() - started_ms < 2_500

    simulated(scene)


def test_nothing_is_sent_for_an_empty_transaction() -> None:
    async def scene(bench: Bench) -> None:
        await bench.writer.prepare(COMMIT_MS)
        seen = [bench.world.requests(api) for api in ENDING]
        await bench.writer.flush(FLUSH_MS)
        await bench.writer.commit({}, GROUP, COMMIT_MS)
        assert seen == [[], [], []]

    simulated(scene)


@pytest.mark.parametrize("level", LEVELS)
def test_a_record_that_is_refused_does_not_lose_the_transaction(level: int) -> None:
    async def scene(bench: Bench) -> None:
        bench.world.cluster.create_topic("small", configs={**KEPT, "max.message.bytes": "1000"})
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"x" * 2_000, topic="small")
        bench.write(b"1")
        await bench.writer.flush(FLUSH_MS)
        (refused,) = bench.writer.refused()
        assert isinstance(refused.error, MessageTooLargeError)
        bench.write(b"dead letter")
        await bench.commit(2)
        assert await bench.seen([b"1", b"dead letter"])

    simulated(scene, level)


@pytest.mark.parametrize("level", LEVELS)
def test_a_transaction_of_which_every_record_was_refused_ends(level: int) -> None:
    async def scene(bench: Bench) -> None:
        bench.world.cluster.create_topic("small", configs={**KEPT, "max.message.bytes": "1000"})
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"x" * 2_000, topic="small")
        await bench.writer.flush(FLUSH_MS)
        assert len(bench.writer.refused()) == 1
        await bench.writer.commit({}, GROUP, COMMIT_MS)
        bench.write(b"1")
        await bench.commit(1)
        assert await bench.seen([b"1"])

    simulated(scene, level)


def test_a_commit_without_an_answer_is_repeated() -> None:
    async def scene(bench: Bench) -> None:
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"1")
        bench.world.cluster.faults.on(ApiKey.END_TXN, DROP_RESPONSE, times=1)
        with pytest.raises(OperationTimeoutError, match="'tx' has not confirmed the commit for 2 s"):
            await bench.commit(1, timeout_ms=2_000)
        await bench.writer.commit(offset(1), GROUP, COMMIT_MS)
        bench.write(b"2")
        await bench.commit(2)
        assert await bench.seen([b"1", b"2"])

    simulated(scene)


# ----------------------------------------------------------------------------------------------- losses


@pytest.mark.parametrize("level", LEVELS)
def test_a_newer_writer_fences_the_one_before(level: int) -> None:
    async def scene(bench: Bench) -> None:
        older = bench.writer
        await older.prepare(COMMIT_MS)
        bench.write(b"older")
        await older.flush(FLUSH_MS)
        bench.writer = bench.another()
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"newer")
        await bench.commit(1)
        with pytest.raises(TransactionFailedError) as raised:
            await older.commit(offset(2), GROUP, COMMIT_MS)
        assert isinstance(raised.value.__cause__, InvalidProducerEpochError | ProducerFencedError)
        assert older.has_failed
        assert await bench.seen([b"newer"])
        assert await bench.cluster.offsets("group") == offset(1)

    simulated(scene, level)


@pytest.mark.parametrize("level", LEVELS)
def test_a_lost_transaction_is_ignored_until_the_writer_is_renewed(level: int) -> None:
    async def scene(bench: Bench) -> None:
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"lost")
        bench.world.cluster.faults.on(ApiKey.END_TXN, answer(ErrorCode.TRANSACTION_ABORTABLE), times=1)
        with pytest.raises(TransactionFailedError, match="TRANSACTION_ABORTABLE"):
            await bench.commit(1)
        bench.write(b"ignored")
        started_ms = bench.world.simulation.clock.now_ms()
        with pytest.raises(TransactionFailedError):
            await bench.writer.flush(FLUSH_MS)
        assert bench.world.simulation.clock.now_ms() == started_ms
        with pytest.raises(TransactionFailedError):
            await bench.writer.prepare(COMMIT_MS)
        await bench.writer.renew()
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"1")
        await bench.commit(1)
        assert await bench.seen([b"1"])

    simulated(scene, level)


def test_a_block_that_is_shorter_than_the_timeout_costs_nothing() -> None:
    async def scene(bench: Bench) -> None:
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"1")
        await bench.writer._client.wait(10, lambda: False)  # the batch is under way
        _block(50)
        bench.write(b"2")
        await bench.commit(1)
        assert await bench.seen([b"1", b"2"])

    simulated(scene)


def test_a_block_that_outlasts_the_timeout_loses_the_transaction_and_is_named() -> None:
    async def scene(bench: Bench) -> None:
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"1")
        await bench.writer.flush(FLUSH_MS)
        _block(65)
        await bench.writer._client.wait(15_000, lambda: False)  # the coordinator looks every ten seconds
        with pytest.raises(TransactionFailedError) as raised:
            await bench.commit(1)
        assert isinstance(raised.value.__cause__, TransactionExpiredError)
        assert "transaction.timeout.ms, which is 60000" in str(raised.value)
        await bench.writer.renew()
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"1")
        await bench.commit(1)
        assert await bench.seen([b"1"])

    simulated(scene)


def _block(seconds: float) -> None:
    """Let nothing run, as a user's function does that takes long."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    loop.block(seconds)


def test_a_batch_that_is_lost_fails_the_flush() -> None:
    async def scene(bench: Bench) -> None:
        older = bench.writer
        await older.prepare(COMMIT_MS)
        await bench.another().prepare(COMMIT_MS)
        bench.write(b"1")
        with pytest.raises(TransactionFailedError) as raised:
            await older.flush(FLUSH_MS)
        assert isinstance(raised.value.__cause__, InvalidProducerEpochError | ProducerFencedError)
        assert await bench.seen([])

    simulated(scene)


@pytest.mark.parametrize("level", LEVELS)
def test_the_transaction_of_a_writer_that_is_closed_is_aborted_at_once(level: int) -> None:
    async def scene(bench: Bench) -> None:
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"open")
        await bench.writer.flush(FLUSH_MS)
        started_ms = bench.world.simulation.clock.now_ms()
        await bench.writer.close()
        assert bench.world.simulation.clock.now_ms() - started_ms < 1_000
        bench.writer = bench.another()
        await bench.world.produce([b"next"])
        assert await bench.seen([b"next"])

    simulated(scene, level)


GROUP_IS_DENIED = TxnOffsetCommitResponse(
    topics=(
        TxnOffsetCommitResponseTopic(
            name=SOURCE.topic,
            partitions=(
                TxnOffsetCommitResponsePartition(partition_index=0, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED),
            ),
        ),
    )
)


def writing_is_denied(bench: Bench, level: int) -> ProduceResponse:
    told = PartitionProduceResponse(index=0, error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, base_offset=-1)
    topic: dict[str, Any] = {"name": TOPIC} if level == 1 else {"topic_id": bench.world.topic.topic_id}
    return ProduceResponse(responses=(TopicProduceResponse(partition_responses=(told,), **topic),))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("is_of_client", [False, True])
def test_the_transaction_of_a_writer_that_a_final_error_ends_is_aborted_at_once(
    level: int, *, is_of_client: bool
) -> None:
    async def scene(bench: Bench) -> None:
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"open")
        await bench.writer.flush(FLUSH_MS)
        faults = bench.world.cluster.faults
        if is_of_client:
            faults.on(ApiKey.PRODUCE, answer(writing_is_denied(bench, level)), times=1)
        else:
            faults.on(ApiKey.TXN_OFFSET_COMMIT, answer(GROUP_IS_DENIED), times=1)
        bench.write(b"more")
        with pytest.raises(ClusterAuthorizationFailedError if is_of_client else GroupAuthorizationFailedError):
            await bench.commit(1)
        faults.on(ApiKey.END_TXN, answer(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), times=1)
        started_ms = bench.world.simulation.clock.now_ms()
        await bench.writer.close()
        assert bench.world.simulation.clock.now_ms() - started_ms < 1_000
        await bench.writer._client.close()
        await bench.world.produce([b"next"])
        assert await bench.values() == [b"next"], "readers wait for no timeout"

    simulated(scene, level)


def test_a_writer_that_a_final_error_ends_waits_for_a_coordinator_for_a_second() -> None:
    async def scene(bench: Bench) -> None:
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"open")
        await bench.writer.flush(FLUSH_MS)
        faults = bench.world.cluster.faults
        faults.on(ApiKey.TXN_OFFSET_COMMIT, answer(GROUP_IS_DENIED), times=1)
        faults.on(ApiKey.END_TXN, DROP_RESPONSE)
        with pytest.raises(GroupAuthorizationFailedError):
            await bench.commit(1)
        started_ms = bench.world.simulation.clock.now_ms()
        await bench.writer.close()
        assert bench.world.simulation.clock.now_ms() - started_ms == 1_000

    simulated(scene)


def test_renewing_waits_for_a_second_at_most() -> None:
    async def scene(bench: Bench) -> None:
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"open")
        await bench.writer.flush(FLUSH_MS)
        bench.world.cluster.faults.on(ApiKey.END_TXN, DROP_RESPONSE, times=1)
        started_ms = bench.world.simulation.clock.now_ms()
        await bench.writer.renew()
        assert bench.world.simulation.clock.now_ms() - started_ms == 1_000
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"1")
        await bench.commit(1)
        assert await bench.seen([b"1"])

    simulated(scene)


def test_a_coordinator_that_is_away_is_waited_for() -> None:
    async def scene(bench: Bench) -> None:
        await bench.writer.prepare(COMMIT_MS)
        await bench.writer.renew()
        await bench.world.cluster.stop_broker_async(1)
        with pytest.raises(OperationTimeoutError, match="'tx' has given no id for 3 s"):
            await bench.writer.prepare(3_000)
        await bench.world.cluster.start_broker_async(1)
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"1")
        await bench.commit(1)
        assert await bench.seen([b"1"])

    simulated(scene)


def test_records_that_are_not_confirmed_in_time_stay_queued() -> None:
    async def scene(bench: Bench) -> None:
        await bench.writer.prepare(COMMIT_MS)
        bench.write(b"1")
        bench.world.cluster.faults.on(ApiKey.PRODUCE, DROP_CONNECTION, when=lambda _: not is_well)
        is_well = False
        with pytest.raises(DeliveryFailedError):
            await bench.writer.flush(1_000)
        is_well = True
        await bench.commit(1)
        assert await bench.seen([b"1"])

    simulated(scene)


# ------------------------------------------------------------------------------------------- final errors


def test_a_timeout_that_brokers_do_not_allow_is_final() -> None:
    async def scene(bench: Bench) -> None:
        for _ in range(2):
            with pytest.raises(InvalidTransactionTimeoutError, match="of up to 900001 ms"):
                await bench.writer.prepare(COMMIT_MS)
            await bench.writer.renew()

    simulated(scene, timeout_ms=900_001)


def test_a_right_that_is_missing_is_final() -> None:
    async def scene(bench: Bench) -> None:
        refusal = answer(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        bench.world.cluster.faults.on(ApiKey.INIT_PRODUCER_ID, refusal)
        with pytest.raises(TransactionalIdAuthorizationFailedError, match="needs WRITE on the transactional id tx "):
            await bench.writer.prepare(COMMIT_MS)

    simulated(scene)


# ------------------------------------------------------------------------------------------------ faults


class Application:
    """Writes each input once, with its number, and begins again at the committed offset after a loss."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.next = self.lost = 0

    async def run(self, until: int) -> None:
        """Process inputs up to this one."""
        await self.begin()
        while self.next < until:
            try:
                await self.transaction()
            except TransactionFailedError:
                self.lost += 1
                await self.bench.writer.renew()
                await self.begin()

    async def begin(self) -> None:
        """Prepare the writer, and read the committed offset."""
        await _until_done(lambda: self.bench.writer.prepare(5_000))
        stored = await self.bench.cluster.offsets("group")
        self.next = stored[SOURCE].offset if SOURCE in stored else 0

    async def transaction(self) -> None:
        rng = self.bench.world.simulation.rng
        for _ in range(rng.randint(1, 4)):
            self.bench.write(b"%04d" % self.next, partition=rng.randrange(self.bench.world.partitions))
            self.next += 1
        self.bench.writer.send_offsets(offset(self.next), GROUP)
        await _until_done(lambda: self.bench.writer.flush(5_000))
        await _until_done(lambda: self.bench.writer.commit(offset(self.next), GROUP, 5_000))


async def _until_done(step: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await step()
        except (OperationTimeoutError, DeliveryFailedError):
            continue
        return


FAULTY = (*ENDING, ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN)
SEEDS = [(2, 1), (1, 2), *(pytest.param(1 + seed % 2, seed, marks=pytest.mark.slow) for seed in range(3, 20))]
BROKERS = 3


@pytest.mark.parametrize(("level", "seed"), SEEDS)
def test_each_input_is_written_once_whatever_is_lost_or_moved(level: int, seed: int) -> None:
    async def scene(bench: Bench) -> None:
        cluster, rng = bench.world.cluster, bench.world.simulation.rng
        application = Application(bench)
        await application.run(5)
        for api in FAULTY:
            for action in (DROP_CONNECTION, LOSE_RESPONSE, DROP_RESPONSE):
                cluster.faults.on(api, action, times=2, when=lambda _: rng.random() < 0.15)
        for until in range(10, 60, 10):
            await _disturb(bench)
            await application.run(until)
        written = sorted(await bench.values())
        assert written == [b"%04d" % number for number in range(application.next)]
        assert (await bench.cluster.offsets("group"))[SOURCE].offset == application.next

    simulated(scene, level, seed, partitions=3, brokers=BROKERS)


async def _disturb(bench: Bench) -> None:
    """Move leaders and coordinators. Perhaps a broker dies, another writer begins, or the feature is raised."""
    cluster, rng = bench.world.cluster, bench.world.simulation.rng
    for topic in ("__transaction_state", "__consumer_offsets", TOPIC):
        count = len(cluster.metadata.topic(topic).partitions)  # type: ignore[union-attr]
        cluster.move_leader(topic, rng.randrange(count), rng.randint(1, BROKERS))
    if rng.random() < 0.3:
        await _prepare_another(bench)
    if rng.random() < 0.3:
        killed = rng.randint(2, BROKERS)  # the first one is where clients find the others
        await cluster.kill_broker_async(killed)
        await cluster.start_broker_async(killed)
    if rng.random() < 0.2:
        await bench.cluster.finalise(FEATURE, 2, UPGRADE)


async def _prepare_another(bench: Bench) -> None:
    """Fence the writer, and let it begin again."""
    try:
        await bench.another().prepare(COMMIT_MS)
    except KafkaGroupsError:
        return  # a fault has hit it, and it need not succeed
