"""The lock of a file that one process has at a time."""

from kafka_groups.errors import ConfigurationError

__all__ = ["has_locked"]


def has_locked(file: int) -> bool:
    """Lock an open file for this process, without waiting. Return False if another one has it.

    Raises:
        OSError: The file cannot be locked.
        ConfigurationError: The system has no such locks.
    """
    try:
        import fcntl  # noqa: PLC0415 - not on Windows, where the rest of the package can still be imported
    except ImportError as error:
        raise ConfigurationError(
            "Folders of state.dir need POSIX locks, which Windows lacks. Use one worker, and keep stores in memory."
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
