"""Opened states of all kinds: the cost of a restoration grows with its rows."""

import random
from bisect import insort
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest

from kafka_groups import serdes
from kafka_groups.streams import stores
from kafka_groups.streams.state import engine as engines
from kafka_groups.streams.state.engine import MemoryEngine, MemoryTable
from kafka_groups.streams.state.opened_state import open_state
from kafka_groups.streams.state.state_store import ChangelogRecord, RecordContext, StoreSurroundings
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.streams.topology.context import open_view
from tests.support.committed_states import restore

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
WINDOWS = stores.window("w", serdes.string, serdes.int64, size=HOUR, retention=DAY)
SESSIONS = stores.session("s", serdes.string, serdes.int64, retention=DAY)
ROWS = stores.key_value("k", serdes.string, serdes.int64)
VERSIONS = stores.versioned("v", serdes.string, serdes.int64, history=DAY)
FEW, MANY = 500, 2_000
_POLL = 50


class Moved:
    """How many rows were changed, and how many were moved to make room for another."""

    def __init__(self) -> None:
        self.count = 0

    @staticmethod
    def of(definition: StoreDefinition, rows: int) -> int:
        """Restore rows in random order, from a batch for each poll. The store was asked before, as by a view."""
        moved, engine = Moved(), MemoryEngine()
        state = open_state(definition, surroundings(engine))
        view: Any = open_view(state, RecordContext())
        if definition is not VERSIONS:
            list(view.all())
        with patch.object(engines, "insort", moved.insort), patch.object(MemoryTable, "apply", moved.applying()):
            records = shuffled(definition, rows)
            for first in range(0, rows, _POLL):
                restore(state, engine, records[first : first + _POLL])
        return moved.count

    def insort(self, rows: list[bytes], row: bytes) -> None:
        self.count += len(rows)
        insort(rows, row)

    def applying(self) -> Any:
        apply, moved = MemoryTable.apply, self

        def counted(self: MemoryTable, changes: Any) -> None:
            moved.count += len(changes)
            apply(self, changes)

        return counted


def surroundings(engine: MemoryEngine) -> StoreSurroundings:
    return StoreSurroundings(topic="t", engine=engine, record=RecordContext(), is_caching=False)


def shuffled(definition: StoreDefinition, rows: int) -> list[ChangelogRecord]:
    keys = random.Random(0).sample(range(10 * rows), rows)
    place = {"w": bytes(12), "s": bytes(16), "k": b"", "v": b""}[definition.name]
    return [ChangelogRecord(b"%06d" % key + place, bytes(8), 5) for key in keys]


@pytest.mark.parametrize("definition", [WINDOWS, SESSIONS, ROWS, VERSIONS], ids=lambda each: each.name)
def test_four_times_the_rows_take_four_times_the_work(definition: StoreDefinition) -> None:
    assert Moved.of(definition, MANY) <= 4.5 * Moved.of(definition, FEW)
