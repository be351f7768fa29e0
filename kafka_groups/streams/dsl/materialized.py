"""From the keywords of an operator to the definition of its store."""

from typing import Any, Protocol

from attrs import evolve, frozen

from kafka_groups.errors import ConfigurationError
from kafka_groups.streams.dsl.graph import Graph, Slot
from kafka_groups.streams.processors.views import TableView, stored_view
from kafka_groups.streams.state.stores import (
    Changelog,
    Configs,
    KeyValueDefinition,
    StoreDefinition,
    TableDefinition,
    VersionedDefinition,
)
from kafka_groups.streams.topology.topology_arguments import check_kind

__all__ = ["StoreOptions", "history_of", "key_value_store", "view_of", "with_overrides"]


@frozen
class StoreOptions:
    """The keywords of an operator that are about its store.

    Attributes:
        store: A name, a definition, or None.
        caching: Overrides the definition's; the default is to cache.
        changelog: Overrides the definition's. By default there is a changelog.
    """

    store: str | TableDefinition[Any, Any] | None = None
    caching: bool | None = None
    changelog: Changelog | None = None


class StoreOverrides(Protocol):
    """The keywords that all operators with a store have."""

    @property
    def caching(self) -> bool | None:
        """False not to cache. None: as the definition says; the default is to cache."""

    @property
    def changelog(self) -> Changelog | None:
        """False for no changelog, or its configs. None: as the definition says. By default there is one."""


def with_overrides(
    options: StoreOverrides, definition: StoreDefinition | None
) -> tuple[bool, Changelog | Configs | None]:
    """Return whether a store caches, and its changelog: what an operator says, its definition, or the default."""
    caching, changelog = options.caching, options.changelog
    # The operator's keywords are the last word, then those of the definition. The default is that of Kafka's
    # Materialized: a cache and a changelog.
    if definition is not None:
        caching = definition.caching if caching is None else caching
        return caching is not False, definition.changelog if changelog is None else changelog
    return caching is not False, True if changelog is None else changelog


def history_of(definition: StoreDefinition | None) -> int | None:
    """Return the history of a versioned store in ms, or None if there is none."""
    return definition.history_ms if isinstance(definition, VersionedDefinition) else None


def view_of(definition: TableDefinition[Any, Any]) -> TableView:
    """Return the view of a table with a store."""
    return stored_view(definition.name, is_versioned=isinstance(definition, VersionedDefinition))


def _versioned_store(
    operator: str, store: VersionedDefinition[Any, Any], options: StoreOptions
) -> VersionedDefinition[Any, Any]:
    # Java leaves the cache out with a line in the log (KeyValueStoreMaterializer). A cache would keep one of several
    # versions of a key.
    if options.caching:
        raise ConfigurationError(
            f"{operator}: caching=True with the versioned store {store.name!r}, which cannot be cached. Leave it out."
        )
    _, changelog = with_overrides(options, store)
    return evolve(store, changelog=changelog)


def key_value_store(
    graph: Graph, operator: str, options: StoreOptions, default_name: str, serdes: tuple[Slot, Slot]
) -> TableDefinition[Any, Any]:
    """Return the definition of an operator's store.

    Args:
        graph: Notes serdes that are missing.
        operator: The operator's name, for messages.
        options: The operator's keywords.
        default_name: The name where none is given.
        serdes: The serdes of keys and values where no definition has them.

    Raises:
        ConfigurationError: A versioned store cannot be cached.
    """
    store = options.store
    if isinstance(store, VersionedDefinition):
        return _versioned_store(operator, store, options)
    if isinstance(store, KeyValueDefinition):
        caching, changelog = with_overrides(options, store)
        # Operators keep a timestamp with each row, whatever the definition says: the time of results and of late
        # updates depends on it.
        return evolve(store, timestamped=True, caching=caching, changelog=changelog)
    check_kind(f"{operator}: store", store, str | None, "the name or definition of a key-value or versioned store")
    key, value = (graph.need(slot, operator) for slot in serdes)
    caching, changelog = with_overrides(options, None)
    return KeyValueDefinition(
        name=store or default_name,
        key=key,
        value=value,
        timestamped=True,
        caching=caching,
        changelog=changelog,
    )
