"""Pages of a store are its rows: all of them, once, and in one order, whatever their size."""

import random
import struct
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from attrs import evolve

from kafka_groups import serdes
from kafka_groups.streams import stores
from kafka_groups.streams.engines.shared_memory import SharedEngine
from kafka_groups.streams.state.engine import EngineStatus, KeyedBytes, Table
from kafka_groups.streams.state.opened_state import open_state
from kafka_groups.streams.state.segments import MAX_MS
from kafka_groups.streams.state.state_store import RecordContext, StoreSurroundings
from kafka_groups.streams.state.stored_rows import (
    KeyPart,
    PageOf,
    RowsPart,
    StorePart,
    TimePart,
    read_page,
    read_row,
    read_rows,
)
from kafka_groups.streams.state.stores import StoreDefinition
from kafka_groups.streams.topology.context import open_view
from tests.support.committed_states import commit

BYTES = serdes.bytes_
ROWS = stores.key_value("rows", BYTES, BYTES)
SIZE, RETENTION = timedelta(milliseconds=10), timedelta(minutes=5)
WINDOWS = stores.window("windows", BYTES, BYTES, size=SIZE, retention=RETENTION)
PAIRS = stores.window("pairs", BYTES, BYTES, size=SIZE, retention=RETENTION, retain_duplicates=True)
SESSIONS = stores.session("sessions", BYTES, BYTES, retention=RETENTION)
KEYS = [b"", b"a", b"a\0", b"a\0\0\0\0\0\0\0\0", b"ab", b"b", b"\xff", b"\xff\xff"]
"""Keys that begin with others, and whose rows lie between those of others."""
LATEST_MS = 700_000
LIMITS = pytest.mark.parametrize("limit", [1, 2, 7, 100_000])
BOTH_WAYS = pytest.mark.parametrize("reverse", [False, True])


def filled(definition: StoreDefinition, rng: random.Random) -> tuple[Any, SharedEngine]:
    """Return the state of a store with rows, some of which have expired."""
    engine, record = SharedEngine(), RecordContext()
    state = open_state(definition, StoreSurroundings(topic="t", engine=engine, record=record, is_caching=False))
    view: Any = open_view(state, record)
    times_ms = [*rng.choices(range(LATEST_MS), k=40), LATEST_MS]
    for time_ms in times_ms:
        for key in rng.sample(KEYS, 5):
            if definition is ROWS:
                view.put(key + bytes(rng.choices(range(256), k=2)), b"x")
            elif definition is SESSIONS:
                view.put(key, time_ms - rng.choice((0, 1, 50_000)), time_ms, b"x")
            else:
                view.put(key, b"x", time_ms)
        commit(state, engine)
    engine.set_status(EngineStatus.ACTIVE)
    return state, engine


def paged(
    definition: StoreDefinition, engine: SharedEngine, part: StorePart, limit: int, *, reverse: bool, ahead: int = 0
) -> Iterator[KeyedBytes]:
    after: bytes | None = None
    while True:
        with engine.moment(definition.name) as reader:
            found = read_page(definition, reader, PageOf(part, limit, after, reverse, ahead))
            following = read_rows(definition, reader, found.following)
        assert len(found.rows) <= limit
        assert len(found.following) <= ahead * limit
        assert [row for row, _ in following] == found.following
        rows = [*found.rows, *following]
        yield from rows
        if not found.has_more:
            return
        after = rows[-1][0]


def in_order(rows: Any, *, reverse: bool, key: Any = None) -> list[KeyedBytes]:
    return sorted(rows, key=key, reverse=reverse)


@LIMITS
@BOTH_WAYS
def test_pages_of_a_key_value_store(limit: int, reverse: bool) -> None:
    state, engine = filled(ROWS, random.Random(1))
    for low, high in [(b"", None), (b"a", b"b"), (b"a\0", b"a\0\xff"), (b"b", b"a"), (b"\xff", None)]:
        wanted = [(key, b"x") for key, _ in state.scan(low, high)]
        got = paged(ROWS, engine, RowsPart(low, high), limit, reverse=reverse)
        assert list(got) == in_order(wanted, reverse=reverse)


@LIMITS
@BOTH_WAYS
@pytest.mark.parametrize("ahead", [0, 1, 5])
@pytest.mark.parametrize("definition", [WINDOWS, PAIRS, SESSIONS], ids=lambda each: str(each.name))
def test_pages_by_time(definition: StoreDefinition, limit: int, ahead: int, reverse: bool) -> None:
    state, engine = filled(definition, random.Random(2))

    def order(pair: KeyedBytes) -> tuple[int, bytes]:
        return state.time_in(pair[0]), pair[0]

    every = [(each.row, each.stored) for each in state.all()]
    assert 50 < len(every) < 205, "some have expired"
    for first_ms, last_ms in [(0, MAX_MS), (500_000, 600_000), (LATEST_MS, LATEST_MS), (-5, 0), (9, 3)]:
        wanted = [pair for pair in every if first_ms <= order(pair)[0] <= last_ms]
        got = paged(definition, engine, TimePart(first_ms, last_ms), limit, reverse=reverse, ahead=ahead)
        assert list(got) == in_order(wanted, reverse=reverse, key=order)


