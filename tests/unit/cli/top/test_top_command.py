"""`kafka-groups top --worker`: its options, its JSON and its status."""

import json
from typing import Any

import attrs
import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from kafka_groups.cli.documents.catalogue import LINES
from kafka_groups.cli.documents.document import line_schema_of
from kafka_groups.cli.main import main
from tests.support.probe_servers import answering_status, port_of_nobody
from tests.support.worker_statuses import busy_status


def top(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["top", *arguments])


def lines(done: Result, status: int) -> list[Any]:
    """The lines of JSON, which fit their schema."""
    assert done.exit_code == status, done.output
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for each in found:
        Draft202012Validator(line_schema_of(LINES["top --worker"])).validate(each)
    return found


def test_workers_that_answer_are_printed_with_status_0() -> None:
    with answering_status(busy_status()) as address:
        done = top("--once", "--worker", address)
        assert done.exit_code == 0, done.output
        assert [line.split()[0] for line in done.stdout.splitlines()[:3]] == ["WORKER", address, address]
        (line,) = lines(top("--once", "--json", "--worker", address, "--worker", address), 0)
    assert (line["kind"], line["worker"], line["error"]) == ("worker", address, None)
    assert line["status"] == json.loads(json.dumps(attrs.asdict(busy_status())))


def test_a_worker_that_does_not_answer_is_a_row_and_status_1() -> None:
    nobody = f"127.0.0.1:{port_of_nobody()}"
    done = top("--once", "--worker", nobody)
    assert done.exit_code == 1
    assert "cannot connect: Connection refused" in done.stdout
    with answering_status(busy_status()) as address:
        first, second = lines(top("--once", "--json", "--worker", nobody, "--worker", address), 1)
    assert (first["status"], first["error"]["message"]) == (None, "cannot connect: Connection refused")
    assert second["status"]["group"] == "shop"


def test_groups_of_brokers_that_cannot_be_reached_are_rows_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_groups.cli.top.group_source._TIMEOUT_MS", 300)
    nobody = f"127.0.0.1:{port_of_nobody()}"
    done = top("--once", "invoices", "--bootstrap-servers", nobody)
    assert done.exit_code == 1
    assert done.stdout.splitlines()[1].split() == ["invoices", *"------"]
    assert "No broker has answered" in done.stdout
    failed = top("--once", "--json", "--bootstrap-servers", nobody)
    (line,) = map(json.loads, failed.stdout.splitlines())
    Draft202012Validator(line_schema_of(LINES["top"])).validate(line)
    assert (failed.exit_code, line["group"], line["error"]["resource"]) == (1, None, "cluster")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "Missing configuration key bootstrap_servers"),
        (("invoices",), "Missing configuration key bootstrap_servers"),
        (("--worker", "here"), "'here' is not in the form host:port. Give the probe address of a worker: HOST:PORT"),
        (("--worker", "here:1", "--interval", "0"), "Invalid value for '--interval'"),
        (("--worker", "here:1", "--interval", "nan"), "Invalid value for '--interval'"),
        (("--worker", "here:1", "--interval", "inf"), "Invalid value for '--interval'"),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments: tuple[str, ...], text: str) -> None:
    done = top(*arguments)
    assert done.exit_code == 2
    assert text in done.stderr
    assert not done.stdout
