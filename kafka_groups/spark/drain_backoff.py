"""How long a drain waits after blocks that failed, so that a loop of them does not use up the records' deliveries."""

from kafka_groups.client.backoff import FailureDelay
from kafka_groups.spark.policy import wait_after_failures_ms

__all__ = ["DrainBackoff"]


class DrainBackoff(FailureDelay):
    """Counts the blocks of a drain that failed in a row, and says how long to wait before the next one.

    Args:
        backoff_ms: The wait after two failures; see `wait_after_failures_ms`.
    """

    def __init__(self, backoff_ms: int) -> None:
        super().__init__()
        self._backoff_ms = backoff_ms

    def failed(self, now_ms: int) -> None:
        """Note that a block failed, which cost its records a delivery."""
        self._failures += 1
        self.wait(wait_after_failures_ms(self._failures, self._backoff_ms), now_ms)
