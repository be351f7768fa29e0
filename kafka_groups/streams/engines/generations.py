"""The folders of a state on disk: one for each generation, of which one process at a time has the newest open.

A state is that of a task, or that of the global stores of a worker.

Two live processes never write to one environment of LMDB. A process that was stopped in a commit would block the next
one without a limit, or write old rows over new ones. So a process that finds the newest generation in use by another,
which has lost the task, continues in a copy, the next generation.
"""

import os
import random
import shutil
from pathlib import Path
from typing import Any

from attrs import evolve

from kafka_groups.streams.engines.marks import Mark, read_mark, write_mark
from kafka_groups.streams.engines.posix_locks import has_locked
from kafka_groups.types import random_uuid

__all__ = ["Generation", "GenerationsFolder"]


class Generation:
    """One generation of a state.

    Args:
        path: Its folder.

    Attributes:
        path: Its folder.
        mark: Its mark; None if there is no mark, so that it was never used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mark = read_mark(path)
        self._owner: int | None = None

    def __repr__(self) -> str:
        return f"<Generation {self.path}>"

    @property
    def number(self) -> int:
        """Its number, from 1."""
        return int(self.path.name)

    def own(self) -> bool:
        """Take it for this process, if no live process has it. Return whether that has succeeded.

        Raises:
            OSError: The folder cannot be used.
        """
        # The system drops the lock when the process is gone, in every PID namespace. A process that is stopped keeps
        # it.
        owner = os.open(self.path / "owner", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            is_owned = has_locked(owner)
        except BaseException:
            os.close(owner)
            raise
        if not is_owned:
            os.close(owner)
            return False
        self._owner = owner
        if not self._is_there():
            self.disown()
            return False
        self.mark = read_mark(self.path)  # its former owner may have written another one
        return True

    def _is_there(self) -> bool:
        """Return whether the folder is the one that this process owns: others may have replaced it."""
        try:
            return self._owner is not None and os.path.samestat(os.fstat(self._owner), (self.path / "owner").stat())
        except FileNotFoundError:
            return False

    def disown(self) -> None:
        """Let other processes have it."""
        if self._owner is not None:
            os.close(self._owner)
            self._owner = None

    def delete(self) -> None:
        """Delete its folder. This process owns it, and lets it go."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.disown()

    def write(self, mark: Mark) -> None:
        """Write its mark. This process owns it.

        Raises:
            OSError: It cannot be written, or others have deleted it.
        """
        if not self._is_there():
            raise FileNotFoundError(f"{self.path} was deleted")
        write_mark(self.path, mark)
        self.mark = mark

    def used_ms(self) -> int:
        """Return when it was opened, written to or closed last, in ms of the wall clock.

        Raises:
            OSError: It cannot be read.
        """
        files = [each for each in self.path.rglob("*") if each.is_file()]
        return round(max((each.stat().st_mtime for each in files), default=0) * 1_000)

    def note(self, **changes: Any) -> None:
        """Write its mark with changes.

        Raises:
            OSError: It cannot be written.
        """
        if self.mark is not None:
            self.write(evolve(self.mark, **changes))


class GenerationsFolder:
    """The folder of a state, with its generations.

    Args:
        path: The folder. It need not exist.
        trash: Where folders are moved that are deleted, on the same file system.
    """

    def __init__(self, path: Path, trash: Path) -> None:
        self.path = path
        self._trash = trash

    def __repr__(self) -> str:
        return f"<GenerationsFolder {self.path}>"

    def has_files(self) -> bool:
        """Return whether there are files of a state, or remains of one."""
        return any(part.is_dir() for each in self._generations() for part in each.path.iterdir())

    def newest(self) -> Generation | None:
        """Return the newest generation that was used; None if there is none."""
        return next((each for each in reversed(self._generations()) if each.mark is not None), None)

    def prepare(self) -> Generation:
        """Make a generation behind all others, and own it. It has no mark: if the process dies, nothing counts.

        Raises:
            OSError: It cannot be made.
        """
        numbers = [each.number for each in self._generations()]
        path = self.path / str(max(numbers, default=0) + 1)
        path.mkdir(parents=True)
        made = Generation(path)
        if not made.own():
            raise BlockingIOError(f"Another process has taken {path}")
        return made

    def wipe(self) -> None:
        """Delete all generations.

        Raises:
            OSError: They cannot be moved away.
        """
        if not self.path.exists():
            return
        self._trash.mkdir(parents=True, exist_ok=True)
        gone = self._trash / f"{self.path.name}-{random_uuid(random.SystemRandom())}"
        # Renamed first: a process that dies while it deletes must not leave half of a state that somebody opens.
        self.path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def forget_before(self, kept: Generation) -> None:
        """Delete what no process has any more, but for one generation."""
        for each in self._generations():
            if each.number != kept.number and each.own():
                each.delete()

    def _generations(self) -> list[Generation]:
        if not self.path.exists():
            return []
        found = [each for each in self.path.iterdir() if each.name.isdecimal()]
        return [Generation(path) for path in sorted(found, key=lambda each: int(each.name))]
