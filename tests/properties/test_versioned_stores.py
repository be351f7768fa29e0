"""Versioned stores, against a list of versions for each key: with commits, lost changes, restorations and expiry."""

import random
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kafka_groups import serdes
from kafka_groups.streams import NOT_PUT, VALID_TO_UNDEFINED, VersionedKeyValueStore, VersionedRecord, stores
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.state.engine import Engine, MemoryEngine
from kafka_groups.streams.state.state_store import ChangelogRecord, RecordContext, StoreSurroundings
from kafka_groups.streams.state.versioned_stores import VersionedState
from tests.support.committed_states import commit, restore

HISTORY_MS, SEGMENT_MS = 30, 7
DEFINITION = stores.versioned(
    "v",
    serdes.string,
    serdes.string,
    history=timedelta(milliseconds=HISTORY_MS),
    segment=timedelta(milliseconds=SEGMENT_MS),
)
NAMES = ["", "a", "a" + "\0" * 9, "b", "k" * 478, "k" * 478 + "\0"]
KEYS = st.just("a") | st.sampled_from(NAMES)
VALUES = st.none() | st.sampled_from(["x", "y", ""])
TIMES = st.integers(0, 40) | st.integers(0, 150)
ALL_TIMES = (None, *range(155))

Versions = dict[str, dict[int, str | None]]


def opened(engine: Engine) -> VersionedState:
    return VersionedState(
        DEFINITION, StoreSurroundings(topic="t", engine=engine, record=RecordContext(), is_caching=False)
    )


def valid_at(model: Versions, newest_ms: int, key: str, as_of_ms: int | None) -> VersionedRecord[str] | None:
    versions = model.get(key, {})
    begun = [each for each in versions if as_of_ms is None or each <= as_of_ms]
    if not begun:
        return None
    value, from_ms = versions[max(begun)], max(begun)
    later = [each for each in versions if each > from_ms]
    if later and as_of_ms is not None and as_of_ms < newest_ms - HISTORY_MS:
        return None
    return None if value is None else VersionedRecord(value, from_ms, min(later, default=None))


class VersionedMachine(RuleBasedStateMachine):
    """A store in memory and what it must have."""

    @initialize()
    def begin(self) -> None:
        self.engine = self.make()
        self.committed: Versions = {}
        self.committed_ms = -1
        self.log: list[ChangelogRecord] = []
        self._open()

    def make(self) -> Engine:
        return MemoryEngine()

    def _open(self) -> None:
        self.state = opened(self.engine)
        self.store: VersionedKeyValueStore[str, str] = VersionedKeyValueStore(self.state)
        self.model = {key: dict(versions) for key, versions in self.committed.items()}
        self.newest_ms = self.committed_ms

    @rule(key=KEYS, value=VALUES, time_ms=TIMES)
    def put(self, key: str, value: str | None, time_ms: int) -> None:
        found = self.store.put(key, value, time_ms)
        assert found == self._put(key, value, time_ms)

    @rule(key=KEYS, value=VALUES, ahead_ms=st.integers(-35, 3))
    def put_near_the_end_of_the_history(self, key: str, value: str | None, ahead_ms: int) -> None:
        self.put(key, value, max(self.newest_ms + ahead_ms, 0))

    @rule(key=KEYS, time_ms=TIMES)
    def delete(self, key: str, time_ms: int) -> None:
        before = valid_at(self.model, self.newest_ms, key, time_ms)
        found = self.store.delete(key, time_ms)
        assert found == (None if self._put(key, None, time_ms) == NOT_PUT else before)

    def _put(self, key: str, value: str | None, time_ms: int) -> int:
        if time_ms < self.newest_ms - HISTORY_MS:
            return NOT_PUT
        self.newest_ms = max(self.newest_ms, time_ms)
        versions = self.model.setdefault(key, {})
        versions[time_ms] = value
        return min((each for each in versions if each > time_ms), default=VALID_TO_UNDEFINED)

    @rule(key=KEYS)
    def get(self, key: str) -> None:
        for as_of_ms in ALL_TIMES:
            assert self.store.get(key, as_of_ms) == valid_at(self.model, self.newest_ms, key, as_of_ms)

    @rule()
    def commit(self) -> None:
        self.log += self.state.changelog()
        commit(self.state, self.engine)
        self.committed = {key: dict(versions) for key, versions in self.model.items()}
        self.committed_ms = self.newest_ms

    @rule()
    def lose_changes(self) -> None:
        self._open()

    @rule(size=st.integers(1, 9), again=st.integers(0, 9))
    def restore(self, size: int, again: int) -> None:
        """Restore a copy from the changelog, in batches, parts of which come twice."""
        copy = MemoryEngine()
        state = opened(copy)
        for first in range(0, len(self.log), size):
            restore(state, copy, self.log[max(first - again, 0) : first + size])
        self._is_committed(VersionedKeyValueStore(opened(copy)))

    @rule(seed=st.integers(0, 9))
    def restore_what_the_history_has_in_any_order(self, seed: int) -> None:
        # Of two records with one time the last one counts, and what is older than the history is not taken.
        last = {(each.key, each.timestamp_ms): each for each in self.log}
        oldest_ms = self.committed_ms - HISTORY_MS
        kept = [each for each in last.values() if each.timestamp_ms is not None and each.timestamp_ms >= oldest_ms]
        ordered, shuffled = MemoryEngine(), MemoryEngine()
        restore(opened(ordered), ordered, kept)
        random.Random(seed).shuffle(kept)
        restore(opened(shuffled), shuffled, kept)
        assert _answers(opened(ordered)) == _answers(opened(shuffled))

    @invariant()
    def newest_versions_are_there(self) -> None:
        if hasattr(self, "model"):
            for key in NAMES:
                assert self.store.get(key) == valid_at(self.model, self.newest_ms, key, None)

    def _is_committed(self, store: VersionedKeyValueStore[str, str]) -> None:
        for key in NAMES:
            for as_of_ms in ALL_TIMES:
                assert store.get(key, as_of_ms) == valid_at(self.committed, self.committed_ms, key, as_of_ms)


def _answers(state: VersionedState) -> list[VersionedRecord[str] | None]:
    store: VersionedKeyValueStore[str, str] = VersionedKeyValueStore(state)
    return [store.get(key, as_of_ms) for key in NAMES for as_of_ms in ALL_TIMES]


class LmdbVersionedMachine(VersionedMachine):
    """A store on disk, whose files may be opened again at any time."""

    @initialize()
    def begin(self) -> None:
        self.folder = TemporaryDirectory()
        super().begin()

    def make(self) -> Engine:
        return LmdbEngine(Path(self.folder.name), map_bytes=1 << 24)

    @rule()
    def open_files_again(self) -> None:
        self.engine.close()
        self.engine = self.make()
        self._open()

    def teardown(self) -> None:
        if hasattr(self, "engine"):
            self.engine.close()
            self.folder.cleanup()


TestVersionedStore = VersionedMachine.TestCase
TestLmdbVersionedStore = LmdbVersionedMachine.TestCase
