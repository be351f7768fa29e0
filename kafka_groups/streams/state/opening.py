"""Opens the state of a store of any kind."""

from kafka_groups.streams.state.key_value import KeyValueState
from kafka_groups.streams.state.store import StateStore, StoreSurroundings
from kafka_groups.streams.state.stores import KeyValueDefinition, StoreDefinition

__all__ = ["open_state"]


def open_state(definition: StoreDefinition, surroundings: StoreSurroundings) -> StateStore:
    """Return the state of a store in one task."""
    if isinstance(definition, KeyValueDefinition):
        return KeyValueState(definition, surroundings)
    raise TypeError(f"{definition!r} is not a kind of store that a task can open")
