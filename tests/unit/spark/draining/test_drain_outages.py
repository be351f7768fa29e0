"""Drains while the sink is down: they wait in virtual time, and no record loses its last delivery."""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import DROP_CONNECTION
from kafka_groups.errors import IllegalStateError, KafkaGroupsError
from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.spark.draining.drain import Drain, DrainedBatch, LockLostError, check_running
from tests.unit.share.clusters import SETTINGS
from tests.unit.spark.draining.test_drain import Topic


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(settings=SETTINGS) as cluster:
        yield cluster


class SkippingClock(SystemClock):
    """A clock that runs on, and that a drain's waits move forward at once.

    Args:
        topic: Where the drain takes records from.

    Attributes:
        waits: The waits in seconds, rounded.
        members: How many members the group had during each wait.
    """

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._skipped_ms = 0
        self._is_new = True
        self.waits: list[float] = []
        self.members: list[int] = []

    def now_ms(self) -> int:
        return super().now_ms() + self._skipped_ms

    def pause(self, seconds: float) -> None:
        if self._is_new:
            self._is_new = False
            self.waits.append(0)
            self.members.append(len(self._topic.cluster.group(self._topic.group).members))
        self.waits[-1] += seconds
        self.skip(seconds)

    def then(self, begin: Callable[[], None]) -> None:
        """Begin something that may wait."""
        self._is_new = True
        begin()

    def skip(self, seconds: float) -> None:
        self._skipped_ms += round(seconds * 1000)


def drain_of(topic: Topic, **keywords: Any) -> tuple[Drain, SkippingClock]:
    clock = SkippingClock(topic)
    draining = topic.drain(**keywords)
    draining._clock, draining._pause = clock, clock.pause
    draining._wait_after_failures = partial(clock.then, draining._wait_after_failures)  # type: ignore[method-assign]
    return draining, clock


def fail_in(draining: Drain, error: BaseException) -> list[int]:
    """Enter a block that fails; the delivery counts of its records."""
    with pytest.raises(type(error), match="mine"), draining as batch:
        raise error
    return list(batch.delivery_counts.tolist())


def limited(cluster: EmbeddedCluster, limit: int, records: int) -> Topic:
    topic = Topic(cluster)
    cluster.alter_group_configs(topic.group, {"share.delivery.count.limit": str(limit)})
    topic.produce(*(b"%d" % number for number in range(records)))
    return topic


def until_empty(draining: Drain, store: Any, most_blocks: int = 500) -> None:
    """The loop that the how-to guide shows."""
    is_empty = False
    for _ in range(most_blocks):
        try:
            with draining as batch:
                is_empty = not batch
                store(batch)
        except KafkaGroupsError:
            raise
        except Exception:
            logging.getLogger("job").exception("The batch was not stored and will be redelivered")
        if is_empty:
            return
    raise AssertionError(f"not empty after {most_blocks} blocks")


@pytest.mark.parametrize("limit", [3, *(pytest.param(limit, marks=pytest.mark.slow) for limit in (2, 5))])
@pytest.mark.parametrize("outage_s", [1, 60, 7_200])
def test_an_outage_of_any_length_loses_nothing(cluster: EmbeddedCluster, limit: int, outage_s: int) -> None:
    topic = limited(cluster, limit, 500)
    draining, clock = drain_of(topic, idle_seconds=0.3)
    mended_ms = clock.now_ms() + outage_s * 1000
    stored: set[bytes] = set()
    counts: list[int] = []

    def store(batch: DrainedBatch) -> None:
        counts.extend(batch.delivery_counts.tolist())
        if clock.now_ms() < mended_ms:
            raise ConnectionError("the sink is down")
        stored.update(batch.table["value"].to_pylist())

    until_empty(draining, store)
    assert stored == {b"%d" % number for number in range(500)}
    assert counts.count(1) == 500, "each record is acquired once, and then one is tried at a time"
    assert draining.held is None
    assert max(clock.waits, default=0) <= 300.5


def test_failed_blocks_are_followed_by_longer_waits_and_tries_with_one_record(cluster: EmbeddedCluster) -> None:
    topic = limited(cluster, 5, 2)
    draining, clock = drain_of(topic)
    error = ValueError("mine")
    assert [fail_in(draining, error) for _ in range(4)] == [[1, 1], [2], [3], [4]]
    assert clock.waits == pytest.approx([0.8, 4.8, 28.8], abs=0.2)
    assert clock.members == [0] * 3, "a drain that waits without records has left the group"
    assert [fail_in(draining, error) for _ in range(4)] == [[5], [2], [5], [3]]
    held = draining.held
    assert held is not None
    assert (held.held, held.failures, held.error) == (1, 8, "ValueError: mine")
    assert clock.waits[3:] == pytest.approx([172.8, 300, 300, 300], abs=0.5)
    with draining as batch:
        assert batch.delivery_counts.tolist() == [5], "the record on its last delivery is still in hand"
    assert topic.drain().held is None
    with draining as batch:
        assert batch.delivery_counts.tolist() == [4], "no longer one at a time"
    assert draining.result.total.accepted == 1
    with draining as batch:
        assert not batch
    fail_count = len(clock.waits)
    topic.produce(b"c")
    fail_in(draining, error)
    fail_in(draining, error)
    assert clock.waits[fail_count:] == pytest.approx([0.8], abs=0.2), "the next series begins with the shortest"


