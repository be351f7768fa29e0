"""The processes of a worker divide a rate limit among them."""

import re
from pathlib import Path

import pytest

from tests.support.conditions import wait_until
from tests.support.workers.worker_programs import Start
from tests.support.workers.worker_scenes import WorkerScene

pytestmark = pytest.mark.slow

LIMITED = """
import os
from kafka_groups import RateLimit, Worker

worker = Worker(os.environ["GROUP"], bootstrap_servers=os.environ["SERVERS"], shutdown_timeout=60)

@worker.handler(os.environ["TOPIC"], rate_limit=RateLimit(2, per=3600, burst=2))
def handle(value):
    with open("handled", "a") as file:
        file.write(f"{os.getpid()}\\n")
"""

WAITED = re.compile(r'^kafka_groups_worker_rate_limited_seconds_total\{.*process="(\d)"\} (\S+)$', re.MULTILINE)


def test_two_processes_have_half_of_it_each(scene: WorkerScene, start: Start, tmp_path: Path) -> None:
    (tmp_path / "limited.py").write_text(LIMITED)
    scene.send(*[b""] * 20)
    begun = start(scene, "limited:worker", "--processes", "2", "--probe-address", "127.0.0.1:{port}")

    def have_waited() -> bool:
        waited = dict(WAITED.findall(begun.asked("/metrics")[1]))
        return len(waited) == 2 and all(float(seconds) > 1 for seconds in waited.values())

    wait_until(have_waited, 60)
    begun.wait_until_ready()
    handled = (tmp_path / "handled").read_text().split()
    assert len(handled) == len(set(handled)) == 2, "each has one token, and the next comes in an hour"
    assert begun.stopped(within_s=30) == 0, "records that cannot start in time are released at once"
