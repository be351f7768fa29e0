"""`kafka-groups acls` on brokers with an authorizer: what is added is found, decides, and goes again."""

from collections.abc import Iterator

import pytest

from kafka_groups.testing import EmbeddedCluster
from tests.support.commands import Commands
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.kafka.secured_kafka import SecuredKafka, running_secured_kafka

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

HEAD = ["PRINCIPAL", "PERMISSION", "OPERATION", "TYPE", "RESOURCE", "PATTERN", "HOST"]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with running_secured_kafka(tmp_path_factory.mktemp("certificates")) as kafka:
        yield kafka


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.real_kafka)])
def run(request: pytest.FixtureRequest) -> Iterator[Commands]:
    """Runs commands as a super user of brokers with an authorizer."""
    if request.param == "kafka":
        kafka: SecuredKafka = request.getfixturevalue("secured")
        yield Commands(kafka.process.bootstrap_servers)
        return
    with EmbeddedCluster(acls=[], settings={"super.users": "User:ANONYMOUS"}) as cluster:
        yield Commands(cluster.bootstrap_servers)


@pytest.fixture
def topic(run: Commands) -> Iterator[str]:
    """A name that nobody has ACLs for."""
    name = unique("orders")
    yield name
    run("acls", "remove", "--topic", name, "--yes")


def listed(run: Commands, *options: str) -> list[list[str]]:
    return [line.split() for line in run.lines("acls", "list", *options)]


def test_an_acl_is_added_listed_and_removed(run: Commands, topic: str) -> None:
    row = ["User:ann", "ALLOW", "READ", "TOPIC", topic, "LITERAL", "*"]
    options = ("--allow", "User:ann", "--topic", topic, "--operation", "READ")
    assert [line.split() for line in run.lines("acls", "add", *options)] == [HEAD, row]
    wait_until(lambda: listed(run, "--topic", topic) == [HEAD, row])
    assert run.lines("acls", "add", *options, "--quiet") == []
    [item] = run.document("acls", "list", "--topic", topic)["items"]
    assert item == {
        "principal": "User:ann",
        "permission": "ALLOW",
        "operation": "READ",
        "resource_type": "TOPIC",
        "resource": topic,
        "pattern_type": "LITERAL",
        "host": "*",
    }
    assert run.lines("acls", "list", "--topic", topic, "--quiet") == [topic]
    assert [line.split() for line in run.lines("acls", "remove", *options, "--dry-run")] == [HEAD, row]
    assert listed(run, "--topic", topic) == [HEAD, row]
    assert run.document("acls", "remove", *options, "--yes")["items"] == [item]
    wait_until(lambda: listed(run, "--topic", topic) == [])


def test_a_dry_run_adds_nothing(run: Commands, topic: str) -> None:
    assert run.document("acls", "add", "--deny", "User:*", "--topic", topic, "--operation", "all", "--dry-run")["items"]
    assert listed(run, "--topic", topic) == []


def test_acls_that_hold_for_a_resource(run: Commands, topic: str) -> None:
    run.lines("acls", "add", "--deny", "User:ann", "--topic", topic[:-1], "--prefix", "--operation", "write")
    run.lines("acls", "add", "--allow", "User:ann", "--topic", topic, "--operation", "all", "--host", "10.0.0.0/8")
    wait_until(lambda: len(listed(run, "--topic", topic, "--matching")) == 3)
    assert [row[2] for row in listed(run, "--topic", topic)[1:]] == ["ALL"]
    check = ("acls", "check", "User:ann")
    assert not run.document(*check, "READ", "--topic", topic, status=1)["items"][0]["allowed"]
    [answer] = run.document(*check, "READ", "--topic", topic, "--host", "10.1.2.3")["items"]
    assert (answer["allowed"], answer["reason"]) == (True, f"ALLOW ALL to User:ann from 10.0.0.0/8 on {topic}")
    [answer] = run.document(*check, "write", "--topic", topic, "--host", "10.1.2.3", status=1)["items"]
    assert answer["reason"] == f"DENY WRITE to User:ann on names that begin with {topic[:-1]}"
    run("acls", "remove", "--topic", topic[:-1], "--prefix", "--yes")


def test_a_share_consumer_and_a_producer_get_what_they_ask_for(run: Commands, topic: str) -> None:
    run.lines("acls", "add", "--allow", "User:c", "--for", "share-consumer", "--group", topic, "--topic", topic)
    run.lines("acls", "add", "--allow", "User:p", "--for", "producer", "--topic", topic)
    wait_until(lambda: len(listed(run, "--topic", topic)) == 3)
    assert [row[:4] for row in listed(run, "--user", "User:c", "--group", topic)[1:]] == [
        ["User:c", "ALLOW", "READ", "GROUP"]
    ]
    assert [row[2] for row in listed(run, "--user", "User:p", "--topic", topic)[1:]] == ["WRITE"]
    run("acls", "remove", "--group", topic, "--yes")


def test_what_is_not_found_is_said(run: Commands, topic: str) -> None:
    done = run("acls", "remove", "--topic", topic, "--yes")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "No ACL was found.\n")


def test_without_an_authorizer_the_command_says_what_to_do() -> None:
    text = "cluster: This cluster has no authorizer. Set authorizer.class.name on its brokers (SECURITY_DISABLED)\n"
    with EmbeddedCluster() as cluster:
        run = Commands(cluster.bootstrap_servers)
        added = run("acls", "add", "--allow", "User:ann", "--topic", "a", "--topic", "b", "--operation", "read")
        assert (added.exit_code, added.stdout, added.stderr) == (1, "", text)
        assert run("acls", "list").stderr == text
