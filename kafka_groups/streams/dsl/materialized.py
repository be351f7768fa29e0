"""From the keywords of an operator to the definition of its store."""

from typing import Any

from attrs import evolve, frozen

from kafka_groups.streams.dsl.graph import Graph, Slot
from kafka_groups.streams.state.stores import Changelog, KeyValueDefinition
from kafka_groups.streams.topology.arguments import check_kind

__all__ = ["StoreOptions", "key_value_store"]


@frozen
class StoreOptions:
    """The keywords of an operator that are about its store.

    Attributes:
        store: A name, a definition, or None.
        caching: Overrides the definition's; the default is to cache.
        changelog: Overrides the definition's; the default is to have one.
    """

    store: str | KeyValueDefinition[Any, Any] | None = None
    caching: bool | None = None
    changelog: Changelog | None = None


def key_value_store(
    graph: Graph, operator: str, options: StoreOptions, default_name: str, serdes: tuple[Slot, Slot]
) -> KeyValueDefinition[Any, Any]:
    """Return the definition of an operator's store.

    Args:
        graph: Notes serdes that are missing.
        operator: The operator's name, for messages.
        options: The operator's keywords.
        default_name: The name where none is given.
        serdes: The serdes of keys and values where no definition has them.
    """
    store, caching, changelog = options.store, options.caching, options.changelog
    if isinstance(store, KeyValueDefinition):
        asked = store.caching if caching is None else caching
        kept = store.changelog if changelog is None else changelog
        return evolve(store, timestamped=True, caching=asked is not False, changelog=kept)
    check_kind(f"{operator}: store", store, str | None, "the name or definition of a key-value store")
    key, value = (graph.need(slot, operator) for slot in serdes)
    return KeyValueDefinition(
        name=store or default_name,
        key=key,
        value=value,
        timestamped=True,
        caching=caching is not False,
        changelog=True if changelog is None else changelog,
    )
