"""Messages between worker processes and their parent."""

import pickle
from typing import Self

from attrs import frozen

from kafka_groups.errors import ConfigurationError, KafkaGroupsError
from kafka_groups.errors.texts import traceback_of
from kafka_groups.share.workers.health import Health
from kafka_groups.share.workers.rules.named_suspects import RunningRange
from kafka_groups.telemetry.workers import ProcessSnapshot

__all__ = ["ChildEnded", "ChildError", "ChildReport", "ChildStarted", "MessageToParent", "NameSuspects", "StopChild"]


@frozen
class ChildError:
    """An error that ended a process, on its way to the parent.

    Attributes:
        is_configuration: Whether it is a `ConfigurationError`, which a restart does not cure.
        text: The error and where it was raised, as Python prints it.
        pickled: The error; None if it cannot be pickled.
    """

    is_configuration: bool
    text: str
    pickled: bytes | None

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Return an error for the parent."""
        return cls(isinstance(error, ConfigurationError), traceback_of(error), _pickled(error))

    def restored(self) -> Exception:
        """Return the error, with a note that says where it was raised."""
        error: Exception | None = None if self.pickled is None else pickle.loads(self.pickled)  # noqa: S301 - a child's
        if error is None:
            return KafkaGroupsError(f"a worker process ended with an error:\n{self.text}")
        error.add_note(f"It was raised in a worker process:\n{self.text}")
        return error


def _pickled(error: Exception) -> bytes | None:
    """Pickle an error; None if that fails. The code of users' classes may raise anything here."""
    try:
        # It is read back at once: an exception whose `__init__` needs other arguments than `args` can be pickled, but
        # not read, and the parent would fail.
        pickled = pickle.dumps(error)
        return pickled if isinstance(pickle.loads(pickled), type(error)) else None  # noqa: S301 - made here
    except Exception:  # the parent then gets the text alone
        return None


@frozen
class ChildStarted:
    """From a child: it knows the group's settings, and handles records."""


@frozen
class ChildReport:
    """From a child, once a second and when its health changes: its metrics and its health."""

    metrics: ProcessSnapshot
    health: Health


@frozen
class ChildEnded:
    """From a child: it holds no records any more.

    Attributes:
        error: The error that ended it, or None.
        was_terminated: Whether a signal to this process alone told it to end.
    """

    error: ChildError | None = None
    was_terminated: bool = False


@frozen
class StopChild:
    """To a child: stop. Records in hand may run on for this long; the rest is released."""

    grace_ms: int


@frozen
class NameSuspects:
    """To a child: what another process was running when it was killed."""

    ranges: tuple[RunningRange, ...]


MessageToParent = ChildStarted | ChildReport | ChildEnded
