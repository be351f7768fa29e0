"""`kafka-groups transactions`: an open transaction, its producers, and their end."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from tests.support.commands import Commands
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique


@pytest.fixture
def topic(run: Commands) -> str:
    name = unique("orders")
    run.lines("topics", "create", f"{name}:1", "--replication-factor", "1")
    wait_until(lambda: name in run.lines("topics", "list", "--quiet"))
    return name


@pytest.fixture
def opened(run: Commands, topic: str) -> Iterator[str]:
    """A transactional id with an open transaction, which begins at offset 0."""
    name = unique("tx")
    producer = Producer({"bootstrap.servers": run.servers, "transactional.id": name})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"v", partition=0)
    producer.flush(30)
    yield name
    del producer


def test_a_transaction_is_listed_and_described(run: Commands, topic: str, opened: str) -> None:
    head, *rows = (line.split() for line in run.lines("transactions", "list", "--state", "ongoing"))
    assert head == ["TRANSACTIONAL", "ID", "STATE", "PRODUCER", "ID"]
    [row] = [each for each in rows if each[0] == opened]
    assert row[1] == "Ongoing"
    assert opened in run.lines("transactions", "list", "--quiet")
    assert opened not in run.lines("transactions", "list", "--longer-than", "600", "--quiet")
    [found] = run.document("transactions", "describe", opened)["items"]
    assert (found["state"], found["partitions"]) == ("Ongoing", [{"topic": topic, "partition": 0}])
    [entry] = [each for each in run.document("transactions", "list")["items"] if each["transactional_id"] == opened]
    assert str(entry["producer_id"]) == row[2] == str(found["producer_id"])
    assert run.lines("transactions", "describe", opened)[1].endswith(f"{topic}:0")
    missing = run("transactions", "describe", unique("nosuch"))
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert "TRANSACTIONAL_ID_NOT_FOUND" in missing.stderr


def test_producers_of_a_partition(run: Commands, topic: str, opened: str) -> None:
    [producer] = run.document("transactions", "producers", f"{topic}:0")["items"]
    assert (producer["topic"], producer["partition"], producer["transaction_start_offset"]) == (topic, 0, 0)
    assert run.lines("transactions", "producers", f"{topic}:0", "--quiet") == [str(producer["producer_id"])]
    assert run.lines("transactions", "producers", f"{topic}:0")[1].split()[0] == f"{topic}:0"
    missing = run("transactions", "producers", f"{topic}:7")
    assert (missing.exit_code, missing.stdout) == (1, "")
    # Its coordinator knows it.
    assert run.document("transactions", "hanging", "--topic", topic, "--longer-than", "0") == {
        "items": [],
        "errors": [],
    }


def test_a_transaction_is_aborted_in_a_partition(run: Commands, topic: str, opened: str) -> None:
    place = ("transactions", "abort", f"{topic}:0", "--start-offset")
    wrong = run(*place, "5", "--yes")
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert wrong.stderr == (
        f"{topic}:0: No open transaction begins at offset 5. See where open ones begin: kafka-groups transactions "
        f"producers {topic}:0.\n"
    )
    planned = run.document(*place, "0", "--dry-run")
    assert planned["items"][0]["start_offset"] == 0
    assert run.document("transactions", "producers", f"{topic}:0")["items"][0]["transaction_start_offset"] == 0
    assert run.document(*place, "0", "--yes")["items"][0]["producer_id"] == planned["items"][0]["producer_id"]
    [producer] = run.document("transactions", "producers", f"{topic}:0")["items"]
    assert producer["transaction_start_offset"] is None


def test_producers_are_fenced(run: Commands, opened: str) -> None:
    planned = run.document("transactions", "fence", opened, "--dry-run")["items"]
    assert planned == [{"transactional_id": opened, "producer_id": None, "producer_epoch": None}]
    [fenced] = run.document("transactions", "fence", opened, "--yes")["items"]
    assert fenced["producer_epoch"] > 0
    wait_until(lambda: run.lines("transactions", "describe", opened)[1].split()[1] in ("Empty", "CompleteAbort"))
