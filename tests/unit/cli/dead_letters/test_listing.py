from kafka_groups.errors import ConfigurationError, TopicAuthorizationFailedError
from tests.support.command_documents import document
from tests.unit.cli.dead_letters.conftest import AT_MS, MadeUpTopic, Run

TABLE = """\
PARTITION  OFFSET  TIME                      ORIGIN      GROUP     REASON
        0      12  2026-11-30T23:31:49.213Z  orders:0@7  invoices  KeyError: 'plum'
        1       3  2026-11-30T23:31:49.214Z  orders:1@8  invoices  a\\nb
        0      13  -                         -           -         -
"""
SUMMARY = """\
COUNT  ORIGIN  FIRST                     LAST                      ERROR
    1  -       -                         -                         -
    1  orders  2026-11-30T23:31:49.213Z  2026-11-30T23:31:49.213Z  KeyError
    1  orders  2026-11-30T23:31:49.214Z  2026-11-30T23:31:49.214Z  a\\nb
"""


def test_the_table(run: Run) -> None:
    done = run("list", "orders.dead")
    assert (done.exit_code, done.stdout, done.stderr) == (0, TABLE, "")


def test_the_document(run: Run) -> None:
    first, _, last = document(run("list", "orders.dead", "--json"), "dead-letters list")["items"]
    assert first == {
        "topic": "orders.dead",
        "partition": 0,
        "offset": 12,
        "timestamp_ms": AT_MS,
        "origin": {"topic": "orders", "partition": 0, "offset": 7},
        "group": "invoices",
        "delivery_count": 2,
        "reason": "KeyError: 'plum'",
        "possible_duplicate": False,
    }
    assert (last["timestamp_ms"], last["origin"], last["reason"]) == (None, None, None)


def test_names_for_other_commands(run: Run) -> None:
    assert run("list", "orders.dead", "--quiet").stdout == "0@12\n1@3\n0@13\n"


def test_the_summary(run: Run) -> None:
    done = run("list", "orders.dead", "--summary")
    assert (done.exit_code, done.stdout, done.stderr) == (0, SUMMARY, "")
    counts = document(run("list", "orders.dead", "--summary", "--json"), "dead-letters list --summary")["items"]
    assert [(each["origin"], each["error"], each["count"]) for each in counts] == [
        (None, None, 1),
        ("orders", "KeyError", 1),
        ("orders", "a\nb", 1),
    ]


def test_a_selection(run: Run) -> None:
    assert run("list", "orders.dead", "--origin", "orders:1", "--quiet").stdout == "1@3\n"
    assert run("list", "orders.dead", "--reason", "PLUM", "--quiet").stdout == "0@12\n"
    assert run("list", "orders.dead", "--since", "2026-11-30T23:31:49.214Z", "--quiet").stdout == "1@3\n"
    assert run("list", "orders.dead", "--until", "2000-01-01", "--quiet").stdout == "0@13\n"


def test_more_than_was_asked_for_is_told(run: Run) -> None:
    done = run("list", "orders.dead", "-n", "1", "--quiet")
    assert (done.exit_code, done.stdout) == (0, "0@12\n")
    assert done.stderr == "orders.dead: there are more. Use -n to print more than 1, or --since to begin later.\n"


def test_nothing(run: Run) -> None:
    done = run("list", "orders.dead", "--reason", "pear")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "orders.dead: no dead letters are selected.\n")
    assert document(run("list", "orders.dead", "--reason", "pear", "--json"), "dead-letters list")["items"] == []


def test_a_failure_is_one_line_and_an_entry(run: Run, topic: type[MadeUpTopic]) -> None:
    topic.error = TopicAuthorizationFailedError("User:ann may not read it. Grant the operation Read on the topic.")
    line = "orders.dead: User:ann may not read it. Grant the operation Read on the topic (TOPIC_AUTHORIZATION_FAILED)\n"
    for options in ((), ("--summary",)):
        failed = run("list", "orders.dead", *options)
        assert (failed.exit_code, failed.stdout, failed.stderr) == (1, "", line)
    failed = run("list", "orders.dead", "--json")
    assert document(failed, "dead-letters list", status=1) == {
        "items": [],
        "errors": [
            {
                "resource": "orders.dead",
                "code": "TOPIC_AUTHORIZATION_FAILED",
                "message": "User:ann may not read it. Grant the operation Read on the topic.",
                "remedy": None,
            }
        ],
    }


def test_bad_options(run: Run, topic: type[MadeUpTopic]) -> None:
    for options, text in (
        (("--since", "yesterday"), "'yesterday' is not a time such as"),
        (("--since", "2026-01-02", "--until", "2026-01-01"), "--until is not after --since"),
        (("--origin", "orders:x"), "'orders:x' is not of the form TOPIC or TOPIC:PARTITION."),
        (("--origin", ""), "'' is not of the form"),
        (("--json", "--quiet"), "Give either --json or --quiet."),
        (("--summary", "-n", "3"), "--summary counts all dead letters"),
        (("--summary", "--quiet"), "--summary counts all dead letters"),
        (("-n", "0"), "0 is not in the range"),
    ):
        refused = run("list", "orders.dead", *options)
        assert (refused.exit_code, refused.stdout) == (2, ""), options
        assert text in refused.stderr
    topic.error = ConfigurationError("Unknown configuration key 'x'.")
    assert run("list", "orders.dead").exit_code == 2
