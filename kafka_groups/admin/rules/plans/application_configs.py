"""The configuration of an application, as far as it concerns assignments: no broker knows that of a classic group."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from attrs import frozen

from kafka_groups.assignment import (
    AssignmentConfigs,
    FallbackPriorTaskAssignor,
    HighAvailabilityTaskAssignor,
    LegacyStickyTaskAssignor,
    Registered,
    StickyTaskAssignor,
)
from kafka_groups.config.clients.application_assignor import ChosenAssignor, read_assignor
from kafka_groups.config.clients.classic_member import ClassicMemberConfig
from kafka_groups.config.settings import Gathered, KeyTable, gather, raise_together, shown_value
from kafka_groups.config.suggestions import did_you_mean, near_names
from kafka_groups.errors import ConfigurationError

__all__ = ["ApplicationConfigs", "application_configs", "read_configs"]

_WHOSE: Final = "a plan"
_ATTRIBUTES: Final[Mapping[str, str]] = MappingProxyType({
    "acceptable_recovery_lag": "acceptable_recovery_lag",
    "max_warmup_replicas": "max_warmup_replicas",
    "num_standby_replicas": "num_standby_replicas",
    "probing_rebalance_interval_ms": "probing_rebalance_interval_ms",
    "rack_aware_assignment_non_overlap_cost": "rack_aware_non_overlap_cost",
    "rack_aware_assignment_strategy": "rack_aware_assignment_strategy",
    "rack_aware_assignment_tags": "rack_aware_assignment_tags",
    "rack_aware_assignment_traffic_cost": "rack_aware_traffic_cost",
})  # fmt: skip
"""The keys that concern assignments: the attributes of `ClassicMemberConfig`, with those of `AssignmentConfigs`."""
_ASSIGNOR: Final = "task_assignor_class"
_STANDBYS: Final = "num_standby_replicas"
_BUILT_IN: Final = (
    FallbackPriorTaskAssignor, HighAvailabilityTaskAssignor, LegacyStickyTaskAssignor, StickyTaskAssignor
)  # fmt: skip


@frozen(kw_only=True)
class ApplicationConfigs:
    """The values of an application's configuration that concern assignments.

    Attributes:
        assignor: The task assignor; None for the default, `HighAvailabilityTaskAssignor`.
        assignment: The values that assignors have.
        has_standbys: Whether the number of standby tasks was given.
    """

    assignor: Registered | None
    assignment: AssignmentConfigs
    has_standbys: bool


def application_configs(
    assignor: object, configs: Mapping[str, object], standby_replicas: int | None
) -> ApplicationConfigs:
    """Read the configuration of an application in a classic group, and configure its assignor.

    Args:
        assignor: Its task assignor, as `task.assignor.class` has it; None for the default.
        configs: Its keys that concern assignments, and those of its assignor.
        standby_replicas: The number of copies of each task with state; None for that of the keys.

    Raises:
        ConfigurationError: There is no such assignor or key, a value is invalid, or the assignor refuses the keys.
    """
    chosen, values = read_configs(assignor, configs)
    if standby_replicas is not None:
        values[_STANDBYS] = standby_replicas
    return ApplicationConfigs(
        assignor=chosen.configured(dict(configs)) if isinstance(chosen, ChosenAssignor) else chosen,
        assignment=AssignmentConfigs(**values),
        has_standbys=_STANDBYS in values,
    )


def read_configs(
    assignor: object, configs: Mapping[str, object]
) -> tuple[ChosenAssignor | Registered | None, dict[str, Any]]:
    """Read an assignor and keys. Nothing of the assignor is called.

    Returns:
        The assignor, or None for the default; and the values for `AssignmentConfigs`.

    Raises:
        ConfigurationError: There is no such assignor or key, or a value is invalid.
    """
    table = KeyTable(ClassicMemberConfig)
    found = _gathered(table, configs)
    chosen = None if assignor is None else read_assignor(assignor)
    unknown = [] if _may_have_keys(chosen) else [_unknown(table, *pair) for pair in found.unknown]
    raise_together([*unknown, *found.problems], _WHOSE)
    return chosen, {_ATTRIBUTES[name]: value for name, value in found.values.items()}


def _gathered(table: KeyTable, configs: Mapping[str, object]) -> Gathered:
    """Read the keys that concern assignments. All others are unknown."""
    of_assignments: list[tuple[str, object]] = []
    others: list[tuple[str, object]] = []
    for name, value in configs.items():
        attribute = table.attribute(name)
        if attribute == _ASSIGNOR:
            raise ConfigurationError(f"{name}={value!r}: give the assignor of a plan as such, and not by a key.")
        (of_assignments if attribute in _ATTRIBUTES else others).append((name, value))
    found = gather(table, of_assignments)
    return Gathered(found.values, others, found.problems)


def _may_have_keys(chosen: Any) -> bool:
    """Return whether an assignor may have keys of its own. Those of Kafka Streams have none."""
    return chosen is not None and chosen.assignor not in _BUILT_IN


def _unknown(table: KeyTable, name: str, value: object) -> ConfigurationError:
    names = [table.key(attribute).name for attribute in _ATTRIBUTES]
    near = near_names(name, names)
    hint = did_you_mean(near) if near else f"Keys that concern assignments: {', '.join(names)}."
    return ConfigurationError(f"Unknown configuration key {name!r} ({shown_value(name, value)}) for {_WHOSE}. {hint}")
