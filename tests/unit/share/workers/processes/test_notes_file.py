"""The file with the notes of a worker."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.net.spawned_process import SpawnedProcess
from kafka_groups.share.workers.processes.notes import RunningNotes, RunningNotesLayout
from kafka_groups.share.workers.processes.notes_file import NotesFile, NotesOwner, UnusableNotesError, read_notes
from kafka_groups.share.workers.rules.named_suspects import MOST_NAMED, RunningRange
from tests.support.conditions import wait_until
from tests.unit.share.workers.processes.child_programs import noting
from tests.unit.share.workers.processes.test_notes import partition, run_of

LAYOUT = RunningNotesLayout((("handle", 2, ("orders",)), ("store", 1, ("payments", "refunds"))))
OWNER = NotesOwner("shop", LAYOUT, parts=4)
REFUND = RunningRange(partition("refunds", 2), 10, 12)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def written(path: Path, owner: NotesOwner = OWNER, *suspects: RunningRange) -> RunningNotes:
    """Write a file, and return the notes in it. As after SIGKILL, nobody closes anything in an orderly way."""
    file = NotesFile(path, owner, suspects)
    file.close()
    return RunningNotes(owner.layout, file.memory)


def test_what_was_running_and_what_was_known_is_read(path: Path) -> None:
    notes = written(path, OWNER, REFUND)
    notes.notes_for(3, "handle").began(1, run_of((partition("orders", 3), 5), (partition("orders", 3), 9)))
    notes.notes_for(0, "store").began(0, run_of((partition("payments"), 7)))
    assert list(map(str, read_notes(path, OWNER))) == ["refunds-2@10 to 12", "payments-0@7", "orders-3@5 to 9"]
    notes.notes_for(3, "handle").ended(1)
    notes.notes_for(0, "store").ended(0)
    assert read_notes(path, OWNER) == [REFUND]


def test_known_suspects_are_replaced_while_the_worker_runs(path: Path) -> None:
    file = NotesFile(path, OWNER, [REFUND])
    others = [RunningRange(partition("orders", number), number, number) for number in range(MOST_NAMED + 5)]
    file.keep(others)
    assert read_notes(path, OWNER) == others[5:]
    file.keep([])
    assert read_notes(path, OWNER) == []
    file.close()


def test_a_process_that_is_spawned_writes_to_the_same_file(path: Path) -> None:
    file = NotesFile(path, OWNER, [])
    process = SpawnedProcess(noting, lambda _pipe: (LAYOUT, file.memory), "noting")
    wait_until(lambda: process.exit_status is not None, 30)
    process.close()
    file.close()
    assert list(map(str, read_notes(path, OWNER))) == ["orders-3@7"]


def test_the_number_of_processes_and_of_slots_may_change(path: Path) -> None:
    written(path).notes_for(3, "handle").began(1, run_of((partition("orders", 3), 5)))
    fewer = NotesOwner("shop", RunningNotesLayout((("handle", 1, ("orders",)), LAYOUT.handlers[1])), parts=2)
    assert list(map(str, read_notes(path, fewer))) == ["orders-3@5"]


@pytest.mark.parametrize(
    ("reader", "reason"),
    [
        (evolve(OWNER, group_id="other"), "they are of a worker of the group 'shop'"),
        (evolve(OWNER, layout=RunningNotesLayout(LAYOUT.handlers[:1])), "other handlers or topics"),
        (
            evolve(OWNER, layout=RunningNotesLayout((("handle", 2, ("sales",)), LAYOUT.handlers[1]))),
            "other handlers or topics",
        ),
    ],
)
def test_notes_of_another_worker_are_refused(path: Path, reader: NotesOwner, reason: str) -> None:
    written(path)
    with pytest.raises(UnusableNotesError, match=reason):
        read_notes(path, reader)


def test_notes_of_another_version_are_refused(path: Path) -> None:
    written(path)
    data = bytearray(path.read_bytes())
    data[data.index(b"\n") + 1] = 2
    path.write_bytes(data)
    with pytest.raises(UnusableNotesError, match="they are of version 2, and this release reads version 1"):
        read_notes(path, OWNER)


def test_other_files_are_refused(path: Path) -> None:
    path.write_bytes(b"Some notes that have nothing to do with a worker\n")
    with pytest.raises(UnusableNotesError, match="damaged"):
        read_notes(path, OWNER)
    path.write_bytes(b"")
    with pytest.raises(UnusableNotesError, match="incomplete"):
        read_notes(path, OWNER)


def test_a_file_that_was_written_in_part_is_refused(path: Path) -> None:
    written(path)
    data = path.read_bytes()
    described = len(OWNER.encoded())
    for length in [*range(described + 1), described + 9, len(data) // 2, len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(UnusableNotesError, match="incomplete"):
            read_notes(path, OWNER)
    path.write_bytes(data + b"\0")
    with pytest.raises(UnusableNotesError, match="incomplete"):
        read_notes(path, OWNER)


def test_each_damaged_byte_of_the_description_is_found(path: Path) -> None:
    written(path)
    data = path.read_bytes()
    for place in range(len(OWNER.encoded())):
        damaged = bytearray(data)
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        with pytest.raises(UnusableNotesError):
            read_notes(path, OWNER)


@given(damage=st.binary(min_size=1, max_size=400), place=st.integers(0, 70_000))
def test_damaged_notes_name_at_worst_other_records(
    tmp_path_factory: pytest.TempPathFactory, damage: bytes, place: int
) -> None:
    """The machine may have crashed while the notes were changing. Their bytes have no checksum."""
    path = tmp_path_factory.mktemp("damaged") / "notes"
    written(path, OWNER, REFUND)
    data, described = path.read_bytes(), len(OWNER.encoded())
    start = described + place % (len(data) - described)
    path.write_bytes(data[:start] + damage[: len(data) - start] + data[start + len(damage) :])
    assert all(each.partition.topic in LAYOUT.topics for each in read_notes(path, OWNER))


def test_the_file_before_stays_if_the_new_one_cannot_be_written(path: Path) -> None:
    """Zeros are written for real: a disk that lacks the space refuses them now, and no slot meets a hole later."""
    written(path, OWNER, REFUND)
    large = evolve(OWNER, parts=400)
    with at_most(200_000), pytest.raises(OSError, match="File too large"):
        NotesFile(path, large, [])
    assert list(path.parent.iterdir()) == [path]
    assert read_notes(path, OWNER) == [REFUND]
    written(path, large)
    assert path.stat().st_blocks * 512 >= large.size


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Let this process write files of this size at most."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
