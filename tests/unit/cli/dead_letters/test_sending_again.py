from collections.abc import Callable, Sequence

import pytest
from attrs import define, field

from kafka_groups.cli.consent import DRY_RUN
from kafka_groups.errors import ConfigurationError, MessageTooLargeError, OperationTimeoutError
from kafka_groups.share.dead_letters.letter_planner import FailedLetter, PlannedLetter
from kafka_groups.share.dead_letters.letter_sender import LetterResult, SentLetter
from kafka_groups.share.dead_letters.resending import ResendingRequest
from kafka_groups.share.dead_letters.rules.dead_letter_records import RecordPlace
from kafka_groups.share.dead_letters.rules.selections import EVERYTHING, DeadLetterSelection
from kafka_groups.share.dead_letters.rules.sending import LetterToSend, SendingRules, SkippedLetter
from tests.support.command_documents import document
from tests.unit.cli.dead_letters.conftest import Run

SKIPPED = SkippedLetter(RecordPlace(1, 3), "The topic orders does not exist.", "Create it.")
SKIPPED_LINE = "orders.dead 1@3: Skipped. The topic orders does not exist. Create it.\n"
TABLE = """\
TO      SENT
bills      1
orders     2
"""
PLAN = """\
PARTITION  OFFSET  TO
        0      12  orders
        1       0  bills
"""


@define
class MadeUpResending:
    """Sends dead letters that are made up."""

    results: Sequence[LetterResult] = (
        SentLetter(RecordPlace(0, 12), "orders"),
        SentLetter(RecordPlace(0, 13), "orders"),
        SentLetter(RecordPlace(1, 0), "bills"),
    )
    planned: Sequence[PlannedLetter] = (
        LetterToSend(RecordPlace(0, 12), "orders", b"k", b"v", ()),
        LetterToSend(RecordPlace(1, 0), "bills", b"k", b"v", ()),
    )
    left: int | None = 3
    error: Exception | None = None
    requests: list[ResendingRequest] = field(factory=list)
    sent: list[int | None] = field(factory=list)

    def __call__(self, _topic: object, request: ResendingRequest, *_: object) -> "MadeUpResending":
        self.requests.append(request)
        return self

    async def plan(self) -> Sequence[PlannedLetter]:
        return self.planned

    async def most(self) -> int | None:
        return self.left

    async def send(self, most: int | None, report: Callable[[LetterResult], None]) -> None:
        self.sent.append(most)
        for result in self.results:
            report(result)
        if self.error is not None:
            raise self.error


@pytest.fixture
def resending(monkeypatch: pytest.MonkeyPatch) -> MadeUpResending:
    made = MadeUpResending()
    monkeypatch.setattr("kafka_groups.share.dead_letters.resending.Resending", made)
    return made


def test_the_table_has_the_topics(run: Run, resending: MadeUpResending) -> None:
    done = run("send-again", "orders.dead", "--yes")
    assert (done.exit_code, done.stdout, done.stderr) == (0, TABLE, "")
    assert resending.requests == [ResendingRequest(EVERYTHING, None, SendingRules(None, 3))]
    assert resending.sent == [3]
    assert document(run("send-again", "orders.dead", "--yes", "--json"), "dead-letters send-again") == {
        "items": [{"to": "bills", "count": 1}, {"to": "orders", "count": 2}],
        "errors": [],
    }
    assert run("send-again", "orders.dead", "--yes", "--quiet").stdout == ""


def test_the_options(run: Run, resending: MadeUpResending) -> None:
    run("send-again", "orders.dead", "--yes", "--to", "again", "--most", "1", "-n", "7")
    run("send-again", "orders.dead", "--yes", "--origin", "orders", "--reason", "plum")
    run("send-again", "orders.dead", "--yes", "0@12", "1@3", "0@12")
    again = SendingRules(None, 3)
    assert resending.requests == [
        ResendingRequest(EVERYTHING, 7, SendingRules("again", 1)),
        ResendingRequest(DeadLetterSelection(origin_topic="orders", reason="plum"), None, again),
        ResendingRequest(DeadLetterSelection(places=frozenset({RecordPlace(0, 12), RecordPlace(1, 3)})), None, again),
    ]


