"""Definitions of stores: names, serdes and options, without any state. Users import this module as `stores`."""

from collections.abc import Mapping
from typing import Generic, TypeVar

from attrs import field, frozen

from kafka_groups.serdes import Serde

__all__ = ["KeyValueDefinition", "StoreDefinition", "key_value", "timestamped_key_value"]

K = TypeVar("K")
V = TypeVar("V")

Changelog = bool | Mapping[str, str]
"""False for a store without a changelog; a mapping gives the topic's configs."""


Configs = tuple[tuple[str, str], ...]


def _frozen_configs(given: Changelog | Configs | None) -> Configs | None:
    if given is False or given is None:
        return None
    if given is True:
        return ()
    return tuple(sorted(given.items())) if isinstance(given, Mapping) else given


@frozen(kw_only=True)
class StoreDefinition:
    """Name and options of a store of any kind.

    Attributes:
        name: The store's name, once in a topology.
        persistent: Whether the store is kept on disk.
        changelog: The configs of its changelog topic, or None for a store without one.
        caching: Whether operators forward only the last update of a key at each commit. None: the operator decides.
    """

    name: str
    persistent: bool = False
    changelog: Configs | None = field(default=(), converter=_frozen_configs)
    caching: bool | None = None

    def changelog_defaults(self) -> Mapping[str, str]:
        """Return the configs that the changelog topic of such a store has by itself."""
        return {"cleanup.policy": "compact"}


@frozen(kw_only=True)
class KeyValueDefinition(StoreDefinition, Generic[K, V]):
    """A key-value store.

    Attributes:
        key: The serde of its keys.
        value: The serde of its values.
        timestamped: Whether it keeps the timestamp of each value.
    """

    key: Serde[K]
    value: Serde[V]
    timestamped: bool = False


def key_value(
    name: str,
    key: Serde[K],
    value: Serde[V],
    *,
    persistent: bool = False,
    changelog: Changelog = True,
    caching: bool | None = None,
) -> KeyValueDefinition[K, V]:
    """Define a key-value store.

    Operators of the DSL that get this definition keep a timestamp with each value, as in Kafka Streams.

    Args:
        name: The store's name, once in a topology.
        key: The serde of its keys. The order of keys is the order of their bytes.
        value: The serde of its values.
        persistent: Whether to keep the store on disk.
        changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
        caching: Whether an operator forwards only the last update of a key at each commit (the default of the DSL).
    """
    return KeyValueDefinition(
        name=name, key=key, value=value, persistent=persistent, changelog=changelog, caching=caching
    )


def timestamped_key_value(
    name: str, key: Serde[K], value: Serde[V], *, persistent: bool = False, changelog: Changelog = True
) -> KeyValueDefinition[K, V]:
    """Define a key-value store for processors that keeps a timestamp with each value.

    Args:
        name: The store's name, once in a topology.
        key: The serde of its keys.
        value: The serde of its values.
        persistent: Whether to keep the store on disk.
        changelog: False for a store that is lost with its worker; a mapping gives configs of the changelog topic.
    """
    return KeyValueDefinition(
        name=name, key=key, value=value, persistent=persistent, changelog=changelog, timestamped=True
    )
