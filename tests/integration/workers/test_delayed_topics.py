"""A handler with a delay on brokers: no record runs before its time."""

import pytest

from kafka_groups import ShareRecord
from kafka_groups.net.clock import SystemClock
from tests.support.conditions import wait_until
from tests.support.workers.worker_brokers import WorkerBroker
from tests.support.workers.worker_scenes import WorkerScene

pytestmark = pytest.mark.slow

CLOCK = SystemClock()
DELAY_S, RECORDS = 2, 20


def test_each_record_runs_when_its_delay_is_over(broker: WorkerBroker) -> None:
    scene = WorkerScene(broker)
    scene.topic = broker.new_topic(2, configs={"message.timestamp.type": "LogAppendTime"})
    worker, waits_ms = scene.worker(), dict[bytes, int]()

    @worker.handler(scene.name, delay=DELAY_S)
    def handle(value: bytes, record: ShareRecord[bytes, bytes]) -> None:
        waits_ms[value] = CLOCK.wall_ms() - (record.timestamp or 0)

    with worker:
        for number in range(RECORDS):
            scene.send(b"%d" % number, partition=number % 2)
        wait_until(lambda: len(waits_ms) == RECORDS, 60, lambda: waits_ms)
        scene.wait_until_done()
    assert min(waits_ms.values()) >= 1_000 * DELAY_S
