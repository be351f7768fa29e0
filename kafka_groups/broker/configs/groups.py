"""The effective configuration of every share group, computed when it changes instead of for every heartbeat."""

from kafka_groups.broker.configs.dynamic import DynamicConfigsOwner
from kafka_groups.broker.configs.effective import group_defaults
from kafka_groups.config.broker import BrokerSettings, ShareGroupConfig, share_group_config
from kafka_groups.protocol.messages.config_resources import GROUP_RESOURCE

__all__ = ["GroupConfigs"]


class GroupConfigs:
    """A function from a group id to the group's configuration.

    Args:
        settings: The brokers' settings, which contain the defaults and bounds.
        owner: Has the dynamic configs of groups.
    """

    def __init__(self, settings: BrokerSettings, owner: DynamicConfigsOwner) -> None:
        self._settings = settings
        self._owner = owner
        self._computed: dict[str, ShareGroupConfig] = {}
        self._computed_from = owner.configs

    def __repr__(self) -> str:
        return f"<GroupConfigs: {len(self._computed)} groups>"

    def __call__(self, group_id: str) -> ShareGroupConfig:
        """Return the effective configuration of a group."""
        configs = self._owner.configs
        if configs is not self._computed_from:
            self._computed.clear()
            self._computed_from = configs
        config = self._computed.get(group_id)
        if config is None:
            overrides = configs.overrides(GROUP_RESOURCE, group_id)
            config = self._computed[group_id] = share_group_config(group_defaults(self._settings, configs), overrides)
        return config
