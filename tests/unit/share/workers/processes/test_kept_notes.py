"""Notes in a directory: what a successor knows, and who may use the directory."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_groups.errors import ConfigurationError
from kafka_groups.share.workers.processes.kept_notes import NotesInDirectory, NotesInMemory, keeping_notes
from kafka_groups.share.workers.processes.notes import RunningNotesLayout
from kafka_groups.share.workers.rules.named_suspects import MOST_NAMED, RunningRange
from tests.unit.share.workers.processes.child_programs import LAYOUT, ORDERS
from tests.unit.share.workers.processes.test_notes import run_of

Made = Callable[..., NotesInDirectory]
OTHER = RunningNotesLayout((("other", 2, ("orders",)),))


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    """Returns a worker's notes in a directory that does not exist yet."""
    all_made: list[NotesInDirectory] = []

    def make(layout: RunningNotesLayout = LAYOUT, group_id: str = "shop", processes: int = 1) -> NotesInDirectory:
        all_made.append(NotesInDirectory(tmp_path / "a" / "b", group_id, layout, processes))
        return all_made[-1]

    yield make
    for each in all_made:
        each.close()


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "kafka_groups.worker")


def begin(kept: NotesInDirectory, offset: int, part: int = 0, slot: int = 0) -> None:
    kept.notes.notes_for(part, "handle").began(slot, run_of((ORDERS, offset)))


def names(kept: NotesInDirectory) -> list[str]:
    return list(map(str, kept.suspects))


def test_a_successor_knows_what_ran_and_passes_it_on(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    first = made(processes=2)
    assert names(first) == []
    assert caplog.text == ""
    for slot in range(2):
        for part in range(4):
            begin(first, 10 * part + slot, part, slot)
    first.close()  # as its process was killed
    second = made()
    assert len(names(second)) == 8
    assert (
        "previous workers were killed, or ended with an error, while they were running orders-3@31, orders-3@30,"
        " orders-3@21, orders-3@20, orders-3@11 and 3 more." in caplog.text
    )
    assert [record.levelname for record in caplog.records] == ["WARNING", "DEBUG"]
    second.close()  # killed at once: it had no time to run anything
    third = made()
    assert names(third) == names(second)
    begin(third, 99)
    third.close()
    assert names(made()) == [*names(second), "orders-3@99"]


def test_what_is_known_twice_is_named_once_and_the_oldest_are_forgotten(made: Made) -> None:
    first = made()
    first.name([RunningRange(ORDERS, number, number) for number in range(MOST_NAMED)])
    begin(first, 5)
    begin(first, 5_000, slot=1)
    first.close()
    assert len(names(second := made())) == MOST_NAMED
    assert names(second)[0] == "orders-3@1"
    assert names(second)[-2:] == ["orders-3@5", "orders-3@5000"]
    assert names(second).count("orders-3@5") == 1


def test_what_the_parent_names_while_it_runs_outlives_it(made: Made) -> None:
    parent = made(processes=2)
    parent.name([RunningRange(ORDERS, 7, 7)])
    assert names(parent) == ["orders-3@7"]
    parent.notes.clear(0)
    parent.close()
    assert names(made()) == ["orders-3@7"]


def test_an_orderly_end_leaves_nothing(made: Made) -> None:
    first = made()
    first.name([RunningRange(ORDERS, 7, 7)])
    begin(first, 8)  # of a handler that ignores the end, whose record was released
    first.forget()
    first.close()
    assert names(made()) == []


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"layout": OTHER}, "they are of a worker with other handlers or topics"),
        ({"group_id": "x"}, "the group 'shop'"),
    ],
)
def test_notes_of_another_worker_are_ignored_with_a_warning(
    made: Made, caplog: pytest.LogCaptureFixture, options: dict[str, object], reason: str
) -> None:
    first = made()
    begin(first, 8)
    first.close()
    assert names(made(**options)) == []
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "ignoring the notes of the previous worker, because" in record.getMessage()
    assert reason in record.getMessage()


def test_a_file_that_is_half_written_is_ignored_with_a_warning(
    made: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = made()
    begin(first, 8)
    first.close()
    file = tmp_path / "a" / "b" / "notes"
    file.write_bytes(file.read_bytes()[:-100])
    assert names(made()) == []
    assert "because they are incomplete" in caplog.text


def test_a_directory_is_for_one_worker(made: Made, tmp_path: Path) -> None:
    made()
    with pytest.raises(ConfigurationError, match=f"state_dir='{tmp_path}/a/b': another worker uses this directory"):
        made()


@pytest.mark.parametrize("where", ["file", "file/below", "/proc/nowhere/notes"])
def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=f"state_dir='.*{where}': the worker cannot keep its notes"):
        NotesInDirectory(tmp_path / where, "shop", LAYOUT, 1)


def test_a_file_that_cannot_be_read_is_refused_and_frees_the_directory(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=r"Is a directory.*Give a directory that"):
            NotesInDirectory(tmp_path, "shop", LAYOUT, 1)


def test_without_a_directory_notes_are_in_memory(tmp_path: Path) -> None:
    with keeping_notes(None, "shop", LAYOUT, 2) as memory:
        assert isinstance(memory, NotesInMemory)
        memory.name([RunningRange(ORDERS, 7, 7)])
        memory.forget()
        assert memory.suspects == (RunningRange(ORDERS, 7, 7),)
    with keeping_notes(tmp_path, "shop", LAYOUT, 2) as kept:
        assert isinstance(kept, NotesInDirectory)
        assert kept.notes.processes == memory.notes.processes == 2
    with keeping_notes(tmp_path, "shop", LAYOUT, 2):
        pass
