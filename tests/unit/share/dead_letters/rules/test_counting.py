import pytest

from kafka_groups.share.dead_letters.rules.counting import DeadLetterCount, DeadLetterCounts, error_of
from tests.unit.share.dead_letters.made_letters import dlq_headers, made_letter


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        ("KeyError: 'plum'", "KeyError"),
        ("KeyError", "KeyError"),
        ("shop.errors.NoPieces: none\nof order 3", "shop.errors.NoPieces"),
        ("the order has no customer", "the order has no customer"),
        ("customer: missing", "customer: missing"),
        ("Offset rejected by client.", "Offset rejected by client."),
        ("before processing", "before processing"),
        ("", ""),
        (None, None),
    ],
)
def test_the_error_in_a_reason(reason: str | None, error: str | None) -> None:
    assert error_of(reason) == error


def test_dead_letters_are_counted_by_origin_and_error_the_most_frequent_first() -> None:
    counts = DeadLetterCounts()
    for at, (topic, reason) in enumerate(
        [
            ("orders", "KeyError: 'plum'"),
            ("orders", "ValueError: 3"),
            ("orders", "KeyError: 'pear'"),
            ("bills", "KeyError: 'plum'"),
        ]
    ):
        counts.add(made_letter(at, dlq_headers(topic=topic, reason=reason), timestamp_ms=10 - at))
    counts.add(made_letter(9, []))
    assert counts.largest_first() == [
        DeadLetterCount("orders", "KeyError", 2, 8, 10),
        DeadLetterCount(None, None, 1, 1_000, 1_000),
        DeadLetterCount("bills", "KeyError", 1, 7, 7),
        DeadLetterCount("orders", "ValueError", 1, 9, 9),
    ]
