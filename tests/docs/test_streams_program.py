"""The program of the how-to guide about streams groups, as printed: restarts, retention, take-over and pauses."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_groups import KafkaAdmin, TopicPartition
from kafka_groups.testing import EmbeddedCluster, KafkaProcess
from tests.docs.blocks import ROOT, programs
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.targets import EMBEDDED_PROPERTIES

TIMEOUT_S = 60.0
SESSION_S = 1.5
GROUP = {"streams.session.timeout.ms": str(round(SESSION_S * 1000)), "streams.heartbeat.interval.ms": "500"}
PROGRAM = next(each for each in programs() if each.page.name == "streams-member.md" and each.stops_at_signals)


class Application:
    """Topic and group of one test, and its processes.

    Args:
        servers: The broker's address.
        directory: Where the program and its output go.
    """

    def __init__(self, servers: str, directory: Path) -> None:
        self.servers = servers
        self.topic, self.name = unique("orders"), unique("invoicing")
        self._directory = directory
        self._processes: list[subprocess.Popen[bytes]] = []
        self._produced = 0
        self._admin = AdminClient({"bootstrap.servers": servers, "log_level": 2})
        self._admin.create_topics([NewTopic(self.topic, 2)])[self.topic].result()
        with KafkaAdmin(bootstrap_servers=servers) as admin:
            admin.alter_group_configs({self.name: GROUP}).checked()

    def produce(self, count: int) -> None:
        """Write orders to both partitions in turn."""
        producer = Producer({"bootstrap.servers": self.servers, "log_level": 2})
        for number in range(self._produced, self._produced + count):
            producer.produce(self.topic, str(number), partition=number % 2)
        assert producer.flush(30) == 0
        self._produced += count

    def delete_before(self, offset: int) -> None:
        """Delete records, as retention does."""
        for deleted in self._admin.delete_records([Position(self.topic, at, offset) for at in (0, 1)]).values():
            deleted.result()

    def start(self, reset: str = "error") -> "subprocess.Popen[bytes]":
        """Start a process."""
        code = PROGRAM.code.replace("localhost:9092", self.servers).replace('"orders"', f'"{self.topic}"')
        code = code.replace('"invoicing"', f'"{self.name}"').replace('": "error"', f'": "{reset}"')
        number = len(self._processes)
        (path := self._directory / f"program-{number}.py").write_text(code)
        with self._output(number).open("wb") as output, self._errors(number).open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-W", "error", str(path)],
                stdout=output,
                stderr=errors,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
            )
        self._processes.append(process)
        return process

    def _output(self, number: int) -> Path:
        return self._directory / f"output-{number}"

    def _errors(self, number: int) -> Path:
        return self._directory / f"errors-{number}"

    def errors(self, process: "subprocess.Popen[bytes]") -> str:
        """What a process wrote to its standard error."""
        return self._errors(self._processes.index(process)).read_text()

    def seen(self, process: "subprocess.Popen[bytes]") -> list[int]:
        """The orders that a process has processed."""
        lines = self._output(self._processes.index(process)).read_text().splitlines(keepends=True)
        return [
            int(line.removeprefix("invoice for ")) for line in lines if line.endswith("\n")
        ]  # the last is written now

    def wait(self, process: "subprocess.Popen[bytes]", orders: range) -> None:
        """Wait until a process has processed these orders."""

        def has_seen() -> bool:
            assert process.poll() is None, self.errors(process)
            return set(orders) <= set(self.seen(process))

        wait_until(has_seen, TIMEOUT_S)

    def committed(self) -> int:
        """The sum of the committed offsets."""
        partitions = [TopicPartition(self.topic, at) for at in (0, 1)]
        with KafkaAdmin(bootstrap_servers=self.servers) as admin:
            offsets = admin.describe_streams_group_offsets({self.name: partitions}).values[self.name].values
        return sum(each.offset or 0 for each in offsets.values())

    def wait_until_committed(self) -> None:
        """Wait until all orders are committed."""
        wait_until(lambda: self.committed() == self._produced, TIMEOUT_S)

    def end(self, process: "subprocess.Popen[bytes]") -> None:
        """Have a process leave, and check that it ends well."""
        process.terminate()
        assert process.wait(TIMEOUT_S) == 0, self.errors(process)

    def kill_all(self) -> None:
        """Leave nothing behind."""
        for process in self._processes:
            process.kill()
            process.wait()


BROKERS = ("embedded", pytest.param("kafka", marks=[pytest.mark.real_kafka, pytest.mark.slow]))


@pytest.fixture(params=BROKERS)
def application(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Application]:
    """An application without processes, on an embedded broker and on a real Kafka."""
    if request.param == "kafka":
        kafka: KafkaProcess = request.getfixturevalue("real_kafka")
        yield from applications(kafka.bootstrap_servers, tmp_path)
        return
    with EmbeddedCluster(settings={**EMBEDDED_PROPERTIES, "group.streams.assignment.interval.ms": "0"}) as cluster:
        yield from applications(cluster.bootstrap_servers, tmp_path)


def applications(servers: str, directory: Path) -> Iterator[Application]:
    application = Application(servers, directory)
    yield application
    application.kill_all()


def test_restart_repeats_nothing_that_was_committed(application: Application) -> None:
    application.produce(50)
    first = application.start()
    application.wait(first, range(50))
    application.wait_until_committed()
    first.kill()
    application.produce(10)
    second = application.start()
    application.wait(second, range(50, 60))
    assert sorted(application.seen(second)) == list(range(50, 60))
    application.end(second)


@pytest.mark.slow
def test_records_that_retention_has_deleted_are_an_error_until_somebody_decides(application: Application) -> None:
    application.produce(20)
    first = application.start()
    application.wait(first, range(20))
    application.wait_until_committed()
    application.end(first)
    application.produce(20)
    application.delete_before(15)  # of 20 in each partition, of which 10 were processed
    second = application.start()
    assert second.wait(TIMEOUT_S) == 1
    assert "KafkaException" in application.errors(second)
    assert "out of range" in application.errors(second)
    assert application.seen(second) == []
    third = application.start(reset="earliest")
    application.wait(third, range(30, 40))
    application.wait_until_committed()
    assert sorted(application.seen(third)) == list(range(30, 40))
    application.end(third)


def test_topic_whose_first_records_are_gone_is_read_from_its_beginning(application: Application) -> None:
    application.produce(20)
    application.delete_before(5)
    process = application.start()
    application.wait(process, range(10, 20))
    application.wait_until_committed()
    application.end(process)


@pytest.mark.slow
def test_tasks_of_processes_that_are_paused_or_killed_are_taken_over(application: Application) -> None:
    first, second = application.start(), application.start()

    def both_work() -> bool:
        application.produce(2)
        return bool(application.seen(first) and application.seen(second))

    wait_until(both_work, TIMEOUT_S)
    application.wait_until_committed()

    first.send_signal(signal.SIGSTOP)
    application.produce(20)
    application.wait_until_committed()  # the other process has its task
    first.send_signal(signal.SIGCONT)
    resumed = len(application.seen(first))

    def first_works_again() -> bool:
        application.produce(2)
        assert first.poll() is None, application.errors(first)
        return len(application.seen(first)) > resumed

    wait_until(first_works_again, TIMEOUT_S)
    second.kill()
    application.produce(20)
    application.wait_until_committed()
    assert set(application.seen(first)) | set(application.seen(second)) == set(range(application.committed()))
    application.end(first)
