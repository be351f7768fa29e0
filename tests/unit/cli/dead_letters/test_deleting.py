import pytest

from kafka_groups.cli.consent import DRY_RUN
from kafka_groups.errors import TopicAuthorizationFailedError
from kafka_groups.types import TopicPartition
from tests.support.command_documents import document
from tests.unit.cli.dead_letters.conftest import MadeUpTopic, Run

TABLE = """\
PARTITION  FROM  BEFORE
        0     0      14
        1     0       4
"""


def test_it_shows_what_it_would_delete(run: Run, topic: type[MadeUpTopic]) -> None:
    done = run("delete", "orders.dead", "--all", "--dry-run")
    assert (done.exit_code, done.stdout, done.stderr) == (0, TABLE, f"{DRY_RUN}\n")
    assert topic.deleted == ()


def test_it_deletes(run: Run, topic: type[MadeUpTopic]) -> None:
    done = run("delete", "orders.dead", "--all", "--yes")
    assert (done.exit_code, done.stdout, done.stderr) == (0, TABLE, "")
    assert [each.before for each in topic.deleted] == [14, 4]
    deleted = document(run("delete", "orders.dead", "--before", "2026-01-01", "--yes", "--json"), "dead-letters delete")
    assert deleted["items"] == [{"topic": "orders.dead", "partition": 0, "begin": 0, "before": 12}]
    assert run("delete", "orders.dead", "--all", "--yes", "--quiet").stdout == ""


def test_it_asks_on_a_terminal(run: Run, topic: type[MadeUpTopic], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_groups.cli.consent.is_terminal", lambda: True)
    declined = run("delete", "orders.dead", "--before", "2026-01-01", typed="n\n")
    assert (declined.exit_code, declined.stdout, topic.deleted) == (1, "", ())
    assert declined.stderr.startswith(
        "Delete 12 records of orders.dead, those before 2026-01-01T00:00:00.000Z? [y/N]: "
    )
    agreed = run("delete", "orders.dead", "--all", typed="y\n")
    assert (agreed.exit_code, agreed.stdout) == (0, TABLE)
    assert agreed.stderr.startswith("Delete 18 records of orders.dead, all? [y/N]: ")


def test_a_partition_that_keeps_its_records_is_named(run: Run, topic: type[MadeUpTopic]) -> None:
    topic.undeletable = {TopicPartition("orders.dead", 1): TopicAuthorizationFailedError("Denied.")}
    done = run("delete", "orders.dead", "--all", "--yes", "--json")
    found = document(done, "dead-letters delete", status=1)
    assert [each["partition"] for each in found["items"]] == [0]
    assert [each["resource"] for each in found["errors"]] == ["orders.dead-1"]
    assert done.stderr == "orders.dead-1: Denied (TOPIC_AUTHORIZATION_FAILED)\n"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "single dead letters cannot be deleted"),
        (("--all", "--before", "2026-01-01"), "Give either --before or --all."),
        (("--all",), "Give --yes to do it"),
    ],
)
def test_bad_options(run: Run, topic: type[MadeUpTopic], options: tuple[str, ...], text: str) -> None:
    refused = run("delete", "orders.dead", *options)
    assert (refused.exit_code, refused.stdout, topic.deleted) == (2, "", ())
    assert text in " ".join(refused.stderr.split())
