import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from confluent_kafka.admin import AdminClient, ConfigResource

from kafka_groups.cli.main import main
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.api_versions import ApiVersionsRequest
from kafka_groups.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafka_groups.protocol.messages.describe_acls import DescribeAclsRequest
from tests.support.certificates import Certificates
from tests.support.kafka.real_kafka import RawConnection

COMMAND = [sys.executable, "-m", "kafka_groups.cli", "broker"]


def started(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert re.fullmatch(r"bootstrap\.servers=(127\.0\.0\.1:\d+,?)+\n", line), line
    return line.strip().removeprefix("bootstrap.servers=")


@pytest.fixture
def cluster() -> Iterator["subprocess.Popen[str]"]:
    process = started("--brokers", "3", "--set", "num.partitions=5")
    yield process
    process.kill()
    process.communicate(timeout=20)


def test_brokers_answer_at_the_printed_address(cluster: "subprocess.Popen[str]") -> None:
    metadata = AdminClient({"bootstrap.servers": address(cluster)}).list_topics(timeout=20)
    assert len(metadata.brokers) == 3


_ASSIGNOR = """
def pinned(state):
    raise NotImplementedError
"""


def test_a_task_assignor_may_be_in_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "my_assignors.py").write_text(_ASSIGNOR)
    command = [str(Path(sys.executable).with_name("kafka-groups")), "broker", "--until-stdin-closes"]
    with subprocess.Popen(
        [*command, "--set", "group.streams.assignors=sticky,my_assignors:pinned"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as process:
        admin = AdminClient({"bootstrap.servers": address(process)})
        broker = ConfigResource(ConfigResource.Type.BROKER, "1")
        configs = admin.describe_configs([broker])[broker].result(60)
    assert configs["group.streams.assignors"].value == "sticky,pinned"


def test_a_profile_is_chosen() -> None:
    process = started("--profile", "4.2", "--until-stdin-closes")
    host, _, port = address(process).rpartition(":")
    with RawConnection(host, int(port)) as connection:
        response = connection.ask(ApiVersionsRequest(client_software_name="n", client_software_version="1"), 4)
    _, errors = process.communicate(timeout=20)

    assert ("metadata.version", 29) in {(each.name, each.max_version_level) for each in response.finalized_features}
    assert (process.returncode, errors) == (0, "")


def test_topics_are_there_from_the_start() -> None:
    arguments = ["--brokers", "2", "--set", "default.replication.factor=2", "--set", "num.partitions=3"]
    arguments += ["--topic", "orders:2", "--topic", "bills", "--topic-config", "bills:cleanup.policy=compact"]
    with started(*arguments, "--until-stdin-closes") as process:
        admin = AdminClient({"bootstrap.servers": address(process)})
        topics = admin.list_topics(timeout=20).topics
        assert {name: len(topic.partitions) for name, topic in topics.items()} == {"orders": 2, "bills": 3}
        assert {len(each.replicas) for topic in topics.values() for each in topic.partitions.values()} == {2}
        bills = ConfigResource(ConfigResource.Type.TOPIC, "bills")
        configs = admin.describe_configs([bills])[bills].result(60)
    assert configs["cleanup.policy"].value == "compact"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_it_in_good_order(cluster: "subprocess.Popen[str]", number: signal.Signals) -> None:
    address(cluster)
    cluster.send_signal(number)
    _, errors = cluster.communicate(timeout=20)
    assert (cluster.returncode, errors) == (0, "")


@pytest.mark.slow
def test_with_an_authorizer_clients_have_the_rights_of_the_acls() -> None:
    words = ("--authorize", "--super-user", "User:root", "--acl")
    process = started("--until-stdin-closes", *words, "--allow User:ANONYMOUS --cluster --operation describe")
    host, _, port = address(process).partition(":")
    with RawConnection(host, int(port)) as client:
        everything: dict[str, Any] = {
            "resource_type_filter": 1,
            "pattern_type_filter": 1,
            "operation": 1,
            "permission_type": 1,
        }
        listed = client.ask(DescribeAclsRequest(**everything), 3)
        deleted = client.ask(DeleteAclsRequest(filters=(DeleteAclsFilter(**everything),)), 3)
    assert [(each.resource_name, len(each.acls)) for each in listed.resources] == [("kafka-cluster", 1)]
    assert deleted.filter_results[0].error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors.partition(",")[0]) == (0, "Warning: every client is User:ANONYMOUS")


def test_child_ends_with_its_standard_input() -> None:
    process = started("--until-stdin-closes")
    address(process)
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")


def test_standard_input_that_is_no_pipe_has_ended() -> None:
    """It has no events to wait for."""
    done = subprocess.run(
        [*COMMAND, "--until-stdin-closes"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "num.partition=5"], "Did you mean 'num.partitions'"),
        (["--set", "num.partitions"], "'num.partitions' is not of the form KEY=VALUE"),
        (["--set", "num.partitions=0"], "Invalid value '0' for num.partitions: below the minimum of 1"),
        (["--brokers", "0"], "--brokers"),
        (["--sasl", "GSSAPI"], "Unknown SASL mechanism 'GSSAPI'"),
        (["--profile", "4.1"], "'4.1' is not one of '4.2', '4.3', '4.4'"),
        (
            ["--profile", "4.2", "--set", "group.share.max.delivery.count.limit=20"],
            "Kafka 4.2 does not have the broker",
        ),
        (["--user", "ann=x"], "Add one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, or leave the users out"),
        (["--sasl", "OAUTHBEARER", "--user", "ann=x"], "no SASL mechanism that asks for their passwords"),
        (["--sasl", "PLAIN"], "there are no users. Add --user NAME=PASSWORD"),
        (["--sasl", "PLAIN", "--user", "ann=x", "--user", "ann=y"], "'ann' is given more than once"),
        (["--set", "num.partitions=5", "--set", "num.partitions=6"], "'num.partitions' is given more than once"),
        (["--port", "65530", "--brokers", "20"], "the brokers need ports 65530 to 65549"),
        (["--user", "ann"], "A user is not of the form NAME=PASSWORD"),
        (["--tls-key", __file__], "It requires --tls-certificate"),
        (["--topic", "a b"], "'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"),
        (["--topic", "orders:0"], "'orders:0': the number of partitions is 1 or more, as in orders:2."),
        (["--topic", "orders", "--topic", "orders:2"], "'orders' is given more than once"),
        (["--topic", "orders", "--topic-config", "orders:retention.ms=soon"], "Invalid value 'soon' for retention.ms"),
        (["--topic-config", "orders:retention.ms=1"], "NAME is a topic of --topic"),
        (["--acl", "--allow User:ann --topic t --operation READ"], "--acl: It requires --authorize"),
        (["--super-user", "User:ann"], "--super-user: It requires --authorize"),
        (["--authorize", "--super-user", "ann"], "'ann' has no type. Use a principal such as User:admin"),
        (["--authorize", "--acl", "--allow ann --topic t --operation READ"], "is not a user. Write User:ann"),
        (["--authorize", "--acl", "--allow User:ann --topic t"], "Give --operation, such as READ"),
        (["--authorize", "--set", "authorizer.class.name=x"], "does not have this authorizer"),
        (["--tls-certificate", __file__], "Could not use the broker's TLS files"),
    ],
)
def test_bad_argument_is_explained(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(main, ["broker", *arguments])
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_port_in_use_is_explained(cluster: "subprocess.Popen[str]") -> None:
    port = address(cluster).split(",", 1)[0].rsplit(":", 1)[1]
    done = subprocess.run([*COMMAND, "--port", port], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert f"127.0.0.1:{port}" in done.stderr


def test_options_for_tls_and_sasl(tmp_path: Path) -> None:
    certificates = Certificates(tmp_path)
    users = tmp_path / "users"
    users.write_text("# users\nann=se=cret\n")
    process = started(
        *("--sasl", "SCRAM-SHA-512", "--users-file", str(users), "--user", "bob=b"),
        *("--tls-certificate", certificates.server),
    )
    try:
        admin = AdminClient({
            "bootstrap.servers": address(process),
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": certificates.ca,
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "ann",
            "sasl.password": "se=cret",
        })  # fmt: skip
        assert len(admin.list_topics(timeout=20).brokers) == 1
    finally:
        process.kill()
        process.communicate(timeout=20)
