"""The source against an embedded broker over TCP, called as Spark calls it."""

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import answer
from kafka_groups.errors import BootstrapError, IllegalStateError, OperationTimeoutError, UnknownTopicOrPartitionError
from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.share import KafkaShareConsumer
from kafka_groups.share.delivery.records import ShareRecord
from kafka_groups.spark.source import source
from kafka_groups.spark.source.options import source_options
from kafka_groups.spark.source.rules.micro_batches import BatchLimits
from kafka_groups.spark.source.rules.offsets import SourceOffset
from kafka_groups.spark.source.source import ShareSource
from tests.support.conditions import wait_until
from tests.support.leaping_clock import LeapingClock
from tests.unit.spark.source.sparks_calls import SETTINGS, Query, World, numbers

LOCK_MS = 20_000
"""A leap as long as a lock must not reach the 30 s after which a consumer gives up a request."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def own_cluster() -> Iterator[EmbeddedCluster]:
    """A cluster that the test may stop."""
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def world(cluster: EmbeddedCluster) -> World:
    return World(cluster)


@pytest.fixture
def clock() -> LeapingClock:
    return LeapingClock()


@pytest.fixture
def leaping(clock: LeapingClock) -> Iterator[World]:
    """A topic with one partition on a cluster whose locks end when the test moves the clock."""
    with EmbeddedCluster(settings=SETTINGS, clock=clock) as cluster:
        yield World(cluster, {"share.record.lock.duration.ms": str(LOCK_MS)}, partitions=1, clock=clock)


@pytest.fixture(autouse=True)
def no_thread_is_left_behind() -> Iterator[None]:
    yield
    gc.collect()
    assert [t.name for t in threading.enumerate() if t.name.startswith("share-")] == []


def test_records_come_once_and_are_acknowledged_when_spark_goes_on(world: World) -> None:
    world.produce(range(5_000))
    with world.query(maxRecordsPerBatch=2_000) as query:
        tables = query.batches(5_000)
        assert numbers(*tables) == list(range(5_000))
        assert all(table.num_rows <= 2_000 for table in tables)
        share = query.until(lambda share: share["lag"] == 0)
        assert (share["acquired"], share["accepted"], share["lock_lost"]) == (5_000, 5_000, 0)
        assert (share["in_flight"], share["max_delivery_count"], share["batches"]) == (0, 1, len(tables))
    with world.query(pollTimeoutMs=1_000) as query:
        query.acknowledge()
        assert query.share["acquired"] == 0


def test_a_batch_is_not_acknowledged_before_its_end_is_the_start(world: World) -> None:
    world.produce(range(10))
    with world.query() as query:
        first = query.batch()
        end, query.start = query.start, query.source.initial_offset()
        assert query.latest() == end, "the same batch, as Spark did not finish it"
        assert query.read(end).equals(query.read(end))
        assert query.read(end).equals(first)
        assert query.share["accepted"] == 0
        query.source.latest_offset({**end, "run": "another", "seq": 99}, query.limits)
        assert query.share["accepted"] == 0, "the offset of another run says nothing of this one"
        query.start = end
        query.acknowledge()
        assert query.share["accepted"] == 10
        with pytest.raises(IllegalStateError, match="was acknowledged or never sealed"):
            query.source.payloads(query.source.initial_offset(), end)


def test_what_an_earlier_run_sealed_is_planned_empty_and_comes_again(world: World) -> None:
    world.produce(range(100))
    with world.query() as query:
        before = query.batch()
        unfinished = query.start
    with world.query(unfinished) as query:
        assert query.source.payloads(SourceOffset(0, "another").to_json(), unfinished) == []
        mark = query.latest()
        assert (mark["seq"], mark["mark"], query.read(mark).num_rows) == (2, True, 0)
        query.start = mark
        again = [query.batch()]
        assert (query.start["seq"], again[0].num_rows) == (3, 1), "one record shows whether the sink works"
        again += query.batches(99)
        assert numbers(*again) == numbers(before) == list(range(100))
        assert {count for table in again for count in table["delivery_count"].to_pylist()} == {2}
        assert query.share["accepted"] == 100


def test_a_lock_that_was_lost_is_counted_and_the_records_come_again(leaping: World, clock: LeapingClock) -> None:
    not_renewed = {"kafka.auto.renew": "false", "kafka.prefetch.batches": "0"}
    with leaping.query(None, **not_renewed) as query, leaping.rival() as rival:
        read_one(leaping, query)
        leaping.produce(range(1, 51))
        assert numbers(query.batch()) == list(range(1, 51))
        assert not rival.poll(1), "they are the query's, which asks for no more"
        clock.leap(LOCK_MS)
        stolen = rival.poll(20)
        assert {record.delivery_count for record in stolen} == {2}
        query.latest()
        share = query.share
        assert (share["lock_lost"], share["accepted"]) == (50, 1)
        rival.close()
        assert numbers(*query.batches(50)) == list(range(1, 51))
        assert query.share["accepted"] == 51


def read_one(world: World, query: Query) -> None:
    """Read the record that a run acquires alone, so that the next fetch acquires all that is there."""
    world.produce(range(1))
    assert numbers(*query.batches(1)) == [0]


def test_what_expired_before_its_turn_does_not_go_to_spark(leaping: World, clock: LeapingClock) -> None:
    not_renewed = {"kafka.auto.renew": "false", "kafka.prefetch.batches": "0", "kafka.max.poll.records": "50"}
    with leaping.query(None, **not_renewed) as query:
        read_one(leaping, query)
        leaping.produce(range(1, 51))
        query.limits = BatchLimits(10, 1 << 20)
        query.batch()
        clock.leap(LOCK_MS)
        wait_until(leaping.is_no_lock_old, 20)
        query.limits = BatchLimits(50, 1 << 20)
        assert len(numbers(*query.batches(50))) == 50
        share = query.share
        assert (share["lock_lost"], share["expired"], share["accepted"]) == (10, 40, 51)


def test_a_long_batch_keeps_its_locks(leaping: World, clock: LeapingClock) -> None:
    with leaping.query() as query, leaping.rival() as rival:
        read_one(leaping, query)
        leaping.produce(range(1, 51))
        query.batch()
        for _ in range(3):
            is_renewed = renewal_of(query)
            clock.leap(LOCK_MS * 6 // 10)
            wait_until(is_renewed, 20)
            assert leaping.are_locks_fresh()
        assert not rival.poll(0.5), "almost two locks later they are still the query's"
        query.acknowledge()
        assert query.share["accepted"] == 51
        assert query.share["renewals"] > 0


def renewal_of(query: Query) -> Callable[[], bool]:
    """Whether the query has renewed its locks since now.

    That brokers have is not enough for another leap: an answer that the query gets after the lock is too late for it.
    """
    before = query.share["renewals"]
    return lambda: query.share["renewals"] > before


def test_the_limits_of_a_batch_and_of_its_partitions(world: World) -> None:
    world.produce(range(120), value=lambda _: bytes(100_000))
    with world.query(maxBytesPerBatch="4m", numPartitions=3) as query:
        tables = query.batches(120)
        assert numbers(*tables) == list(range(120))
        assert max(table.nbytes for table in tables) <= 4 * 1024 * 1024
    world.produce(range(120, 240), value=lambda _: bytes(100_000))
    with world.query(numPartitions=1) as query:
        end = query.latest(wants_all=True)
        payloads = query.source.payloads(query.start, end)
        assert max(map(len, payloads)) <= 8 * 1024 * 1024 + 4096
    world.produce(range(240, 242), value=lambda _: bytes(900_000))
    with world.query(maxBytesPerBatch="64k") as query:
        assert [t.num_rows for t in query.batches(122)] == [1] * 122, "a large record is a batch of its own"


def test_small_batches_have_few_partitions(world: World) -> None:
    world.produce(range(2_100))
    with world.query(numPartitions=4, maxRecordsPerBatch=100_000) as query:
        query.limits = BatchLimits(100, 1 << 26)
        sizes = [len(query.source.payloads(query.start, query.latest(wants_all=True)))]
        query.start = query.latest()
        query.limits = BatchLimits(None, 1 << 26)
        sizes.append(len(query.source.payloads(query.start, query.latest())))
        assert sizes == [1, 4]


def test_available_now_reads_what_is_there_and_ends(world: World) -> None:
    world.produce(range(1_000))
    with world.query(maxRecordsPerBatch=300) as query:
        query.source.prepare_available_now()
        world.produce(range(1_000, 1_500))
        assert drained(query) == list(range(1_000))
        assert query.share["accepted"] == 1_000
    with world.query() as query:
        assert numbers(*query.batches(500)) == list(range(1_000, 1_500))


def drained(query: Query) -> list[int]:
    """Everything that comes until nothing comes any more."""
    tables = []
    while (end := query.latest()) != query.start:
        tables.append(query.read(end))
        query.start = end
    return numbers(*tables)


def test_available_now_waits_for_what_others_hold(world: World) -> None:
    world.produce(range(100))
    rival = world.rival()
    held = len(rival.poll(10))
    leaving = threading.Timer(1.5, rival.close)
    with world.query(pollTimeoutMs=100) as query:
        leaving.start()
        query.source.prepare_available_now()
        assert drained(query) == list(range(100))
        assert query.share["max_delivery_count"] == 2, f"{held} records were the rival's before"
    leaving.join()


def test_available_now_waits_for_records_that_are_held_back(world: World) -> None:
    world.configure({"share.delivery.count.limit": "3"})
    world.produce(range(100))
    with world.query(maxRecordsPerBatch=10) as query:
        query.batch()
    with world.query(maxRecordsPerBatch=10, pollTimeoutMs=50, backoffMs=800) as query:
        query.source.prepare_available_now()
        assert drained(query) == list(range(100))
        assert query.share["accepted"] == 100


def test_available_now_does_not_wait_for_ever(cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture) -> None:
    world = World(cluster, partitions=1)
    world.produce(range(100))
    with world.rival() as rival, world.query(pollTimeoutMs=100, availableNowTimeoutMs=700) as query:
        assert len(rival.poll(10)) == 100
        query.source.prepare_available_now()
        assert drained(query) == []
    assert "No record has arrived for 1 s (the option availableNowTimeoutMs)" in caplog.text
    assert "may not have finished all records" in caplog.text


@pytest.mark.parametrize("broker", ["is down", pytest.param("goes away", marks=pytest.mark.slow)])
def test_the_timeout_of_available_now_holds_without_a_broker(own_cluster: EmbeddedCluster, broker: str) -> None:
    world, clock = World(own_cluster), SystemClock()
    world.produce(range(20))
    with world.query(maxRecordsPerBatch=10, availableNowTimeoutMs=3_000) as query:
        if broker == "goes away":
            query.source.prepare_available_now()
            query.batch()
        own_cluster.stop_broker(1)
        began_ms = clock.now_ms()
        if broker == "is down":
            query.source.prepare_available_now()
        with pytest.raises(OperationTimeoutError):
            drained(query)
    assert clock.now_ms() - began_ms < 3_000 + 6_000, "of which 3 s are for leaving the group"


@pytest.mark.parametrize("batch", [10, 100])
def test_the_last_progress_of_available_now_has_no_lag(world: World, batch: int) -> None:
    world.produce(range(100))
    lags: list[tuple[int | None, int]] = []
    with world.query(maxRecordsPerBatch=batch) as query:
        query.source.prepare_available_now()
        while (end := query.latest()) != query.start:
            lags.append((query.share["lag"], query.share["in_flight"]))
            query.read(end)
            query.start = end
        assert query.share["accepted"] == 100
    assert lags[-1][0] == 0
    assert all(lag is not None and 0 <= lag <= 100 - in_flight for lag, in_flight in lags)


def test_the_lag_of_partitions_that_the_group_has_not_finished_anything_of(cluster: EmbeddedCluster) -> None:
    world = World(cluster, partitions=2)
    world.produce(range(0, 20, 2))
    with world.query() as query:
        query.batches(10)
        query.until(lambda share: share["lag"] == 0)
        world.produce(range(1, 41, 2))
        query.batch()
        assert query.share["lag"] == 20 - query.share["in_flight"]


def test_available_now_ends_on_an_empty_topic(world: World) -> None:
    with world.query(pollTimeoutMs=100) as query:
        query.source.prepare_available_now()
        assert query.latest() == query.start


def test_records_near_their_limit_are_copied_before_spark_gets_them(world: World) -> None:
    world.cluster.create_topic(f"dead-{world.group}", 1)
    world.configure({"share.delivery.count.limit": "3"})
    world.produce(range(20))
    options: dict[str, Any] = {"deadLetterTopic": f"dead-{world.group}", "backoffMs": 1}
    with world.query(**options) as query:
        query.batch()
    with world.query(**options) as query:
        query.batches(20)
        assert query.share["dead_letters"] == 20
        assert query.share["max_delivery_count"] == 2
    with world.rival(f"dead-{world.group}", "dead-letters") as rival:
        letters: list[ShareRecord] = []
        while len(letters) < 20:
            records = rival.poll(10)
            letters += records
            rival.acknowledge_all(records)
        assert sorted(int(letter.key or b"") for letter in letters) == list(range(20))
        headers = dict(letters[0].headers)
        assert headers["__dlq.errors.topic"] == world.topic.encode()
        assert headers["__dlq.errors.delivery.count"] == b"2"


def test_records_on_their_last_delivery_go_alone(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.configure({"share.delivery.count.limit": "2"})
    world.produce(range(6))
    with world.query() as query:
        query.batch()
    with world.query(backoffMs=1) as query:
        tables = query.batches(6)
        assert [table.num_rows for table in tables] == [1] * 6
        assert query.share["accepted"] == 6
        assert query.share["last_deliveries"] == 6
    assert "delivered for the last time (2 of 2)" in caplog.text


def test_the_group_s_configuration_is_looked_at(cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture) -> None:
    world = World(cluster, {"share.auto.offset.reset": "latest"})
    with world.query(pollTimeoutMs=10) as query:
        query.latest()
        assert any("share.auto.offset.reset" in note for note in query.share["notes"])
    assert "share.auto.offset.reset" in caplog.text


def test_a_broker_that_was_never_there_fails_the_query(world: World) -> None:
    options: dict[str, Any] = {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "kafka.default.api.timeout.ms": 300,
        "pollTimeoutMs": 2_000,
    }
    with world.query(**options) as query, pytest.raises(BootstrapError):
        query.latest()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run gives the group a moment to let it in, not half a minute, and a second to answer its questions."""
    monkeypatch.setattr(source, "JOIN_TIMEOUT_MS", 200)
    monkeypatch.setattr(source, "TIMEOUT_MS", 1_000)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("trigger", ["availableNow", "once"])
