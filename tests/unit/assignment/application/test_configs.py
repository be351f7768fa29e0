"""Bounds and defaults of the configuration of an assignment."""

from typing import Any

import attrs
import pytest

from kafka_groups.assignment.application.configs import LONGEST_LAG, AssignmentConfigs, RackAwareStrategy
from kafka_groups.errors import ConfigurationError


def test_defaults_are_those_of_kafka() -> None:
    assert attrs.astuple(AssignmentConfigs()) == (10_000, 2, 0, 600_000, (), None, None, RackAwareStrategy.NONE)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("acceptable_recovery_lag", 0),
        ("max_warmup_replicas", 1),
        ("num_standby_replicas", 0),
        ("probing_rebalance_interval_ms", 60_000),
        ("rack_aware_traffic_cost", 0),
        ("rack_aware_non_overlap_cost", 0),
    ],
)
def test_values_have_bounds(name: str, least: int) -> None:
    made: Any = AssignmentConfigs
    assert getattr(made(**{name: least}), name) == least
    for wrong in (least - 1, LONGEST_LAG + 1, "3"):
        with pytest.raises(ConfigurationError, match=rf"{name} must be between {least} and"):
            made(**{name: wrong})


def test_at_most_five_tags() -> None:
    assert len(AssignmentConfigs(rack_aware_assignment_tags=list("abcde")).rack_aware_assignment_tags) == 5
    with pytest.raises(ConfigurationError, match=r"at most 5 tags, not 6: a, b, c, d, e, f\."):
        AssignmentConfigs(rack_aware_assignment_tags=("a", "b", "c", "d", "e", "f"))


def test_strategies_have_kafkas_names() -> None:
    assert AssignmentConfigs(rack_aware_assignment_strategy="min_traffic").rack_aware_assignment_strategy is (
        RackAwareStrategy.MIN_TRAFFIC
    )
    with pytest.raises(ValueError, match="nearest"):
        AssignmentConfigs(rack_aware_assignment_strategy="nearest")
