"""A writer of dead letters whose letters are written when a test says so."""

from collections.abc import Callable

from kafka_groups.broker.share_partitions.dead_letters import DeadLetterRun
from kafka_groups.broker.share_partitions.partition import SharePartitionKey

__all__ = ["HeldLetters"]


class HeldLetters:
    """Implements `LetterQueues`.

    Attributes:
        runs: What is to be written, in order.
    """

    def __init__(self) -> None:
        self.runs: list[tuple[SharePartitionKey, DeadLetterRun]] = []
        self._done: list[Callable[[bool], None]] = []

    def write(self, key: SharePartitionKey, run: DeadLetterRun, done: Callable[[bool], None]) -> None:
        """Take a run."""
        self.runs.append((key, run))
        self._done.append(done)

    def end(self, *, are_written: bool = True) -> None:
        """End the oldest run that waits."""
        self.runs.pop(0)
        self._done.pop(0)(are_written)