def test_a_run_that_no_broker_answers_does_not_end_as_if_there_were_no_records(world: World, trigger: str) -> None:
    options: dict[str, Any] = {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "pollTimeoutMs": 50,
        "availableNowTimeoutMs": 800,
    }
    with world.query(**options) as query:
        if trigger == "availableNow":
            query.source.prepare_available_now()
        with pytest.raises(OperationTimeoutError, match=r"no partition; check that 127\.0\.0\.1:1 can be reached"):
            query.latest(wants_all=trigger == "once")


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_a_run_does_not_end_as_a_success_when_the_broker_goes_away(own_cluster: EmbeddedCluster) -> None:
    world = World(own_cluster)
    world.produce(range(100))
    with world.query(maxRecordsPerBatch=10, availableNowTimeoutMs=1_500) as query:
        query.source.prepare_available_now()
        assert query.batch().num_rows > 0
        own_cluster.stop_broker(1)
        with pytest.raises(OperationTimeoutError, match="do not answer"):
            drained(query)


@pytest.mark.usefixtures("impatient")
def test_a_run_waits_for_a_broker_that_comes_back(
    own_cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(own_cluster)
    world.produce(range(10))
    own_cluster.stop_broker(1)
    with world.query(pollTimeoutMs=50) as query:
        query.source.prepare_available_now()
        assert "The ends of the topics are unknown" in caplog.text
        looked = _after(query.source._is_through, lambda: own_cluster.start_broker(1))
        monkeypatch.setattr(query.source, "_is_through", looked)
        assert drained(query) == list(range(10))


def _after(function: Callable[[], Any], then: Callable[[], object]) -> Callable[[], Any]:
    """The function; after its first call something else is done once."""
    following = [then]

    def called() -> Any:
        result = function()
        while following:
            following.pop()()
        return result

    return called


def test_an_acknowledgement_that_fails_is_no_failure_of_the_query(world: World) -> None:
    world.produce(range(10))
    with world.query() as query:
        query.batch()
        rule = world.cluster.faults.on(ApiKey.SHARE_ACKNOWLEDGE, answer(ErrorCode.INVALID_REQUEST), times=1)
        query.latest()
        assert rule.hits == 1
        assert query.share["lock_lost"] == 10


def test_making_a_source_opens_nothing() -> None:
    before = threading.enumerate()
    options = {"kafka.bootstrap.servers": "nowhere.invalid:1", "kafka.group.id": "g", "subscribe": "t"}
    source = ShareSource(source_options(options), ("value",))
    assert source.initial_offset()["seq"] == 0
    assert source.payloads({"v": 1, "seq": 1, "run": "a"}, {"v": 1, "seq": 2, "run": "a"}) == []
    assert threading.enumerate() == before
    source.close()


def test_an_offset_of_another_source_is_refused() -> None:
    with pytest.raises(IllegalStateError, match="another checkpointLocation"):
        SourceOffset.from_json({"logOffset": 3})
    assert SourceOffset.from_json(SourceOffset(3, "r").to_json()) == SourceOffset(3, "r")


def test_a_topic_that_does_not_exist_is_not_created_and_read_as_empty(cluster: EmbeddedCluster) -> None:
    world = World(cluster)
    with (
        world.query(subscribe=f"{world.topic},ordes") as query,
        pytest.raises(UnknownTopicOrPartitionError, match="No topic 'ordes' on this cluster: correct the name"),
    ):
        query.latest()
    with pytest.raises(UnknownTopicOrPartitionError), world.query(subscribe="ordes") as query:
        query.latest()


def test_available_now_on_a_group_that_skips_the_backlog_ends_at_once(cluster: EmbeddedCluster) -> None:
    world = World(cluster, {"share.auto.offset.reset": "latest"})
    world.produce(range(20))
    clock = SystemClock()
    with world.query() as query:
        began_ms = clock.now_ms()
        query.source.prepare_available_now()
        assert query.latest() == query.start
        assert clock.now_ms() - began_ms < 20_000, "availableNowTimeoutMs is 60 s"


def test_available_now_waits_for_records_that_a_member_of_such_a_group_holds(cluster: EmbeddedCluster) -> None:
    """Nobody has acknowledged anything in the partition, so brokers tell no lag."""
    world = World(cluster, {"share.auto.offset.reset": "latest"}, partitions=1)
    with world.rival() as rival, world.query(pollTimeoutMs=100) as query:
        world.configure(world.group_configs)
        held = first_records(world, rival)
        query.source.prepare_available_now()
        leaving = threading.Timer(1.0, rival.close)
        leaving.start()
        assert drained(query) == held
        assert query.share["max_delivery_count"] == 2, "they were the rival's before"
    leaving.join()


def first_records(world: World, consumer: KafkaShareConsumer) -> list[int]:
    """Produce one record after another until a consumer whose group begins at the end has one: all from this one on."""
    for number in range(100):
        world.produce(range(number, number + 1))
        if records := consumer.poll(1.0):
            return list(range(int(records[0].key or b""), number + 1))
    raise AssertionError("the consumer got none of 100 records")


def test_what_is_held_back_shows_in_the_progress(cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture) -> None:
    world = World(cluster, partitions=1)
    world.produce(range(3))
    for _ in range(4):
        with world.query(backoffMs=0) as query:
            query.batch()
    with world.query(query.start, pollTimeoutMs=20) as query:
        unfinished = {**query.start, "run": "another", "failures": 2}
        assert query.source.payloads(query.source.initial_offset(), unfinished) == []
        query.start = unfinished
        query.start = query.latest()
        assert query.latest() == query.start
        first = query.share["resumes_in_ms"]
        assert first > 10_000
        assert query.latest() == query.start
        assert 0 < query.share["resumes_in_ms"] < first, "the figures move"
        assert (query.share["acquired"], query.share["failed_runs"]) == (0, 3)
        assert query.share["failing_since_ms"] > 1_600_000_000_000
    assert "This query has ended without finishing a batch 3 times in a row. It waits 28.8 s" in caplog.text
    with world.query(query.start, pollTimeoutMs=20) as query:
        assert query.latest() == query.start, "it was stopped while it waited"
        assert query.share["failed_runs"] == 3
    with world.query(query.start, pollTimeoutMs=20, backoffMs=500) as query:
        query.source.payloads(query.source.initial_offset(), {**unfinished, "failures": 0})
        query.start = query.latest()
        query.latest()
    assert "This query has ended without finishing a batch 1 time in a row. It waits 0.5 s" in caplog.text
    with world.query(backoffMs=0) as query:
        assert query.batch().num_rows == 1, "the last delivery: one at a time, and no other is acquired"
        assert query.share["acquired"] == 1
    assert "holds 1 record on the last delivery, which the brokers archive" in caplog.text
