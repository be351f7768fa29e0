import base64

from tests.support.command_documents import document
from tests.unit.cli.dead_letters.conftest import AT_MS, Run

SHOWN = """\
DEAD LETTER         orders.dead 0@12
TIME                2026-11-30T23:31:49.213Z
ORIGIN              orders:0@7
GROUP               invoices
DELIVERIES          2
REASON              KeyError: 'plum'
SENT AGAIN          0
POSSIBLE DUPLICATE  no

HEADER                       VALUE
trace                        x
__dlq.errors.topic           orders
__dlq.errors.partition       0
__dlq.errors.offset          7
__dlq.errors.group           invoices
__dlq.errors.delivery.count  2
__dlq.errors.message         KeyError: 'plum'

KEY
k

VALUE
{"fruit": "plum"}
"""


def test_a_dead_letter_as_text(run: Run) -> None:
    done = run("show", "orders.dead", "0@12")
    assert (done.exit_code, done.stdout, done.stderr) == (0, SHOWN, "")


def test_bytes_that_are_no_text_are_shown_in_hexadecimal(run: Run) -> None:
    lines = run("show", "orders.dead", "1@3").stdout.splitlines()
    assert lines[lines.index("KEY") + 1] == "(null)"
    assert lines[lines.index("VALUE") + 1] == "00 ff"
    assert "REASON              a\\nb" in lines


def test_another_record(run: Run) -> None:
    lines = run("show", "orders.dead", "0@13").stdout.splitlines()
    assert lines[1:4] == ["TIME                -", "ORIGIN              -", "GROUP               -"]
    assert lines[lines.index("VALUE") + 1] == "(null)"


def test_the_document(run: Run) -> None:
    (shown,) = document(run("show", "orders.dead", "0@12", "--json"), "dead-letters show")["items"]
    assert (shown["key"], shown["value"], shown["timestamp_ms"]) == ("k", '{"fruit": "plum"}', AT_MS)
    assert shown["headers"][:2] == [["trace", "x"], ["__dlq.errors.topic", "orders"]]
    (shown,) = document(run("show", "orders.dead", "1@3", "--json"), "dead-letters show")["items"]
    assert (shown["key"], base64.b64decode(shown["value"]["base64"])) == (None, b"\x00\xff")


def test_the_value_alone(run: Run) -> None:
    assert run("show", "orders.dead", "1@3", "--raw").stdout_bytes == b"\x00\xff"
    refused = run("show", "orders.dead", "0@13", "--raw")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == "orders.dead 0@13: Its value is null, so there are no bytes. Leave --raw out.\n"


def test_a_place_without_a_record(run: Run) -> None:
    absent = run("show", "orders.dead", "0@99")
    assert (absent.exit_code, absent.stdout) == (1, "")
    assert absent.stderr == (
        "orders.dead 0@99: There is no such record, or it was deleted. kafka-groups dead-letters list orders.dead "
        "shows those that there are.\n"
    )
    (error,) = document(run("show", "orders.dead", "0@99", "--json"), "dead-letters show", status=1)["errors"]
    assert error["resource"] == "orders.dead 0@99"


def test_bad_input(run: Run) -> None:
    refused = run("show", "orders.dead", "12")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "'12' is not of the form PARTITION@OFFSET, such as 0@12." in refused.stderr
    assert run("show", "orders.dead", "0@12", "--json", "--raw").exit_code == 2
