"""Texts of errors, whatever their classes do."""

import pytest

from kafka_groups.share.workers.rules.failures.named_errors import named


class WithoutTextError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyError("plum"), "KeyError: 'plum'"),
        (ValueError(3_000 * "x"), f"ValueError: {2_000 * 'x'}…"),
        (WithoutTextError(), "WithoutTextError: its text cannot be shown, because str() of it raises RuntimeError"),
    ],
    ids=["short", "long", "none"],
)
def test_an_error_has_its_class_and_its_text(error: Exception, text: str) -> None:
    assert named(error) == text
