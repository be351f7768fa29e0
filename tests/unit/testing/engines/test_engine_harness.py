"""The test kit for engines: all engines of the package pass, and engines that break a rule do not."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.engines.shared_memory import MemoryEngines, SharedEngine
from kafka_groups.streams.engines.split_engine import SplitEngine
from kafka_groups.streams.state.engine import MemoryEngine, MemoryTable
from kafka_groups.testing.clock import ManualClock
from kafka_groups.testing.engines import EngineTest, EngineTestError
from kafka_groups.testing.simulation.streams.kept_engines import KeptEngines, SimulatedDisk
from kafka_groups.types import TaskId


@pytest.fixture
def kits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, EngineTest]:
    monkeypatch.setattr("os.fsync", lambda _: None)  # slow, and no machine crashes here
    disk = SimulatedDisk()
    return {
        "lmdb": EngineTest(lambda: DiskEngines(tmp_path, "boot", ManualClock()), seeds=range(1)),
        "memory": EngineTest(MemoryEngines, outlasts=False, seeds=range(2)),
        "simulated": EngineTest(lambda: KeptEngines(disk), seeds=range(2)),
    }


@pytest.mark.parametrize("name", ["lmdb", "memory", "simulated"])
def test_the_engines_of_the_package_pass(kits: dict[str, EngineTest], name: str) -> None:
    kits[name].run()


def test_checks_can_be_run_one_by_one(kits: dict[str, EngineTest]) -> None:
    checks = kits["memory"].checks
    assert list(checks) == ["statuses", "moments", "wipes", "left_positions", "openings", "history 0", "history 1"]
    checks["statuses"]()


def forgetting_positions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LmdbEngine, "_read_positions", lambda _: {})


def forgetting_notes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LmdbEngine, "_read_notes", lambda _: {})


def scanning_what_comes_later(patch: pytest.MonkeyPatch) -> None:
    def scan(table: MemoryTable, low: bytes, high: bytes | None, *, reverse: bool = False) -> Iterator[Any]:
        keys = sorted(
            (each for each in table._values if low <= each and (high is None or each < high)), reverse=reverse
        )
        return ((key, table._values.get(key, b"")) for key in keys)

    patch.setattr(MemoryTable, "scan", scan)


def keeping_what_is_volatile(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SplitEngine, "_of", lambda engine, _: engine._disk)
    patch.setattr(SplitEngine, "_own", lambda _, named: dict(named))
    patch.setattr(SplitEngine, "_others", lambda _engine, _named: {})


def reading_beside_commits(patch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def moment(engine: SharedEngine, *_args: object, **_settings: object) -> Iterator[MemoryEngine]:
        yield engine

    patch.setattr(SharedEngine, "moment", moment)


def wiping_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DiskEngines, "wipe", lambda *_: None)


def counting_what_is_open(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(KeptEngines, "positions_left", lambda engines: dict.fromkeys(engines._disk.engines, 7))


def opening_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DiskEngines, "open", lambda *_: None)
    patch.setattr("kafka_groups.testing.engines.trial._PAUSE_S", 0)


@pytest.mark.parametrize(
    ("name", "plant", "why"),
    [
        pytest.param("lmdb", forgetting_positions, "Check '.*': The positions", marks=pytest.mark.slow),
        pytest.param("lmdb", forgetting_notes, "Check 'history 0': The notes should be", marks=pytest.mark.slow),
        ("memory", scanning_what_comes_later, "Check 'history .': A scan of table '.*' that began before a commit"),
        pytest.param(
            "lmdb",
            keeping_what_is_volatile,
            r"Check 'history 0': tables\('volatile'\) should be",
            marks=pytest.mark.slow,
        ),
        ("memory", reading_beside_commits, r"Check 'statuses': moment\(allows_stale=False\) should raise StoreNotAv"),
        ("lmdb", wiping_nothing, "Check 'wipes': What a wipe leaves should be "),
        ("simulated", counting_what_is_open, "Check 'left_positions': "),
        ("lmdb", opening_nothing, "has not opened a state that nobody has open within ten seconds"),
    ],
)
def test_an_engine_that_breaks_a_rule_fails(
    kits: dict[str, EngineTest],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    plant: Callable[[pytest.MonkeyPatch], None],
    why: str,
) -> None:
    plant(monkeypatch)
    with pytest.raises(EngineTestError, match=why):
        kits[name].run()


def test_a_query_that_sees_a_commit_in_its_moment_is_found(
    kits: dict[str, EngineTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def moment(engine: SharedEngine, _store: str, **_settings: object) -> Iterator[MemoryEngine]:
        yield engine

    monkeypatch.setattr(SharedEngine, "moment", moment)
    with pytest.raises(EngineTestError, match="Check 'moments': What a query reads in one moment should be "):
        kits["memory"].checks["moments"]()


def test_tasks_are_apart(kits: dict[str, EngineTest], monkeypatch: pytest.MonkeyPatch) -> None:
    opened = KeptEngines.open
    monkeypatch.setattr(KeptEngines, "open", lambda engines, _, stores: opened(engines, TaskId("0", 0), stores))
    with pytest.raises(EngineTestError, match="Check 'wipes': What a wipe of another task leaves"):
        kits["simulated"].run()
