"""Times in seconds: what is taken, and what the refusals say."""

import math
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from kafka_groups.config.clients.timeouts import checked_timeout
from kafka_groups.errors import ConfigurationError


@pytest.mark.parametrize(("value", "seconds"), [(0, 0.0), (2, 2.0), (0.25, 0.25), (Fraction(1, 2), 0.5)])
def test_numbers_from_zero_on_are_taken(value: Any, seconds: float) -> None:
    assert checked_timeout(value) == seconds


def test_none_stays_none() -> None:
    assert checked_timeout(None) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-1, r"timeout=-1 is out of range: give a number of seconds, 0 or more; None waits for as long as it takes"),
        (-0.5, "timeout=-0.5 is out of range"),
        (math.nan, "timeout=nan is out of range"),
        (math.inf, "timeout=inf is out of range.*None waits"),
        (10**12, "out of range"),
        ("5", r"timeout='5' is not a number of seconds: give an int or float, such as 5\.0"),
        ("soon", r"timeout='soon' is not a number of seconds: give an int or float, such as 1\.0"),
        (b"5", "such as 5.0"),
        (timedelta(milliseconds=1500), r"give 1\.5 \(timedelta\.total_seconds\(\)\)"),
        (True, "timeout=True is not a number of seconds"),
        (Decimal(1), "give an int or float; None waits"),
        ([1], r"timeout=\[1\] is not a number"),
    ],
)
def test_anything_else_is_refused_with_value_and_remedy(value: object, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        checked_timeout(value)


def test_the_refusal_says_what_none_means_for_the_call() -> None:
    with pytest.raises(ConfigurationError, match=r"wait=-1 .*None is default\.api\.timeout\.ms"):
        checked_timeout(-1, "None is default.api.timeout.ms", name="wait")
