"""Commands of a user without rights: one line for each right, and the command at its end grants it."""

import json
import logging
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from attrs import frozen
from click.testing import CliRunner, Result

from kafka_groups.broker.security import BrokerSecurity
from kafka_groups.cli.main import main
from kafka_groups.testing import FAST_SETTINGS, EmbeddedCluster
from tests.support.kafka.real_kafka import unique
from tests.support.kafka.secured_kafka import SECRET, SecuredKafka, running_secured_kafka

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

GRANT = re.compile(r"Grant it: (kafka-groups acls add [^|]*?--operation [A-Z_]+)")
PASSWORDS = {"ann": SECRET, "admin": SECRET}

WORKER = """
import json
from pathlib import Path

from kafka_groups import RetryTopics, Worker

names = json.loads(Path("names.json").read_text())
worker = Worker(names["group"], names["keys"], start="earliest")


@worker.handler(
    names["topic"],
    dead_letters=names["dead"],
    output=names["output"],
    retry_topics=RetryTopics(names["topic"] + ".retry", delays=(1,)),
)
def handle(value: bytes) -> bytes: return value
"""
APPLICATION = """
import json
from pathlib import Path

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder

names = json.loads(Path("names.json").read_text())


def build():
    builder = StreamsBuilder()
    text = {"key": serdes.string, "value": serdes.string}
    builder.stream(names["topic"], **text).to(names["output"], **text)
    return builder.build()
"""


@frozen
class Surroundings:
    """A cluster, and two ways in.

    Attributes:
        admin: The keys of a super user, as a file.
        keys: The keys of ann, who has no rights.
    """

    admin: Path
    keys: Mapping[str, str]

    def __call__(self, *arguments: str) -> Result:
        """Run a command as the super user."""
        done = CliRunner().invoke(main, [*arguments, "--config", str(self.admin)])
        assert done.exit_code == 0, done.output
        return done


def written(path: Path, keys: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{key}={value}\n" for key, value in keys.items()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with running_secured_kafka(tmp_path_factory.mktemp("certificates")) as kafka:
        yield kafka


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.real_kafka)])
def around(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Surroundings]:
    if request.param == "kafka":
        kafka: SecuredKafka = request.getfixturevalue("secured")
        ann = {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "ann", "sasl.password": SECRET}
        admin = {"bootstrap.servers": kafka.process.bootstrap_servers}
        keys = {key: str(value) for key, value in kafka.keys("SASLTLS", ann).items()}
        yield Surroundings(written(tmp_path / "admin.properties", admin), keys)
        return
    security = BrokerSecurity(mechanisms=("PLAIN",), users=PASSWORDS)
    with EmbeddedCluster(
        acls=[], settings={**FAST_SETTINGS, "super.users": "User:admin"}, security=security
    ) as cluster:
        both = {
            "bootstrap.servers": cluster.bootstrap_servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.password": SECRET,
        }
        super_user = written(tmp_path / "admin.properties", {**both, "sasl.username": "admin"})
        yield Surroundings(super_user, {**both, "sasl.username": "ann"})


@pytest.fixture
def names(
    around: Surroundings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> dict[str, str]:
    """A worker and an application in the working directory, and their topics."""
    caplog.set_level(logging.ERROR, "kafka_groups.worker")  # a check changes the level, and the test ends that
    topic, group = unique("orders"), unique("invoices")
    found = {"topic": topic, "group": group, "dead": f"{topic}.dead", "output": f"{topic}.out"}
    (tmp_path / "names.json").write_text(json.dumps({**found, "keys": dict(around.keys)}), encoding="utf-8")
    (tmp_path / f"shop_{group.replace('-', '_')}.py").write_text(WORKER, encoding="utf-8")
    (tmp_path / f"app_{group.replace('-', '_')}.py").write_text(APPLICATION, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    retry = ("--set", "message.timestamp.type=LogAppendTime")
    around("topics", "create", f"{topic}:1", f"{topic}.dead:1", f"{topic}.out:1", "--replication-factor", "1")
    around("topics", "create", f"{topic}.retry.1s:1", "--replication-factor", "1", *retry)
    return {**found, "module": group.replace("-", "_")}


def grants(text: str) -> list[str]:
    """The commands that a text names, put together where a table has broken them."""
    joined = " ".join(text.replace("│", " ").split())
    return [each for found in GRANT.findall(joined) for each in found.split("; ")]


def test_the_commands_of_a_check_are_all_that_a_worker_needs(around: Surroundings, names: dict[str, str]) -> None:
    def check() -> Result:
        return CliRunner().invoke(main, ["worker", f"shop_{names['module']}:worker", "--check"], env={"COLUMNS": "400"})

    given = set[str]()
    for _ in range(8):  # some rights can only be asked for with others
        done = check()
        if done.exit_code == 0:
            break
        assert "Traceback" not in done.output
        new = set(grants(done.output)) - given
        assert new, done.output
        given |= new
        for command in new:
            around(*shlex.split(command)[1:])
    assert check().exit_code == 0, check().output
    operations = {tuple(shlex.split(each)[5:]) for each in given}
    assert ("--group", names["group"], "--operation", "READ") in operations
    assert ("--group", f"{names['group']}-retry", "--operation", "READ") in operations
    written_to = (names["dead"], names["output"], f"{names['topic']}.retry.1s")
    assert any(set(written_to) <= set(each) and each[-1] == "WRITE" for each in operations)


def test_a_worker_and_an_application_end_with_one_line(around: Surroundings, names: dict[str, str]) -> None:
    worker = CliRunner().invoke(main, ["worker", f"shop_{names['module']}:worker"])
    properties = written(Path("client.properties"), around.keys)
    run = ["streams", "run", f"app_{names['module']}:build", "--config", str(properties)]
    for protocol in ("streams", "classic"):
        application = CliRunner().invoke(
            main, [*run, "-c", f"application.id={names['group']}", "--group-protocol", protocol]
        )
        assert application.exit_code == 1
        assert "Traceback" not in application.output
        assert application.stderr.splitlines()[-1].startswith("Error: ")
        assert grants(application.stderr.splitlines()[-1])
    assert worker.exit_code in {1, 2}
    assert "Traceback" not in worker.output
    assert grants(worker.stderr)


def test_commands_of_administration_name_the_right(around: Surroundings, names: dict[str, str]) -> None:
    properties = written(Path("client.properties"), around.keys)
    for command, operation in (
        (("topics", "delete", names["topic"], "--yes"), "DELETE"),
        (("topics", "describe", names["topic"]), "DESCRIBE"),
        (("topics", "create", unique("new"), "--replication-factor", "1"), "CREATE"),
        (("groups", "configs", names["group"]), "DESCRIBE_CONFIGS"),
        (("acls", "list"), "DESCRIBE"),
        (("acls", "add", "--allow", "User:ann", "--topic", "x", "--operation", "all"), "ALTER"),
        (("transactions", "describe", "tx"), "DESCRIBE"),
        (("transactions", "fence", "tx", "--yes"), "WRITE"),
    ):
        done = CliRunner().invoke(main, [*command, "--config", str(properties)])
        assert done.exit_code == 1, done.output
        [line] = done.stderr.splitlines()
        assert f"User:ann needs {operation} on the " in line, (command, line)
        assert line.endswith(f"--operation {operation}"), (command, line)
