"""`kafka-groups dead-letters` on the embedded broker and on Kafka 4.4: letters of workers, and of Kafka's own queue."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from confluent_kafka import Consumer, Message
from confluent_kafka import TopicPartition as Position
from jsonschema import Draft202012Validator

from kafka_groups import AcknowledgeType, KafkaShareConsumer, Reject
from kafka_groups.cli.documents.catalogue import DOCUMENTS
from kafka_groups.cli.documents.document import schema_of
from kafka_groups.cli.main import main
from kafka_groups.protocol.record_builder import NewRecord
from kafka_groups.types import Header
from tests.support.cluster_client import Topic
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.workers.worker_brokers import WorkerBroker, requested_broker
from tests.support.workers.worker_scenes import Calls, WorkerScene

QUEUE = "errors.deadletterqueue.topic.name"
COPY = "errors.deadletterqueue.copy.record.enable"
SENT_AGAIN = "__dlq.sent.again"
KAFKA = pytest.param("kafka", marks=[pytest.mark.real_kafka, pytest.mark.long])
MANY = 3_000

Run = Callable[..., Result]


@pytest.fixture(params=[pytest.param("embedded", marks=pytest.mark.slow), KAFKA])
def broker(request: pytest.FixtureRequest) -> Iterator[WorkerBroker]:
    with requested_broker(request) as requested:
        yield requested


@pytest.fixture
def scene(broker: WorkerBroker) -> WorkerScene:
    return WorkerScene(broker)


@pytest.fixture
def run(scene: WorkerScene) -> Run:
    return runner(scene)


def runner(scene: WorkerScene) -> Run:
    """Runs the command in this process."""

    def command(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments_of(scene, *arguments))

    return command


def arguments_of(scene: WorkerScene, name: str, *arguments: str) -> list[str]:
    return ["dead-letters", name, scene.dead, *arguments, "--bootstrap-servers", scene.broker.servers]


def items(done: Result, command: str, status: int = 0) -> list[Any]:
    """The items of a document, which fits its schema."""
    assert done.exit_code == status, done.output
    document = json.loads(done.stdout)
    Draft202012Validator(schema_of(DOCUMENTS[command])).validate(document)
    found: list[Any] = document["items"]
    return found


def dlq_headers(scene: WorkerScene, offset: int, topic: str | None = None) -> list[Header]:
    values = {"topic": topic or scene.name, "partition": 0, "offset": offset, "group": "g", "message": "KeyError: 1"}
    return [(f"__dlq.errors.{name}", str(value).encode()) for name, value in values.items()]


def bury(scene: WorkerScene, values: Sequence[bytes], topic: str | None = None) -> Topic:
    """Write dead letters."""
    dead = scene.broker.new_topic(name=unique("dead"))
    scene.dead = dead.name
    scene.broker.produce(dead, letters(scene, values, topic))
    return dead


def letters(scene: WorkerScene, values: Sequence[bytes], topic: str | None = None) -> Sequence[NewRecord]:
    return [NewRecord(value, b"k", 1, dlq_headers(scene, at, topic)) for at, value in enumerate(values)]


def sent(scene: WorkerScene, topic: str | None = None) -> list[Message]:
    """The records that were sent again."""
    return [each for each in scene.broker.messages(topic or scene.name) if SENT_AGAIN in dict(each.headers() or [])]


def wait_for_letters(scene: WorkerScene, count: int) -> None:
    wait_until(lambda: len(scene.broker.messages(scene.dead)) == count, 30)


def values_of(messages: Sequence[Message]) -> list[bytes | None]:
    return [each.value() for each in messages]


# --------------------------------------------------------------------------------------------- of workers


def test_dead_letters_of_a_worker_are_listed_shown_and_sent_again(scene: WorkerScene, run: Run) -> None:
    calls, repaired = Calls(), False
    worker = scene.worker()

    @worker.handler(scene.name, dead_letters=scene.dead)
    def handle(value: bytes) -> None:
        calls.add(value)
        if not repaired:
            raise Reject("no such product")

    first = scene.send(NewRecord(b"plum", b"k", 5, [("trace", b"x")]), b"pear")
    with worker:
        scene.wait_until_done()
        listed = items(run("list", "--json"), "dead-letters list")
        reason = "no such product"
        assert [(each["origin"]["offset"], each["reason"]) for each in listed] == [(first, reason), (first + 1, reason)]
        shown = items(run("show", "0@0", "--json"), "dead-letters show")[0]
        assert (shown["value"], shown["headers"][0], shown["group"]) == ("plum", ["trace", "x"], scene.group_id)
        assert run("show", "0@1", "--raw").stdout_bytes == b"pear"
        counts = items(run("list", "--summary", "--json"), "dead-letters list --summary")
        assert [(each["origin"], each["error"], each["count"]) for each in counts] == [(scene.name, reason, 2)]
        assert len(items(run("send-again", "--dry-run", "--json"), "dead-letters send-again --dry-run")) == 2
        repaired = True
        done = items(run("send-again", "--yes", "--json"), "dead-letters send-again")
        assert done == [{"to": scene.name, "count": 2}]
        scene.wait_until_done()
    assert calls.counts == {b"plum": 2, b"pear": 2}
    plum, pear = sent(scene)
    assert (plum.value(), plum.key(), plum.headers()) == (b"plum", b"k", [("trace", b"x"), (SENT_AGAIN, b"1")])
    assert pear.headers() == [(SENT_AGAIN, b"1")]
    again = run("send-again", "--yes")
    assert (again.exit_code, again.stdout) == (0, "")
    assert len(sent(scene)) == 2


def test_a_record_that_keeps_failing_is_sent_three_times(scene: WorkerScene, run: Run) -> None:
    worker, calls = scene.worker(), Calls()

    @worker.handler(scene.name, dead_letters=scene.dead)
    def handle(value: bytes) -> None:
        calls.add(value)
        raise Reject("no such product")

    scene.send(b"plum")
    with worker:
        for count in (1, 2, 3):
            wait_for_letters(scene, count)
            assert run("send-again", "--yes").exit_code == 0
        wait_for_letters(scene, 4)
        stopped = run("send-again", "--yes")
    assert (stopped.exit_code, stopped.stdout) == (1, "")
    assert stopped.stderr == (
        f"{scene.dead} 0@3: Skipped. It came back after it was sent again 3 times. "
        "Repair the cause, and use --most 4 to send it once more.\n"
    )
    assert (calls.counts[b"plum"], len(sent(scene))) == (4, 3)
    # It is rejected in the group, and can still be sent by its place.
    assert run("send-again", "--yes").exit_code == 0
    assert run("send-again", "--yes", "--most", "4", "0@3").exit_code == 0
    assert len(sent(scene)) == 4


def test_a_record_that_is_too_large_for_its_topic_is_released(scene: WorkerScene, run: Run) -> None:
    small = scene.broker.new_topic(configs={"max.message.bytes": "2000"})
    bury(scene, [b"x" * 5_000, b"small"], small.name)
    for _ in range(2):
        failed = run("send-again", "--yes")
        assert failed.exit_code == 1
        assert failed.stderr.startswith(f"{scene.dead} 0@0: ")
        assert "MESSAGE_TOO_LARGE" in failed.stderr
    assert values_of(sent(scene, small.name)) == [b"small"]
    # To a topic that takes it, it goes by itself.
    assert run("send-again", "--yes", "--to", scene.name).exit_code == 0
    assert values_of(sent(scene)) == [b"x" * 5_000]


def test_a_killed_run_loses_nothing(scene: WorkerScene, run: Run) -> None:
    broker, buried = scene.broker, [b"%d" % at for at in range(MANY)]
    dead = bury(scene, buried)
    for _ in range(3):  # in a request of each, as all would be too large for one
        broker.produce(dead, letters(scene, buried))
    broker.alter_group(f"{scene.dead}-resend", {"share.record.lock.duration.ms": str(1000 * broker.lock_s)})
    command = [sys.executable, "-m", "kafka_groups.cli", *arguments_of(scene, "send-again", "--yes")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
        with closing(Consumer({"bootstrap.servers": broker.servers, "group.id": "look"})) as consumer:
            # Only the end is asked for: reading takes so long that all may be written by then.
            wait_until(lambda: consumer.get_watermark_offsets(Position(scene.name, 0), 5)[1], 30)
        killed.kill()
    assert len(sent(scene)) < 4 * MANY, "it was killed too late"
    broker.end_locks()
    rest = run("send-again", "--yes", "--timeout", "90")
    assert rest.exit_code == 0, rest.output
    counts = Counter(values_of(sent(scene)))
    assert min(counts[value] for value in buried) >= 4
    assert counts.total() <= 4 * MANY + 1_000
    assert run("send-again", "--yes").stdout == ""


def test_a_closed_pipe_ends_the_list_with_status_0(scene: WorkerScene, tmp_path: Path) -> None:
    bury(scene, [b"%d" % at for at in range(MANY)])
    words = [sys.executable, "-m", "kafka_groups.cli", *arguments_of(scene, "list", "-n", str(MANY))]
    errors = tmp_path / "errors"
    script = f'set -o pipefail; "$@" 2>{errors} | head -n 1'
    shell = ["bash", "-c", script, "bash", *words]
    done = subprocess.run(shell, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout.split()) == (0, ["PARTITION", "OFFSET", "TIME", "ORIGIN", "GROUP", "REASON"])
    assert errors.read_text() == ""


def test_dead_letters_are_deleted_up_to_a_time(scene: WorkerScene, run: Run) -> None:
    bury(scene, [b"a", b"b"])
    planned = items(run("delete", "--all", "--dry-run", "--json"), "dead-letters delete")
    assert [(each["begin"], each["before"]) for each in planned] == [(0, 2)]
    # Their times are those of 1970.
    assert items(run("delete", "--before", "1970-01-01", "--yes", "--json"), "dead-letters delete") == []
    assert run("delete", "--before", "2000-01-01", "--yes").exit_code == 0
    assert items(run("list", "--json"), "dead-letters list") == []
    absent = run("show", "0@0")
    assert (absent.exit_code, "There is no such record" in absent.stderr) == (1, True)


def test_a_topic_that_does_not_exist(scene: WorkerScene, run: Run) -> None:
    scene.dead = unique("absent")
    for command in (("list",), ("show", "0@0"), ("send-again", "--yes"), ("delete", "--all", "--yes")):
        failed = run(*command)
        assert (failed.exit_code, failed.stdout) == (1, ""), command
        assert failed.stderr == (
            f"{scene.dead}: The topic {scene.dead} does not exist. Correct its name (UNKNOWN_TOPIC_OR_PARTITION)\n"
        )


# --------------------------------------------------------------------------------------------- the brokers' own queue


@pytest.fixture
def queue_scene(scene: WorkerScene) -> WorkerScene:
    """A group with a queue of its own."""
    queue = scene.broker.new_topic(name=unique("dlq."), configs={"errors.deadletterqueue.group.enable": "true"})
    scene.dead = queue.name
    scene.broker.alter_group(scene.group_id, {QUEUE: queue.name})
    return scene


def reject_all(scene: WorkerScene, count: int) -> None:
    """Reject records, until the brokers have written so many dead letters in all."""
    with KafkaShareConsumer(
        bootstrap_servers=scene.broker.servers, group_id=scene.group_id, acknowledgement_mode="explicit"
    ) as consumer:
        consumer.subscribe([scene.name])
        while len(scene.broker.messages(scene.dead)) < count:
            for record in consumer.poll(timeout=0.5):
                consumer.acknowledge(record, AcknowledgeType.REJECT)
            consumer.commit_sync()


@pytest.mark.parametrize("copies", [True, False])
def test_dead_letters_of_the_brokers_own_queue(queue_scene: WorkerScene, *, copies: bool) -> None:
    scene, run = queue_scene, runner(queue_scene)
    scene.broker.alter_group(scene.group_id, {COPY: str(copies).lower()})
    first = scene.send(NewRecord(b"plum", b"k", 5, [("trace", b"x")]), b"pear")
    reject_all(scene, 2)
    listed = items(run("list", "--json"), "dead-letters list")
    assert [(each["origin"]["offset"], each["group"], each["reason"]) for each in listed] == [
        (at, scene.group_id, "Offset rejected by client.") for at in (first, first + 1)
    ]
    shown = items(run("show", "0@0", "--json"), "dead-letters show")[0]
    assert (shown["key"], shown["value"]) == (("k", "plum") if copies else (None, None))
    assert run("send-again", "--yes").exit_code == 0
    plum, pear = sent(scene)
    assert (plum.key(), plum.value(), pear.value()) == (b"k", b"plum", b"pear")
    # The brokers never copy headers. Those of a record that is read at its origin are there.
    assert plum.headers() == ([] if copies else [("trace", b"x")]) + [(SENT_AGAIN, b"1")]
    assert run("send-again", "--yes").stdout == ""


def test_a_loop_through_the_brokers_own_queue_without_copies_is_stopped_too(queue_scene: WorkerScene) -> None:
    scene, run = queue_scene, runner(queue_scene)
    scene.send(b"plum")
    for count in (1, 2, 3):
        reject_all(scene, count)
        assert run("send-again", "--yes").exit_code == 0
    reject_all(scene, 4)
    stopped = run("send-again", "--yes")
    assert (stopped.exit_code, "after it was sent again 3 times" in stopped.stderr) == (1, True)
    assert len(sent(scene)) == 3
