"""`produce`, `consume` and `share-consume` on the embedded broker and on Kafka 4.4, with the same output."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import IO, Any

import pytest
from confluent_kafka import Consumer
from jsonschema import Draft202012Validator

from kafka_groups.cli.documents.catalogue import LINES
from kafka_groups.cli.documents.document import line_schema_of
from kafka_groups.protocol.record_builder import NewRecord
from tests.support.cluster_client import Topic
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.workers.worker_brokers import WorkerBroker, requested_broker

KAFKA = pytest.param("kafka", marks=[pytest.mark.real_kafka, pytest.mark.long])
WAIT_S = 60
RECORDS = 1_000

pytestmark = pytest.mark.timeout(4 * WAIT_S)


@pytest.fixture(params=[pytest.param("embedded", marks=pytest.mark.slow), KAFKA])
def broker(request: pytest.FixtureRequest) -> Iterator[WorkerBroker]:
    with requested_broker(request) as requested:
        yield requested


class Shell:
    """Runs the command as a process of its own: signals, pipes and standard input are those of a shell."""

    def __init__(self, broker: WorkerBroker) -> None:
        self.environment = os.environ | {"KAFKA_GROUPS_BOOTSTRAP_SERVERS": broker.servers}

    def started(self, *arguments: str, stdin: int | IO[bytes] | None = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", "kafka_groups.cli", *arguments], stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=self.environment,
        )  # fmt: skip

    def run(self, *arguments: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        with self.started(*arguments, stdin=subprocess.PIPE) as process:
            printed, told = process.communicate(given, timeout=WAIT_S)
        return subprocess.CompletedProcess(process.args, process.returncode, printed, told)

    def printed(self, *arguments: str, given: bytes = b"", status: int = 0) -> bytes:
        done = self.run(*arguments, given=given)
        assert done.returncode == status, done.stderr.decode()
        return done.stdout

    def told(self, *arguments: str, given: bytes = b"", status: int = 1) -> str:
        """What is on standard error, if nothing is on standard output."""
        done = self.run(*arguments, given=given)
        assert (done.returncode, done.stdout) == (status, b""), done.stderr.decode()
        return done.stderr.decode().strip()


@pytest.fixture
def shell(broker: WorkerBroker) -> Shell:
    return Shell(broker)


@contextmanager
def running(process: "subprocess.Popen[bytes]") -> Iterator["subprocess.Popen[bytes]"]:
    with process:
        try:
            yield process
        finally:
            process.kill()


def lines_of(printed: bytes, command: str) -> list[Any]:
    """Objects that fit their schema."""
    schema = Draft202012Validator(line_schema_of(LINES[command]))
    found = [json.loads(line) for line in printed.splitlines()]
    for each in found:
        schema.validate(each)
    return found


def written(broker: WorkerBroker, values: Sequence[bytes], partitions: int = 1) -> Topic:
    topic = broker.new_topic(partitions)
    broker.produce(topic, values)
    return topic


# ------------------------------------------------------------------------------------------------ produce


def test_lines_are_records(broker: WorkerBroker, shell: Shell, tmp_path: Path) -> None:
    topic = broker.new_topic().name
    assert shell.run("produce", topic, given=b"tea\n\nlast").stderr.decode() == f"{topic}: 3 records written\n"
    options = ("--key-delimiter", ":", "--header", "source=shell", "--partition", "0")
    shell.printed("produce", topic, *options, given=b"ann:a:b\n")
    (tmp_path / "orders").write_bytes(b"from a file\n")
    shell.printed("produce", topic, str(tmp_path / "orders"), "--key", "k")
    shell.printed("produce", topic, "--json-lines", given=b'{"key": "ann", "timestamp_ms": 1700}\n')
    form = r"%o %k=%v %h\n"
    assert shell.printed("consume", topic, "--exit-at-end", "--format", form).splitlines() == [
        b"0 =tea ",
        b"1 = ",
        b"2 =last ",
        b"3 ann=a:b source=shell",
        b"4 k=from a file ",
        b"5 ann= ",
    ]
    (last,) = lines_of(shell.printed("consume", topic, "--from", "-1", "--exit-at-end", "--json"), "consume")
    assert (last["value"], last["timestamp_ms"], last["offset"]) == (None, 1_700, 5)


def test_a_missing_topic_leaves_standard_input_alone(shell: Shell) -> None:
    topic = unique("nosuch")
    reading, writing = os.pipe()
    os.write(writing, b"precious\n")
    with shell.started("produce", topic, stdin=reading) as process:
        printed, told = process.communicate(timeout=WAIT_S)
    os.close(writing)
    assert os.read(reading, 100) == b"precious\n"
    os.close(reading)
    error = f"Topic {topic} does not exist. Create it: kafka-groups topics create {topic}"
    assert (process.returncode, printed, told.decode().strip()) == (1, b"", f"Error: {error}")
    assert shell.told("consume", topic) == shell.told("share-consume", unique("g"), topic) == f"Error: {error}"


def test_an_invalid_line_ends_it_after_those_before(broker: WorkerBroker, shell: Shell, tmp_path: Path) -> None:
    topic = broker.new_topic().name
    lines = b'{"value": "1"}\n{"value": "2"}\n{"value": 3}\n{"value": "4"}\n'
    reason = 'value: 3 stands for no bytes: give text, or {"base64": text}. 2 records were written.'
    assert shell.told("produce", topic, "--json-lines", given=lines) == f"standard input, line 3: {reason}"
    path = tmp_path / "orders"
    path.write_bytes(b"a:1\nb\n")
    told = shell.told("produce", topic, str(path), "--key-delimiter", ":")
    assert told == f"{path}, line 2: it does not have the delimiter ':'. 1 record was written."
    assert shell.printed("consume", topic, "--exit-at-end") == b"1\n2\n1\n"


def test_a_record_that_is_too_large_is_named(broker: WorkerBroker, shell: Shell) -> None:
    topic = broker.new_topic(configs={"max.message.bytes": "2000"}).name
    told = shell.told("produce", topic, given=b"small\n" + b"x" * 3_000 + b"\n")
    assert told == (
        f"standard input, line 2: the record has 3,000 bytes, and topic {topic} takes 2,000 (max.message.bytes, with"
        " some bytes for the batch). Make the record smaller, or allow larger ones: kafka-groups topics configs"
        f" {topic} --set max.message.bytes=4024. 1 record was written."
    )
    assert shell.printed("consume", topic, "--exit-at-end") == b"small\n"


def test_a_partition_that_does_not_exist_is_refused(broker: WorkerBroker, shell: Shell) -> None:
    topic = broker.new_topic(2).name
    error = f"Error: Topic {topic} has no partition 2: its partitions are 0 to 1."
    assert shell.told("produce", topic, "--partition", "2", given=b"a\n") == error
    assert shell.told("consume", f"{topic}:0,2") == error


# ------------------------------------------------------------------------------------------------ consume


def random_record(rng: Random) -> NewRecord:
    """A record with nulls, headers and bytes that are not text."""

    def data() -> bytes | None:
        kind = rng.randrange(4)
        text = "".join(map(chr, rng.choices([0, 9, 10, 34, 92, 127, 228, 0x2028, 0x1F600], k=rng.randrange(12))))
        return None if kind == 0 else rng.randbytes(rng.randrange(40)) if kind == 1 else text.encode()

    headers = [(f"h{rng.randrange(3)}\u00fc", data()) for _ in range(rng.randrange(3))]
    return NewRecord(data(), data(), rng.randrange(1, 1_700_000_000_000), headers)


def contents(shell: Shell, topic: str) -> list[Any]:
    found = lines_of(shell.printed("consume", topic, "--exit-at-end", "--json"), "consume")
    return [(each["key"], each["value"], each["timestamp_ms"], each["headers"]) for each in found]


def test_records_are_copied_byte_for_byte(broker: WorkerBroker, shell: Shell) -> None:
    rng = Random(47)
    source, copy = broker.new_topic(), broker.new_topic()
    records = [random_record(rng) for _ in range(RECORDS)]
    broker.produce(source, records)
    with (
        shell.started("consume", source.name, "--exit-at-end", "--json") as reading,
        shell.started("produce", copy.name, "--json-lines", stdin=reading.stdout) as writing,
    ):
        assert reading.stdout is not None
        reading.stdout.close()
        _, told = writing.communicate(timeout=WAIT_S)
    assert (reading.returncode, writing.returncode) == (0, 0)
    assert told.decode() == f"{copy.name}: 1,000 records written\n"
    found = [
        (message.value(), message.key(), message.timestamp()[1], list(message.headers() or []))
        for message in broker.messages(copy.name)
    ]
    assert found == [(each.value, each.key, each.timestamp_ms, list(each.headers)) for each in records]
    assert contents(shell, copy.name) == contents(shell, source.name)


_TOPOLOGY = """
from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder


