import pytest

from kafka_groups.share.dead_letters.rules.dead_letter_records import DeadLetterOrigin, RecordPlace
from kafka_groups.share.dead_letters.rules.sending import (
    LetterToRead,
    LetterToSend,
    SendingDecision,
    SendingRules,
    SkippedLetter,
)
from kafka_groups.types import FetchedRecord, TopicPartition
from tests.unit.share.dead_letters.made_letters import dlq_headers, made_letter

RULES = SendingRules(to=None, most=3)
ELSEWHERE = SendingRules(to="again", most=3)
PLACE = RecordPlace(0, 0)
ORIGIN = DeadLetterOrigin(TopicPartition("orders", 0), 7)


def skipped(decision: SendingDecision) -> str:
    """The reason of a decision that skips."""
    assert isinstance(decision, SkippedLetter)
    assert decision.place == PLACE
    return f"{decision.reason} {decision.remedy}"


def test_a_dead_letter_goes_to_its_origin_with_its_own_headers_and_a_count() -> None:
    headers = [("trace", b"x"), ("__retry.due", b"9"), ("trace", None), *dlq_headers()]
    assert RULES.decide(made_letter(0, headers)) == LetterToSend(
        PLACE, "orders", b"k", b"v", (("trace", b"x"), ("trace", None), ("__dlq.sent.again", b"1"))
    )


@pytest.mark.parametrize("count", [1, 2])
def test_the_count_goes_on(count: int) -> None:
    decision = RULES.decide(made_letter(0, [("__dlq.sent.again", b"%d" % count), *dlq_headers()]))
    assert isinstance(decision, LetterToSend)
    assert decision.headers == (("__dlq.sent.again", b"%d" % (count + 1)),)


@pytest.mark.parametrize(("count", "text"), [(3, "3 times"), (11, "11 times")])
def test_what_came_back_too_often_is_skipped(count: int, text: str) -> None:
    decision = RULES.decide(made_letter(0, [("__dlq.sent.again", b"%d" % count), *dlq_headers()]))
    assert skipped(decision) == (
        f"It came back after it was sent again {text}. "
        f"Repair the cause, and use --most {count + 1} to send it once more."
    )


def test_the_limit_may_be_one() -> None:
    rules = SendingRules(to=None, most=1)
    assert isinstance(rules.decide(made_letter()), LetterToSend)
    again = made_letter(0, [*dlq_headers(), ("__dlq.sent.again", b"1")])
    assert "It came back after it was sent again once." in skipped(rules.decide(again))


def test_a_count_that_is_not_a_number_does_not_start_again() -> None:
    decision = RULES.decide(made_letter(0, [*dlq_headers(), ("__dlq.sent.again", b"?")]))
    assert "Its header __dlq.sent.again is not a number." in skipped(decision)


def test_another_topic_takes_records_without_origin_too() -> None:
    assert "no headers __dlq.errors.*" in skipped(RULES.decide(made_letter(0, [])))
    decision = ELSEWHERE.decide(made_letter(0, []))
    assert decision == LetterToSend(PLACE, "again", b"k", b"v", (("__dlq.sent.again", b"1"),))
    assert isinstance(ELSEWHERE.decide(made_letter()), LetterToSend)


def test_a_tombstone_is_sent_as_one() -> None:
    decision = RULES.decide(made_letter(value=None))
    assert isinstance(decision, LetterToSend)
    assert (decision.key, decision.value) == (b"k", None)


@pytest.mark.parametrize("rules", [RULES, ELSEWHERE])
def test_a_dead_letter_without_key_and_value_is_read_at_its_origin(rules: SendingRules) -> None:
    asked = rules.decide(made_letter(key=None, value=None))
    assert asked == LetterToRead(PLACE, ORIGIN)
    found = FetchedRecord(7, b"key", b"value", 3, (("trace", b"x"),))
    sent = rules.decide_found(asked, found)
    assert sent == LetterToSend(
        PLACE, rules.to or "orders", b"key", b"value", (("trace", b"x"), ("__dlq.sent.again", b"1"))
    )
    assert "its record orders:0@7 does not exist any more" in skipped(rules.decide_found(asked, None))


def test_the_count_of_a_record_that_is_read_at_its_origin_is_there() -> None:
    found = FetchedRecord(7, None, b"value", 3, (("__dlq.sent.again", b"3"),))
    assert "came back" in skipped(RULES.decide_found(LetterToRead(PLACE, ORIGIN), found))


@pytest.mark.parametrize("rules", [RULES, ELSEWHERE])
def test_without_key_value_and_origin_nothing_is_sent(rules: SendingRules) -> None:
    assert "neither key nor value" in skipped(rules.decide(made_letter(0, [], key=None, value=None)))
