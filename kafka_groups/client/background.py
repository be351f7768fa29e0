"""What happens between the calls of an application: errors that its next call raises, and events for the log."""

from collections import deque

from kafka_groups.client.events import Events
from kafka_groups.errors import KafkaGroupsError

__all__ = ["BackgroundErrors"]


class BackgroundErrors:
    """Errors in the order in which they happened.

    An error that is *fatal* ends the client: every poll and commit raises it from then on. Any other is raised once,
    and not queued a second time while an equal one waits.

    Attributes:
        fatal: The error that ended the client, or None.
        events: What happened, for the log.
    """

    def __init__(self) -> None:
        self._waiting: deque[KafkaGroupsError] = deque()
        self.fatal: KafkaGroupsError | None = None
        self.events = Events()

    def __bool__(self) -> bool:
        return self.fatal is not None or bool(self._waiting)

    def report(self, error: KafkaGroupsError) -> None:
        """Have the next call raise this error once."""
        if not any(type(error) is type(other) and str(error) == str(other) for other in self._waiting):
            self._waiting.append(error)

    def report_fatal(self, error: KafkaGroupsError) -> None:
        """Have every poll and commit from now on raise this error; the first fatal error stays."""
        if self.fatal is None:
            self.fatal = error

    def raise_first(self) -> None:
        """Raise the earliest error that waits, if there is one.

        Raises:
            KafkaGroupsError: The error itself.
        """
        if self._waiting:
            raise self._waiting.popleft()
        if self.fatal is not None:
            raise self.fatal