def test_a_last_delivery_is_rejected_if_it_fails_after_others_succeeded(cluster: EmbeddedCluster) -> None:
    topic = limited(cluster, 3, 20)
    draining, _ = drain_of(topic)
    stored: set[bytes] = set()

    def store(batch: DrainedBatch) -> None:
        values = batch.table["value"].to_pylist()
        if b"0" in values:
            raise ValueError("a bad record")
        stored.update(values)

    until_empty(draining, store)
    assert stored == {b"%d" % number for number in range(1, 20)}


def test_an_interrupted_block_keeps_last_deliveries_too(cluster: EmbeddedCluster) -> None:
    topic = limited(cluster, 2, 1)
    draining, _ = drain_of(topic)
    assert fail_in(draining, ValueError("mine")) == [1]
    assert fail_in(draining, KeyboardInterrupt("mine")) == [2]
    with draining as batch:
        assert batch.delivery_counts.tolist() == [2]
    assert draining.result.total.accepted == 1


def test_a_new_drain_waits_for_the_operator_before_it_risks_a_last_delivery(
    cluster: EmbeddedCluster, tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    topic = limited(cluster, 2, 5)
    fail_in(topic.drain(), ValueError("mine"))
    mended = tmp_path / "mended"
    draining, clock = drain_of(topic, go_on_file=str(mended))

    def touch(seconds: float) -> None:
        clock.pause(seconds)
        if sum(clock.waits) > 3_600:
            mended.touch()

    draining._pause = touch
    with draining as batch:
        assert len(batch) == 1, "no more than one record is at risk"
    with draining as batch:
        assert len(batch) == 4
    assert sum(clock.waits) > 3_600
    assert "It waits, so that they are not lost: call go_on()" in caplog.text


def test_an_operator_ends_the_wait_after_failures(cluster: EmbeddedCluster) -> None:
    draining, clock = drain_of(limited(cluster, 5, 1))
    for _ in range(4):
        fail_in(draining, ValueError("mine"))
    draining._pause = lambda seconds: draining.go_on()
    began_ms = clock.now_ms()
    with draining as batch:
        assert len(batch) == 1
    assert clock.now_ms() - began_ms < 20_000, "and not three minutes"


class DeadGateway:
    @property
    def _jsc(self) -> Any:
        raise ConnectionRefusedError("nobody there")


@pytest.mark.parametrize(
    "spark",
    [
        SimpleNamespace(_sc=SimpleNamespace(_jsc=None)),
        SimpleNamespace(_sc=DeadGateway()),
        SimpleNamespace(is_stopped=True),
    ],
)
def test_nothing_is_acquired_for_a_spark_that_has_ended(cluster: EmbeddedCluster, spark: Any) -> None:
    topic = limited(cluster, 5, 1)
    draining, _ = drain_of(topic)
    draining._spark = spark
    with pytest.raises(IllegalStateError, match="the drain acquires no records"), draining:
        pytest.fail("not entered")
    check_running(cast("Any", SimpleNamespace(version="4.2.0")))
    with topic.drain() as batch:
        assert batch.delivery_counts.tolist() == [1]


def test_the_time_since_the_failure_counts_and_an_interruption_is_no_failure(cluster: EmbeddedCluster) -> None:
    topic = Topic(cluster)
    topic.produce(b"a")
    draining, clock = drain_of(topic, backoff_seconds=3)
    assert fail_in(draining, KeyboardInterrupt("mine")) == [1]
    assert fail_in(draining, ValueError("mine")) == [2]
    assert fail_in(draining, ValueError("mine")) == [3]
    clock.skip(2)
    assert fail_in(draining, KeyboardInterrupt("mine")) == [4]
    assert clock.waits == pytest.approx([0.8, 1], abs=0.5)


def test_lost_locks_that_are_raised_are_failures_too(cluster: EmbeddedCluster) -> None:
    topic = Topic(cluster)
    topic.produce(b"a")
    draining, clock = drain_of(topic, on_lock_lost="raise")
    with pytest.raises(LockLostError), draining:
        rule = cluster.faults.on(ApiKey.SHARE_ACKNOWLEDGE, DROP_CONNECTION, times=1)
    cluster.faults.remove(rule)
    with draining as batch:
        assert batch.delivery_counts.tolist() == [2]
    assert clock.waits == pytest.approx([0.8], abs=0.2)


def test_records_that_were_acquired_for_a_block_that_could_not_begin_were_delivered_in_vain(
    cluster: EmbeddedCluster,
) -> None:
    topic = Topic(cluster)
    topic.produce(b"a")
    draining, clock = drain_of(topic)
    draining._note_unreadable = cast("Any", None)  # type: ignore[method-assign]
    with pytest.raises(TypeError), draining:
        pytest.fail("not entered")
    del draining._note_unreadable
    with draining as batch:
        assert batch.delivery_counts.tolist() == [2]
    assert clock.waits == pytest.approx([0.8], abs=0.2)


def test_a_block_within_a_block_of_the_same_drain_is_refused(cluster: EmbeddedCluster) -> None:
    draining, _ = drain_of(Topic(cluster))
    with draining as batch, pytest.raises(IllegalStateError, match="has not ended"), draining:
        pytest.fail("not entered")
    assert not batch
