"""The settings of consumer groups, and what operations on them take from outside."""

from collections.abc import Callable, Sequence
from uuid import UUID

from attrs import frozen

from kafka_groups.config.cluster.consumer_group import ConsumerGroupConfig

__all__ = ["ConsumerRules", "ConsumerSources"]


@frozen
class ConsumerSources:
    """Sources of ids and time for operations.

    Attributes:
        new_id: Returns a random id, for members without one.
        wall_ms: Returns the wall-clock time, for the records.
    """

    new_id: Callable[[], UUID]
    wall_ms: Callable[[], int]


@frozen
class ConsumerRules:
    """The settings of consumer groups.

    Attributes:
        config_of: Returns the effective configuration of a group id.
        max_size: Maximum number of members in a group (`group.consumer.max.size`).
        assignors: The names of the assignors, the default first (`group.consumer.assignors`).
        migration_policy: The groups with members that may change their type (`group.consumer.migration.policy`).
        classic_max_size: Maximum number of members in a classic group (`group.max.size`).
    """

    config_of: Callable[[str], ConsumerGroupConfig]
    max_size: int
    assignors: Sequence[str]
    migration_policy: str = "bidirectional"
    classic_max_size: int = 2**31 - 1

    @property
    def allows_upgrade(self) -> bool:
        """True if a classic group with members may become a consumer group."""
        return self.migration_policy in ("upgrade", "bidirectional")

    @property
    def allows_downgrade(self) -> bool:
        """True if a consumer group with members may become a classic group."""
        return self.migration_policy in ("downgrade", "bidirectional")
