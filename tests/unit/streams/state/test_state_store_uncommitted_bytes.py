"""The memory of uncommitted changes, as stores count it."""

from datetime import timedelta

import pytest

from kafka_groups import serdes
from kafka_groups.streams.state import stores
from kafka_groups.streams.state.engine import MemoryEngine
from kafka_groups.streams.state.key_value import KeyValueState
from kafka_groups.streams.state.opened_state import open_state
from kafka_groups.streams.state.state_store import ENTRY_BYTES, RecordContext, StateStore, StoreSurroundings
from kafka_groups.streams.state.stores import KeyValueDefinition, StoreDefinition, SuppressDefinition
from kafka_groups.streams.state.suppress_buffer import SuppressBuffer

TEXTS = KeyValueDefinition(name="texts", key=serdes.string, value=serdes.string)
BUFFER = SuppressDefinition(name="buffer", key=serdes.string, value=serdes.string)


def opened(definition: StoreDefinition) -> StateStore:
    surroundings = StoreSurroundings(topic="t", engine=MemoryEngine(), record=RecordContext(), is_caching=False)
    return open_state(definition, surroundings)


def texts() -> KeyValueState:
    state = opened(TEXTS)
    assert isinstance(state, KeyValueState)
    return state


def test_changes_count_with_their_bytes_until_they_are_committed() -> None:
    state = texts()
    state.put(b"key", "four", 0)
    assert state.uncommitted_bytes == ENTRY_BYTES + 3 + 4
    state.put(b"other", None, 0)
    assert state.uncommitted_bytes == 2 * ENTRY_BYTES + 3 + 4 + 5
    state.committed()
    assert state.uncommitted_bytes == 0


def test_a_recount_has_each_key_once() -> None:
    state = texts()
    for text in ("long", "longer", "s"):
        state.put(b"key", text, 0)
    assert state.uncommitted_bytes > 3 * ENTRY_BYTES
    state.recount()
    assert state.uncommitted_bytes == ENTRY_BYTES + 3 + 1


def test_a_suppress_buffer_counts_its_changes() -> None:
    state = opened(BUFFER)
    assert isinstance(state, SuppressBuffer)
    for _ in range(2):
        state.put(b"key", "new", "old", 0, (), due_ms=5)
    assert state.uncommitted_bytes > 2 * ENTRY_BYTES
    state.recount()
    assert ENTRY_BYTES < state.uncommitted_bytes < 2 * ENTRY_BYTES
    state.committed()
    assert state.uncommitted_bytes == 0
    state.take()
    assert state.uncommitted_bytes == ENTRY_BYTES + 3


@pytest.mark.parametrize(
    "definition",
    [
        stores.window("w", serdes.string, serdes.string, size=timedelta(seconds=1), retention=timedelta(seconds=9)),
        stores.session("s", serdes.string, serdes.string, retention=timedelta(seconds=9)),
    ],
)
def test_rows_with_a_time_count_as_well(definition: StoreDefinition) -> None:
    state = opened(definition)
    state.put(b"key" + bytes(16), "text", 0)  # type: ignore[attr-defined]
    assert state.uncommitted_bytes == ENTRY_BYTES + 19 + 4
