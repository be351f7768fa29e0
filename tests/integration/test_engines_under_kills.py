"""Engines on disk whose processes are killed or stopped at any step: nobody loses or overwrites what was committed."""

import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import lmdb
import pytest

from kafka_groups.net.clock import Clock, SystemClock
from kafka_groups.streams.engines.generations import Generation
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.mapped_files import MAP_BYTES
from kafka_groups.streams.engines.owned_engine import DATA_FOLDER, DiskEngine
from kafka_groups.testing.clock import ManualClock
from tests.support.conditions import wait_until
from tests.support.kept_states import CHANGELOG, DEFINED, TASK, Kept
from tests.support.planted_defects import Patch, Plant
from tests.support.state_writers import COMMITS, Writers, changes_of, state_after

PATIENCE_MS = 1_000
SPREAD = 0.618
"""By this part of all steps the kills of two seeds in a row are apart, so that those of a few seeds are everywhere."""
LIMIT_MS = 2_000
"""The time until a task runs again whose owner was stopped, without that of the copy."""


@pytest.fixture(scope="module")
def all_writers() -> Iterator[Writers]:
    with Writers() as made:
        yield made


@pytest.fixture
def writers(all_writers: Writers) -> Iterator[Writers]:
    yield all_writers
    all_writers.end()


def state_of(engine: LmdbEngine) -> dict[str, dict[bytes, bytes]]:
    return {name: dict(engine.table(name).scan(b"", None)) for name in engine.tables("")}


def is_prefix(engine: LmdbEngine, seed: int) -> bool:
    """All tables and the notes are those that the position says."""
    position = engine.positions.get(CHANGELOG, 0)
    notes = {"a#time": b"%d" % position} if position else {}
    return (state_of(engine), dict(engine.notes)) == (state_after(seed, position), notes)


# --------------------------------------------------------------------------------------------------------------- kills


def killed(writers: Writers, kept: Kept, seed: int, steps: int) -> int:
    """Kill a writer: at a step, or just when it says that it has committed. Return the last commit that it told."""
    is_told = seed % 5 == 4
    at = 1 + (int(seed * SPREAD * steps) + Random(seed).randrange(5)) % steps
    writers.start(kept.folder, seed=seed, act=None if is_told else "SIGKILL", at=at)
    last: int = 0
    told_at = Random(seed).randrange(1, COMMITS + 1)
    while True:
        told = writers.said()
        last = told.get("committed", last)
        if is_told and last == told_at and "committed" in told:
            with suppress(ProcessLookupError):  # that was its last commit, and it has ended
                writers.signal(signal.SIGKILL)
        if "ended" in told:
            assert told["ended"] in (-signal.SIGKILL, 0)
            return last


@pytest.mark.parametrize(
    "seeds",
    [
        range(20),
        pytest.param(range(20, 200), marks=pytest.mark.slow),
        pytest.param(range(200, 2_000), marks=[pytest.mark.long, pytest.mark.timeout(900)]),
    ],
    ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}",
)
def test_a_process_that_is_killed_leaves_the_state_that_its_position_says(
    writers: Writers, tmp_path: Path, caplog: pytest.LogCaptureFixture, seeds: range
) -> None:
    writers.start(tmp_path / "whole")
    steps = writers.said("steps")["steps"]
    assert writers.said("ended") == {"ended": 0}
    assert steps > 20 * COMMITS
    found = set()
    for seed in seeds:
        kept = Kept(tmp_path / f"app-{seed}")
        last = killed(writers, kept, seed, steps)
        engine = kept.opened(DEFINED)
        position = engine.positions.get(CHANGELOG, 0)
        found.add(position)
        assert is_prefix(engine, seed), f"seed {seed}: not the state of position {position}"
        assert position in (last, last + 1), f"seed {seed}: commit {last} had returned"
        assert set(kept.numbers()) <= {1, 2}
        kept.kill(engine)
    assert caplog.records == [], "no state is thrown away because of a kill"
    assert len(found) == COMMITS + 1, "the kills were everywhere"


def test_a_writer_goes_on_where_it_was_killed_until_it_has_all(writers: Writers, tmp_path: Path) -> None:
    kept = Kept(tmp_path / "app-mine")
    for at in range(COMMITS - 1):
        writers.start(kept.folder, seed=1, act="SIGKILL", on="after _without_rows", at=2)
        assert writers.said("opened")["opened"] == at
        assert writers.said("ended") == {"ended": -signal.SIGKILL}
    writers.start(kept.folder, seed=1)
    assert writers.said("ended") == {"ended": 0}
    engine = kept.opened(DEFINED)
    assert engine.positions == {CHANGELOG: COMMITS}
    assert is_prefix(engine, 1)
    engine.close()


