"""The folders of a state on disk: one for each generation, of which one process at a time has the newest open.

A state is that of a task, or that of the global stores of a worker.

Two live processes never write to one environment of LMDB. A process that was stopped in a commit would block the next
one without a limit, or write old rows over new ones. So a process that finds the newest generation in use by another,
which has lost the task, continues in a copy, the next generation.

A process may be stopped at any step, lose the task to another one, and continue. So the next generation has the number
of the one that it was made from and one more, and gets it in one step, which succeeds once, and only while nobody has
opened the one before in the meantime. Until then it has a name that does not count.
"""

import errno
import os
import random
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from attrs import evolve

from kafka_groups.streams.engines.marks import Mark, read_mark, write_mark
from kafka_groups.streams.engines.posix_locks import has_locked
from kafka_groups.types import random_uuid

__all__ = ["Generation", "GenerationsFolder"]

_UNFINISHED: Final = "."
"""The separator of number and random text in the name of a generation that does not count yet."""


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
        return int(self.path.name.partition(_UNFINISHED)[0])

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

    def prepare(self, source: Generation | None = None) -> Generation:
        """Make a generation that does not count before it is published, and own it.

        Args:
            source: The one that it follows. None: there is none.

        Raises:
            OSError: It cannot be made.
        """
        numbers = [each.number for each in self._generations()] if source is None else [source.number]
        made = self.path / f"{max(numbers, default=0) + 1}{_UNFINISHED}{random_uuid(random.SystemRandom())}"
        made.mkdir(parents=True)
        generation = Generation(made)
        if not generation.own():
            raise BlockingIOError(f"Another process has taken {made}")
        return generation

    def publish(self, made: Generation, source: Generation | None = None) -> bool:
        """Let an unfinished generation with a mark count from now on. Return whether that has succeeded.

        It has not if another process was first, or has opened what it was made from. The later process has lost the
        task.

        Args:
            made: The generation. This process owns it.
            source: The one that it was made from, with the mark that it had then. None: there was none.

        Raises:
            OSError: It cannot be renamed.
        """
        if source is not None and not _has_owner(source):
            return False
        path = self.path / str(made.number)
        try:
            made.path.rename(path)  # fails if there is something
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST}:
                return False
            raise
        made.path = path
        return self.is_newest(made)

    def is_newest(self, generation: Generation) -> bool:
        """Return whether no later generation counts."""
        newest = self.newest()
        return newest is not None and newest.number == generation.number

    def wipe(self) -> None:
        """Delete all generations.

        Raises:
            OSError: They cannot be moved away.
        """
        if self.path.exists():
            self._throw_away(self.path)

    def wipe_unused(self) -> bool:
        """Delete all generations, unless a process has the one that counts: it has got the task. Return whether it did.

        Raises:
            OSError: They cannot be moved away.
        """
        newest = self.newest()
        if newest is None:
            self.wipe()
            return True
        if not newest.own():
            return False
        try:
            self.wipe_until(newest)
        finally:
            newest.disown()
        return True

    def wipe_until(self, last: Generation) -> None:
        """Delete a generation of this process, and those before it. Others may have made later ones since.

        Raises:
            OSError: They cannot be moved away.
        """
        # Beginning with the oldest: if the process dies here, the one that counts is still the one to be deleted.
        for each in self._generations():
            if each.number <= last.number:
                self._throw_away(each.path)
        # In this order: what is made of them from now on is not published, and what may be published now is here.
        self.drop_unfinished()
        with suppress(OSError):  # there are others
            self.path.rmdir()

    def drop_unfinished(self) -> None:
        """Delete generations that do not count yet, also those that other processes still make.

        Raises:
            OSError: They cannot be moved away.
        """
        for each in self.unfinished():
            with suppress(FileNotFoundError):  # its process has published or deleted it
                self._throw_away(each.path)

    def unfinished(self) -> list[Generation]:
        """Return the generations that do not count yet."""
        named = [(each.name.partition(_UNFINISHED), each) for each in self._found()]
        return [Generation(path) for (number, dot, _), path in named if dot and number.isdecimal()]

    def forget_before(self, kept: Generation) -> None:
        """Delete earlier generations that no process has any more, and the rest of a later one without a mark."""
        for each in self._generations():
            if (each.number < kept.number or each.mark is None) and each.number != kept.number and each.own():
                each.delete()

    def _throw_away(self, path: Path) -> None:
        self._trash.mkdir(parents=True, exist_ok=True)
        gone = self._trash / f"{self.path.name}-{random_uuid(random.SystemRandom())}"
        # Renamed first: a process that dies while it deletes must not leave half of a state that somebody opens.
        path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def _generations(self) -> list[Generation]:
        found = [each for each in self._found() if each.name.isdecimal()]
        return [Generation(path) for path in sorted(found, key=lambda each: int(each.name))]

    def _found(self) -> list[Path]:
        return list(self.path.iterdir()) if self.path.exists() else []


def _has_owner(generation: Generation) -> bool:
    """Return whether nobody has opened a generation since its mark was read."""
    present = read_mark(generation.path)
    return present is not None and generation.mark is not None and present.owner == generation.mark.owner
