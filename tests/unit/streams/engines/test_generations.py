"""The generations of a task's state, each owned by one process at most."""

from pathlib import Path

import pytest

from kafka_groups.streams.engines.generations import Generation, GenerationsFolder
from kafka_groups.streams.engines.marks import Mark, read_mark

MARK = Mark(boot_id="b", stores={})


@pytest.fixture
def folder(tmp_path: Path) -> GenerationsFolder:
    return GenerationsFolder(tmp_path / "tasks" / "0_0", tmp_path / "trash")


def marked(folder: GenerationsFolder) -> Generation:
    made = folder.prepare()
    made.write(MARK)
    return made


def test_one_has_a_generation_at_a_time(folder: GenerationsFolder) -> None:
    first = marked(folder)
    second = folder.newest()
    assert second is not None
    assert not second.own()
    first.disown()
    first.disown()
    assert second.own()
    second.disown()


def test_whoever_takes_a_generation_has_the_mark_that_its_owner_has_written_last(folder: GenerationsFolder) -> None:
    first = marked(folder)
    second = folder.newest()
    assert second is not None
    first.note(is_clean=True)
    first.disown()
    assert second.own()
    assert second.mark is not None
    assert second.mark.is_clean
    second.disown()


def test_generations_are_numbered_and_the_newest_with_a_mark_counts(folder: GenerationsFolder) -> None:
    assert folder.newest() is None
    numbers = []
    for _ in range(11):
        made = marked(folder)
        numbers.append(made.number)
        made.disown()
    assert numbers == list(range(1, 12))
    unmarked = folder.prepare()
    assert unmarked.number == 12
    newest = folder.newest()
    assert newest is not None
    assert newest.number == 11
    unmarked.disown()


def test_other_files_are_not_generations(folder: GenerationsFolder) -> None:
    (folder.path / "lost+found").mkdir(parents=True)
    assert folder.newest() is None
    made = folder.prepare()
    assert made.number == 1
    made.disown()


def test_a_folder_without_a_mark_may_be_what_is_left_of_a_state(folder: GenerationsFolder) -> None:
    assert not folder.has_files()
    made = folder.prepare()
    assert not folder.has_files(), "somebody died before there was any state"
    (made.path / "lmdb").mkdir()
    assert folder.has_files()
    made.disown()


def test_a_wipe_leaves_nothing_of_a_task_and_of_others_everything(folder: GenerationsFolder, tmp_path: Path) -> None:
    folder.wipe()
    other = GenerationsFolder(tmp_path / "tasks" / "0_1", tmp_path / "trash")
    for each in (folder, folder, other):
        made = marked(each)
        (made.path / "data").write_text("x", encoding="utf-8")
        made.disown()
    folder.wipe()
    assert not folder.path.exists()
    assert list((tmp_path / "trash").iterdir()) == []
    assert other.newest() is not None


def test_a_wipe_that_is_interrupted_leaves_nothing_that_is_opened(
    folder: GenerationsFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    marked(folder).disown()

    def died(*_args: object, **_settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shutil.rmtree", died)
    with pytest.raises(KeyboardInterrupt):
        folder.wipe()
    assert folder.newest() is None


def test_older_generations_are_deleted_when_nobody_has_them(folder: GenerationsFolder) -> None:
    gone, used, copied, kept = (marked(folder) for _ in range(4))
    gone.disown()
    copied.disown()
    folder.forget_before(kept)
    assert sorted(each.name for each in folder.path.iterdir()) == ["2", "4"]
    used.disown()
    folder.forget_before(kept)
    assert [each.name for each in folder.path.iterdir()] == ["4"]
    kept.disown()


def test_an_owner_whose_folder_was_wiped_writes_nothing_into_the_next_one_there(folder: GenerationsFolder) -> None:
    former = marked(folder)
    folder.wipe()
    with pytest.raises(FileNotFoundError, match="was deleted"):
        former.note(is_clean=True)
    present = marked(folder)
    assert present.path == former.path
    with pytest.raises(FileNotFoundError, match="was deleted"):
        former.note(is_clean=True)
    assert read_mark(present.path) == MARK
    present.disown()
    former.disown()


def test_a_folder_that_was_deleted_while_it_was_taken_is_not_owned(
    folder: GenerationsFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    marked(folder).disown()
    found = folder.newest()
    assert found is not None

    def slow(_opened: int, _operation: int) -> None:
        folder.wipe()

    monkeypatch.setattr("fcntl.flock", slow)
    assert not found.own()
    monkeypatch.undo()
    with pytest.raises(FileNotFoundError):
        found.write(MARK)
