import pytest
from click.testing import CliRunner

from kafka_groups.cli.admin.topics.topic_arguments import RECORD_BOUND, TOPIC_AND_COUNT, RecordBound, TopicCount
from kafka_groups.cli.main import main


@pytest.mark.parametrize(
    ("text", "read"), [("orders", TopicCount("orders", None)), ("a.b_c-d:12", TopicCount("a.b_c-d", 12))]
)
def test_a_topic_with_a_number_of_partitions(text: str, read: TopicCount) -> None:
    assert TOPIC_AND_COUNT.convert(text, None, None) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [("orders:0=12", RecordBound("orders", 0, 12)), ("orders:10=latest", RecordBound("orders", 10, None))],
)
def test_a_place_before_which_records_are_deleted(text: str, read: RecordBound) -> None:
    assert RECORD_BOUND.convert(text, None, None) == read


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "orders:0"], "'orders:0' is not of the form NAME:PARTITIONS, with 1 partition or more."),
        (["create", "orders:x"], "'orders:x' is not of the form NAME:PARTITIONS"),
        (["create", "orders:"], "'orders:' is not of the form NAME:PARTITIONS"),
        (["create", ":2"], "':2' is not of the form NAME:PARTITIONS"),
        (["create", "orders:٣"], "is not of the form NAME:PARTITIONS"),
        (["create", "orders:1", "orders:2"], "'orders' is given more than once."),
        (["create", "orders", "--set", "retention.ms"], "'retention.ms' is not of the form KEY=VALUE."),
        (["create", "orders", "--replication-factor", "0"], "0 is not in the range"),
        (["create", "a b"], "'a b'"),
        (["grow", "orders"], "'orders' has no number of partitions: give orders:PARTITIONS."),
        (["grow", "orders:2", "orders:3"], "'orders' is given more than once."),
        (["delete-records", "orders:0"], "'orders:0' is not of the form TOPIC:PARTITION=OFFSET"),
        (["delete-records", "orders=1"], "'orders=1' is not of the form TOPIC:PARTITION=OFFSET"),
        (["delete-records", "orders:0=-1"], "'orders:0=-1' is not of the form TOPIC:PARTITION=OFFSET"),
        (["delete-records", "orders:0=1", "orders:0=2", "--yes"], "'orders:0' is given more than once."),
        (["delete-records", "orders:0=1"], "This cannot be undone"),
        (["delete", "orders", "--yes", "--dry-run"], "Give either --yes or --dry-run."),
        (["list", "--json", "--quiet"], "Give either --json or --quiet."),
        (["configs", "orders", "--set", "a=1", "--unset", "a"], "'a' is given more than once."),
    ],
)
def test_a_mistake_is_found_before_anything_is_sent(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(main, ["topics", *arguments, "--bootstrap-servers", "127.0.0.1:1", "--timeout", "0.3"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
