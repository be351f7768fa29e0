"""`kafka-groups groups`, `offsets` and `members` on an embedded cluster."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafka_groups import KafkaShareConsumer
from kafka_groups.broker.faults import answer
from kafka_groups.cli.consent import DRY_RUN
from kafka_groups.cli.main import main
from kafka_groups.config.readers import read_host_ports
from kafka_groups.net.tcp import TcpNetwork
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.list_groups import ListGroupsResponse
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from kafka_groups.testing.kafka_process import KafkaProcess
from tests.support.cluster_client import ClusterClient
from tests.support.commands import rows
from tests.support.conditions import wait_until
from tests.support.kafka.real_kafka import unique
from tests.support.members.classic_group import Group
from tests.support.requests.raw_client import RawClient

RECORDS = 6
OFFSETS_RESET = ("offsets", "reset", "invoices")
Run = Callable[..., Result]


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    settings = {**FAST_SETTINGS, "group.initial.rebalance.delay.ms": 0}
    with EmbeddedCluster(settings=settings) as cluster:
        cluster.create_topic("orders")
        cluster.alter_group_configs("invoices", {"share.auto.offset.reset": "earliest"})
        cluster.produce("orders", map(str, range(RECORDS)))
        yield cluster


@pytest.fixture
def run(cluster: EmbeddedCluster) -> Run:
    """Runs a command in this process."""

    def command(*arguments: str) -> Result:
        return CliRunner().invoke(main, [*arguments, "--bootstrap-servers", cluster.bootstrap_servers])

    return command


@pytest.fixture
def consumer(cluster: EmbeddedCluster) -> Iterator[KafkaShareConsumer]:
    """A member of the group that has accepted two records."""
    with KafkaShareConsumer(
        bootstrap_servers=cluster.bootstrap_servers, group_id="invoices", acknowledgement_mode="explicit"
    ) as consumer:
        consumer.subscribe(["orders"])
        records = consumer.poll(timeout=20)
        assert len(records) == RECORDS
        for record in list(records)[:2]:
            consumer.acknowledge(record)
        consumer.commit_sync()
        yield consumer


def test_a_group_from_its_first_member_to_its_end(run: Run, consumer: KafkaShareConsumer) -> None:
    listed = "GROUP     TYPE   STATE\ninvoices  share  Stable\n"
    assert run("groups", "list").stdout == listed
    assert run("groups", "list", "--state", "Empty").stdout == ""
    assert run("groups", "list", "--state", "stable").stdout == listed
    head, row, _, members, member = run("groups", "describe", "invoices", "--members").stdout.splitlines()
    assert head.split() == ["GROUP", "TYPE", "STATE", "LAG", "MEMBERS"]
    assert row.split() == ["invoices", "share", "Stable", str(RECORDS - 2), "1"]
    assert members.split() == ["GROUP", "MEMBER", "INSTANCE", "CLIENT", "HOST", "ASSIGNED"]
    assert member.split() == ["invoices", consumer.member_id, "-", "kafka-groups", "/127.0.0.1", "orders:0"]
    refused = run("offsets", "reset", "invoices", "--to-earliest", "--all-topics", "--execute")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.startswith("invoices: ")
    refused = run("offsets", "reset", "invoices", "--to-earliest", "--all-topics", "--dry-run")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "The share group invoices has 1 member. Stop all of its members first (NON_EMPTY_GROUP)" in refused.stderr
    deleted = run("groups", "delete", "invoices", "absent")
    assert (deleted.exit_code, deleted.stdout) == (1, "")
    assert [line.split(":")[0] for line in sorted(deleted.stderr.splitlines())] == ["absent", "invoices"]
    consumer.close()

    assert rows(run("offsets", "reset", "invoices", "--to-earliest", "--all-topics", "--execute").stdout) == [
        "invoices orders 0 0"
    ]
    assert rows(run("offsets", "describe", "invoices").stdout) == [f"invoices orders 0 0 {RECORDS}"]
    planned = run("offsets", "reset", "invoices", "--to-latest", "--topic", "orders:0", "--dry-run")
    assert (planned.exit_code, rows(planned.stdout)) == (0, [f"invoices orders 0 {RECORDS}"])
    assert rows(run("offsets", "describe", "invoices").stdout) == [f"invoices orders 0 0 {RECORDS}"]
    later = run(*OFFSETS_RESET, "--to-datetime", "2100-01-01T00:00Z", "--topic", "orders", "--execute")
    assert rows(later.stdout) == [f"invoices orders 0 {RECORDS}"]
    planned = run("offsets", "delete", "invoices", "--topic", "orders", "--topic", "nosuch", "--dry-run")
    assert (planned.exit_code, rows(planned.stdout)) == (1, ["invoices orders"])
    assert planned.stderr == f"{DRY_RUN}\ninvoices nosuch: The group has no offsets of this topic.\n"
    assert rows(run("offsets", "describe", "--all-groups").stdout) == [f"invoices orders 0 {RECORDS} 0"]
    assert rows(run("offsets", "delete", "invoices", "--topic", "orders").stdout) == ["invoices orders"]
    described = run("offsets", "describe", "invoices")
    assert (described.exit_code, described.stdout) == (0, "")
    assert described.stderr.startswith("invoices: It has no offsets")
    reset = run("offsets", "reset", "invoices", "--to-earliest", "--all-topics", "--execute")
    assert (reset.exit_code, reset.stdout) == (1, "")
    assert "invoices: It has no offsets" in reset.stderr
    assert run("groups", "describe", "invoices").stdout.split()[5:] == ["invoices", "share", "Empty", "-", "0"]
    assert run("groups", "delete", "invoices").stdout == "DELETED GROUP\ninvoices\n"
    assert run("groups", "list").stdout == ""


async def test_members_are_removed(cluster: EmbeddedCluster, run: Run) -> None:
    ((host, port),) = read_host_ports(cluster.bootstrap_servers)
    clients: list[RawClient] = []

    def client() -> RawClient:
        clients.append(RawClient(TcpNetwork(), host, port))
        return clients[-1]

    asking = ClusterClient(TcpNetwork(), host, port)
    await asking.coordinator_of("billing")
    await asking.close()
    members = await Group(client, "billing").stable("one", None)
    (dynamic,) = (member.member_id for member in members if member.instance is None)
    some = ("--instance", "one", "--instance", "two", "--reason", "a test")
    removed = await asyncio.to_thread(run, "members", "remove", "billing", *some)
    assert (removed.exit_code, rows(removed.stdout)) == (1, ["one -"])
    assert removed.stderr.startswith("two: ")
    assert "UNKNOWN_MEMBER_ID" in removed.stderr
    everyone = await asyncio.to_thread(run, "members", "remove", "billing", "--everyone")
    assert (everyone.exit_code, rows(everyone.stdout)) == (0, [f"- {dynamic}"])
    nobody = await asyncio.to_thread(run, "members", "remove", "billing", "--everyone")
    assert (nobody.exit_code, nobody.stdout, nobody.stderr) == (0, "", "billing: has no members\n")
    for each in clients:
        await each.disconnect()


def test_a_broker_that_fails_to_list_is_named(cluster: EmbeddedCluster, run: Run) -> None:
    refusal = ListGroupsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    cluster.faults.on(ApiKey.LIST_GROUPS, answer(refusal))
    listed = run("groups", "list")
    assert (listed.exit_code, listed.stdout) == (1, "")
    assert listed.stderr.startswith("broker 1: ")
    assert "CLUSTER_AUTHORIZATION_FAILED" in listed.stderr


def test_the_configuration_comes_from_a_file(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers={cluster.bootstrap_servers}\nclient.id = me\n")
    command = [sys.executable, "-m", "kafka_groups.cli", "groups", "list", "--config", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["members", "remove", "g"], "either --instance, once or several times, or --everyone"),
        (["members", "remove", "g", "--everyone", "--instance", "one"], "either --instance"),
        (
            ["offsets", "reset", "g", "--to-datetime", "noon", "--all-topics", "--execute"],
            "'noon' is not a time such as",
        ),
        (["offsets", "reset", "g", "--to-earliest", "--all-topics"], "either --dry-run or --execute"),
        (
            ["offsets", "reset", "g", "--to-earliest", "--execute"],
            "either --topic, once or several times, or --all-topics",
        ),
        (
            ["offsets", "reset", "g", "--all-topics", "--execute"],
            "--to-earliest, --to-latest, --to-datetime, --by-duration.",
        ),
        (["groups", "list", "--state", "Full"], "'Full' is not one of 'Empty', 'NotReady', 'Assigning'"),
        (["streams", "list", "--state", "Full"], "'Empty', 'NotReady', 'Assigning', 'Reconciling', 'Stable', 'Dead'"),
        (["groups", "configs", "g", "--set", "share.auto.offset.reset"], "is not of the form KEY=VALUE"),
        (["groups", "configs", "g", "--set", "share.x=1", "--set", "share.x=2"], "'share.x' is given more than once"),
        (["groups", "configs", "g", "--set", "share.x=1", "--unset", "share.x"], "'share.x' is given more than once"),
        (["streams", "offsets", "alter", "g", "orders:0=1", "orders:0=2"], "'orders-0' is given more than once"),
        (["groups", "delete"], "Missing argument 'GROUP...'"),
    ],
)
def test_wrong_options_are_named(run: Run, arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_group_is_configured_before_it_exists(cluster: EmbeddedCluster, run: Run) -> None:
    changed = run("groups", "configs", "billing", "--set", "share.auto.offset.reset=earliest")
    assert changed.stdout.split() == ["KEY", "VALUE", "share.auto.offset.reset", "earliest"]
    lines = configs_of(run)
    assert ["share.auto.offset.reset", "earliest", "DYNAMIC_GROUP_CONFIG"] in lines
    assert {line[0].partition(".")[0] for line in lines} == {"KEY", "share", "consumer", "errors", "streams"}
    assert run("groups", "configs", "billing", "--unset", "share.auto.offset.reset").exit_code == 0
    assert ["share.auto.offset.reset", "latest", "DEFAULT_CONFIG"] in configs_of(run)
    refused = run("groups", "configs", "billing", "--set", "share.auto.offset.reset=noon")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.startswith("group billing: ")


def configs_of(run: Run) -> list[list[str]]:
    return [line.split() for line in run("groups", "configs", "billing").stdout.splitlines()]


RESET_NOTHING = ("offsets", "reset", "absent", "--to-earliest", "--all-topics", "--execute")


@pytest.mark.parametrize("arguments", [("offsets", "describe", "absent"), RESET_NOTHING], ids=["describe", "reset"])
def test_a_group_that_does_not_exist_is_an_error(run: Run, arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Group absent not found" in done.stderr


@pytest.mark.real_kafka
def test_a_group_that_a_real_kafka_does_not_have_is_an_error(real_kafka: KafkaProcess) -> None:
    group = unique("group")
    servers = ["--bootstrap-servers", real_kafka.bootstrap_servers]
    done = CliRunner().invoke(main, ["offsets", "describe", group, *servers])
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"Group {group} not found" in done.stderr
    unset = CliRunner().invoke(main, ["groups", "configs", group, "--unset", "share.absent", *servers])
    assert (unset.exit_code, unset.stdout) == (1, "")


def test_a_key_that_does_not_exist_is_not_unset(run: Run) -> None:
    done = run("groups", "configs", "billing", "--unset", "share.absent")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Unknown configuration key 'share.absent'" in done.stderr


@pytest.mark.real_kafka
def test_a_group_of_a_real_kafka_is_configured(real_kafka: KafkaProcess) -> None:
    group = ["groups", "configs", unique("group"), "--bootstrap-server", real_kafka.bootstrap_servers]
    changed = CliRunner().invoke(main, [*group, "--set", "share.auto.offset.reset=earliest"])
    assert changed.stdout.split() == ["KEY", "VALUE", "share.auto.offset.reset", "earliest"]

    def is_set() -> bool:
        shown = [line.split() for line in CliRunner().invoke(main, group).stdout.splitlines()]
        return ["share.auto.offset.reset", "earliest", "DYNAMIC_GROUP_CONFIG"] in shown

    wait_until(is_set)


def test_the_brokers_come_from_the_environment_last(
    cluster: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here, nowhere = cluster.bootstrap_servers, "127.0.0.1:1"
    short = ["groups", "list", "--timeout", "0.3"]
    monkeypatch.setenv("KAFKA_GROUPS_BOOTSTRAP_SERVERS", here)
    assert CliRunner().invoke(main, ["groups", "list"]).exit_code == 0
    assert CliRunner().invoke(main, [*short, "--bootstrap-servers", nowhere]).exit_code == 1
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers={nowhere}\n")
    assert CliRunner().invoke(main, [*short, "--config", str(file)]).exit_code == 1
    monkeypatch.setenv("KAFKA_GROUPS_BOOTSTRAP_SERVERS", nowhere)
    assert CliRunner().invoke(main, ["groups", "list", "--bootstrap-server", here]).exit_code == 0


def test_brokers_are_named_and_reached() -> None:
    nowhere = CliRunner().invoke(main, ["groups", "list"])
    assert nowhere.exit_code == 2
    assert "bootstrap_servers" in nowhere.stderr
    nobody = CliRunner().invoke(main, ["groups", "list", "--bootstrap-servers", "127.0.0.1:1", "--timeout", "0.3"])
    assert nobody.exit_code == 1
    assert "No broker has answered for 300 ms" in nobody.stderr
