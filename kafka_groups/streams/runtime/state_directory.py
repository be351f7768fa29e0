"""The directory of an application's instance: a lock, and the id of the process for its group."""

import fcntl
import os
import random
import uuid
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
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self._path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise ConfigurationError(
                f"state.dir={state_dir!r} cannot be used: {error}. Give a directory that this user may write to."
            ) from error
        self._take_lock()
        self.process_id = self._read_process_id()

    def __repr__(self) -> str:
        return f"<StateDirectory {self._path}>"

    def close(self) -> None:
        """Let another process use the folder."""
        os.close(self._lock)

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._lock)
            raise ConfigurationError(
                f"Another process of the application uses {self._path}. Stop it, or give this one another state.dir."
            ) from error

    def _read_process_id(self) -> str:
        path = self._path / "process-id"
        try:
            return str(uuid.UUID(path.read_text(encoding="ascii").strip()))
        except FileNotFoundError:
            made = str(random_uuid(random.SystemRandom()))
            path.write_text(f"{made}\n", encoding="ascii")
            return made
        except ValueError as error:
            self.close()
            raise ConfigurationError(f"{path} does not contain the id of a process. Delete the file.") from error