def test_what_is_not_sent_is_named(run: Run, resending: MadeUpResending) -> None:
    failed = FailedLetter(RecordPlace(0, 14), MessageTooLargeError("orders-0: MESSAGE_TOO_LARGE."))
    resending.results = (*resending.results, SKIPPED, failed)
    done = run("send-again", "orders.dead", "--yes", "--json")
    errors = document(done, "dead-letters send-again", status=1)["errors"]
    assert done.stderr == f"{SKIPPED_LINE}orders.dead 0@14: orders-0: MESSAGE_TOO_LARGE.\n"
    assert [(each["resource"], each["code"], each["remedy"]) for each in errors] == [
        ("orders.dead 1@3", None, "Create it."),
        ("orders.dead 0@14", "MESSAGE_TOO_LARGE", None),
    ]
    assert run("send-again", "orders.dead", "--yes").stdout == TABLE


@pytest.mark.parametrize("error", [OperationTimeoutError("Too late."), ConfigurationError("Too late.")])
def test_an_error_in_the_middle_leaves_the_counts(run: Run, resending: MadeUpResending, error: Exception) -> None:
    resending.error = error
    done = run("send-again", "orders.dead", "--yes")
    assert (done.exit_code, done.stdout, done.stderr) == (1, TABLE, "orders.dead: Too late.\n")


def test_it_shows_what_it_would_send(run: Run, resending: MadeUpResending) -> None:
    done = run("send-again", "orders.dead", "--dry-run")
    assert (done.exit_code, done.stdout, done.stderr, resending.sent) == (0, PLAN, f"{DRY_RUN}\n", [])
    assert run("send-again", "orders.dead", "--dry-run", "--quiet").stdout == "0@12\n1@0\n"
    planned = document(run("send-again", "orders.dead", "--dry-run", "--json"), "dead-letters send-again --dry-run")
    assert planned["items"][0] == {"topic": "orders.dead", "partition": 0, "offset": 12, "to": "orders"}
    resending.planned = (*resending.planned, SKIPPED)
    done = run("send-again", "orders.dead", "--dry-run")
    assert (done.exit_code, done.stdout, done.stderr) == (1, PLAN, f"{DRY_RUN}\n{SKIPPED_LINE}")
    resending.left = 1
    assert run("send-again", "orders.dead", "--dry-run").stderr.startswith(
        f"{DRY_RUN}\norders.dead: the group has 1 dead letter left, and the brokers do not say which of these.\n"
    )


def test_nothing_to_send(run: Run, resending: MadeUpResending) -> None:
    resending.left, resending.planned = 0, ()
    done = run("send-again", "orders.dead", "--yes")
    assert (done.exit_code, done.stdout, resending.sent) == (0, "", [])
    assert done.stderr == "orders.dead: there is nothing that was not sent before.\n"
    done = run("send-again", "orders.dead", "--dry-run")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", f"{DRY_RUN}\norders.dead: there is nothing to send.\n")


def test_it_asks_on_a_terminal(run: Run, resending: MadeUpResending, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_groups.cli.consent.is_terminal", lambda: True)
    declined = run("send-again", "orders.dead", typed="n\n")
    assert (declined.exit_code, declined.stdout, resending.sent) == (1, "", [])
    question = "Send at most 3 dead letters of orders.dead again, to the topics that they came from? [y/N]: "
    assert declined.stderr.startswith(question)
    resending.left = None
    agreed = run("send-again", "orders.dead", "--to", "again", "--reason", "x", typed="y\n")
    assert (agreed.exit_code, agreed.stdout) == (0, TABLE)
    assert agreed.stderr.startswith("Send the selected dead letters of orders.dead again, to again? [y/N]: ")


def test_bad_options(run: Run, resending: MadeUpResending) -> None:
    for options, text in (
        ((), "Give --yes to do it"),
        (("--yes", "--dry-run"), "Give either --yes or --dry-run."),
        (("--yes", "0@1", "--reason", "x"), "Give either PARTITION@OFFSET or --since"),
        (("--yes", "0-1"), "'0-1' is not of the form PARTITION@OFFSET"),
        (("--yes", "--most", "0"), "0 is not in the range"),
        (("--yes", "--to", "orders.dead"), "'orders.dead' is the topic with the dead letters. Name another one."),
    ):
        refused = run("send-again", "orders.dead", *options)
        assert (refused.exit_code, refused.stdout) == (2, ""), options
        assert text in " ".join(refused.stderr.split())
    assert resending.requests == []
