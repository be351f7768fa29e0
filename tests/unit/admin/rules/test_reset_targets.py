"""Where a group continues after a reset: what callers may say, and what they may not."""

from datetime import UTC, datetime

import pytest

from kafka_groups.admin.rules.reset_targets import (
    AtCommitted,
    AtOffset,
    AtOffsets,
    AtTime,
    ResetTarget,
    ShiftedBy,
    checked_target,
)
from kafka_groups.client.calls.partition_offsets import EARLIEST, LATEST
from kafka_groups.errors import ConfigurationError
from kafka_groups.types import TopicPartition

FIRST = TopicPartition("orders", 0)
PLACES: list[tuple[object, ResetTarget]] = [
    ("earliest", AtTime(EARLIEST)),
    ("latest", AtTime(LATEST)),
    ("current", AtCommitted()),
    (datetime(2026, 1, 1, tzinfo=UTC), AtTime(1_767_225_600_000)),
    (datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC), AtTime(0)),
    (7, AtOffset(7)),
    (0, AtOffset(0)),
    ({FIRST: 3}, AtOffsets({FIRST: 3})),
]


@pytest.mark.parametrize(("to", "target"), PLACES, ids=[str(to) for to, _ in PLACES])
def test_places(to: object, target: ResetTarget) -> None:
    assert checked_target(to, None) == target


@pytest.mark.parametrize("by", [-5, 0, 5])
def test_shifts(by: int) -> None:
    assert checked_target(None, by) == ShiftedBy(by)


WRONG: dict[str, tuple[object, object]] = {
    "to=None, shift_by=None: give exactly one": (None, None),
    "to='latest', shift_by=1: give exactly one": ("latest", 1),
    "to='middle': give 'earliest'": ("middle", None),
    "to=-1 is not an offset": (-1, None),
    "to=True: give 'earliest', 'latest', 'current', a datetime": (True, None),
    "to=1.5: give 'earliest', 'latest', 'current', a datetime": (1.5, None),
    "has no time zone": (datetime(2026, 1, 1), None),
    "offsets: 'orders' is not a TopicPartition": ({"orders": 1}, None),
    "offsets is empty": ({}, None),
    "shift_by='5' is not a number of records": (None, "5"),
    "shift_by=True is not a number of records": (None, True),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_no_target_is_named(message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        checked_target(*WRONG[message])
    assert message in str(raised.value)
