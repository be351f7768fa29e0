"""Options that contradict each other, or have no meaning: status 2, before anything is sent."""

import pytest
from click.testing import CliRunner

from kafka_groups.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("share-consume g orders --accept --reject", "Give one of --accept, --release, --reject and --ask."),
        ("share-consume g orders --release --ask", "Give one of --accept, --release, --reject and --ask."),
        ("share-consume g orders --ask", "--ask needs a terminal, and standard input is not one."),
        ("share-consume g orders --from 5", "'5' is not one of 'earliest', 'latest'"),
        ("share-consume g", "Missing argument 'TOPIC …'"),
        ("share-consume g orders orders", "'orders' is given more than once."),
        ("consume orders --format %d", "%d is the delivery count, which only records of share-consume have."),
        ("consume orders --format %x", "%x is not a part of a record."),
        ("consume orders --format %v --json", "Give either --format or --json."),
        ("consume orders --from yesterday", "'yesterday' is not a place to begin."),
        ("consume orders: --json", "'orders:' is not of the form TOPIC:PARTITION,PARTITION."),
        ("consume orders -n 0", "0 is not in the range x>=1"),
        ("consume orders --timeout 0", "0.0 is not in the range x>0"),
        ("consume a+b", "'a+b' is not the name of a topic."),
        ("produce a+b", "'a+b' is not the name of a topic."),
        ("produce orders nosuchfile", "File 'nosuchfile' does not exist"),
        ("produce orders --json-lines --key a", "Give one of --key-delimiter, --json-lines and --key."),
        ("produce orders --key-delimiter : --key a", "Give one of --key-delimiter, --json-lines and --key."),
        ("produce orders --header a", "'a' is not of the form NAME=VALUE."),
        ("produce orders --partition -1", "-1 is not in the range x>=0"),
    ],
)
def test_options_that_are_refused(arguments: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_GROUPS_BOOTSTRAP_SERVERS", "localhost:1")
    done = CliRunner().invoke(main, arguments.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in " ".join(done.stderr.split())


def test_an_empty_delimiter_and_an_empty_group_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_GROUPS_BOOTSTRAP_SERVERS", "localhost:1")
    for arguments in (["produce", "orders", "--key-delimiter", ""], ["share-consume", "", "orders"]):
        assert CliRunner().invoke(main, arguments).exit_code == 2
