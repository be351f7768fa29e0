"""The choice between processing the next record and waiting for another partition (KIP-353, KIP-695)."""

from collections.abc import Collection

__all__ = ["is_ready", "still_idle_ms"]


def is_ready(empty: Collection[object], read_to_end: Collection[object], idle_ms: int, max_idle_ms: int) -> bool:
    """Return whether a task that has records may process the one with the lowest timestamp.

    Args:
        empty: Its partitions of which no record waits.
        read_to_end: The partitions of which everything is fetched.
        idle_ms: How long it has been waiting since everything is fetched.
        max_idle_ms: `max.task.idle.ms`: -1 waits for nothing, 0 until everything is fetched that the brokers have, more
            so long for records to come.
    """
    if not empty or max_idle_ms < 0:
        return True
    return all(each in read_to_end for each in empty) and idle_ms >= max_idle_ms


def still_idle_ms(since_ms: int | None, now_ms: int) -> int:
    """Return how long a task has been waiting."""
    return 0 if since_ms is None else now_ms - since_ms
