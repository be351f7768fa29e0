"""`kafka-groups groups`: groups of all types, from their first member to their end, and mistakes."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from attrs import frozen
from confluent_kafka import Consumer

from kafka_groups import KafkaShareConsumer
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.commands import Commands
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique

RECORDS = 3
QUEUE = "errors.deadletterqueue.topic.name"


@frozen
class Groups:
    """Groups of three types with a member each, which has read all records of a topic."""

    topic: str
    share: str
    consumer: str
    classic: str

    @property
    def types(self) -> dict[str, str]:
        """The type by the name of each group."""
        return {self.share: "share", self.consumer: "consumer", self.classic: "classic"}


@pytest.fixture
def groups(run: Commands) -> Iterator[Groups]:
    made = Groups(*map(unique, ("orders", "share", "consumer", "classic")))
    run.lines("topics", "create", f"{made.topic}:1")
    run.write(made.topic, RECORDS)
    run.lines("groups", "configs", made.share, "--set", "share.auto.offset.reset=earliest")
    share = KafkaShareConsumer(
        bootstrap_servers=run.servers, group_id=made.share, acknowledgement_mode="explicit", client_id="share-client"
    )
    with share, closing(consumer(run, made.consumer, "consumer")) as new, closing(consumer(run, made.classic)) as old:
        share.subscribe([made.topic])
        records = list(share.poll(timeout=30))
        assert len(records) == RECORDS
        for record in records:
            share.acknowledge(record)
        share.commit_sync()
        for each in (new, old):
            each.subscribe([made.topic])
            read_all(each)
        yield made


def consumer(run: Commands, group: str, protocol: str = "classic") -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": run.servers,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "client.id": f"{protocol}-client",
        }
    )


def read_all(reader: Consumer) -> None:
    read = 0
    while read < RECORDS:
        message = reader.poll(30)
        assert message is not None
        read += message.error() is None
    reader.commit(asynchronous=False)


def rows(lines: Any, *names: str) -> list[list[str]]:
    """The cells of the lines that begin with one of these names."""
    return [line.split() for line in lines if line.split()[:1] and line.split()[0] in names]


def test_groups_of_all_types_are_listed(run: Commands, groups: Groups) -> None:
    assert run.lines("groups", "list")[0].split() == ["GROUP", "TYPE", "STATE"]
    expected = sorted([name, kind, "Stable"] for name, kind in groups.types.items())
    assert sorted(rows(run.lines("groups", "list"), *groups.types)) == expected
    shares = run.document("groups", "list", "--type", "Share", "--state", "stable")["items"]
    assert {"group": groups.share, "type": "share", "state": "Stable"} in shares
    assert {each["type"] for each in shares} == {"share"}
    assert groups.share not in run.lines("groups", "list", "--state", "Empty", "--quiet")
    assert {*groups.types} <= {*run.lines("groups", "list", "--quiet")}


def test_groups_of_all_types_are_described(run: Commands, groups: Groups) -> None:
    names = list(groups.types)
    lines = run.lines("groups", "describe", *names)
    assert lines[0].split() == ["GROUP", "TYPE", "STATE", "LAG", "MEMBERS"]
    assert rows(lines, *names) == [[name, kind, "Stable", "0", "1"] for name, kind in groups.types.items()]

    lines = run.lines("groups", "describe", *names, "--members", "--offsets")
    heads = [line.split() for line in lines if line.startswith("GROUP")]
    assert heads[1:] == [
        ["GROUP", "MEMBER", "INSTANCE", "CLIENT", "HOST", "ASSIGNED"],
        ["GROUP", "TOPIC", "PARTITION", "OFFSET", "END", "LAG"],
    ]
    assert rows(lines, groups.consumer)[1][3:] == ["consumer-client", "/127.0.0.1", f"{groups.topic}:0"]
    assert rows(lines, groups.consumer)[2] == [groups.consumer, groups.topic, "0", str(RECORDS), str(RECORDS), "0"]
    assert rows(lines, groups.share)[2][4:] == ["-", "0"]

    found = run.document("groups", "describe", groups.consumer, groups.classic, "--offsets")["items"]
    new, old = found
    assert (new["type"], new["assignor"], new["protocol"]) == ("consumer", "uniform", None)
    assert (old["type"], old["assignor"], old["protocol"], old["epoch"]) == ("classic", None, "range", None)
    place = {"topic": groups.topic, "partition": 0, "offset": RECORDS, "end": RECORDS, "lag": 0}
    assert new["offsets"] == old["offsets"] == [place]
    for each in found:
        assert each["members"][0]["assigned"] == [{"topic": groups.topic, "partitions": [0]}]
        assert each["members"][0]["tasks"] is None


def test_all_groups_of_a_type_are_described(run: Commands, groups: Groups) -> None:
    found = run.document("groups", "describe", "--all-groups", "--type", "consumer")["items"]
    assert groups.consumer in {each["group"] for each in found}
    assert {each["type"] for each in found} == {"consumer"}


def test_a_group_that_does_not_exist_is_an_error(run: Commands, groups: Groups) -> None:
    absent = unique("absent")
    done = run("groups", "describe", absent, groups.classic)
    assert (done.exit_code, len(done.stdout.splitlines())) == (1, 2)
    assert done.stderr.startswith(f"{absent}: ")
    found = run.document("groups", "describe", absent, groups.classic, status=1)
    assert [each["group"] for each in found["items"]] == [groups.classic]
    assert [(each["resource"], each["code"]) for each in found["errors"]] == [(absent, "GROUP_ID_NOT_FOUND")]


def test_groups_with_members_stay_and_others_are_deleted(run: Commands) -> None:
    topic, group = unique("orders"), unique("consumer")
    run.lines("topics", "create", f"{topic}:1")
    run.write(topic, RECORDS)
    reader = consumer(run, group, "consumer")
    with closing(reader):
        reader.subscribe([topic])
        read_all(reader)
        refused = run.document("groups", "delete", group, status=1)
        assert [(each["resource"], each["code"]) for each in refused["errors"]] == [(group, "NON_EMPTY_GROUP")]
    wait_until(lambda: group in run.lines("groups", "list", "--state", "Empty", "--quiet"))
    assert run.lines("groups", "delete", group) == ["DELETED GROUP", group]
    assert group not in run.lines("groups", "list", "--quiet")


def test_configurations_are_those_of_the_type(run: Commands, groups: Groups) -> None:
    def types(*words: str) -> set[str]:
        return {line.partition(".")[0] for line in run.lines("groups", "configs", *words, "--quiet")} - {"errors"}

    assert types(groups.share) == {"share"}
    assert types(groups.consumer) == {"consumer"}
    assert types(groups.share, "--all-types") == {"share", "consumer", "streams"}
    assert types(unique("absent")) == {"share", "consumer", "streams"}
    (entry,) = [
        each
        for each in run.document("groups", "configs", groups.share)["items"]
        if each["key"] == "share.auto.offset.reset"
    ]
    assert entry == {
        "kind": "group",
        "name": groups.share,
        "key": "share.auto.offset.reset",
        "value": "earliest",
        "source": "DYNAMIC_GROUP_CONFIG",
        "set": True,
        "read_only": False,
        "sensitive": False,
    }


def test_a_dry_run_changes_no_configuration(run: Commands) -> None:
    group = unique("planned")
    change = ("groups", "configs", group, "--set", "share.auto.offset.reset=earliest", "--dry-run")
    assert run.document(*change, kind="groups configs --set")["items"] == [
        {"kind": "group", "name": group, "key": "share.auto.offset.reset", "value": "earliest"}
    ]
    shown = [line.split() for line in run.lines("groups", "configs", group)]
    assert ["share.auto.offset.reset", "latest", "DEFAULT_CONFIG"] in shown
    wrong = run("groups", "configs", group, "--set", "share.auto.offset.reset=noon", "--dry-run")
    assert (wrong.exit_code, wrong.stdout) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["describe"], "Give either GROUP, once or several times, or --all-groups."),
        (["describe", "g", "--all-groups"], "Give either GROUP, once or several times, or --all-groups."),
        (["describe", "g", "--type", "share"], "--type selects from all groups"),
        (["list", "--type", "shared"], "'shared' is not one of 'classic', 'consumer', 'share', 'streams'"),
        (["configs", "g", "--set", "a=1", "--all-types"], "--all-types is for printing"),
    ],
)
def test_wrong_options_are_named(arguments: list[str], message: str) -> None:
    done = Commands("127.0.0.1:1")("groups", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.slow
@pytest.mark.real_kafka
def test_a_queue_that_brokers_would_not_write_to_is_a_warning(real_kafka: KafkaProcess) -> None:
    run = Commands(real_kafka.bootstrap_servers)
    group, queue = unique("share"), unique("dlq.orders")
    change = ("groups", "configs", group, "--set", f"{QUEUE}={queue}")
    missing = run(*change)
    assert (missing.exit_code, missing.stdout.split()) == (0, ["KEY", "VALUE", QUEUE, queue])
    assert missing.stderr.startswith(f"Warning: Topic {queue} does not exist.")
    run.lines("topics", "create", queue)
    wait_until(lambda: run(*change).stderr.startswith(f"Warning: Topic {queue} is not enabled"))
    run.lines("topics", "configs", queue, "--set", "errors.deadletterqueue.group.enable=true")
    wait_until(lambda: run(*change).stderr == "")
    wrong = run("groups", "configs", group, "--set", f"{QUEUE}=letters")
    assert wrong.exit_code == 0
    assert "The name 'letters' does not begin with 'dlq.'" in wrong.stderr
