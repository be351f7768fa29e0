"""The lock of a directory."""

import subprocess
import sys
from pathlib import Path

import pytest

from kafka_groups.share.workers.processes.directory_lock import DirectoryInUseError, DirectoryLock

HOLDER = """
import sys
from pathlib import Path
from kafka_groups.share.workers.processes.directory_lock import DirectoryLock

lock = DirectoryLock(Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
"""

FORKING = """
import os, sys
from pathlib import Path
from kafka_groups.share.workers.processes.directory_lock import DirectoryLock

lock = DirectoryLock(Path(sys.argv[1]))
if os.fork():
    print("forked", flush=True)
    os._exit(9)
os.close(1)
sys.stdin.read()
"""


def test_a_directory_has_one_user_in_a_process(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    with pytest.raises(DirectoryInUseError):
        DirectoryLock(tmp_path)
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    with pytest.raises(DirectoryInUseError):
        DirectoryLock(link)
    lock.release()
    lock.release()
    DirectoryLock(tmp_path).release()


def test_a_directory_has_one_process_until_it_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(DirectoryInUseError):
            DirectoryLock(tmp_path)
        holder.kill()
        holder.wait(20)
    lock = DirectoryLock(tmp_path)
    with pytest.raises(DirectoryInUseError):  # an attempt must not end the lock, as closing a descriptor would
        DirectoryLock(tmp_path)
    assert subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60).returncode
    lock.release()


def test_processes_that_are_forked_do_not_hold_the_directory(tmp_path: Path) -> None:
    """A handler may fork, and its children may outlive a worker that is killed."""
    command = [sys.executable, "-c", FORKING, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"forked\n"
        holder.wait(20)
        DirectoryLock(tmp_path).release()
