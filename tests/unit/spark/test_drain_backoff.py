"""Drains whose blocks fail again and again: they wait in virtual time, and hold nothing meanwhile."""

from collections.abc import Iterator
from typing import Any, cast

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.broker.faults import DROP_CONNECTION
from kafka_groups.errors import IllegalStateError
from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.share.parts import Environment
from kafka_groups.spark.drain_backoff import DrainBackoff
from kafka_groups.spark.draining import Drain, LockLostError
from tests.unit.share.clusters import SETTINGS
from tests.unit.spark.test_draining import Topic


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
        self.waits: list[float] = []
        self.members: list[int] = []

    def now_ms(self) -> int:
        return super().now_ms() + self._skipped_ms

    def pause(self, seconds: float) -> None:
        self.waits.append(round(seconds, 1))
        self.members.append(len(self._topic.cluster.group(self._topic.group).members))
        self.skip(seconds)

    def skip(self, seconds: float) -> None:
        self._skipped_ms += round(seconds * 1000)


def drain_of(topic: Topic, **keywords: Any) -> tuple[Drain, SkippingClock]:
    clock = SkippingClock(topic)
    draining = topic.drain(environment=Environment(clock=clock), **keywords)
    draining._pause = clock.pause
    return draining, clock


def fail_in(draining: Drain, error: BaseException) -> list[int]:
    """Enter a block that fails; the delivery counts of its records."""
    with pytest.raises(type(error), match="mine"), draining as batch:
        raise error
    return list(batch.delivery_counts.tolist())


def test_blocks_that_fail_are_followed_by_longer_and_longer_waits_that_cost_no_delivery(
    cluster: EmbeddedCluster,
) -> None:
    topic = Topic(cluster)
    topic.produce(b"a", b"b")
    draining, clock = drain_of(topic, backoff_seconds=50)
    assert [fail_in(draining, ValueError("mine")) for _ in range(4)] == [[1, 1], [2, 2], [3, 3], [4, 4]]
    assert clock.waits == pytest.approx([8.3, 50, 300], abs=0.2)
    with draining as batch:
        assert batch.delivery_counts.tolist() == [5, 5], "one delivery for each block that failed, none for waiting"
    assert clock.waits[3:] == pytest.approx([300], abs=0.2)
    assert clock.members == [0] * 4, "a drain that waits has left the group"
    assert draining.result.total.accepted == 2
    with draining as batch:
        assert not batch
    assert len(clock.waits) == 4, "a block that succeeded is followed by no wait"
    fail_in(draining, ValueError("mine"))
    fail_in(draining, ValueError("mine"))
    assert clock.waits[4:] == pytest.approx([8.3], abs=0.2), "and the next series begins with the shortest"


def test_the_time_since_the_failure_counts_and_an_interruption_is_no_failure(cluster: EmbeddedCluster) -> None:
    topic = Topic(cluster)
    topic.produce(b"a")
    draining, clock = drain_of(topic, backoff_seconds=60)
    assert fail_in(draining, KeyboardInterrupt("mine")) == [1]
    assert fail_in(draining, ValueError("mine")) == [2]
    clock.skip(7)
    assert fail_in(draining, KeyboardInterrupt("mine")) == [3]
    assert clock.waits == pytest.approx([3], abs=0.5)
    assert fail_in(draining, ValueError("mine")) == [4]
    with draining:
        pass
    assert clock.waits[1:] == pytest.approx([60], abs=0.5), "the second failure of the series"


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


def test_without_back_off_there_is_no_wait() -> None:
    backoff = DrainBackoff(0)
    backoff.failed(5)
    backoff.failed(6)
    assert (backoff.failures, backoff.remaining_ms(6)) == (2, 0)
