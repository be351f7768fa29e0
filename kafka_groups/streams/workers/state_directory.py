"""The directory of an application's instance: a lock, and the id of the process for its group."""

import os
import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from kafka_groups.config.clients.streams import StreamsConfig
from kafka_groups.errors import ConfigurationError
from kafka_groups.errors.texts import sentences
from kafka_groups.streams.engines.application_folder import check_mount, claim
from kafka_groups.streams.engines.marks import write_whole
from kafka_groups.streams.engines.posix_locks import has_locked
from kafka_groups.streams.workers.configured import ConfiguredApplication
from kafka_groups.types import random_uuid

__all__ = ["StateDirectory", "application_folder", "claimed_directory", "held_directory"]


def application_folder(state_dir: str, application_id: str) -> Path:
    """Return the folder of an application in `state.dir`."""
    return Path(state_dir) / f"app-{quote(application_id, safe='')}"


class StateDirectory:
    """The folder of an application in `state.dir`, which one process uses at a time.

    Args:
        state_dir: The directory for all applications.
        application_id: The application.

    Raises:
        ConfigurationError: Another process uses the folder, or it cannot be written.

    Attributes:
        path: The folder.
        process_id: By this id the group recognises the process after a restart.
    """

    def __init__(self, state_dir: str, application_id: str) -> None:
        self.path = application_folder(state_dir, application_id)
        with self.usable():
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            with self.usable():
                self._take_lock()
                self.process_id = self._read_process_id()
        except BaseException:  # also Ctrl-C: the lock would last as long as this process
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<StateDirectory {self.path}>"

    def close(self) -> None:
        """Let another process use the folder."""
        os.close(self._lock)

    @contextmanager
    def usable(self) -> Iterator[None]:
        """Tell what to do about an error of the operating system.

        Raises:
            ConfigurationError: There was one.
        """
        try:
            yield
        except OSError as error:
            text = f"The folder {self.path} of state.dir cannot be used: {error}"
            raise ConfigurationError(sentences(text, "Give a state.dir that this user may write to")) from error

    def _take_lock(self) -> None:
        if not has_locked(self._lock):
            raise ConfigurationError(
                f"Another process of the application uses {self.path}. Stop it, or give this one another state.dir."
            )

    def _read_process_id(self) -> str:
        path = self.path / "process-id"
        try:
            return str(uuid.UUID(path.read_text(encoding="ascii").strip()))
        except FileNotFoundError:
            made = str(random_uuid(random.SystemRandom()))
            write_whole(path, f"{made}\n")
            return made
        except ValueError as error:
            raise ConfigurationError(f"{path} does not contain the id of a process. Delete the file.") from error


def claimed_directory(application: ConfiguredApplication) -> StateDirectory:
    """Take the folder of an application for this process, and check that its stores can be kept there.

    Raises:
        ConfigurationError: It is in use, belongs to another application or topology, or is on an unfit file system.
    """
    config = application.config
    directory = StateDirectory(config.state_dir, config.application_id)
    try:
        if application.persistent_stores:
            with directory.usable():
                check_mount(directory.path)
                claim(directory.path, config.application_id, application.fingerprint, may_change=config.is_classic)
    except BaseException:
        directory.close()
        raise
    return directory


@contextmanager
def held_directory(config: StreamsConfig) -> Iterator[StateDirectory]:
    """Hold the folder of an application for a moment, whatever is in it.

    Raises:
        ConfigurationError: Another process uses it, or it cannot be written.
    """
    directory = StateDirectory(config.state_dir, config.application_id)
    try:
        with directory.usable():
            yield directory
    finally:
        directory.close()
