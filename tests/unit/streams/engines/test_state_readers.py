"""Stores on disk that another process than their worker's reads: only what is the task's now, and of one moment.

A process has an environment open once, so the worker of these tests has gone without a word before its files are read.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kafka_groups.streams.engines.environment_reader import EnvironmentReader
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.open_files import OpenFiles
from kafka_groups.streams.engines.opening import DiskEngines
from kafka_groups.streams.engines.owned_engine import DATA_FILE, DiskEngine
from kafka_groups.streams.engines.questions import OfTask, RowOf, StoreQuestion, TaskAnswer
from kafka_groups.streams.engines.state_readers import StateReaders, newest
from kafka_groups.streams.engines.status_file import StatusWriter
from kafka_groups.streams.errors import StateStoreMigratedError, StoreNotAvailableError
from kafka_groups.streams.state.engine import EngineStatus
from kafka_groups.streams.state.position import input_notes
from kafka_groups.streams.state.stored_rows import FoundPage, PageOf, RowsOf, RowsPart
from kafka_groups.types import TaskId, TopicPartition
from tests.support.kept_states import BOOT, PERSISTENT, TASK, Kept

ROW = RowOf(b"k")
STALE = pytest.mark.parametrize("allows_stale", [False, True])


@pytest.fixture
def readers() -> Iterator[StateReaders]:
    made = StateReaders()
    yield made
    made.close()


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "app-mine")


def left(kept: Kept, status: EngineStatus = EngineStatus.ACTIVE, value: bytes = b"v") -> OpenFiles:
    """Return the files that a worker has left when it was killed, as it had told its parent."""
    engine = kept.opened()
    engine.commit({"counts": {b"k": value}}, notes=input_notes({TopicPartition("words", 0): 5}))
    engine.set_status(status)
    told = files_of(engine)
    killed(engine)
    return told


def files_of(engine: DiskEngine, number: int = 1) -> OpenFiles:
    assert engine.place is not None
    return OpenFiles(TASK, *engine.place, frozenset({"counts"}), 2, (4711, number))


def killed(engine: DiskEngine) -> None:
    engine._env.close()
    engine._generation.disown()


def asked(
    readers: StateReaders,
    told: list[OpenFiles],
    gone: list[OpenFiles] | None = None,
    about: Any = ROW,
    **options: Any,
) -> list[TaskAnswer]:
    question = StoreQuestion("counts", about, **options)
    return readers.answers(question, PERSISTENT, told, gone or [])


def test_rows_pages_and_inputs_are_read(readers: StateReaders, kept: Kept) -> None:
    told = left(kept)
    (answer,) = asked(readers, [told])
    assert answer == TaskAnswer(TASK, told.token, b"v", 2, is_restoring=False)
    (page,) = asked(readers, [told], about=PageOf(RowsPart(b"", None), 10))
    assert page.found == FoundPage([(b"k", b"v")])
    (rows,) = asked(readers, [told], about=RowsOf((b"k", b"absent")))
    assert rows.found == [(b"k", b"v")]
    (inputs,) = asked(readers, [told], about=OfTask.INPUTS)
    assert inputs.found == {TopicPartition("words", 0): 5}


def test_global_stores_are_read_from_the_files_of_each_worker(readers: StateReaders, kept: Kept) -> None:
    """Each worker has them, in generations that have nothing to do with each other."""
    told = []
    for number, value in ((1, b"v"), (2, b"w")):
        engine = DiskEngines(kept.folder, BOOT, kept.clock, number=number).open_global({"names": PERSISTENT})
        assert isinstance(engine, DiskEngine)
        engine.commit({"counts": {b"k": value}})
        engine.set_status(EngineStatus.ACTIVE)
        told.append(files_of(engine, number))
        killed(engine)
    later = evolve(told[1], folder=kept.folder / "global" / "2" / "7" / "lmdb")
    assert newest([told[0], later, told[1]]) == [told[0], later]
    assert [(each.found, each.token) for each in asked(readers, told)] == [(b"v", (4711, 1)), (b"w", (4711, 2))]
    assert [each.found for each in asked(readers, told[:1], told[1:], allows_stale=True)] == [b"v"]
    assert [each.found for each in asked(readers, [], told[1:], allows_stale=True)] == [b"w"]


@pytest.mark.parametrize("status", [EngineStatus.RESTORING, EngineStatus.STANDBY])
def test_only_stale_answers_come_from_copies(readers: StateReaders, kept: Kept, status: EngineStatus) -> None:
    told = left(kept, status)
    assert asked(readers, [told]) == []
    (answer,) = asked(readers, [told], allows_stale=True)
    assert (answer.found, answer.is_restoring) == (b"v", status is EngineStatus.RESTORING)


@STALE
def test_closed_files_are_not_read(readers: StateReaders, kept: Kept, allows_stale: bool) -> None:
    engine = kept.committed()
    engine.set_status(EngineStatus.ACTIVE)
    told = files_of(engine)
    engine.close()
    assert asked(readers, [told], allows_stale=allows_stale) == []
    assert asked(readers, [], [told], allows_stale=allows_stale) == []


def test_the_files_of_a_dead_worker_are_stale(readers: StateReaders, kept: Kept) -> None:
    files = left(kept)
    assert asked(readers, [], [files]) == []
    (answer,) = asked(readers, [], [files], allows_stale=True)
    assert answer.found == b"v"
    (again,) = asked(readers, [evolve(files, token=(4712, 1))], [files], allows_stale=True)
    assert again.token == answer.token, "a view goes on when the next worker has opened them"


def test_the_files_of_a_dead_worker_may_be_deleted(readers: StateReaders, kept: Kept) -> None:
    files = left(kept)
    assert asked(readers, [], [files], allows_stale=True)
    kept.engines().wipe(TASK)
    assert asked(readers, [], [files], allows_stale=True) == []


def test_files_in_the_same_folder_are_others(readers: StateReaders, kept: Kept) -> None:
    before = left(kept)
    assert asked(readers, [before])[0].found == b"v"
    kept.engines().wipe(TASK)
    now = left(kept, value=b"w")
    assert before.folder == now.folder
    assert asked(readers, [now])[0].found == b"w"
    assert asked(readers, [before]) == []
    with pytest.raises(StateStoreMigratedError, match="not there any more"):
        EnvironmentReader(before)


def test_only_the_last_generation_counts(kept: Kept) -> None:
    files = left(kept)
    later = evolve(files, folder=kept.task / "12" / "lmdb", token=(4712, 1))
    other = evolve(files, task_id=TaskId("0", 1))
    assert newest([later, files, other]) == newest([files, other, later]) == [later, other]


def test_other_stores_and_partitions_are_not_asked(readers: StateReaders, kept: Kept) -> None:
    files = left(kept)
    assert asked(readers, [files], partition=1) == []
    assert asked(readers, [evolve(files, stores=frozenset({"others"}))]) == []
    assert len(asked(readers, [files], partition=TASK.partition)) == 1


def test_damaged_files_are_not_available(readers: StateReaders, kept: Kept) -> None:
    files = left(kept)
    (files.folder / DATA_FILE).write_bytes(b"garbage " * 4_096)
    with pytest.raises(StoreNotAvailableError, match="are damaged"):
        asked(readers, [files])


def test_files_that_nobody_needs_are_closed(readers: StateReaders, kept: Kept) -> None:
    files = left(kept)
    for known in ([], [evolve(files, inode=0)]):
        asked(readers, [files])
        readers.keep([files])
        assert len(readers._readers) == 1
        readers.keep(known)
        assert not readers._readers
        LmdbEngine(files.folder).close()  # a process has an environment open once


def test_closed_readers_answer_nothing(readers: StateReaders, kept: Kept) -> None:
    files = left(kept)
    asked(readers, [files])
    readers.close()
    assert asked(readers, [files], allows_stale=True) == []
    LmdbEngine(files.folder).close()


@STALE
def test_an_answer_and_the_status_are_of_one_moment(kept: Kept, allows_stale: bool) -> None:
    files = left(kept)
    reader = EnvironmentReader(files)
    writer = StatusWriter(files.folder.parent)
    with suppress(StateStoreMigratedError) if allows_stale else pytest.raises(StateStoreMigratedError):  # noqa: SIM117
        with reader.moment("counts", allows_stale=allows_stale) as moment:
            assert moment.table("counts").get(b"k") == b"v"
            writer.write(EngineStatus.STANDBY)
            writer.write(EngineStatus.ACTIVE)  # it has had the rows of another process in between
    writer.close()
    reader.close()


def test_a_reader_that_is_closed_while_it_is_asked_says_so(kept: Kept) -> None:
    reader = EnvironmentReader(left(kept))
    reader.close()
    reader.close()
    for ask in (lambda: reader.status, lambda: reader.moment("counts").__enter__()):
        with pytest.raises(StateStoreMigratedError):
            ask()
