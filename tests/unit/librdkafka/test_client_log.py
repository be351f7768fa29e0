"""The lines of librdkafka's clients: at the level they deserve, and repeats at growing intervals."""

import logging
import os
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from kafka_groups.librdkafka import deliveries, partition_reader, topics
from kafka_groups.librdkafka.client_log import ClientLog, process_log
from kafka_groups.librdkafka.durable_producer import DurableProducer
from kafka_groups.librdkafka.partition_reader import PartitionReader
from kafka_groups.librdkafka.record_writer import RecordWriter

FORMAT = "%s [%s] %s"
REFUSED = (
    "[thrd:{0}/1]: {0}/1: Connect to ipv4#127.0.0.1:9092 failed: Connection refused (after {1}ms in state CONNECT)"
)


class Now:
    """A clock that is set by hand."""

    ms = 5_000

    def now_ms(self) -> int:
        return self.ms

    wall_ms = now_ms


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[tuple[str, str]]]:
    caplog.set_level(logging.DEBUG, "kafka_groups.librdkafka")

    def logged() -> list[tuple[str, str]]:
        assert {record.name for record in caplog.records} <= {"kafka_groups.librdkafka"}
        return [(record.levelname, record.getMessage()) for record in caplog.records]

    return logged


Lines = Callable[[], list[tuple[str, str]]]


def test_a_broker_that_is_away_is_one_subject_of_all_clients_and_a_warning(lines: Lines) -> None:
    clock = Now()
    log = ClientLog(clock)
    for attempt in range(320):  # ten clients, ten times a second
        log.log(logging.ERROR, FORMAT, "FAIL", f"rdkafka#consumer-{attempt % 10}", REFUSED.format("one:9092", attempt))
        clock.ms += 100
    said = lines()
    assert {level for level, _ in said} == {"WARNING"}
    assert len(said) == 6  # after 0, 1, 3, 7, 15 and 31 s
    assert said[0][1] == (
        "rdkafka#consumer-0: one:9092/1: Connect to ipv4#127.0.0.1:9092 failed: Connection refused (after 0ms in state "
        "CONNECT). It tries again."
    )
    assert said[2][1].endswith("(19 more since the last warning)")


@pytest.mark.parametrize(
    "names",
    [
        ("[thrd:sasl_ssl://one:9092/bootstrap]: sasl_ssl://one:9092/bootstrap: ", "[thrd:one:9092/1]: one:9092/1: "),
        ("[thrd:[::1]:9092/7]: [::1]:9092/7: ", "[thrd:[::1]:9092/bootstrap]: [::1]:9092/bootstrap: "),
        ("[thrd:GroupCoordinator]: GroupCoordinator: one:9092: ", "[thrd:one:9092/1]: one:9092/1: "),
        ("[thrd:strange]: strange: ", "[thrd:strange]: strange: "),
    ],
)  # fmt: skip
def test_names_of_one_broker_are_one_subject(lines: Lines, names: tuple[str, str]) -> None:
    log = ClientLog(Now())
    for name in names:
        log.log(logging.ERROR, FORMAT, "FAIL", "rdkafka#producer-1", f"{name}Disconnected")
    assert len(lines()) == 1


def test_brokers_are_subjects_of_their_own(lines: Lines) -> None:
    log = ClientLog(Now())
    for node in ("one:9092", "two:9092", "one:9092"):
        log.log(logging.ERROR, FORMAT, "FAIL", "rdkafka#producer-1", REFUSED.format(node, 0))
    assert len(lines()) == 2


@pytest.mark.parametrize(
    "reason",
    [
        "SASL authentication error: Authentication failed: Invalid username or password (after 2ms in state AUTH_REQ)",
        "SSL handshake failed: certificate verify failed: broker certificate could not be verified",
    ],
)
def test_refused_credentials_stay_errors_beside_an_outage(lines: Lines, reason: str) -> None:
    log = ClientLog(Now())
    log.log(logging.ERROR, FORMAT, "FAIL", "rdkafka#consumer-1", REFUSED.format("one:9092", 0))
    for _ in range(2):
        log.log(logging.ERROR, FORMAT, "FAIL", "rdkafka#consumer-1", f"[thrd:one:9092/1]: one:9092/1: {reason}")
    assert [level for level, _ in lines()] == ["WARNING", "ERROR"]
    assert lines()[1][1] == f"rdkafka#consumer-1: one:9092/1: {reason}"


def test_other_lines_keep_their_level_and_differ_by_more_than_numbers(lines: Lines) -> None:
    log = ClientLog(Now())
    log.log(logging.CRITICAL, FORMAT, "FATAL", "rdkafka#producer-1", "[thrd:main]: Fatal error: fenced")
    for number in range(3):
        log.log(logging.ERROR, FORMAT, "FETCH", "rdkafka#consumer-1", f"[thrd:main]: a-{number}: cannot be fetched")
    log.log(logging.ERROR, FORMAT, "FETCH", "rdkafka#consumer-1", "[thrd:main]: another reason")
    for _ in range(2):  # a program that asks for details gets all of them
        log.log(logging.DEBUG, FORMAT, "RECV", "rdkafka#consumer-1", "[thrd:main]: received")
    assert lines() == [
        ("CRITICAL", "rdkafka#producer-1: FATAL: Fatal error: fenced"),
        ("ERROR", "rdkafka#consumer-1: FETCH: a-0: cannot be fetched"),
        ("ERROR", "rdkafka#consumer-1: FETCH: another reason"),
        ("DEBUG", "rdkafka#consumer-1: RECV: received"),
        ("DEBUG", "rdkafka#consumer-1: RECV: received"),
    ]


def test_a_minute_without_failures_is_told_once_and_the_next_one_begins_anew(lines: Lines) -> None:
    clock = Now()
    log = ClientLog(clock)
    for _ in range(3):
        log.log(logging.ERROR, FORMAT, "FAIL", "rdkafka#consumer-1", REFUSED.format("one:9092", 0))
    clock.ms += 59_999
    log.look()
    assert len(lines()) == 1
    clock.ms += 1
    log.look()
    log.look()
    assert lines()[1:] == [
        ("INFO", "No connection to one:9092 has failed for a minute (2 more since the last warning)")
    ]
    log.log(logging.ERROR, FORMAT, "FAIL", "rdkafka#consumer-1", REFUSED.format("one:9092", 0))
    assert [level for level, _ in lines()] == ["WARNING", "INFO", "WARNING"]


def test_every_client_logs_through_the_log_of_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []

    def noting(kind: Callable[..., object]) -> Callable[[dict[str, object]], object]:
        def made(settings: dict[str, object]) -> object:
            given.append(settings.get("logger"))
            return kind(settings)

        return made

    monkeypatch.setattr(partition_reader, "Consumer", noting(Consumer))
    monkeypatch.setattr(deliveries, "Producer", noting(Producer))
    monkeypatch.setattr(topics, "AdminClient", noting(AdminClient))
    config = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}
    PartitionReader(config, "g").close()
    RecordWriter(config)
    DurableProducer(config)._producer()
    with topics._admin(config):
        pass
    assert given == [process_log()] * 4


def test_a_forked_process_has_a_log_of_its_own() -> None:
    before = process_log()
    read, write = os.pipe()
    if not os.fork():
        os.write(write, b"own" if process_log() is not before else b"old")
        os._exit(0)
    os.close(write)
    assert os.read(read, 3) == b"own"
    os.close(read)
    os.wait()
