"""`kafka-groups topics`: a topic from its creation to its end, and mistakes."""

import pytest

from kafka_groups.cli.consent import DRY_RUN
from tests.support.commands import Commands
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique


@pytest.fixture
def topic(run: Commands) -> str:
    """A topic of two partitions."""
    name = unique("orders")
    created = run.lines("topics", "create", f"{name}:2", "--replication-factor", "1", "--set", "retention.ms=5000")
    assert [line.split() for line in created] == [
        ["TOPIC", "PARTITIONS", "REPLICAS", "RESULT"],
        [name, "2", "1", "created"],
    ]
    wait_until(lambda: name in run.lines("topics", "list", "--quiet"))
    return name


def test_topics_are_listed(run: Commands, topic: str) -> None:
    head, *rows = (line.split() for line in run.lines("topics", "list"))
    assert head == ["TOPIC", "PARTITIONS", "REPLICAS"]
    assert [topic, "2", "1"] in rows
    (entry,) = [each for each in run.document("topics", "list")["items"] if each["topic"] == topic]
    assert len(entry.pop("id")) == 36
    assert entry == {"topic": topic, "partition_count": 2, "replication_factor": 1, "internal": False}
    assert not [name for name in run.lines("topics", "list", "--quiet") if name.startswith("__")]


def test_a_topic_is_described(run: Commands, topic: str) -> None:
    broker = run.lines("brokers", "list", "--quiet")[0]
    expected = [[topic, str(number), broker, broker, broker, "-"] for number in range(2)]
    head, *rows = run.lines("topics", "describe", topic)
    assert head.split() == ["TOPIC", "PARTITION", "LEADER", "REPLICAS", "IN", "SYNC", "OFFLINE"]
    assert [row.split() for row in rows] == expected
    with_configs = run.lines("topics", "describe", topic, "--configs")
    assert [line.split() for line in with_configs[3:]] == [
        [],
        ["TOPIC", "CONFIG", "VALUE"],
        [topic, "retention.ms", "5000"],
    ]
    found = run.document("topics", "describe", topic, "--configs")["items"][0]
    assert [each["partition"] for each in found["partitions"]] == [0, 1]
    (set_config,) = [each for each in found["configs"] if each["set"]]
    assert (set_config["key"], set_config["value"], set_config["source"]) == (
        "retention.ms",
        "5000",
        "DYNAMIC_TOPIC_CONFIG",
    )
    assert run.document("topics", "describe", topic)["items"][0]["configs"] is None


def test_what_one_topic_lacks_is_no_matter_for_another(run: Commands, topic: str) -> None:
    nosuch = unique("nosuch")
    done = run("topics", "describe", nosuch, topic)
    assert (done.exit_code, len(done.stdout.splitlines())) == (1, 3)
    assert done.stderr.startswith(f"{nosuch}: ")
    found = run.document("topics", "describe", nosuch, topic, status=1)
    assert [each["topic"] for each in found["items"]] == [topic]
    assert [(each["resource"], each["code"]) for each in found["errors"]] == [(nosuch, "UNKNOWN_TOPIC_OR_PARTITION")]


def test_a_topic_that_exists_is_an_error_or_not(run: Commands, topic: str) -> None:
    again = run("topics", "create", topic)
    assert (again.exit_code, again.stdout) == (1, "")
    assert again.stderr.startswith(f"{topic}: ")
    assert "TOPIC_ALREADY_EXISTS" in again.stderr
    assert run.lines("topics", "create", topic, "--if-missing")[1].split() == [topic, "-", "-", "exists", "already"]
    entry = {"topic": topic, "partition_count": None, "replication_factor": None, "existed": True}
    assert run.document("topics", "create", topic, "--if-missing") == {"items": [entry], "errors": []}


def test_a_dry_run_creates_nothing(run: Commands) -> None:
    name = unique("planned")
    assert run.document("topics", "create", f"{name}:3", "--dry-run")["items"][0]["partition_count"] == 3
    assert name not in run.lines("topics", "list", "--quiet")
    wrong = run("topics", "create", name, "--dry-run", "--set", "retention.ms=never")
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert "INVALID_CONFIG" in wrong.stderr


