"""A random history of an engine, next to dictionaries that have what it should have."""

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Final

from kafka_groups.streams.engines.interface import TaskEngine
from kafka_groups.streams.state.engine import KeyedBytes
from kafka_groups.testing.engines.engine_failure import expect
from kafka_groups.testing.engines.trial import KEPT, VOLATILE, EngineTrial
from kafka_groups.types import TopicPartition

__all__ = ["random_history"]

_STEPS: Final = 150
_TABLES: Final = (KEPT, f"{KEPT}@1", f"{KEPT}@2", VOLATILE, f"{VOLATILE}@1")
_LONG: Final = tuple(
    start * length + end for start in (b"k", b"\xff") for length in (477, 478, 510, 600) for end in (b"", b"a", b"b")
)
_SHORT: Final = (b"", b"\0", b"\xff", b"k", b"k\0", b"ka", b"l")
_PLACES: Final = tuple(TopicPartition(topic, partition) for topic in ("t", "u") for partition in (0, 1))
_NOTES: Final = (f"{KEPT}#time", f"{KEPT}#number")

_HistoryRows = dict[bytes, bytes]


class _History:
    def __init__(self, trial: EngineTrial, random: Random) -> None:
        self._trial = trial
        self._random = random
        self._engine: TaskEngine = trial.open()
        self._tables: dict[str, _HistoryRows] = {}
        self._positions: dict[TopicPartition, int] = {}
        self._notes: dict[str, bytes] = {}

    def run(self) -> None:
        steps = (self._commit, self._commit, self._scan, self._get, self._commit_under_a_scan, self._look)
        for number in range(_STEPS):
            self._random.choice(steps)()
            if number % 50 == 49:
                self._restart()
        self._look()

    # ------------------------------------------------------------------------------------ steps

    def _commit(self) -> None:
        random = self._random
        changes = {name: self._changes() for name in random.sample(_TABLES, random.randrange(len(_TABLES) + 1))}
        positions = {place: random.randrange(1 << 40) for place in random.sample(_PLACES, random.randrange(3))}
        notes = {name: random.randbytes(random.randrange(9)) for name in random.sample(_NOTES, random.randrange(3))}
        change = self._engine.load if random.random() < 0.3 else self._engine.commit
        change(changes, positions, notes)
        for name, rows in changes.items():
            table = {} if rows is None else {**self._tables.get(name, {}), **rows}
            self._tables[name] = {key: value for key, value in table.items() if value is not None}
        self._positions.update(positions)
        self._notes.update(notes)

    def _changes(self) -> dict[bytes, bytes | None] | None:
        random = self._random
        if random.random() < 0.1:
            return None
        count = random.choice([0, 1, 5, 100])
        return {self._key(): None if random.random() < 0.3 else self._value() for _ in range(count)}

    def _key(self) -> bytes:
        random = self._random
        return random.choice((random.randbytes(2), random.choice(_SHORT), random.choice(_LONG)))

    def _value(self) -> bytes:
        return self._random.randbytes(self._random.choice([0, 1, 8, 3_000]))

    def _get(self) -> None:
        name, key = self._random.choice(_TABLES), self._key()
        expect(f"The value of key {key!r} in table {name!r}", self._engine.table(name).get(key), self._row(name, key))

    def _row(self, name: str, key: bytes) -> bytes | None:
        return self._tables.get(name, {}).get(key)

    def _scan(self) -> None:
        name, low = self._random.choice(_TABLES), self._key()
        high = None if self._random.random() < 0.3 else self._key()
        for is_reverse in (False, True):
            found = list(self._engine.table(name).scan(low, high, reverse=is_reverse))
            what = f"scan({low!r}, {high!r}, reverse={is_reverse}) of table {name!r}"
            expect(what, found, self._between(name, low, high, is_reverse=is_reverse))

    def _commit_under_a_scan(self) -> None:
        name = self._random.choice(_TABLES)
        expected = self._between(name, b"", None)
        rows: Iterator[KeyedBytes] = self._engine.table(name).scan(b"", None)
        first = list(islice(rows, self._random.randrange(4)))
        self._commit()
        expect(f"A scan of table {name!r} that began before a commit", [*first, *rows], expected)

    def _look(self) -> None:
        for prefix in (f"{KEPT}@", VOLATILE, ""):
            expected = {name for name, rows in self._tables.items() if name.startswith(prefix) and rows}
            expect(f"tables({prefix!r})", set(self._engine.tables(prefix)), expected)
        for store in (KEPT, VOLATILE):
            counted = sum(len(rows) for name, rows in self._tables.items() if name.partition("@")[0] == store)
            expect(f"count({store!r})", self._engine.count(store), counted)
        expect("The positions", dict(self._engine.positions), self._positions)
        expect("The notes", dict(self._engine.notes), self._notes)

    def _restart(self) -> None:
        self._trial.restart()
        self._engine = self._trial.open()
        is_kept = self._trial.outlasts
        stores = {KEPT} if is_kept else set()
        self._tables = {name: rows for name, rows in self._tables.items() if name.partition("@")[0] in stores}
        self._positions, self._notes = (self._positions, self._notes) if is_kept else ({}, {})
        self._look()
        for name in _TABLES:
            expect(f"Table {name!r} after a restart", list(self._engine.table(name).scan(b"", None)), self._all(name))

    def _all(self, name: str) -> list[KeyedBytes]:
        return self._between(name, b"", None)

    def _between(self, name: str, low: bytes, high: bytes | None, *, is_reverse: bool = False) -> list[KeyedBytes]:
        rows = sorted(self._tables.get(name, {}).items(), reverse=is_reverse)
        return [(key, value) for key, value in rows if low <= key and (high is None or key < high)]


def random_history(trial: EngineTrial, seed: int) -> None:
    """Commit, read, scan and restart by the seed, and compare with dictionaries.

    Raises:
        EngineTestError: Something differs.
    """
    _History(trial, Random(seed)).run()
