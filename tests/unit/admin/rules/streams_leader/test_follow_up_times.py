"""The times at which a group rebalances again for its assignor."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

import pytest

from kafka_groups.admin.rules.streams_leader.follow_up_times import follow_up_times, own_follow_up_ms
from kafka_groups.admin.rules.streams_leader.hand_over import HandedOver
from kafka_groups.admin.rules.streams_leader.leader_input import EPOCH
from kafka_groups.assignment import (
    FallbackPriorTaskAssignor,
    HighAvailabilityTaskAssignor,
    ProcessId,
    Registered,
    StickyTaskAssignor,
)

NOW_MS = 1_800_000_000_000
ONE, TWO, LEADER = (ProcessId(UUID(int=number)) for number in (1, 2, 3))


def times(assignor: object, later_s: Mapping[ProcessId, float]) -> dict[ProcessId, int]:
    deadlines = {
        process: EPOCH + timedelta(milliseconds=NOW_MS, seconds=seconds) for process, seconds in later_s.items()
    }
    found = follow_up_times(Registered(assignor), deadlines, LEADER, NOW_MS)
    return {process: at_ms - NOW_MS for process, at_ms in found.items()}


@pytest.mark.parametrize("assignor", [StickyTaskAssignor, StickyTaskAssignor()])
def test_each_process_has_its_own_time(assignor: object) -> None:
    assert times(assignor, {ONE: 7, TWO: 5}) == {ONE: 7_000, TWO: 5_000}


@pytest.mark.parametrize(
    "assignor", [HighAvailabilityTaskAssignor, HighAvailabilityTaskAssignor(), FallbackPriorTaskAssignor]
)
def test_the_time_of_two_assignors_is_the_leaders(assignor: object) -> None:
    assert times(assignor, {ONE: 7, TWO: 5}) == {LEADER: 5_000}
    assert times(assignor, {}) == {}


@pytest.mark.parametrize("later_s", [0.5, 0, -1, -4_000_000_000])
def test_a_time_in_the_past_is_at_once_but_not_more_often_than_once_a_second(later_s: float) -> None:
    assert times(StickyTaskAssignor, {ONE: later_s}) == {ONE: 1_000}


def test_the_leader_has_no_time_of_its_own_if_members_can_be_told() -> None:
    assert own_follow_up_ms(7, [HandedOver((), (), 9)]) is None


def test_in_older_groups_the_leader_has_the_earliest_time_that_nobody_is_told() -> None:
    handed = [HandedOver((), (), at_ms) for at_ms in (0, None, 9, 8)]
    assert own_follow_up_ms(6, handed) == 8
    assert own_follow_up_ms(6, handed[:2]) is None