def build():
    builder = StreamsBuilder()
    orders = builder.stream("TOPIC", key=serdes.string, value=serdes.string)
    orders.map_values(str.upper, value=serdes.string).to("loud")
    return builder.build()
"""


def test_what_is_printed_can_be_tried(
    broker: WorkerBroker, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = broker.new_topic()
    broker.produce(topic, [NewRecord(b"tea", b"ann", 1_700), NewRecord(b"milk", b"bob", 1_800)])
    (tmp_path / "loud_app.py").write_text(_TOPOLOGY.replace("TOPIC", topic.name))
    (tmp_path / "orders.jsonl").write_bytes(shell.printed("consume", topic.name, "--exit-at-end", "--json"))
    monkeypatch.chdir(tmp_path)
    tried = shell.printed("streams", "try", "loud_app:build", "--input", f"{topic.name}=orders.jsonl")
    assert [json.loads(line)["value"] for line in tried.splitlines()] == ["TEA", "MILK"]


def test_places_to_begin(broker: WorkerBroker, shell: Shell) -> None:
    topic = broker.new_topic(2)
    broker.produce(topic, [NewRecord(b"%d" % at, None, 1_700_000_000_000 + 1_000 * at) for at in range(5)], 1)
    name = topic.name

    def printed(*arguments: str) -> bytes:
        return shell.printed("consume", *arguments, "--exit-at-end").replace(b"\n", b"")

    assert printed(name) == printed(name, "--from", "earliest") == b"01234"
    assert printed(f"{name}:1", "--from", "3") == b"34"
    assert printed(name, "--from", "-2") == b"34"
    assert printed(name, "--from", "2023-11-14T22:13:22") == b"234"
    assert printed(name, "--from", "latest") == printed(f"{name}:0") == b""
    told = shell.told("consume", f"{name}:1", "--from", "6", "--exit-at-end")
    assert told == f"Error: {name}-1 has the offsets 0 to 5, and 6 is behind its end."


def test_records_that_do_not_come_are_counted(broker: WorkerBroker, shell: Shell) -> None:
    topic = written(broker, [b"a", b"b"]).name
    done = shell.run("consume", topic, "-n", "5", "--timeout", "3")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"a\nb\n", b"2 of 5 records after 3 s\n")
    done = shell.run("consume", topic, "--timeout", "1")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"a\nb\n", b"")
    assert shell.printed("consume", topic, "-n", "1") == b"a\n"
    assert shell.printed("consume", topic, "-n", "5", "--exit-at-end") == b"a\nb\n"


def test_new_records_are_printed_at_once(broker: WorkerBroker, shell: Shell) -> None:
    topic = written(broker, [b"old"])
    with running(shell.started("consume", topic.name)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"old\n"
        broker.produce(topic, [b"new"])
        assert process.stdout.readline() == b"new\n"


# ------------------------------------------------------------------------------------------- share-consume


def test_a_new_group_begins_where_it_is_told(broker: WorkerBroker, shell: Shell) -> None:
    topic, group = written(broker, [b"1", b"2", b"3"]), broker.fresh_group()
    first = shell.run("share-consume", group, topic.name, "--from", "earliest", "-n", "1", "--json")
    (record,) = lines_of(first.stdout, "share-consume")
    assert (record["value"], record["delivery_count"], first.stderr) == ("1", 1, b"")
    again = shell.run("share-consume", group, topic.name, "--from", "earliest", "-n", "2", "--format", r"%v %d\n")
    assert (again.returncode, again.stdout) == (0, b"2 1\n3 1\n")
    assert again.stderr.decode() == (
        f"--from earliest has no effect: the group {group} exists already. To move it, stop its members and run:"
        f" kafka-groups offsets reset {group} --to-earliest --all-topics --execute\n"
    )
    broker.wait_for_lag(group, topic)


def test_a_start_of_the_groups_own_is_kept(broker: WorkerBroker, shell: Shell) -> None:
    topic, group = written(broker, [b"1"]), broker.new_group({"share.auto.offset.reset": "earliest"})
    done = shell.run("share-consume", group, topic.name, "--from", "latest", "-n", "1")
    assert (done.returncode, done.stdout) == (0, b"1\n")
    assert done.stderr.decode() == (
        f"--from latest has no effect: the group {group} has share.auto.offset.reset=earliest. To change it:"
        f" kafka-groups groups configs {group} --set share.auto.offset.reset=latest\n"
    )


def test_a_group_of_another_type_is_left_alone(broker: WorkerBroker, shell: Shell) -> None:
    topic, group = written(broker, [b"1"]), unique("group")
    consumer = Consumer({"bootstrap.servers": broker.servers, "group.id": group, "auto.offset.reset": "earliest"})
    with closing(consumer):
        consumer.subscribe([topic.name])
        assert consumer.poll(WAIT_S) is not None
        told = shell.told("share-consume", group, topic.name, "--from", "earliest")
        assert told == f"Error: Group {group} is not a share group. It is a classic group."
        configs = shell.printed("groups", "configs", group, "--all-types", "--json")
    found = {each["key"]: each for each in json.loads(configs)["items"]}
    assert not found["share.auto.offset.reset"]["set"]


def test_records_are_released_or_rejected(broker: WorkerBroker, shell: Shell) -> None:
    topic, group = written(broker, [b"1", b"2"]), broker.new_group()
    form = ("--format", r"%v %d\n")
    assert shell.printed("share-consume", group, topic.name, "--release", "-n", "1", *form) == b"1 1\n"
    assert shell.printed("share-consume", group, topic.name, "--reject", "-n", "1", *form) == b"1 2\n"
    assert shell.printed("share-consume", group, topic.name, "--accept", "-n", "1", *form) == b"2 1\n"
    broker.wait_for_lag(group, topic)
    done = shell.run("share-consume", group, topic.name, "-n", "1", "--timeout", "1")
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"0 of 1 record after 1 s\n")


def test_no_more_records_are_acquired_than_are_wanted(broker: WorkerBroker, shell: Shell) -> None:
    topic, group = broker.new_topic(2), broker.new_group()
    for partition in (0, 1):
        broker.produce(topic, [b"x"] * 20, partition)
    for most in ("5", "7"):
        shell.printed("share-consume", group, topic.name, "-n", most)
    rest = lines_of(shell.printed("share-consume", group, topic.name, "--json", "--timeout", "3"), "share-consume")
    assert [each["delivery_count"] for each in rest] == [1] * 28


def test_a_key_decides_about_each_record(broker: WorkerBroker, shell: Shell) -> None:
    topic, group = written(broker, [b"1", b"2", b"3"]), broker.new_group()
    ours, theirs = pty.openpty()
    with shell.started("share-consume", group, topic.name, "--ask", stdin=theirs) as process:
        os.close(theirs)
        assert process.stdout is not None
        for record, key in ((b"1", b"a"), (b"2", b"?x"), (b"3", b"q")):
            assert process.stdout.readline() == record + b"\n"
            os.write(ours, key)
        _, told = process.communicate(timeout=WAIT_S)
    os.close(ours)
    question = "[a]ccept, [r]elease, [x] reject, [q]uit? "
    assert process.returncode == 0
    assert told.decode() == f"{question}accept\n{question}reject\n{question}quit\n"
    assert shell.printed("share-consume", group, topic.name, "-n", "1", "--format", "%v %d") == b"3 2"
    broker.wait_for_lag(group, topic)


# ------------------------------------------------------------------------------------- the end of commands


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_what_runs_until_then(broker: WorkerBroker, shell: Shell, number: signal.Signals) -> None:
    topic, group = written(broker, [b"1"]), broker.new_group()
    for arguments in (("consume", topic.name), ("share-consume", group, topic.name)):
        with running(shell.started(*arguments)) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"1\n"
            process.send_signal(number)
            printed, told = process.communicate(timeout=WAIT_S)
        assert (process.returncode, printed, told) == (0, b"", b""), arguments
    broker.wait_for_lag(group, topic)


def test_a_signal_before_the_records_that_were_wanted_is_a_failure(broker: WorkerBroker, shell: Shell) -> None:
    topic, group = written(broker, [b"1"]), broker.new_group()
    for arguments in (("consume", topic.name), ("share-consume", group, topic.name)):
        with running(shell.started(*arguments, "-n", "2")) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"1\n"
            process.send_signal(signal.SIGTERM)
            _, told = process.communicate(timeout=WAIT_S)
        assert (process.returncode, told) == (1, b"Aborted!\n"), arguments


def test_a_signal_ends_a_command_whose_output_nobody_takes(broker: WorkerBroker, shell: Shell) -> None:
    topic = written(broker, [b"x" * 10_000] * 50)
    group = broker.new_group()
    for arguments in (("consume", topic.name), ("share-consume", group, topic.name)):
        with running(shell.started(*arguments)) as process:
            assert process.stdout is not None
            assert process.stdout.read(1) == b"x"
            process.send_signal(signal.SIGTERM)
            assert process.wait(WAIT_S) == 0, arguments
    assert broker.lag(group, topic) != 0  # what was not printed as a whole is not accepted


def test_a_closed_pipe_ends_a_command_silently(broker: WorkerBroker, shell: Shell) -> None:
    topic, group = written(broker, [b"1"]), broker.new_group()
    for arguments in (("consume", topic.name), ("share-consume", group, topic.name)):
        with running(shell.started(*arguments)) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"1\n"
            process.stdout.close()  # no record comes that could not be written
            assert process.wait(WAIT_S) == 0, arguments
            assert process.stderr is not None
            assert process.stderr.read() == b"", arguments


def test_a_signal_ends_a_command_that_waits_for_lines(broker: WorkerBroker, shell: Shell) -> None:
    topic = broker.new_topic()
    with running(shell.started("produce", topic.name, stdin=subprocess.PIPE)) as process:
        assert process.stdin is not None
        process.stdin.write(b"1\n2\nno end")
        process.stdin.flush()
        wait_until(lambda: len(broker.messages(topic.name)) == 2, WAIT_S)
        process.send_signal(signal.SIGINT)
        assert process.wait(WAIT_S) == 1
        assert process.stderr is not None
        assert process.stderr.read() == b"2 records written\nAborted!\n"


@pytest.mark.slow
def test_brokers_that_do_not_answer_are_named() -> None:
    dead = ("--bootstrap-servers", "localhost:1", "--timeout", "1")
    for arguments in (("produce", "orders"), ("consume", "orders"), ("share-consume", "g", "orders")):
        done = subprocess.run(
            [sys.executable, "-m", "kafka_groups.cli", *arguments, *dead], input=b"a\n", capture_output=True,
            check=False, timeout=WAIT_S,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (1, b"")
        (line,) = done.stderr.decode().splitlines()
        waited_ms = 1_000 if arguments[0] == "produce" else 10_000
        assert line.startswith(f"Error: No broker has answered for {waited_ms} ms. "), line
