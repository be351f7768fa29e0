"""Errors that an application's next call raises, and events for the log."""

from collections import deque

from kafka_groups.client.events import Events
from kafka_groups.errors import KafkaGroupsError

__all__ = ["BackgroundErrors"]


class BackgroundErrors:
    """Errors in the order in which they happened.

    A *fatal* error ends the client: from then on, every poll and commit raises it. Any other error is raised once, and
    is not queued while an equal one is waiting.

    Attributes:
        waiting: The errors that are raised once.
        fatal: The error that ended the client, or None.
        events: Events for the log.
    """

    def __init__(self) -> None:
        self.waiting: deque[KafkaGroupsError] = deque()
        self.fatal: KafkaGroupsError | None = None
        self.events = Events()

    def __bool__(self) -> bool:
        return self.fatal is not None or bool(self.waiting)

    def report(self, error: KafkaGroupsError) -> None:
        """Make the next call raise this error, once."""
        waiting = list(self.waiting)  # at once, as the application may take one meanwhile
        if not any(type(error) is type(other) and str(error) == str(other) for other in waiting):
            self.waiting.append(error)

    def report_fatal(self, error: KafkaGroupsError) -> None:
        """Make every later poll and commit raise this error. The first fatal error stays."""
        if self.fatal is None:
            self.fatal = error

    def explain_fatal(self, error: KafkaGroupsError) -> None:
        """Make later polls and commits raise another text of the fatal error."""
        self.fatal = error

    def raise_first(self) -> None:
        """Raise the earliest waiting error, if there is one.

        Raises:
            KafkaGroupsError: The error itself.
        """
        if self.waiting:
            raise self.waiting.popleft()
        if self.fatal is not None:
            raise self.fatal
