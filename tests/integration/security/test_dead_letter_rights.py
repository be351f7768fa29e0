"""`kafka-groups dead-letters` with exactly the rights that its page names. Each is asked for when it is missing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from confluent_kafka.admin import AclOperation, ResourceType

from kafka_groups.cli.main import main
from tests.support.kafka.secured_kafka import SECRET, SecuredKafka, running_secured_kafka

pytestmark = [pytest.mark.long, pytest.mark.real_kafka, pytest.mark.timeout(180)]

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
READ, WRITE, DELETE, ALTER_CONFIGS = (
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.DELETE,
    AclOperation.ALTER_CONFIGS,
)
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with running_secured_kafka(tmp_path_factory.mktemp("certificates")) as kafka:
        yield kafka


@pytest.fixture
def dead(secured: SecuredKafka) -> str:
    """A topic with one record."""
    return secured.create_topic()


@pytest.fixture
def run(secured: SecuredKafka, dead: str, tmp_path: Path) -> Run:
    keys = {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "ann", "sasl.password": SECRET}
    properties = tmp_path / "client.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in secured.keys("SASLTLS", keys).items()))

    def command(name: str, *arguments: str) -> Result:
        return CliRunner().invoke(main, ["dead-letters", name, dead, *arguments, "--config", str(properties)])

    return command


def refused(done: Result) -> str:
    """The line of a command that lacks a right."""
    assert (done.exit_code, done.stdout) == (1, ""), done.output
    (line,) = done.stderr.splitlines()
    return line


def needs(operation: str, topic: str) -> str:
    return (
        f"User:ann needs {operation} on the topic {topic} (TOPIC_AUTHORIZATION_FAILED). Grant it: kafka-groups acls "
        f"add --allow User:ann --topic {topic} --operation {operation}"
    )


def test_reading_needs_read(secured: SecuredKafka, dead: str, run: Run) -> None:
    for command in (("list",), ("list", "--summary"), ("show", "0@0"), ("send-again", "--yes", "0@0")):
        assert refused(run(*command)) == f"{dead}: {needs('READ', dead)}"
    secured.allow(TOPIC, dead, READ)
    assert run("list", "--quiet").stdout == "0@0\n"
    assert run("show", "0@0", "--raw").stdout == "one"


def test_sending_again_needs_write_and_without_a_selection_the_group(
    secured: SecuredKafka, dead: str, run: Run
) -> None:
    target = secured.create_topic()
    secured.allow(TOPIC, dead, READ)
    send = ("send-again", "--yes", "--to", target)
    assert needs("WRITE", target) in refused(run(*send, "0@0"))
    secured.allow(TOPIC, target, WRITE)
    assert run(*send, "0@0").exit_code == 0
    assert f"User:ann needs DESCRIBE on the group {dead}-resend (" in refused(run(*send))
    secured.allow(GROUP, f"{dead}-resend", READ)
    assert f"User:ann needs DESCRIBE_CONFIGS on the group {dead}-resend (" in refused(run(*send))
    secured.allow(GROUP, f"{dead}-resend", ALTER_CONFIGS)
    done = run(*send)
    assert (done.exit_code, done.stdout.split()) == (0, ["TO", "SENT", target, "1"]), done.output


def test_deletion_needs_delete_alone(secured: SecuredKafka, dead: str, run: Run) -> None:
    assert refused(run("delete", "--all", "--yes")) == f"{dead}: {needs('DELETE', dead)}"
    secured.allow(TOPIC, dead, WRITE)  # which implies DESCRIBE
    assert refused(run("delete", "--all", "--yes")) == f"{dead}-0: {needs('DELETE', dead)}"
    secured.allow(TOPIC, dead, DELETE)
    assert run("delete", "--all", "--yes").exit_code == 0
