"""The generations of a task's state, each owned by one process at most."""

from pathlib import Path

import pytest
from attrs import evolve

from kafka_groups.streams.engines.generations import Generation, GenerationsFolder
from kafka_groups.streams.engines.marks import Mark, read_mark

MARK = Mark(boot_id="b", stores={})


@pytest.fixture
def folder(tmp_path: Path) -> GenerationsFolder:
    return GenerationsFolder(tmp_path / "tasks" / "0_0", tmp_path / "trash")


def marked(folder: GenerationsFolder) -> Generation:
    made = folder.prepare()
    made.write(MARK)
    assert folder.publish(made)
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
    unfinished = folder.prepare()
    unfinished.write(MARK)
    assert unfinished.number == 12
    newest = folder.newest()
    assert newest is not None
    assert newest.number == 11
    unfinished.disown()


def test_other_files_are_not_generations(folder: GenerationsFolder) -> None:
    (folder.path / "lost+found").mkdir(parents=True)
    assert folder.newest() is None
    made = folder.prepare()
    assert made.number == 1
    made.disown()


def test_a_folder_without_a_mark_may_be_what_is_left_of_a_state(folder: GenerationsFolder) -> None:
    assert not folder.has_files()
    made = folder.prepare()
    (made.path / "lmdb").mkdir()
    assert not folder.has_files(), "it does not count yet"
    made.disown()
    (folder.path / "1").mkdir()
    assert not folder.has_files(), "somebody died before there was any state"
    (folder.path / "1" / "lmdb").mkdir()
    assert folder.has_files()


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


# ------------------------------------------------------------------------------------------------------- publishing


def unfinished(folder: GenerationsFolder, source: Generation | None) -> Generation:
    made = folder.prepare(source)
    made.write(MARK)
    return made


def test_one_of_several_that_follow_a_generation_is_published(folder: GenerationsFolder) -> None:
    source = marked(folder)
    first, second = unfinished(folder, source), unfinished(folder, source)
    assert folder.publish(second, source)
    assert not folder.publish(first, source)
    newest = folder.newest()
    assert newest is not None
    assert (newest.path, newest.number) == (second.path, 2)
    first.delete()
    assert sorted(each.name for each in folder.path.iterdir()) == ["1", "2"]


def test_one_that_was_dropped_is_not_published(folder: GenerationsFolder, tmp_path: Path) -> None:
    source = marked(folder)
    made = unfinished(folder, source)
    assert folder.unfinished()[0].path == made.path
    folder.drop_unfinished()
    folder.drop_unfinished()
    assert folder.unfinished() == []
    assert not folder.publish(made, source)
    assert folder.is_newest(source)
    assert list((tmp_path / "trash").iterdir()) == []


@pytest.mark.parametrize("is_there", [False, True])
def test_one_whose_source_somebody_has_opened_or_deleted_is_not_published(
    folder: GenerationsFolder, is_there: bool
) -> None:
    source = marked(folder)
    made = unfinished(folder, folder.newest())
    seen = folder.newest()
    assert seen is not None
    if is_there:
        source.write(evolve(MARK, owner="another"))
    else:
        source.delete()
    assert not folder.publish(made, seen)


def test_one_behind_which_another_one_counts_is_not_published(folder: GenerationsFolder) -> None:
    source = marked(folder)
    late = unfinished(folder, source)
    second = unfinished(folder, source)
    assert folder.publish(second, source)
    third = unfinished(folder, second)
    assert folder.publish(third, second)
    second.delete()
    assert not folder.publish(late, source)
    assert folder.is_newest(third)
    folder.forget_before(late)
    assert folder.is_newest(third), "nobody deletes later ones"


def test_a_disk_that_refuses_to_publish_is_told(folder: GenerationsFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    made = unfinished(folder, None)

    def refused(*_args: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(OSError, match="Read-only"):
        folder.publish(made)


def test_a_wipe_of_what_nobody_has_leaves_nothing(folder: GenerationsFolder) -> None:
    assert folder.wipe_unused()
    for _ in range(2):
        marked(folder).disown()
    assert folder.wipe_unused()
    assert not folder.path.exists()


def test_a_wipe_of_what_another_process_has_opened_since_does_nothing(folder: GenerationsFolder) -> None:
    marked(folder).disown()
    owner = folder.newest()
    assert owner is not None
    assert owner.own()
    assert not folder.wipe_unused()
    assert folder.is_newest(owner)
    owner.disown()


def test_a_wipe_until_a_generation_leaves_later_ones(folder: GenerationsFolder) -> None:
    first, second, third = (marked(folder) for _ in range(3))
    folder.wipe_until(second)
    assert [each.name for each in folder.path.iterdir()] == ["3"]
    for each in (first, second, third):
        each.disown()
