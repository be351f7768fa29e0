"""Why an application or a worker has ended, as its errors say it."""

import pytest

from kafka_groups.streams import StreamsError
from kafka_groups.streams.errors import InvalidStateStoreError, reason_of


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StreamsError("parse in task 0_0 failed"), "parse in task 0_0 failed"),
        (InvalidStateStoreError("Ask app.store again."), "Ask app.store again."),
        (ValueError("plum"), "ValueError: plum"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_an_error_without_a_text_has_its_class(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason
