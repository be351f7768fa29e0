"""Environments that end the process which reads them."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lmdb
import pytest

from kafka_groups.net.spawned_process import SpawnedProcess
from kafka_groups.streams.engines import reading_process
from kafka_groups.streams.engines.page_reader import FoundState, found_state
from kafka_groups.streams.engines.reading_process import read_in_process
from kafka_groups.streams.errors import CorruptedStateError, StateDiskError, StateFilesError
from tests.support.kept_state import lmdb_folder, written

NOTHING = FoundState(stores={}, positions={}, file_bytes=0)


def die_of_the_name(folder: Path, _check: bool) -> FoundState:
    """End by the signal that a folder is named after."""
    if folder.name in signal.Signals.__members__:
        os.kill(os.getpid(), signal.Signals[folder.name])
    if folder.name == "exit":
        os._exit(3)
    if folder.name == "once" and not list(folder.iterdir()):
        (folder / "dead").touch()
        os.kill(os.getpid(), signal.SIGBUS)
    return NOTHING


def read_until_told(folder: Path, _check: bool) -> FoundState:
    """Read the first folder. Have the second one open until a signal comes, once the test has read from its pipe."""
    if folder.name == "first":
        return NOTHING
    with lmdb.open(str(folder), readonly=True) as env, env.begin():
        (folder / "pipe").write_bytes(b"reading")
        signal.pause()
    return NOTHING


def read(names: Sequence[str]) -> list[FoundState | StateFilesError]:
    return list(read_in_process([Path(name) for name in names], check=True, reader=die_of_the_name))


@pytest.mark.parametrize("name", ["SIGABRT", "SIGBUS", "SIGSEGV"])
def test_a_signal_of_damage_is_damage_of_one_folder(name: str) -> None:
    before, damaged, after = read(["before", name, "after"])
    assert (before, after) == (NOTHING, NOTHING)
    assert isinstance(damaged, CorruptedStateError)
    assert str(damaged) == f"the store files in {name} are damaged: {name} has ended the process that read them"


def test_a_status_that_comes_a_moment_after_the_end_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    status: Any = SpawnedProcess.exit_status
    early = [None, None, None]

    def late(process: SpawnedProcess) -> int | None:
        return early.pop() if early and not process.is_connected else status.fget(process)

    monkeypatch.setattr(SpawnedProcess, "exit_status", property(late))
    (damaged,) = read(["SIGSEGV"])
    assert isinstance(damaged, CorruptedStateError)
    assert not early


@pytest.mark.parametrize("is_open", [False, True])
def test_files_that_somebody_has_opened_meanwhile_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_open: bool
) -> None:
    monkeypatch.setattr(reading_process, "has_environment_open", lambda _folder: is_open)
    (tmp_path / "once").mkdir()
    folders = [tmp_path / "once", Path("SIGSEGV"), Path("after")]
    once, damaged, after = read_in_process(folders, check=True, reader=die_of_the_name)
    assert (once == NOTHING) is is_open
    assert isinstance(damaged, CorruptedStateError)
    assert after == NOTHING


@pytest.mark.parametrize(("name", "how"), [("SIGKILL", "SIGKILL"), ("exit", "status 3")])
def test_another_end_is_not_damage(name: str, how: str) -> None:
    first, second = read([name, "after"])
    assert isinstance(first, StateDiskError)
    assert str(first) == f"The process that read the store files in {name} has ended with {how}. Try again."
    assert second == NOTHING


def test_a_file_that_was_cut_off_ends_the_process(tmp_path: Path) -> None:
    """This is LMDB's own behaviour: it does not compare the file's size with what its pages need."""
    written(tmp_path / "cut"), written(tmp_path / "whole")
    folders = [lmdb_folder(tmp_path / name) for name in ("cut", "whole")]
    os.truncate(folders[0] / "data.mdb", 2 * os.sysconf("SC_PAGE_SIZE"))
    cut, whole = read_in_process(folders, check=True)
    assert isinstance(cut, CorruptedStateError)
    assert str(cut).endswith("are damaged: SIGBUS has ended the process that read them")
    assert whole == found_state(folders[1], check=True)


def test_whoever_gives_up_leaves_no_reader_behind(tmp_path: Path) -> None:
    """An entry in LMDB's list of readers would keep all pages, and the file of the application would grow."""
    (tmp_path / "second").mkdir()
    os.mkfifo(tmp_path / "second" / "pipe")
    with lmdb.open(str(tmp_path / "second")) as env:
        answers = read_in_process([tmp_path / "first", tmp_path / "second"], check=True, reader=read_until_told)
        assert next(answers) == NOTHING
        assert (tmp_path / "second" / "pipe").read_bytes() == b"reading"
        assert "no active readers" not in env.readers()
        answers.close()  # type: ignore[attr-defined]
        assert "no active readers" in env.readers()
