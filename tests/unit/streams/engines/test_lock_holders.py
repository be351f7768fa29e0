"""Who holds the locks of an application and its environments."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_groups.streams.engines import lock_holders
from kafka_groups.streams.engines.lock_holders import has_environment_open, holds_lock
from kafka_groups.streams.engines.machine import Mount
from tests.support.kept_state import lmdb_folder, running_application

HOLDER = """
import fcntl, sys

with open(sys.argv[1], "w") as file:
    fcntl.flock(file, int(sys.argv[2]))
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize(("kind", "expected"), [(fcntl.LOCK_EX, True), (fcntl.LOCK_SH, False)])
def test_only_an_exclusive_lock_is_one_of_an_application(tmp_path: Path, kind: int, expected: bool) -> None:
    lock = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, str(lock), str(kind)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        assert holds_lock(lock) is expected
    assert holds_lock(lock) is False


def test_a_look_takes_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise AssertionError("a process that starts now would be refused")

    monkeypatch.setattr(fcntl, "flock", refuse)
    (tmp_path / "lock").touch()
    assert holds_lock(tmp_path / "lock") is False
    assert holds_lock(tmp_path / "missing") is False


def test_without_a_list_of_the_system_it_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    assert holds_lock(tmp_path / "lock", locks=tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1: FLOCK  ADVISORY  WRITE 4711 {device}:{inode} 0 EOF", True),
        ("1: FLOCK  ADVISORY  WRITE 4711 {device}:1{inode} 0 EOF", False),
        ("1: FLOCK  ADVISORY  WRITE 4711 f{device}:{inode} 0 EOF", False),
        ("1: FLOCK  ADVISORY  READ 4711 {device}:{inode} 0 EOF", False),
        ("1: POSIX  ADVISORY  WRITE 4711 {device}:{inode} 0 EOF", False),
        ("1: -> FLOCK  ADVISORY  WRITE 4711 {device}:{inode} 0 EOF", False),
    ],
)
def test_lines_of_the_list(tmp_path: Path, line: str, expected: bool) -> None:
    lock, locks = tmp_path / "lock", tmp_path / "locks"
    lock.touch()
    found = lock.stat()
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    locks.write_text(f"{line.format(device=device, inode=found.st_ino)}\n")
    assert holds_lock(lock, locks) is expected


@pytest.mark.parametrize(("kind", "expected"), [("btrfs", True), ("overlay", True), ("ext4", False)])
def test_some_file_systems_have_other_devices_in_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, expected: bool
) -> None:
    lock, locks = tmp_path / "lock", tmp_path / "locks"
    lock.touch()
    locks.write_text(f"1: FLOCK  ADVISORY  WRITE 4711 00:00:{lock.stat().st_ino} 0 EOF\n")
    monkeypatch.setattr(lock_holders, "mount_of", lambda _path: Mount("/", kind))
    assert holds_lock(lock, locks) is expected


def test_an_environment_is_open_until_its_process_closes_it(tmp_path: Path) -> None:
    assert not has_environment_open(tmp_path)
    with running_application(tmp_path) as process:
        assert has_environment_open(lmdb_folder(tmp_path))
        process.kill()
        process.wait(20)
        assert not has_environment_open(lmdb_folder(tmp_path))
