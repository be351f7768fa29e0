"""The directory of an application's instance: a lock, and the id of the process for its group."""

import fcntl
import os
import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from kafka_groups.errors import ConfigurationError
from kafka_groups.types import random_uuid

__all__ = ["StateDirectory"]


class StateDirectory:
    """The folder of an application in `state.dir`, which one process uses at a time.

    Args:
        state_dir: The directory for all applications.
        application_id: The application.

    Raises:
        ConfigurationError: Another process uses the folder, or it cannot be written.

    Attributes:
        process_id: By this id the group recognises the process after a restart.
    """

    def __init__(self, state_dir: str, application_id: str) -> None:
        self._path = Path(state_dir) / f"app-{quote(application_id, safe='')}"
        with self._usable():
            self._path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self._path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            with self._usable():
                self._take_lock()
                self.process_id = self._read_process_id()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<StateDirectory {self._path}>"

    def close(self) -> None:
        """Let another process use the folder."""
        os.close(self._lock)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ConfigurationError(
                f"The folder {self._path} of state.dir cannot be used: {error}. Give a state.dir that this user may "
                "write to."
            ) from error

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConfigurationError(
                f"Another process of the application uses {self._path}. Stop it, or give this one another state.dir."
            ) from error

    def _read_process_id(self) -> str:
        path = self._path / "process-id"
        try:
            return str(uuid.UUID(path.read_text(encoding="ascii").strip()))
        except FileNotFoundError:
            made = str(random_uuid(random.SystemRandom()))
            _write_whole(path, f"{made}\n")
            return made
        except ValueError as error:
            raise ConfigurationError(f"{path} does not contain the id of a process. Delete the file.") from error


def _write_whole(path: Path, text: str) -> None:
    """Write a file that has its whole content from the moment when it exists, also after a crash of the machine."""
    unfinished = path.with_suffix(".new")
    with unfinished.open("w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
