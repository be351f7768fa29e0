"""Opens the state of a store of any kind."""

from kafka_groups.streams.state.engine import MemoryEngine
from kafka_groups.streams.state.join_buffer import JoinBuffer, JoinBufferDefinition
from kafka_groups.streams.state.key_value import KeyValueState
from kafka_groups.streams.state.session_stores import SessionState
from kafka_groups.streams.state.state_store import RecordContext, StateStore, StoreSurroundings
from kafka_groups.streams.state.stores import (
    KeyValueDefinition,
    SessionDefinition,
    StoreDefinition,
    SuppressDefinition,
    VersionedDefinition,
    WindowDefinition,
)
from kafka_groups.streams.state.suppress_buffer import SuppressBuffer
from kafka_groups.streams.state.unjoined import UnjoinedDefinition, UnjoinedState
from kafka_groups.streams.state.versioned_stores import VersionedState
from kafka_groups.streams.state.window_stores import WindowState

__all__ = ["open_state", "rowless_state"]


def open_state(definition: StoreDefinition, surroundings: StoreSurroundings) -> StateStore:
    """Return the state of a store in one task."""
    # It is a key-value store, too, and has to be looked for first.
    if isinstance(definition, UnjoinedDefinition):
        return UnjoinedState(definition, surroundings)
    if isinstance(definition, KeyValueDefinition):
        return KeyValueState(definition, surroundings)
    if isinstance(definition, WindowDefinition):
        return WindowState(definition, surroundings)
    if isinstance(definition, SessionDefinition):
        return SessionState(definition, surroundings)
    if isinstance(definition, VersionedDefinition):
        return VersionedState(definition, surroundings)
    if isinstance(definition, JoinBufferDefinition):
        return JoinBuffer(definition, surroundings)
    if isinstance(definition, SuppressDefinition):
        return SuppressBuffer(definition, surroundings)
    raise TypeError(f"{definition!r} is not a kind of store that a task can open")


def rowless_state(definition: StoreDefinition, topic: str) -> StateStore:
    """Return a state that has no rows: it knows the serdes and the layout of a store whose rows are elsewhere.

    Args:
        definition: The store.
        topic: Its changelog, for serdes.
    """
    record = RecordContext()
    return open_state(
        definition, StoreSurroundings(topic=topic, engine=MemoryEngine(), record=record, is_caching=False)
    )
