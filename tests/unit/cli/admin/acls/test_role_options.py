import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafka_groups.cli.main import main

Add = Callable[..., Result]

WORKER = """
from kafka_groups import RetryTopics, Worker

RETRIES = RetryTopics("orders.retry", delays=(10, 60))
worker = Worker("invoices", bootstrap_servers="127.0.0.1:1", start="earliest")


@worker.handler("orders", dead_letters="orders.dead", retry_topics=RETRIES, output="done")
def handle(value: bytes) -> bytes: return value


empty = Worker("none", bootstrap_servers="127.0.0.1:1")
"""
APPLICATION = """
import re

from kafka_groups import serdes
from kafka_groups.streams import StreamsBuilder

TEXT = {"key": serdes.string, "value": serdes.string}


def build():
    builder = StreamsBuilder()
    words = builder.stream("posts", **TEXT).group_by(lambda key, value: value, key=serdes.string)
    words.count(name="counts").to_stream().map_values(str).to("totals", **TEXT)
    return builder.build()


def pattern():
    builder = StreamsBuilder()
    builder.stream(re.compile("posts-.*"), **TEXT).to("all", **TEXT)
    return builder.build()
"""


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Add:
    (tmp_path / "rights_worker_shop.py").write_text(WORKER, encoding="utf-8")
    (tmp_path / "rights_streams_app.py").write_text(APPLICATION, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def run(*arguments: str) -> Result:
        fixed = ("acls", "add", "--allow", "User:a", "--dry-run", "--json", "--bootstrap-servers", "127.0.0.1:1")
        return CliRunner().invoke(main, [*fixed, *arguments])

    return run


def rights(done: Result) -> Sequence[tuple[str, ...]]:
    assert done.exit_code == 0, done.output
    names = ("operation", "resource_type", "resource", "pattern_type")
    return [tuple(item[name] for name in names) for item in json.loads(done.stdout)["items"]]


def test_a_worker_names_its_groups_and_topics(add: Add) -> None:
    found = rights(add("--for", "worker", "rights_worker_shop:worker"))
    retries = sorted({name for _, _, name, _ in found if name.startswith("orders.retry.")})
    assert retries
    assert {each[:3] for each in found} == {
        ("READ", "GROUP", "invoices"),
        ("ALTER_CONFIGS", "GROUP", "invoices"),
        ("READ", "GROUP", "invoices-retry"),
        ("ALTER_CONFIGS", "GROUP", "invoices-retry"),
        ("READ", "TOPIC", "orders"),
        ("WRITE", "TOPIC", "orders.dead"),
        ("WRITE", "TOPIC", "done"),
        *((operation, "TOPIC", name) for name in retries for operation in ("READ", "WRITE", "DESCRIBE_CONFIGS")),
    }
    created = rights(add("--for", "worker", "rights_worker_shop:worker", "--create-topics"))
    assert {name for operation, _, name, _ in created if operation == "CREATE"} == {"orders.dead", "done", *retries}


def test_an_application_names_its_topics_and_prefixes(add: Add) -> None:
    found = rights(add("--for", "streams", "rights_streams_app:build", "--group", "app"))
    assert found == [
        ("READ", "GROUP", "app", "LITERAL"),
        ("READ", "TOPIC", "posts", "LITERAL"),
        ("WRITE", "TOPIC", "totals", "LITERAL"),
        *((operation, "TOPIC", "app-", "PREFIXED") for operation in ("READ", "WRITE", "CREATE", "DELETE")),
    ]
    exactly_once = rights(add("--for", "streams", "rights_streams_app:build", "--group", "app", "--exactly-once"))
    assert exactly_once == [*found, ("WRITE", "TRANSACTIONAL_ID", "app-", "PREFIXED")]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--for", "worker"), 2, "--for worker needs MODULE:NAME, such as shop:worker."),
        (("--for", "worker", "rights_worker_shop:worker", "--topic", "t"), 2, "leave out --topic and --group."),
        (("--for", "worker", "rights_worker_shop:empty"), 1, "has no handlers, so it needs no rights yet."),
        (("--for", "streams", "rights_streams_app:build"), 2, "--for streams needs the application.id: --group shop."),
        (("--for", "streams", "rights_streams_app:pattern", "--group", "app"), 1, "does not name the topics of"),
        (("--for", "producer", "shop:worker", "--topic", "t"), 2, "'shop:worker' is for --for worker and"),
        (("--for", "producer"), 2, "--for producer needs --topic."),
        (("--for", "producer", "--topic", "t", "--group", "g"), 2, "--for producer does not take --group."),
        (("--for", "share-consumer", "--topic", "t"), 2, "--for share-consumer needs --group and --topic."),
        (("--for", "producer", "--topic", "t", "--operation", "read"), 2, "Give either --operation or --for."),
        (("--for", "producer", "--topic", "t", "--create-topics"), 2, "--create-topics is for --for worker."),
        (("--for", "producer", "--topic", "t", "--exactly-once"), 2, "--exactly-once is for --for streams."),
    ],
)
def test_a_role_that_does_not_fit_is_refused(add: Add, arguments: tuple[str, ...], status: int, message: str) -> None:
    done = add(*arguments)
    assert (done.exit_code, done.stdout) == (status, "")
    assert message in " ".join(done.stderr.split())
