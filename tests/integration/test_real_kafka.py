"""The test kit's real Kafka: it serves what share groups need, survives a restart and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_groups.testing.kafka_jars import RealKafkaUnavailableError, find_tool, kafka_jars, missing_tools
from kafka_groups.testing.kafka_process import KafkaProcess, free_ports, kafka_answers
from tests.support.kafka.real_kafka import finalized_features, unique

pytestmark = pytest.mark.real_kafka


def test_the_session_kafka_serves_share_groups(real_kafka: KafkaProcess) -> None:
    features = finalized_features(real_kafka)

    assert features["share.version"] == 2
    assert features["group.version"] == 1
    assert features["metadata.version"] >= 30


@pytest.mark.slow
def test_storage_and_port_survive_a_restart_and_close_removes_everything(real_kafka: KafkaProcess) -> None:
    assert real_kafka.is_running
    with KafkaProcess(real_kafka.version, features={"share.version": 1}) as kafka:
        assert finalized_features(kafka)["share.version"] == 1
        topic = unique("kept")
        before = kafka.bootstrap_servers
        _create_topic(kafka, topic)

        kafka.kill()
        assert not kafka.is_running
        assert not kafka_answers(kafka.host, kafka.port)
        kafka.restart()

        assert kafka.bootstrap_servers == before
        assert topic in _topics(kafka)
        directory = _storage_of(kafka)
        assert directory.is_dir()
    assert not directory.exists()
    assert not kafka.is_running
    assert not kafka_answers(kafka.host, kafka.port)


@pytest.mark.slow
def test_a_port_taken_by_another_leads_to_other_ports(
    real_kafka: KafkaProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        offers: Iterator[int] = iter([taken.getsockname()[1]])
        free = free_ports

        def offered(rng: object, count: int) -> list[int]:
            ports = free(rng, count)  # type: ignore[arg-type]
            return [next(offers, ports[0]), *ports[1:]]

        monkeypatch.setattr("kafka_groups.testing.kafka_process.free_ports", offered)
        kept = set(Path(tempfile.gettempdir()).glob("kafka-log-*"))
        with KafkaProcess(real_kafka.version) as kafka:
            assert kafka.port != taken.getsockname()[1]
            assert kafka.is_running
        assert set(Path(tempfile.gettempdir()).glob("kafka-log-*")) <= kept


@pytest.mark.slow
def test_kafka_ends_with_the_process_that_started_it(real_kafka: KafkaProcess) -> None:
    program = f"""
        import sys
        from kafka_groups.testing.kafka_process import KafkaProcess
        kafka = KafkaProcess({real_kafka.version!r})
        kafka.start()
        print(kafka.port, kafka._process.pid, kafka._directory, flush=True)
        sys.stdin.read()
    """
    with _child(textwrap.dedent(program)) as child:
        assert child.stdout is not None
        port, pid, directory = child.stdout.readline().split()
        assert kafka_answers("127.0.0.1", int(port))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()

        watched = subprocess.run(["tail", f"--pid={pid}", "-f", "/dev/null"], timeout=30, check=False)

    assert watched.returncode == 0, "Kafka outlived its parent"
    subprocess.run(["rm", "-r", directory], check=True)


def test_a_start_that_fails_says_why_and_keeps_the_log(real_kafka: KafkaProcess, tmp_path: Path) -> None:
    kafka = KafkaProcess(real_kafka.version, {"group.share.max.size": "0"}, keep_log_in=tmp_path)

    with pytest.raises(RealKafkaUnavailableError) as caught:
        kafka.start()

    assert "group.share.max.size" in "".join(caught.value.__notes__)
    assert [path.suffix for path in tmp_path.iterdir()] == [".log"]
    assert not kafka.is_running


def test_jars_are_resolved_once(real_kafka: KafkaProcess) -> None:
    directory = kafka_jars(real_kafka.version)
    changed = directory.stat().st_mtime_ns

    assert kafka_jars(real_kafka.version) == directory
    assert directory.stat().st_mtime_ns == changed
    assert (directory / f"kafka-clients-{real_kafka.version}.jar").exists()


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert missing_tools() is None
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    assert find_tool("java") is None
    assert missing_tools() == "java and mvn not found; a real Kafka needs Java 17 or later and Maven on the PATH"
    with pytest.raises(RealKafkaUnavailableError, match="java and mvn not found"):
        KafkaProcess().start()


def _create_topic(kafka: KafkaProcess, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    for future in admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)]).values():
        future.result(timeout=30)


def _topics(kafka: KafkaProcess) -> set[str]:
    return set(AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(timeout=30).topics)


def _storage_of(kafka: KafkaProcess) -> Path:
    assert kafka._directory is not None
    return kafka._directory


@contextmanager
def _child(program: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        yield child
