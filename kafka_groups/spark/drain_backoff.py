"""How long a drain waits after blocks that failed, so that a loop of them does not use up the records' deliveries."""

from kafka_groups.spark.policy import wait_after_failures_ms

__all__ = ["DrainBackoff"]


class DrainBackoff:
    """Counts the blocks of a drain that failed in a row, and says how long to wait before the next one.

    Args:
        backoff_ms: The wait after two failures; see `wait_after_failures_ms`.
    """

    def __init__(self, backoff_ms: int) -> None:
        self._backoff_ms = backoff_ms
        self._failures = 0
        self._until_ms = 0

    @property
    def failures(self) -> int:
        """Failures since the last success."""
        return self._failures

    def failed(self, now_ms: int) -> None:
        """Note that a block failed, which cost its records a delivery."""
        self._failures += 1
        self._until_ms = now_ms + wait_after_failures_ms(self._failures, self._backoff_ms)

    def succeeded(self) -> None:
        """Note that a block succeeded: the next failure starts over with the shortest wait."""
        self._failures = self._until_ms = 0

    def remaining_ms(self, now_ms: int) -> int:
        """How much longer to wait; 0 if the next block may begin."""
        return max(0, self._until_ms - now_ms)