@LIMITS
@BOTH_WAYS
@pytest.mark.parametrize("definition", [WINDOWS, PAIRS, SESSIONS], ids=lambda each: str(each.name))
def test_pages_of_a_key(definition: StoreDefinition, limit: int, reverse: bool) -> None:
    state, engine = filled(definition, random.Random(3))
    found = 0
    for key in [*KEYS, b"absent"]:
        for first_ms, last_ms in [(0, MAX_MS), (500_000, 650_000), (-5, 0)]:
            part = KeyPart(key, first_ms, last_ms)
            if definition is SESSIONS:
                part = KeyPart(key, first_ms, MAX_MS, last_ms)
            asked = state.find if definition is SESSIONS else state.fetch
            wanted = [(each.row, each.stored) for each in asked(key, first_ms, last_ms)]
            assert list(paged(definition, engine, part, limit, reverse=reverse)) == in_order(wanted, reverse=reverse)
            found += len(wanted)
    assert found > 50


@pytest.mark.parametrize("definition", [ROWS, WINDOWS, PAIRS, SESSIONS], ids=lambda each: str(each.name))
def test_rows(definition: StoreDefinition) -> None:
    state, engine = filled(definition, random.Random(4))
    with engine.moment(definition.name) as reader:
        rows = [row for name in reader.tables(definition.name) for row, _ in reader.table(name).scan(b"", None)]
        found = [read_row(definition, reader, row) for row in rows]
        assert read_row(definition, reader, rows[0] + b"?") is None
    assert found == [state.stored(row) for row in rows]
    assert (None in found) is (definition is not ROWS), "some have expired"


def test_a_page_reads_no_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = SharedEngine()
    engine.commit({"rows": {b"%05d" % at: b"x" for at in range(10_000)}})
    engine.set_status(EngineStatus.ACTIVE)
    read: list[bytes] = []

    class Counted(dict[bytes, bytes]):
        def __getitem__(self, key: bytes) -> bytes:
            read.append(key)
            return super().__getitem__(key)

    table = engine.table("rows")
    table._values = Counted(table._values)
    for page in (PageOf(RowsPart(b"", None), 10), PageOf(RowsPart(b"", None), 10, b"09000", reverse=True)):
        with engine.moment("rows") as reader:
            assert len(read_page(ROWS, reader, page).rows) == 10
    assert len(read) <= 22


class CountedTable:
    """A table that counts the rows that are read in it, one by one and in scans."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.read = 0

    def get(self, key: bytes) -> bytes | None:
        self.read += 1
        return self._table.get(key)

    def scan(self, low: bytes, high: bytes | None, *, reverse: bool = False) -> Iterator[KeyedBytes]:
        for each in self._table.scan(low, high, reverse=reverse):
            self.read += 1
            yield each


class CountedReader:
    """The committed state of a task, which counts the rows that are read."""

    def __init__(self, engine: SharedEngine) -> None:
        self._engine = engine
        self.notes = engine.notes
        self._tables: dict[str, CountedTable] = {}

    def table(self, name: str) -> CountedTable:
        return self._tables.setdefault(name, CountedTable(self._engine.table(name)))

    def tables(self, prefix: str) -> list[str]:
        return self._engine.tables(prefix)

    @property
    def read(self) -> int:
        return sum(each.read for each in self._tables.values())


@BOTH_WAYS
@pytest.mark.parametrize("starts", [1, 20, 4_000], ids=lambda each: f"{each} starts")
def test_all_pages_by_time_cost_as_much_as_their_rows(starts: int, reverse: bool) -> None:
    """Whatever the number of pages: looking for the rows of each one in the whole table would read 80 times as much."""
    count, limit = 4_000, 50
    segment = {b"%04d" % at + struct.pack(">qi", at % starts, 0): b"x" for at in range(count)}
    engine = SharedEngine()
    engine.commit({"windows@0": segment})
    engine.set_status(EngineStatus.ACTIVE)
    reader = CountedReader(engine)
    found: list[KeyedBytes] = []
    page = PageOf(TimePart(0, MAX_MS), limit, reverse=reverse, ahead=127)
    while True:
        answer = read_page(WINDOWS, reader, page)
        found += [*answer.rows, *read_rows(WINDOWS, reader, answer.following)]
        if not answer.has_more:
            break
        page = evolve(page, after=found[-1][0])
    assert len({row for row, _ in found}) == len(found) == count
    assert reader.read <= 4 * count


def test_a_page_after_a_row_that_has_expired_begins_with_what_has_not() -> None:
    engine = SharedEngine()
    state: Any = open_state(
        WINDOWS, StoreSurroundings(topic="t", engine=engine, record=RecordContext(), is_caching=False)
    )
    view: Any = open_view(state, RecordContext())
    for time_ms in (0, 1, 2):
        for key in (b"a", b"b"):
            view.put(key, b"x", time_ms)
    commit(state, engine)
    first = next(iter(state.all())).row
    view.put(b"a", b"x", 300_001)
    commit(state, engine)
    engine.set_status(EngineStatus.ACTIVE)
    with engine.moment("windows") as reader:
        found = read_page(WINDOWS, reader, PageOf(TimePart(0, MAX_MS), 1, first, ahead=5))
    assert [state.time_in(row) for row in [found.rows[0][0], *found.following]] == [2, 2]
    assert found.has_more
