import pytest
from click.testing import CliRunner

from kafka_groups.cli.admin.transactions.transaction_options import PLACE, milliseconds
from kafka_groups.cli.main import main
from kafka_groups.types import TopicPartition


def test_a_partition_and_a_time() -> None:
    assert PLACE.convert("a.b_c-d:12", None, None) == TopicPartition("a.b_c-d", 12)
    assert (milliseconds(None), milliseconds(1.5)) == (None, 1_500)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("producers", "orders"), "'orders' is not of the form TOPIC:PARTITION, such as orders:0."),
        (("producers", "orders:x"), "'orders:x' is not of the form TOPIC:PARTITION"),
        (("producers", ":1"), "':1' is not of the form TOPIC:PARTITION"),
        (("abort", "orders:0", "--yes"), "Missing option '--start-offset'"),
        (("abort", "orders:0", "--start-offset", "1"), "This cannot be undone"),
        (("abort", "orders:0", "--start-offset", "1", "--yes", "--dry-run"), "Give either --yes or --dry-run."),
        (("fence", "tx"), "This cannot be undone"),
        (("list", "--state", "open"), "'open'"),
        (("hanging", "--longer-than", "-1"), "-1"),
        (("describe",), "Missing argument"),
    ],
)
def test_a_mistake_is_found_before_anything_is_sent(arguments: tuple[str, ...], message: str) -> None:
    given = ["transactions", *arguments, "--bootstrap-servers", "127.0.0.1:1", "--timeout", "0.3"]
    done = CliRunner().invoke(main, given)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.split())
