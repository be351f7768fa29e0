"""A worker sets where its group begins: with the first record, also if it has several processes."""

from datetime import timedelta
from pathlib import Path

import pytest

from kafka_groups import KafkaAdmin, Worker
from kafka_groups.errors import ConfigurationError
from kafka_groups.net.clock import SystemClock
from kafka_groups.protocol.record_builder import NewRecord
from tests.support.workers.worker_brokers import WorkerBroker
from tests.support.workers.worker_programs import Start
from tests.support.workers.worker_scenes import WorkerScene

pytestmark = pytest.mark.slow

RESET = "share.auto.offset.reset"

BEGINNING = """
import os
from kafka_groups import Worker

worker = Worker(os.environ["GROUP"], bootstrap_servers=os.environ["SERVERS"], start=os.environ["START"])

@worker.handler(os.environ["TOPIC"])
def handle(value):
    with open("handled", "a") as file:
        file.write(value.decode() + "\\n")
"""


@pytest.fixture
def scene(broker: WorkerBroker) -> WorkerScene:
    """A topic, and a group without a start of its own."""
    made = WorkerScene(broker, partitions=2)
    made.group_id = broker.fresh_group()
    return made


def own_start(scene: WorkerScene) -> str | None:
    """The group's own start."""
    with KafkaAdmin(bootstrap_servers=scene.broker.servers) as admin:
        value = admin.describe_group_configs([scene.group_id])[scene.group_id][RESET]
    return value.value if value.is_set else None


@pytest.mark.parametrize(("given", "reset"), [("earliest", "earliest"), (timedelta(hours=1), "by_duration:PT1H")])
def test_the_first_records_are_not_skipped(given: str | timedelta, reset: str, scene: WorkerScene) -> None:
    assert own_start(scene) is None
    now_ms = SystemClock().wall_ms()
    scene.send(NewRecord(value=b"a", timestamp_ms=now_ms))
    scene.send(NewRecord(value=b"b", timestamp_ms=now_ms), partition=1)
    worker, handled = scene.worker(start=given), list[bytes]()

    @worker.handler(scene.name)
    def handle(value: bytes) -> None:
        handled.append(value)

    assert [check.errors for check in worker.check()] == [[]]
    assert own_start(scene) is None
    with worker:
        scene.wait_until_done()
    assert sorted(handled) == [b"a", b"b"]
    assert own_start(scene) == reset


def test_another_start_is_refused(scene: WorkerScene) -> None:
    scene.broker.alter_group(scene.group_id, {RESET: "latest"})
    worker: Worker = scene.worker(start="earliest")
    worker.handler(scene.name)(print)
    with pytest.raises(ConfigurationError, match=f"{scene.group_id} has {RESET}=latest"), worker:
        pass
    assert own_start(scene) == "latest"


def test_the_parent_of_several_processes_sets_it_before_they_join(
    scene: WorkerScene, start: Start, tmp_path: Path
) -> None:
    (tmp_path / "beginning.py").write_text(BEGINNING)
    scene.send(b"a")
    scene.send(b"b", partition=1)
    begun = start(scene, "beginning:worker", "--processes", "2", environment={"START": "earliest"})
    scene.wait_until_done()
    assert begun.stopped() == 0, begun.log
    assert sorted((tmp_path / "handled").read_text().split()) == ["a", "b"]
    assert begun.log.count(f"Set {RESET}=earliest for the share group {scene.group_id}") == 1
    refused = start(scene, "beginning:worker", "--processes", "2", environment={"START": "latest"})
    assert refused.ended() == 2
    assert f"kafka-groups groups configs {scene.group_id} --set {RESET}=latest" in refused.log
