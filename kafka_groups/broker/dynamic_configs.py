"""Configs that were set while the cluster runs, by resource."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["BROKER_RESOURCE", "GROUP_RESOURCE", "TOPIC_RESOURCE", "DynamicConfigs"]

TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
GROUP_RESOURCE = 32
"""Kafka's numbers of the resource types that have dynamic configs here."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


class DynamicConfigs:
    """Values that were set by resource type, resource name and key; what was never set is absent.

    The resource name is the topic, the group id, or the node id as text (the empty text for all brokers).

    Attributes:
        version: Another number after every change.
    """

    def __init__(self) -> None:
        self.version = 0
        self._values: dict[tuple[int, str], dict[str, str]] = {}

    def config_value(self, resource_type: int, name: str, key: str) -> str | None:
        """The value that was set, or None."""
        return self._values.get((resource_type, name), _NOTHING).get(key)

    def overrides(self, resource_type: int, name: str) -> Mapping[str, str]:
        """All values that were set on a resource: a live, read-only view."""
        values = self._values.get((resource_type, name))
        return MappingProxyType(values) if values else _NOTHING

    def names(self, resource_type: int) -> tuple[str, ...]:
        """The resources of a type on which something is set."""
        return tuple(name for kind, name in self._values if kind == resource_type)

    def alter(self, resource_type: int, name: str, changes: Mapping[str, str | None]) -> None:
        """Set values; None takes one back to its default."""
        self.version += 1
        values = self._values.setdefault((resource_type, name), {})
        values.update({key: value for key, value in changes.items() if value is not None})
        for key in [key for key, value in changes.items() if value is None]:
            values.pop(key, None)
        if not values:
            del self._values[(resource_type, name)]

    def forget(self, resource_type: int, name: str) -> None:
        """Take all values of a resource back."""
        self.version += 1
        self._values.pop((resource_type, name), None)
