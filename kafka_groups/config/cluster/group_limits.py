"""Limits that a broker sets for the configs of groups: `group.share.min.session.timeout.ms` and the like."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kafka_groups.config.keys import Key
from kafka_groups.config.settings import KeyTable

__all__ = ["LIMITED", "check_limits"]

LIMITED: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "share": (
        "session_timeout_ms",
        "heartbeat_interval_ms",
        "record_lock_duration_ms",
        "delivery_count_limit",
        "partition_max_record_locks",
        "assignment_interval_ms",
    ),
    "consumer": ("session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms"),
    "streams": ("session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms"),
})  # fmt: skip
"""Type of group → attributes of its configs that have a default and limits among the settings of a broker."""


def check_limits(kind: str, settings: Any, broker: KeyTable, config: Any = None, group: KeyTable | None = None) -> None:
    """Check the configs of a group, or the broker's defaults for them, against the broker's limits.

    Args:
        kind: The type of group.
        settings: The settings of the broker.
        broker: The keys of the broker.
        config: The configs of the group, or None for the broker's defaults.
        group: The keys of the group.

    Raises:
        KafkaGroupsError: A value is outside the limits, or the session timeout is not longer than the heartbeat
            interval.
    """
    found: dict[str, tuple[Key, Any]] = {}
    for name in LIMITED[kind]:
        attribute = f"{kind}_{name}"
        key = broker.key(attribute) if group is None else group.key(name)
        found[name] = key, getattr(settings, attribute) if config is None else getattr(config, name)
        _check_limit(key, found[name][1], *(_limit(kind, name, bound, settings, broker) for bound in ("min", "max")))
    session, (_, heartbeat_ms) = found["session_timeout_ms"], found["heartbeat_interval_ms"]
    if heartbeat_ms >= session[1]:
        raise session[0].problem(
            session[1],
            f"not longer than the heartbeat interval of {heartbeat_ms} ms",
            remedy="Use a longer session timeout or a shorter heartbeat interval",
        )


def _limit(kind: str, name: str, bound: str, settings: Any, broker: KeyTable) -> tuple[int, str]:
    attribute = f"{kind}_{bound}_{name}"
    return getattr(settings, attribute), broker.key(attribute).name


def _check_limit(key: Key, value: int, lowest: tuple[int, str], highest: tuple[int, str]) -> None:
    (low, low_name), (high, high_name) = lowest, highest
    if low <= value <= high:
        return
    bound = f"below {low}, the {low_name}" if value < low else f"above {high}, the {high_name}"
    raise key.problem(value, f"{bound} of the broker", remedy=f"Use {low} to {high}, or change the broker's limit")
