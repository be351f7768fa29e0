"""The path of a newcomer: a worker in one file, topics that it creates, kills, results, dead letters from the shell."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kafka_groups.testing.kafka_process import free_ports
from tests.docs.blocks import ROOT
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.workers.worker_brokers import WorkerBroker, requested_broker

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

WAIT_S = 60
PROGRAM = """
from pathlib import Path
from time import time

from kafka_groups import Reject, Retry, RetryTopics, Worker, current_attempt, serdes

worker = Worker("GROUP", bootstrap_servers="SERVERS", start="earliest")


@worker.handler(
    "TOPIC", value=serdes.string, output="TOPIC.out", dead_letters="TOPIC.dead", retry_topics=RetryTopics("TOPIC.retry")
)
def invoice(order: str) -> bytes:
    with Path("attempts").open("a") as attempts:
        attempts.write(f"{order} {current_attempt().number} {time()}\\n")
    if order == "later" and current_attempt().number == 1:
        raise Retry(after=60)
    if order == "bad" and not Path("repaired").exists():
        raise Reject("no such product")
    return f"invoice for {order}".encode()
"""


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.real_kafka)])
def broker(request: pytest.FixtureRequest) -> Iterator[WorkerBroker]:
    with requested_broker(request) as requested:
        yield requested


class Newcomer:
    """A folder with a program, and a shell in it."""

    def __init__(self, broker: WorkerBroker, folder: Path) -> None:
        self.broker, self.folder = broker, folder
        self.topic = broker.new_topic()
        (self._port,) = free_ports(Random(), 1)
        program = PROGRAM.replace("TOPIC", self.topic.name).replace("GROUP", unique("invoices"))
        (folder / "shop.py").write_text(program.replace("SERVERS", broker.servers))

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "kafka_groups.cli", *words]

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(ROOT), "KAFKA_GROUPS_BOOTSTRAP_SERVERS": self.broker.servers}

    @contextmanager
    def worker(self) -> Iterator[None]:
        """Run the worker until the end of the block, at which it is killed."""
        options = ["shop:worker", "--create-topics", "--probe-address", f"127.0.0.1:{self._port}"]
        with (
            (self.folder / "log").open("a") as log,
            subprocess.Popen(
                self.command("worker", *options), cwd=self.folder, env=self.environment, stdout=log, stderr=log
            ) as process,
        ):
            try:
                wait_until(self._is_ready, 60, self._log)
                yield
            finally:
                process.kill()

    def _log(self) -> str:
        return (self.folder / "log").read_text()

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def attempts(self, order: str) -> list[tuple[int, float]]:
        """The numbers and times of the attempts of an order."""
        path = self.folder / "attempts"
        lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        return [(int(number), float(at)) for name, number, at in lines if name == order]

    def outputs(self) -> list[bytes | None]:
        """The results, of which kills may duplicate some."""
        return [message.value() for message in self.broker.messages(f"{self.topic.name}.out")]

    def dead_letters(self, name: str, *arguments: str) -> Any:
        """Run `kafka-groups dead-letters`, and return the items of its document."""
        words = self.command("dead-letters", name, f"{self.topic.name}.dead", *arguments, "--json")
        done = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["items"]


def test_a_newcomer_gets_results_and_repairs_what_failed(broker: WorkerBroker, tmp_path: Path) -> None:
    newcomer = Newcomer(broker, tmp_path)
    broker.produce(newcomer.topic, [b"good", b"later", b"bad"])
    with newcomer.worker():
        wait_until(lambda: len(newcomer.attempts("later")) == 1 and newcomer.dead_letters("list"), 60)
    with newcomer.worker():
        pass
    with newcomer.worker():
        wait_until(lambda: b"invoice for later" in newcomer.outputs(), 2 * WAIT_S, newcomer.outputs)
        (_, first), *_, (number, last) = newcomer.attempts("later")
        assert (number, last - first >= WAIT_S) == (2, True)
        (letter,) = newcomer.dead_letters("list")
        assert (letter["reason"], letter["origin"]["topic"]) == ("no such product", newcomer.topic.name)
        (tmp_path / "repaired").touch()
        assert newcomer.dead_letters("send-again", "--yes") == [{"to": newcomer.topic.name, "count": 1}]
        wait_until(lambda: b"invoice for bad" in newcomer.outputs(), 60, newcomer.outputs)
    assert set(newcomer.outputs()) == {b"invoice for good", b"invoice for later", b"invoice for bad"}
