"""The configuration of an assignment."""

import enum
from collections.abc import Iterable
from typing import Any, Final

import attrs
from attrs import field, frozen

from kafka_groups.assignment.application.read_only import read_only
from kafka_groups.errors import ConfigurationError

__all__ = ["LONGEST_LAG", "AssignmentConfigs", "RackAwareStrategy"]

LONGEST_LAG: Final = 2**63 - 1
"""The acceptable lag with which every process counts as caught up."""

_MOST_INT: Final = 2**31 - 1
_MOST_TAGS: Final = 5
_SHORTEST_PROBING_MS: Final = 60_000


class RackAwareStrategy(enum.Enum):
    """The ways in which assignors avoid reading from another rack (`rack.aware.assignment.strategy`, KIP-925)."""

    NONE = "none"
    MIN_TRAFFIC = "min_traffic"
    BALANCE_SUBTOPOLOGY = "balance_subtopology"


def _within(least: int, most: int = _MOST_INT) -> Any:
    def check(_instance: object, attribute: "attrs.Attribute[int]", value: object) -> None:
        # Kafka checks these bounds when it reads the configuration of the application (StreamsConfig).
        if value is None or (isinstance(value, int) and least <= value <= most):
            return
        raise ConfigurationError(f"{attribute.name} must be between {least} and {most}, not {value!r}.")

    return check


def _check_tags(_instance: object, _attribute: "attrs.Attribute[tuple[str, ...]]", tags: tuple[str, ...]) -> None:
    if len(tags) > _MOST_TAGS:
        raise ConfigurationError(
            f"rack_aware_assignment_tags must be at most {_MOST_TAGS} tags, not {len(tags)}: {', '.join(tags)}."
        )


def _as_tuple(tags: Iterable[str]) -> tuple[str, ...]:
    return tuple(tags)


def _as_strategy(strategy: RackAwareStrategy | str) -> RackAwareStrategy:
    try:
        return RackAwareStrategy(strategy)
    except ValueError:
        known = ", ".join(each.value for each in RackAwareStrategy)
        raise ConfigurationError(f"rack_aware_assignment_strategy must be one of {known}, not {strategy!r}.") from None


@read_only
@frozen
class AssignmentConfigs:
    """The values of an application's configuration that concern assignments (KIP-924). Bounds are Kafka's.

    Attributes:
        acceptable_recovery_lag: The most records that the stores of a process may lack so that it counts as caught up.
        max_warmup_replicas: The most copies that are made beforehand, for tasks that are to move.
        num_standby_replicas: The copies of each task with state.
        probing_rebalance_interval_ms: How long it takes until the group looks again whether copies have caught up.
        rack_aware_assignment_tags: The client tags by which copies are spread, at most five.
        rack_aware_traffic_cost: What a partition in another rack costs; None is the default of the assignor.
        rack_aware_non_overlap_cost: What a task that moves costs; None is the default of the assignor.
        rack_aware_assignment_strategy: Whether racks count.
    """

    acceptable_recovery_lag: int = field(default=10_000, validator=_within(0, LONGEST_LAG))
    max_warmup_replicas: int = field(default=2, validator=_within(1))
    num_standby_replicas: int = field(default=0, validator=_within(0))
    probing_rebalance_interval_ms: int = field(default=600_000, validator=_within(_SHORTEST_PROBING_MS, LONGEST_LAG))
    rack_aware_assignment_tags: tuple[str, ...] = field(default=(), converter=_as_tuple, validator=_check_tags)
    rack_aware_traffic_cost: int | None = field(default=None, validator=_within(0))
    rack_aware_non_overlap_cost: int | None = field(default=None, validator=_within(0))
    rack_aware_assignment_strategy: RackAwareStrategy = field(default=RackAwareStrategy.NONE, converter=_as_strategy)
