"""An outage of all brokers, as librdkafka's clients tell it."""

from functools import partial

import pytest

from kafka_groups.broker.cluster import EmbeddedCluster
from kafka_groups.librdkafka.ordered_writer import OrderedWriter
from kafka_groups.librdkafka.partition_poller import PartitionPoller
from kafka_groups.net.clock import SystemClock
from kafka_groups.testing import FAST_SETTINGS
from kafka_groups.types import TopicPartition
from tests.support.conditions import wait_until

PLACE = TopicPartition("t", 0)
SECONDS = 8


@pytest.mark.slow
def test_an_outage_of_some_seconds_makes_a_handful_of_lines(caplog: pytest.LogCaptureFixture) -> None:
    """A client that has lost all brokers tries ten times a second, and used to log an error each time."""
    clock = SystemClock()
    with EmbeddedCluster(settings=FAST_SETTINGS) as cluster:
        cluster.create_topic("t", 1)
        config = {"bootstrap.servers": cluster.bootstrap_servers}
        pollers = [PartitionPoller(config, "g") for _ in range(3)]
        writer = OrderedWriter(config)
        for poller in pollers:
            poller.assign({PLACE: 0})

        def turn() -> bool:
            writer.write("t", b"k", b"v", 1, (), 0)
            writer.wait_for_room(0)
            for poller in pollers:
                poller.wait(0.02)
                poller.poll(100)
            return bool(caplog.records)

        writer.write("t", b"k", b"v", 1, (), 0)
        writer.flush(10)
        for poller in pollers:
            wait_until(partial(has_polled, poller))
        cluster.kill_broker(1)
        wait_until(turn, 60)
        end_ms = clock.now_ms() + SECONDS * 1_000
        wait_until(lambda: turn() and clock.now_ms() >= end_ms, 60)
        writer.close()
        for poller in pollers:
            poller.close()
    said = [(record.name, record.levelname) for record in caplog.records]
    assert set(said) == {("kafka_groups.librdkafka", "WARNING")}
    assert 2 <= len(said) <= 6


def has_polled(poller: PartitionPoller) -> bool:
    return poller.poll(100).count > 0
