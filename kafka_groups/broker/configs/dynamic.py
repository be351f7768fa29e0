"""Dynamic configs by resource: configs that were set while the cluster runs."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from attrs import field, frozen

from kafka_groups.broker.persistent_map import PersistentMap

__all__ = ["DynamicConfigs", "DynamicConfigsOwner", "ResourceKey"]

ResourceKey = tuple[int, str]
"""The type and the name of a resource."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


@frozen(eq=False)
class DynamicConfigs:
    """Values by resource type, resource name and key. Values that were never set are absent.

    The resource name is the topic, the group id, or the node id as text (empty for all brokers). A change makes new
    `DynamicConfigs`.
    """

    _values: PersistentMap[ResourceKey, Mapping[str, str]] = field(factory=PersistentMap)

    def config_value(self, resource_type: int, name: str, key: str) -> str | None:
        """Return the value that was set, or None."""
        return self.overrides(resource_type, name).get(key)

    def overrides(self, resource_type: int, name: str) -> Mapping[str, str]:
        """Return all values that were set on a resource, read-only."""
        return self._values.get((resource_type, name), _NOTHING)

    def names(self, resource_type: int) -> tuple[str, ...]:
        """Return the resources of a type that have values."""
        return tuple(name for kind, name in self._values if kind == resource_type)

    def with_values(self, changes: Mapping[ResourceKey, Mapping[str, str]]) -> "DynamicConfigs":
        """Return configs in which these resources have these values and no others."""
        put = {resource: MappingProxyType(dict(values)) for resource, values in changes.items() if values}
        return DynamicConfigs(self._values.with_entries(put, [each for each in changes if not changes[each]]))


class DynamicConfigsOwner(Protocol):
    """Has the current configs. `ClusterMetadata` implements this."""

    @property
    def configs(self) -> DynamicConfigs:
        """The configs as they are now."""
        ...
