"""The demo of streams as users run it: processes join late and are killed, and each flight has one result."""

import subprocess
import sys
from pathlib import Path

import pytest

from kafka_groups.testing.kafka_process import KafkaProcess

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-W", "error", "-m", "kafka_groups.cli", "streams", "demo", "--flights", "30000"]


def check(page: Path, *arguments: str) -> None:
    command = [*COMMAND, "--page", str(page), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "killed with SIGKILL after" in done.stdout
    assert "Every flight has exactly one result" in done.stdout
    assert done.stderr == ""
    assert "<h1>Delays of 30,000 flights, exactly once</h1>" in page.read_text(encoding="utf-8")


@pytest.mark.timeout(420)
def test_every_flight_has_one_result_on_the_embedded_broker(tmp_path: Path) -> None:
    check(tmp_path / "page.html")


@pytest.mark.long
@pytest.mark.timeout(420)
@pytest.mark.real_kafka
def test_every_flight_has_one_result_on_a_real_kafka(real_kafka: KafkaProcess, tmp_path: Path) -> None:
    check(tmp_path / "page.html", "--bootstrap-servers", real_kafka.bootstrap_servers)


def test_too_few_flights_are_refused() -> None:
    done = subprocess.run([*COMMAND[:-1], "10"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "3000" in done.stderr
