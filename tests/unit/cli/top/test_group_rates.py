import pytest

from kafka_groups.cli.top.group_rates import GroupMoment, GroupRates, rates_between
from kafka_groups.types import TopicPartition

A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)
BEFORE = GroupMoment(10.0, {A: 100, B: 50}, {A: 20, B: 0})


@pytest.mark.parametrize(
    ("now", "rates"),
    [
        (GroupMoment(12.0, {A: 140, B: 60}, {A: 30, B: 0}), GroupRates(20.0, 25.0)),
        (GroupMoment(12.0, {A: 100, B: 50}, {A: 20, B: 0}), GroupRates(0.0, 0.0)),
        (GroupMoment(12.0, {A: 100, B: 50}, {A: 90, B: 50}), GroupRates(0.0, 0.0)),
        (GroupMoment(12.0, {A: 110, B: 90}, {A: 0, B: None}), GroupRates(15.0, 5.0)),
        (GroupMoment(12.0, {A: 110}, {A: 0, B: 3}), GroupRates(15.0, 5.0)),
        (GroupMoment(12.0, {B: 90}, {B: None}), None),
        (GroupMoment(12.0, {}, {}), None),
        (GroupMoment(10.0, {A: 110}, {A: 0}), None),
    ],
    ids=["both", "idle", "moved back", "lag unknown", "end unknown", "no lag", "nothing", "no time"],
)
def test_rates_come_from_ends_and_lags(now: GroupMoment, rates: GroupRates | None) -> None:
    assert rates_between(BEFORE, now) == rates


def test_the_first_look_has_no_rates() -> None:
    assert rates_between(None, BEFORE) is None
