"""Who may call a share consumer now, and whether records can be acknowledged: not from a callback, not after close."""

from kafka_groups.client.call_guard import CallGuard
from kafka_groups.errors import IllegalStateError

__all__ = ["ConsumerGuard"]


class ConsumerGuard(CallGuard):
    """Guards the calls of a consumer.

    Args:
        is_explicit: Whether the application acknowledges each record itself.

    Attributes:
        is_explicit: Whether the application acknowledges each record itself.
        refuses: Whether no record can be acknowledged now: in implicit mode, in a callback, after close.
    """

    def __init__(self, *, is_explicit: bool) -> None:
        super().__init__("share consumer")
        self.is_explicit = is_explicit
        self.refuses = not is_explicit
        self._in_callback = False

    def check_usable(self) -> None:
        """Raise when the consumer cannot be used now.

        Raises:
            ClosedError: The consumer was closed.
            IllegalStateError: Called from the acknowledgement callback.
        """
        super().check_usable()
        if self._in_callback:
            raise IllegalStateError("only wakeup() may be called from the acknowledgement callback")

    def mark_closed(self) -> None:
        """The consumer is closed from here on."""
        super().mark_closed()
        self.refuses = True

    def _enter_callback(self) -> None:
        self._in_callback = self.refuses = True

    def _leave_callback(self) -> None:
        self._in_callback, self.refuses = False, self.is_closed or not self.is_explicit
