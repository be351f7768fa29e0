"""The effective configuration of every group, computed when it changes instead of for every heartbeat."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from kafka_groups.broker.configs.dynamic import DynamicConfigsOwner
from kafka_groups.broker.configs.effective import group_defaults
from kafka_groups.config.cluster.broker import BrokerSettings
from kafka_groups.protocol.messages.config_resources import GROUP_RESOURCE

__all__ = ["GroupConfigs"]

T = TypeVar("T")


class GroupConfigs(Generic[T]):
    """A function from a group id to the configuration of a group of one type.

    Args:
        settings: The brokers' settings, which contain the defaults and bounds.
        owner: Has the dynamic configs of groups.
        compute: Returns the configuration from the settings and what was set for the group.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        owner: DynamicConfigsOwner,
        compute: Callable[[BrokerSettings, Mapping[str, str]], T],
    ) -> None:
        self._settings = settings
        self._owner = owner
        self._compute = compute
        self._computed: dict[str, T] = {}
        self._computed_from = owner.configs

    def __repr__(self) -> str:
        return f"<GroupConfigs: {len(self._computed)} groups>"

    def __call__(self, group_id: str) -> T:
        """Return the effective configuration of a group."""
        configs = self._owner.configs
        if configs is not self._computed_from:
            self._computed.clear()
            self._computed_from = configs
        config = self._computed.get(group_id)
        if config is None:
            overrides = configs.overrides(GROUP_RESOURCE, group_id)
            config = self._computed[group_id] = self._compute(group_defaults(self._settings, configs), overrides)
        return config
