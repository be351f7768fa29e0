"""State on the disk that no worker of a process has open: in each round, exactly one of its members names it."""

import errno
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.streams.engines.dormant_folders import DormantFolders
from kafka_groups.streams.engines.lmdb_engine import LmdbEngine
from kafka_groups.streams.engines.owned_engine import DiskEngine
from kafka_groups.streams.member.rules.states import MembershipState
from kafka_groups.types import TaskId
from tests.support.kept_states import BOOT, CHANGELOG, PERSISTENT, Kept
from tests.unit.streams.member.classic.driven import Member, assignment, inputs_of, user_data_in

TASKS = [TaskId("0", number) for number in range(4)]
SUM = 7


class Process:
    """The members of a process with several workers, and the folder that they share."""

    def __init__(self, folder: Path, workers: int = 3) -> None:
        self.kept = Kept(folder)
        self.dormant = [DormantFolders(folder, BOOT) for _ in range(workers)]
        self.members = [Member(dormant).started() for dormant in self.dormant]
        self.opened: dict[TaskId, DiskEngine] = {}
        for task in TASKS:
            self.open(task)
            self.close(task)

    def open(self, task: TaskId) -> None:
        """Let a worker run the task, which has a position."""
        engine = self.kept.engines().open(task, (PERSISTENT,))
        assert isinstance(engine, DiskEngine)
        engine.commit({"counts": {b"k": b"v"}}, {CHANGELOG: SUM})
        self.opened[task] = engine

    def close(self, task: TaskId) -> None:
        self.opened.pop(task).close()

    def kill(self, task: TaskId) -> None:
        """End the process of the worker that runs a task."""
        self.kept.kill(self.opened.pop(task))

    def round(self, *order: int) -> list[dict[TaskId, int]]:
        """Let the members join in an order, and end the round. Return what each has named."""
        joining = {number: self.members[number].joining() for number in order}
        for number, request in joining.items():
            self.members[number].admit(request)
            self.members[number].sync(assignment(inputs_of()))
        return [dict(user_data_in(request).task_offset_sums) for request in joining.values()]

    def next_round(self, *order: int) -> list[dict[TaskId, int]]:
        for number in order:
            self.members[number].rebalance()
        return self.round(*order)

    def end(self) -> None:
        for dormant in self.dormant:
            dormant.release()
        for task in tuple(self.opened):
            self.close(task)


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # slow, and no machine crashes here
    made = Process(tmp_path / "app-mine")
    yield made
    made.end()


def named(round_: list[dict[TaskId, int]]) -> Counter[TaskId]:
    """How many members have named each task, each with the right sum."""
    assert {total for its in round_ for total in its.values()} <= {SUM}
    return Counter(task for its in round_ for task in its)


def test_in_each_round_one_member_names_each_dormant_task(process: Process) -> None:
    assert named(process.round(0, 1, 2)) == Counter(TASKS)
    for order in ((2, 1, 0), (1, 0, 2), (0, 2, 1)):
        assert named(process.next_round(*order)) == Counter(TASKS)


def test_a_member_that_joins_twice_in_a_round_names_the_same_again(process: Process) -> None:
    first, second, _ = process.members
    joining = first.joining()
    first.fail(joining)
    first.wait(2_000)
    assert user_data_in(first.joining()).task_offset_sums == user_data_in(joining).task_offset_sums != ()
    assert user_data_in(second.joining()).task_offset_sums == ()


def test_another_member_names_what_one_has_named_that_is_not_in_the_next_round(process: Process) -> None:
    assert named(process.round(0, 1, 2)) == Counter(TASKS)
    assert named(process.next_round(1, 2)) == Counter(TASKS)


def test_another_member_names_what_one_has_named_that_is_gone_within_the_round(process: Process) -> None:
    process.members[0].joining()
    process.members[0].membership.leave()
    assert process.members[0].is_in(MembershipState.LEAVING)
    assert named(process.round(1, 2)) == Counter(TASKS)


def test_a_task_is_named_by_nobody_while_it_is_open_and_again_when_it_has_moved_away(process: Process) -> None:
    first, *others = TASKS
    assert named(process.round(0, 1, 2)) == Counter(TASKS)
    process.open(first)
    assert named(process.next_round(2, 0, 1)) == Counter(others)
    process.close(first)
    assert named(process.next_round(0, 1, 2)) == Counter(TASKS)


def test_a_task_that_opens_between_two_joins_of_a_round_is_let_go(process: Process) -> None:
    first, *others = TASKS
    member = process.members[0]
    joining = member.joining()
    process.open(first)
    member.fail(joining)
    member.wait(2_000)
    assert dict(user_data_in(member.joining()).task_offset_sums).keys() == set(others)
    process.close(first)
    assert named(process.round(1, 2)) == Counter([first]), "the others are claimed by a member that is not admitted yet"


def test_the_state_of_a_killed_worker_is_read_once_and_named_in_each_round(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    process.open(TASKS[0])
    process.kill(TASKS[0])
    read, reads = LmdbEngine.positions_in, []

    def counted(path: Path) -> object:
        reads.append(path)
        return read(path)

    monkeypatch.setattr(LmdbEngine, "positions_in", staticmethod(counted))
    assert named(process.round(0, 1, 2)) == Counter(TASKS)
    assert named(process.next_round(0, 1, 2)) == Counter(TASKS)
    assert len(reads) == 1
    process.open(TASKS[0])
    process.kill(TASKS[0])
    assert named(process.next_round(0, 1, 2)) == Counter(TASKS)
    assert len(reads) == 2


def test_what_a_member_has_claimed_can_be_opened(process: Process) -> None:
    process.members[0].joining()
    for task in TASKS:
        process.open(task)
    assert len(process.opened) == len(TASKS)


def test_a_folder_that_cannot_be_read_is_told_and_nothing_is_named(
    process: Process, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_given: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refused)
        assert process.dormant[0].claim() == {}
    assert "The group does not learn which tasks have state in " in caplog.text
    assert len(process.dormant[0].claim()) == len(TASKS)


def test_there_is_nothing_to_name_before_a_first_task(tmp_path: Path) -> None:
    assert DormantFolders(tmp_path, BOOT).claim() == {}
    assert list(tmp_path.iterdir()) == []
