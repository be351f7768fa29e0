"""Suggesting names for those that do not exist."""

import pytest

from kafka_groups.config.suggestions import did_you_mean, near_names

NAMES = ("dead_letters", "retries", "errors", "timeout", "buffer")


@pytest.mark.parametrize(
    ("spelling", "cutoff", "found"),
    [
        ("dead.letter", 0.75, ["dead_letters"]),
        ("DeadLetters", 0.75, ["dead_letters"]),
        ("time_out", 0.75, ["timeout"]),
        ("retry", 0.75, []),
        ("retry", 0.6, ["retries"]),
        ("concurrency", 0.6, []),
    ],
)
def test_near_names(spelling: str, cutoff: float, found: list[str]) -> None:
    assert near_names(spelling, NAMES, cutoff=cutoff) == found


def test_the_nearest_names_come_first_and_their_number_has_a_limit() -> None:
    names = ("timeouts", "timeout_ms", "timeout")
    assert near_names("timeout", names) == ["timeout", "timeouts", "timeout_ms"]
    assert near_names("timeout", names, most=1) == ["timeout"]


def test_a_suggestion_is_a_question() -> None:
    assert did_you_mean(["retries", "errors"]) == "Did you mean 'retries' or 'errors'?"
