"""The configuration of an application that a plan of a classic group is given."""

from typing import Any

import pytest

from kafka_groups.admin.rules.plans.application_configs import application_configs
from kafka_groups.assignment import (
    ApplicationState,
    AssignmentConfigs,
    HighAvailabilityTaskAssignor,
    StickyTaskAssignor,
    TaskAssignment,
    TaskAssignor,
)
from kafka_groups.assignment.application.configs import RackAwareStrategy
from kafka_groups.errors import ConfigurationError


class Noting(TaskAssignor):
    """Keeps what it is configured with."""

    def configure(self, configs: Any) -> None:
        self.configs = dict(configs)

    def assign(self, application_state: ApplicationState) -> TaskAssignment:
        raise NotImplementedError


def test_keys_are_read_as_an_application_reads_them() -> None:
    given = {
        "acceptable.recovery.lag": "5",
        "max.warmup.replicas": 3,
        "num_standby_replicas": "1",
        "probing.rebalance.interval.ms": "60000",
        "rack.aware.assignment.strategy": "min_traffic",
        "rack.aware.assignment.tags": "zone, cluster",
        "rack.aware.assignment.traffic_cost": "7",
        "rack.aware.assignment.non_overlap_cost": "2",
    }
    made = application_configs(None, given, None)
    assert made.assignor is None
    assert made.has_standbys
    assert made.assignment == AssignmentConfigs(
        acceptable_recovery_lag=5,
        max_warmup_replicas=3,
        num_standby_replicas=1,
        probing_rebalance_interval_ms=60_000,
        rack_aware_assignment_strategy=RackAwareStrategy.MIN_TRAFFIC,
        rack_aware_assignment_tags=("zone", "cluster"),
        rack_aware_traffic_cost=7,
        rack_aware_non_overlap_cost=2,
    )


def test_defaults_are_those_of_an_application() -> None:
    made = application_configs(None, {}, None)
    assert (made.assignment, made.has_standbys) == (AssignmentConfigs(), False)


def test_the_number_of_copies_that_is_given_as_such_wins() -> None:
    made = application_configs(None, {"num.standby.replicas": 1}, 2)
    assert (made.assignment.num_standby_replicas, made.has_standbys) == (2, True)


def test_an_assignor_is_found_as_in_an_application() -> None:
    for given in ("StickyTaskAssignor", StickyTaskAssignor, "kafka_groups.assignment:StickyTaskAssignor"):
        made = application_configs(given, {}, None)
        assert made.assignor is not None
        assert (made.assignor.assignor, made.assignor.name) == (StickyTaskAssignor, "StickyTaskAssignor")


def test_an_assignor_of_ones_own_has_all_keys() -> None:
    noting = Noting()
    made = application_configs(noting, {"num.standby.replicas": 1, "my.key": "x"}, None)
    assert noting.configs == {"num.standby.replicas": 1, "my.key": "x"}
    assert made.assignment.num_standby_replicas == 1


@pytest.mark.parametrize(
    ("assignor", "configs", "complaint"),
    [
        (None, {"num.standby.replica": 1}, r"'num.standby.replica' \(1\) for a plan\. Did you mean 'num.standby.rep"),
        (HighAvailabilityTaskAssignor, {"my.key": 1}, "Unknown configuration key 'my.key' .* Keys that concern assign"),
        (None, {"application.id": "app"}, "Unknown configuration key 'application.id' .* Keys that concern assign"),
        (None, {"num.standby.replicas": -1}, "num.standby.replicas"),
        (Noting, {"max.warmup.replicas": 0}, "max.warmup.replicas"),
        (None, {"probing.rebalance.interval.ms": 59_999}, "probing.rebalance.interval.ms"),
        (None, {"rack.aware.assignment.strategy": "max"}, "rack.aware.assignment.strategy"),
        (None, {"rack.aware.assignment.tags": "a,b,c,d,e,f"}, "rack.aware.assignment.tags"),
        (None, {"task.assignor.class": "a:B"}, "task.assignor.class='a:B': give the assignor of a plan as such"),
        ("sticky", {}, "it assigns tasks to members"),
        ("org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor", {}, "it is a class of Java"),
        ("no_such_module:Class", {}, "Could not import the task assignor 'no_such_module:Class'"),
    ],
)
def test_mistakes_are_named(assignor: object, configs: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        application_configs(assignor, configs, None)


def test_all_mistakes_are_named_together() -> None:
    with pytest.raises(ConfigurationError, match="The configuration of a plan has 2 problems"):
        application_configs(None, {"num.standby.replicas": -1, "other": 1}, None)
