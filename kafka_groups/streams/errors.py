"""Errors of streams applications."""

from typing import TYPE_CHECKING

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.errors.texts import named, text_of

if TYPE_CHECKING:  # messages are imported when a member is made: errors of topologies need no protocol
    from kafka_groups.protocol.messages.streams_group_parts import UserEndpoint

__all__ = [
    "CorruptedStateError",
    "InvalidStateStoreError",
    "StateDiskError",
    "StateFilesError",
    "StateStoreMigratedError",
    "StoreNotAvailableError",
    "StreamsError",
    "StreamsNotStartedError",
    "UnknownStateStoreError",
    "reason_of",
]


class StreamsError(KafkaGroupsError):
    """A record could not be processed, or a processor asked for something that does not exist.

    The message names the node, the task and the record. The exception of your own code is its cause.
    """


class InvalidStateStoreError(StreamsError):
    """A store cannot be read now: no task of this process has it, or a task of the view has moved, or ended.

    Ask `app.store` again, for a view of the tasks that this process has then.
    """


class UnknownStateStoreError(InvalidStateStoreError, LookupError):
    """The topology has no store of this name."""


class StreamsNotStartedError(InvalidStateStoreError):
    """The application was not started yet. Call `start`, and `wait_until_running`."""


class StoreNotAvailableError(InvalidStateStoreError):
    """No task of this process has the store now, or it is being restored. Ask again later."""

    retriable = True


class StateStoreMigratedError(InvalidStateStoreError):
    """A task that a view reads has moved to another process, or has ended; or a key is in another process.

    Ask `app.store` again, or ask the process that has the key.

    Args:
        text: What has happened.
        active: See the attribute.

    Attributes:
        active: If a key is elsewhere, the `application_server` of the process that has its task. None: the group does
            not tell it now, that process was configured without one, or the error is not about a key.
    """

    retriable = True

    def __init__(self, text: str = "", active: "UserEndpoint | None" = None) -> None:
        super().__init__(text)
        self.active = active


class StateFilesError(StreamsError):
    """The files of a task's stores cannot be used. The task begins again, and the others continue."""

    retriable = True


class StateDiskError(StateFilesError):
    """They cannot be read or written, as on a full disk. The task is tried again at growing intervals."""


class CorruptedStateError(StateFilesError):
    """They are damaged. They are deleted, and the stores restored from their changelogs."""


def reason_of(error: BaseException) -> str:
    """Return why an application or a worker has ended. Only a StreamsError explains itself without its class."""
    return text_of(error) if isinstance(error, StreamsError) else named(error)