def sparse(kept: Kept) -> dict[str, dict[bytes, bytes]]:
    """Leave a file most of which is free, and return what is in it."""
    engine = kept.opened(DEFINED)
    rows = {b"%05d" % number: bytes(200) for number in range(2_000)}
    engine.commit({"a": rows, "b": rows})
    for number in range(1, COMMITS + 1):
        engine.commit(changes_of(1, number), {CHANGELOG: number})
    engine.commit({"a": dict.fromkeys(rows), "b": dict.fromkeys(rows)})
    state = state_of(engine)
    engine.close()
    return state


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_makes_a_compact_copy_loses_nothing(
    writers: Writers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    origin = Kept(tmp_path / "app-origin")
    expected = sparse(origin)
    found, at, status = set(), 0, -signal.SIGKILL
    while status:
        at += 1
        kept = Kept(tmp_path / f"app-{at}")
        shutil.copytree(origin.folder, kept.folder)
        writers.start(kept.folder, act="SIGKILL", at=at, compacted_bytes=1 << 16)
        status = writers.said("ended")["ended"]
        assert status in {-signal.SIGKILL, 0}
        engine = kept.opened(DEFINED)
        assert (state_of(engine), engine.positions) == (expected, {CHANGELOG: COMMITS}), f"step {at}"
        kept.kill(engine)
        found.add(tuple(kept.numbers()))
        assert list((kept.folder / "trash").glob("*")) == []
    assert found == {(1,), (2,)}
    assert at > 15
    assert caplog.records == []


# ------------------------------------------------------------------------------------------------------ stopped owners


def stopped(writers: Writers, kept: Kept, where: str) -> int:
    """Stop a writer after a few commits, and return the last one of them."""
    on, at = {"in a transaction": ("after apply", 14), "between commits": ("before begin", 4)}[where]
    writers.start(kept.folder, seed=1, act="SIGSTOP", on=on, at=at)
    last: int = 0
    while "stopped" not in (told := writers.said()):
        last = told.get("committed", last)
        assert "ended" not in told
    return last


def taken_over(kept: Kept, clock: Clock, timeout_s: float) -> DiskEngine:
    """Open the task that a stopped writer has, and wait for that."""
    engines = kept.engines(clock=clock)
    found = [engines.open(TASK, DEFINED)]
    if isinstance(clock, ManualClock):
        clock.advance(PATIENCE_MS)

    def has_opened() -> bool:
        found.append(engines.open(TASK, DEFINED))
        return found[-1] is not None

    try:
        wait_until(lambda: found[-1] is not None or has_opened(), timeout_s)
    except AssertionError:
        engines.give_up(TASK)
        raise
    engine = found[-1]
    assert isinstance(engine, DiskEngine)
    return engine


def check_takeover(writers: Writers, kept: Kept, where: str, clock: Clock, timeout_s: float = 15.0) -> None:
    """Take a task over from a stopped writer, go on, and let the writer go on, too."""
    last = stopped(writers, kept, where)
    assert last > 0
    engine = taken_over(kept, clock, timeout_s)
    try:
        assert engine.positions == {CHANGELOG: last}
        assert is_prefix(engine, 1)
        ours = {"a": {b"ours": b"1"}, "b": None, f"a@{last}": {b"ours": b"1"}}
        engine.commit(ours, {CHANGELOG: 1_000}, {"a#time": b"1000"})
        expected, marks = state_of(engine), kept.mark(2) if 2 in kept.numbers() else None
        writers.signal(signal.SIGCONT)
        assert writers.said("ended") == {"ended": 0}
        assert (state_of(engine), engine.positions) == (expected, {CHANGELOG: 1_000})
        engine.commit({"a": {b"ours": b"2"}})
        assert kept.mark(2) == marks, "the former owner has noted its end elsewhere"
    finally:
        engine.close()
    again = kept.opened(DEFINED)
    try:
        assert kept.numbers() == [2], "nobody has the files of the former owner any more"
        assert state_of(again) == {**expected, "a": {**expected["a"], b"ours": b"2"}}
        assert (again.positions, again.notes) == ({CHANGELOG: 1_000}, {"a#time": b"1000"})
    finally:
        again.close()


WHERE = pytest.mark.parametrize("where", ["in a transaction", "between commits"])


@WHERE
def test_a_task_whose_owner_was_stopped_goes_on_in_a_copy(writers: Writers, tmp_path: Path, where: str) -> None:
    check_takeover(writers, Kept(tmp_path / "app-mine"), where, ManualClock())


def test_a_task_whose_owner_was_stopped_runs_again_within_two_seconds_and_the_time_of_the_copy(
    writers: Writers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, clock, copied_ms = Kept(tmp_path / "app-mine"), SystemClock(), []
    copy = LmdbEngine.copy

    def timed(source: Path, target: Path) -> None:
        begun_ms = clock.now_ms()
        copy(source, target)
        copied_ms.append(clock.now_ms() - begun_ms)

    monkeypatch.setattr(LmdbEngine, "copy", staticmethod(timed))
    last = stopped(writers, kept, "in a transaction")
    begun_ms = clock.now_ms()
    engine = taken_over(kept, clock, 15.0)
    took_ms = clock.now_ms() - begun_ms
    assert engine.positions == {CHANGELOG: last}
    engine.close()
    assert PATIENCE_MS <= took_ms <= LIMIT_MS + copied_ms[0]


@pytest.mark.slow
def test_a_worker_that_is_stopped_before_its_copy_counts_goes_on_with_what_the_next_owner_has_committed(
    writers: Writers, tmp_path: Path
) -> None:
    kept = Kept(tmp_path / "app-mine")
    stopped(writers, kept, "in a transaction")
    with Writers() as late:
        late.start(kept.folder, seed=1, act="SIGSTOP", on="before rename", at=1)
        late.said("stopped")
        engine = taken_over(kept, ManualClock(), 15.0)
        engine.commit({"a": {b"ours": b"1"}}, {CHANGELOG: 1_000})
        expected = state_of(engine)
        engine.close()
        late.signal(signal.SIGCONT)
        assert late.said("opened")["opened"] == 1_000
        assert late.said("ended") == {"ended": 0}
    assert kept.numbers() == [1, 2], "the first owner is still there"
    again = kept.opened(DEFINED)
    assert (state_of(again), again.positions) == (expected, {CHANGELOG: 1_000})
    again.close()


def opened_in_place(patch: Patch) -> None:
    """The files of a live owner are opened."""
    own = Generation.own

    def owned(generation: Generation) -> bool:
        if not own(generation):
            generation._owner = 0
            patch.setattr(Generation, "_is_there", lambda _: True)
            patch.setattr(Generation, "disown", lambda _: None)
        return True

    patch.setattr(Generation, "own", owned)


def copied_with_the_lock_of_writers(patch: Patch) -> None:
    """The copy is not compact, so that it waits for the writer."""

    def copy(source: Path, target: Path) -> None:
        with lmdb.open(str(source), map_size=MAP_BYTES, readonly=True, max_dbs=0) as env:
            env.copy(str(target))

    patch.setattr(LmdbEngine, "copy", staticmethod(copy))


@pytest.mark.parametrize(
    ("plant", "where"),
    [(opened_in_place, "between commits"), (copied_with_the_lock_of_writers, "in a transaction")],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_planted_defect_is_found(
    writers: Writers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Plant, where: str
) -> None:
    kept = Kept(tmp_path / "app-mine")
    with monkeypatch.context() as patch:
        plant(patch)
        with pytest.raises(AssertionError):
            check_takeover(writers, kept, where, ManualClock(), timeout_s=0.5)
    writers.end()
    wait_until(lambda: not [each for each in threading.enumerate() if each.name.startswith("copy-")])


# ---------------------------------------------------------------------------------------------------------- torn files


def torn(path: Path) -> None:
    """Lose all pages but the first, which say where the others are."""
    with path.open("r+b") as file:
        file.truncate(8192)


def check_torn(writers: Writers, kept: Kept, *, is_trusting: bool) -> None:
    """Open files that a crash of the machine has torn."""
    writers.start(kept.folder, seed=1, act="SIGKILL", on="before commit", at=5)
    assert writers.said("ended") == {"ended": -signal.SIGKILL}
    torn(kept.task / "1" / DATA_FOLDER / "data.mdb")
    writers.start(kept.folder, seed=1, boot="boot 2", is_trusting=is_trusting)
    assert writers.said() == {"opened": 0, "rows": {}}
    assert writers.said("ended") == {"ended": 0}
    engine = kept.opened(DEFINED)
    assert engine.positions == {CHANGELOG: COMMITS}
    assert is_prefix(engine, 1)
    engine.close()


def test_torn_files_of_another_boot_are_wiped_and_filled_again(writers: Writers, tmp_path: Path) -> None:
    check_torn(writers, Kept(tmp_path / "app-mine"), is_trusting=False)


def test_torn_files_that_are_opened_all_the_same_end_the_process(writers: Writers, tmp_path: Path) -> None:
    """The planted defect: it is found, so the files are really torn."""
    with pytest.raises(AssertionError, match="ended"):
        check_torn(writers, Kept(tmp_path / "app-mine"), is_trusting=True)
