"""`kafka-groups streams state`."""

import importlib.util
import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kafka_groups.cli.main import main
from kafka_groups.streams.workers.state_directory import StateDirectory
from tests.support.kept_state import ROWS, changed_mark, lmdb_folder, running_application, written, written_global


def run(directory: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["streams", "state", str(directory), *options])


def document(directory: Path, *options: str, status: int = 0) -> Any:
    done = run(directory, "--json", *options)
    assert done.exit_code == status, done.output
    return json.loads(done.stdout)


def rows_of(text: str) -> list[list[str]]:
    """The cells of all rows of tables."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]


def cut(state_dir: Path) -> None:
    """Cut the file off, so that reading it ends the process."""
    os.truncate(lmdb_folder(state_dir) / "data.mdb", 2 * os.sysconf("SC_PAGE_SIZE"))


def garble(state_dir: Path) -> None:
    (lmdb_folder(state_dir) / "data.mdb").write_bytes(b"?" * 65_536)


def swap_rows(state_dir: Path) -> None:
    """Damage that only reading all rows shows."""
    data = lmdb_folder(state_dir) / "data.mdb"
    data.write_bytes(data.read_bytes().replace(b"key04997", b"key00001"))


# ----------------------------------------------------------------------------------------------------- text


def test_an_application_that_runs_and_one_that_was_stopped(tmp_path: Path) -> None:
    with running_application(tmp_path):
        running = run(tmp_path, "--check")
    stopped = run(tmp_path / "app-shop%2Feu")
    assert (running.exit_code, stopped.exit_code) == (0, 0), running.output + stopped.output
    assert running.stdout.splitlines()[0] == f"shop/eu in {tmp_path}/app-shop%2Feu: in use."
    assert stopped.stdout.splitlines()[0] == f"shop/eu in {tmp_path}/app-shop%2Feu: not in use."
    file_bytes = f"{(lmdb_folder(tmp_path) / 'data.mdb').stat().st_size:,}"
    page = os.sysconf("SC_PAGE_SIZE")
    task, counts, visits, position = rows_of(running.stdout)
    assert task[:-1] == ["0_1", "1", "yes", "no", "ok"]
    assert [counts[1:3], counts[4]] == [["counts", "5,001"], "KeyValue"]
    assert visits == ["0_1", "visits", "3", f"{2 * page:,}", "Window, segments of 1800000 ms"]
    assert position == ["0_1", "shop-counts-changelog", "1", "7"]
    assert rows_of(stopped.stdout)[0] == ["0_1", "1", "no", "yes", "not checked", file_bytes]


def test_everything_beside_the_tasks(tmp_path: Path) -> None:
    with running_application(tmp_path):
        folder = lmdb_folder(tmp_path).parents[1]
        for number in ("2", "4"):
            shutil.copytree(folder / "1", folder / number, ignore=shutil.ignore_patterns("lock.mdb"))
        shutil.copytree(folder / "1", folder / "3", ignore=shutil.ignore_patterns("*.mdb", "mark.json"))
        (folder.parents[1] / "trash" / "0_1-a").mkdir(parents=True)
        (folder.parents[1] / "trash" / "0_1-a" / "data.mdb").write_bytes(b"1")
        done = run(tmp_path)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-4:] == [
        "Task 0_1 also has generation 3: an unfinished copy.",
        "Task 0_1 also has generation 2: nobody needs it any more.",
        "Task 0_1 also has generation 1: a process that has lost the task still has it open.",
        "Waiting to be deleted: 1 folder with 1 byte.",
    ]


def test_several_applications(tmp_path: Path) -> None:
    for name in ("a", "b"):
        StateDirectory(str(tmp_path), name).close()
    done = run(tmp_path)
    assert (done.exit_code, done.stdout.splitlines()) == (
        0,
        [
            f"a in {tmp_path}/app-a: not in use.",
            "No task has stores on disk.",
            "",
            f"b in {tmp_path}/app-b: not in use.",
            "No task has stores on disk.",
        ],
    )


def test_files_of_another_boot_are_restored(tmp_path: Path) -> None:
    written(tmp_path)
    changed_mark(tmp_path, is_clean=False, boot_id="before")
    garble(tmp_path)
    done = run(tmp_path, "--check")
    assert (done.exit_code, done.stderr) == (0, "")
    assert rows_of(done.stdout)[0] == ["0_1", "1", "no", "no", "to be restored", "-"]
    assert ["0_1", "counts", "-", "-", "KeyValue"] in rows_of(done.stdout)
    assert done.stdout.splitlines()[-1] == (
        "Task 0_1: the next start deletes the files and restores the stores from their changelogs, because they were "
        "open when the machine stopped, or were moved here from another one."
    )


def test_files_that_were_opened_too_often_are_restored_unless_their_process_commits(tmp_path: Path) -> None:
    with running_application(tmp_path):
        changed_mark(tmp_path, openings=2)
        done = run(tmp_path)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith(
        "Task 0_1: unless the process that has it open commits or closes it, the next start deletes the files"
    )


@pytest.mark.parametrize(("damage", "why"), [(cut, "SIGBUS has ended the process"), (garble, "not an LMDB file")])
def test_damaged_files(tmp_path: Path, damage: Any, why: str) -> None:
    written(tmp_path)
    damage(tmp_path)
    done = run(tmp_path, "--check")
    assert done.exit_code == 1
    assert rows_of(done.stdout)[0] == ["0_1", "1", "no", "yes", "damaged", "-"]
    assert done.stderr.startswith("Error: The files of task 0_1 of shop/eu are damaged: ")
    assert why in done.stderr
    assert f"run `rm -r '{tmp_path}/app-shop%2Feu/tasks/0_1'`. The next start restores the stores" in done.stderr


# ----------------------------------------------------------------------------------------------------- JSON


def test_a_document(tmp_path: Path) -> None:
    folder = written(tmp_path)
    found = document(tmp_path)
    assert found["errors"] == []
    (application,) = found["items"]
    (task,) = application.pop("tasks")
    assert application == {
        "application": "shop/eu",
        "folder": str(folder),
        "in_use": False,
        "global_stores": [],
        "trash": {"folders": 0, "bytes": 0},
    }
    counts, visits = task.pop("stores")
    assert counts.pop("bytes") > len(ROWS) * 28
    assert counts == {"store": "counts", "layout": "KeyValue", "rows": len(ROWS)}
    assert visits == {
        "store": "visits",
        "layout": "Window, segments of 1800000 ms",
        "rows": 3,
        "bytes": 2 * os.sysconf("SC_PAGE_SIZE"),
    }
    assert task == {
        "task": "0_1",
        "folder": str(folder / "tasks" / "0_1"),
        "generation": 1,
        "open": False,
        "closed_cleanly": True,
        "health": "not_checked",
        "reason": None,
        "file_bytes": (lmdb_folder(tmp_path) / "data.mdb").stat().st_size,
        "positions": [{"topic": "shop-counts-changelog", "partition": 1, "offset": 7}],
        "other_generations": [],
    }


def test_global_stores(tmp_path: Path) -> None:
    folder = written_global(tmp_path)
    (kept,) = document(tmp_path)["items"][0].pop("global_stores")
    assert (kept["worker"], kept["folder"], kept["generation"]) == (2, str(folder / "global" / "2"), 1)
    assert (kept["stores"][0]["rows"], kept["stores"][0]["layout"]) == (1, "KeyValue, of topic names")
    assert kept["positions"] == [{"topic": "names", "partition": 0, "offset": 3}]
    text = run(tmp_path)
    assert text.exit_code == 0
    assert [row[0] for row in rows_of(text.stdout)] == ["global 2"] * 3
    assert rows_of(text.stdout)[2] == ["global 2", "names", "0", "3"]
    shutil.copytree(folder / "global" / "2" / "1", folder / "global" / "2" / "2", ignore=lambda *_: ["mark.json"])
    assert run(tmp_path).stdout.splitlines()[-1] == (
        "The global stores of worker 2 also have generation 2: an unfinished copy."
    )
    (folder / "global" / "2" / "1" / "lmdb" / "data.mdb").write_bytes(b"?" * 65_536)
    (error,) = document(tmp_path, "--check", status=1)["errors"]
    assert error["message"].startswith("The files of global stores of worker 2 of shop/eu are damaged: ")
    assert error["remedy"].endswith("The next start restores the stores from their topics.")


def test_damage_that_only_a_check_finds(tmp_path: Path) -> None:
    folder = written(tmp_path)
    assert document(tmp_path, "--check")["items"][0]["tasks"][0]["health"] == "ok"
    swap_rows(tmp_path)
    assert document(tmp_path)["items"][0]["tasks"][0]["health"] == "not_checked"
    found = document(tmp_path, "--check", status=1)
    task = found["items"][0]["tasks"][0]
    assert (task["health"], task["file_bytes"]) == ("damaged", None)
    assert task["stores"][0] == {"store": "counts", "layout": "KeyValue", "rows": None, "bytes": None}
    assert task["reason"] == "the rows of table 'counts' are not in the order of their keys"
    (error,) = found["errors"]
    assert (error["resource"], error["code"]) == ("task 0_1 of shop/eu", None)
    assert error["message"] == f"The files of task 0_1 of shop/eu are damaged: {task['reason']}."
    assert f"rm -r '{folder}/tasks/0_1'" in error["remedy"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    written(tmp_path)
    mark = lmdb_folder(tmp_path).with_name("mark.json")
    mark.unlink()
    mark.mkdir()
    (error,) = document(tmp_path, status=1)["errors"]
    assert error["message"].startswith("The files of task 0_1 of shop/eu cannot be read: IsADirectoryError: ")
    assert error["remedy"] is None


# ------------------------------------------------------------------------------------------------- statuses


def test_a_directory_that_is_not_a_state_dir(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"Invalid value for 'DIR': '{tmp_path}' is not a state.dir" in done.stderr
    assert "Give the state.dir of an application, or a folder app-… in it." in done.stderr


def test_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    done = run(tmp_path / "missing")
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"Invalid value for 'DIR': Directory '{tmp_path}/missing' does not exist." in done.stderr


def test_without_lmdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    done = run(tmp_path)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "Error: Reading stores on disk needs the package lmdb. Install it: pip install 'kafka-groups[streams]'\n"
    )


def test_a_process_of_the_application_that_was_killed(tmp_path: Path) -> None:
    with running_application(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait(20)
    task = document(tmp_path, "--check")["items"][0]["tasks"][0]
    assert (task["open"], task["closed_cleanly"], task["health"]) == (False, False, "ok")
    assert task["positions"] == [{"topic": "shop-counts-changelog", "partition": 1, "offset": 7}]