def test_a_topic_grows_and_never_shrinks(run: Commands, topic: str) -> None:
    assert run.document("topics", "grow", f"{topic}:4", "--dry-run")["items"] == [
        {"topic": topic, "partition_count": 4}
    ]
    assert len(run.lines("topics", "describe", topic)) == 3
    assert [line.split() for line in run.lines("topics", "grow", f"{topic}:3")] == [
        ["TOPIC", "PARTITIONS"],
        [topic, "3"],
    ]
    wait_until(lambda: len(run.lines("topics", "describe", topic)) == 4)
    shrunk = run("topics", "grow", f"{topic}:1")
    assert (shrunk.exit_code, shrunk.stdout) == (1, "")
    assert "INVALID_PARTITIONS" in shrunk.stderr


def test_configurations_are_changed(run: Commands, topic: str) -> None:
    change = ("topics", "configs", topic, "--set", "retention.ms=7000", "--unset", "max.message.bytes")
    assert run.document(*change, "--dry-run", kind="topics configs --set")["items"] == [
        {"kind": "topic", "name": topic, "key": "retention.ms", "value": "7000"},
        {"kind": "topic", "name": topic, "key": "max.message.bytes", "value": None},
    ]
    assert [topic, "retention.ms", "5000"] in [
        line.split() for line in run.lines("topics", "describe", topic, "--configs")
    ]
    assert [line.split() for line in run.lines(*change)] == [
        ["KEY", "VALUE"],
        ["retention.ms", "7000"],
        ["max.message.bytes", "(reset)"],
    ]
    shown = ["retention.ms", "7000", "DYNAMIC_TOPIC_CONFIG"]
    wait_until(lambda: shown in [line.split() for line in run.lines("topics", "configs", topic)])
    assert "retention.ms" in run.lines("topics", "configs", topic, "--quiet")
    items = run.document("topics", "configs", topic)["items"]
    assert {(each["kind"], each["name"]) for each in items} == {("topic", topic)}


def test_wrong_configurations_change_nothing(run: Commands, topic: str) -> None:
    for change in (("--set", "retention.ms=never"), ("--set", "no.such.key=1"), ("--unset", "no.such.key")):
        done = run("topics", "configs", topic, *change)
        assert (done.exit_code, done.stdout) == (1, ""), change
        assert done.stderr.startswith(f"topic {topic}: ")


def test_records_are_deleted_from_the_beginning(run: Commands, topic: str) -> None:
    run.write(topic, 5)
    planned = [{"topic": topic, "partition": 0, "before": 3}, {"topic": topic, "partition": 1, "before": None}]
    bounds = (f"{topic}:0=3", f"{topic}:1=latest")
    assert run.document("topics", "delete-records", *bounds, "--dry-run")["items"] == planned
    refused = run("topics", "delete-records", *bounds)
    assert refused.exit_code == 2
    assert "Give --yes to do it, or --dry-run" in refused.stderr
    done = run.lines("topics", "delete-records", *bounds, "--yes")
    assert [line.split() for line in done] == [
        ["TOPIC", "PARTITION", "FIRST", "OFFSET"],
        [topic, "0", "3"],
        [topic, "1", "0"],
    ]
    beyond = run("topics", "delete-records", f"{topic}:0=9", "--yes")
    assert (beyond.exit_code, beyond.stdout) == (1, "")
    assert beyond.stderr.startswith(f"{topic}:0: ")
    assert "OFFSET_OUT_OF_RANGE" in beyond.stderr
    nowhere = run("topics", "delete-records", f"{topic}:7=1", "--dry-run")
    assert nowhere.exit_code == 1
    assert nowhere.stderr == f"{DRY_RUN}\n{topic}:7: Topic {topic} has 2 partitions, from 0 to 1.\n"


def test_a_topic_is_deleted_if_somebody_agrees(run: Commands, topic: str) -> None:
    refused = run("topics", "delete", topic)
    assert refused.exit_code == 2
    assert "Give --yes to do it, or --dry-run" in refused.stderr
    assert run.document("topics", "delete", topic, "--dry-run")["items"] == [{"topic": topic}]
    assert topic in run.lines("topics", "list", "--quiet")
    nosuch = unique("nosuch")
    done = run("topics", "delete", topic, nosuch, "--yes")
    assert (done.exit_code, done.stdout.split()) == (1, ["DELETED", "TOPIC", topic])
    assert done.stderr.startswith(f"{nosuch}: ")
    assert "UNKNOWN_TOPIC_OR_PARTITION" in done.stderr
    wait_until(lambda: topic not in run.lines("topics", "list", "--quiet"))
    assert run.lines("topics", "delete", topic, "--if-exists", "--yes", "--quiet") == []
