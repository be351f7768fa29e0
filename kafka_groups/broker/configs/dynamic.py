"""Dynamic configs by resource: configs that were set while the cluster runs."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["DynamicConfigs"]

_NOTHING: Mapping[str, str] = MappingProxyType({})


class DynamicConfigs:
    """Values by resource type, resource name and key. Values that were never set are absent.

    The resource name is the topic, the group id, or the node id as text (empty for all brokers).

    Attributes:
        version: A number that is different after every change.
    """

    def __init__(self) -> None:
        self.version = 0
        self._values: dict[tuple[int, str], dict[str, str]] = {}

    def config_value(self, resource_type: int, name: str, key: str) -> str | None:
        """Return the value that was set, or None."""
        return self._values.get((resource_type, name), _NOTHING).get(key)

    def overrides(self, resource_type: int, name: str) -> Mapping[str, str]:
        """Return a live, read-only view of all values that were set on a resource."""
        values = self._values.get((resource_type, name))
        return MappingProxyType(values) if values else _NOTHING

    def names(self, resource_type: int) -> tuple[str, ...]:
        """Return the resources of a type that have values."""
        return tuple(name for kind, name in self._values if kind == resource_type)

    def alter(self, resource_type: int, name: str, changes: Mapping[str, str | None]) -> None:
        """Set values. None resets a value to its default."""
        self.version += 1
        values = self._values.setdefault((resource_type, name), {})
        values.update({key: value for key, value in changes.items() if value is not None})
        for key in [key for key, value in changes.items() if value is None]:
            values.pop(key, None)
        if not values:
            del self._values[(resource_type, name)]

    def forget(self, resource_type: int, name: str) -> None:
        """Remove all values of a resource."""
        self.version += 1
        self._values.pop((resource_type, name), None)
