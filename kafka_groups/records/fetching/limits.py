"""Sizes of fetches, and the room for what was fetched and not taken yet."""

from typing import Final

from attrs import frozen

__all__ = ["PartitionSize", "ReadingLimits"]

_SMALLEST_BYTES: Final = 128 * 1024
"""A partition is asked for this much at least, however slowly its records are taken."""

_LONG_WAIT_MS: Final = 2_000
"""Records that wait longer than this were fetched too early: the partition is asked for less."""


@frozen(kw_only=True)
class ReadingLimits:
    """The sizes of what a reader fetches.

    Attributes:
        min_bytes: With how many bytes a leader answers at once (`fetch.min.bytes`).
        max_wait_ms: How long it waits for them (`fetch.max.wait.ms`).
        max_bytes: The most bytes of a response (`fetch.max.bytes`).
        max_partition_bytes: The most bytes of one partition in it (`max.partition.fetch.bytes`). A batch that is larger
            than either still comes, if it is the first one (KIP-74).
        buffer_bytes: The most bytes of all partitions that wait to be taken (`fetch.buffer.bytes`), apart from large
            first batches.
    """

    min_bytes: int = 1
    max_wait_ms: int = 500
    max_bytes: int = 16 * 1024 * 1024
    max_partition_bytes: int = 1024 * 1024
    buffer_bytes: int = 32 * 1024 * 1024

    def share(self, partitions: int) -> int:
        """Return the room of one of so many partitions, in bytes.

        Each has its own, so that those that are paused leave the others enough.
        """
        return max(self.buffer_bytes // max(partitions, 1), 1)


class PartitionSize:
    """The number of bytes of a partition that a fetch asks for.

    Args:
        most: The limit (`max.partition.fetch.bytes`).

    Attributes:
        size_bytes: The size for now.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._least = min(_SMALLEST_BYTES, most)
        self.size_bytes = most

    def __repr__(self) -> str:
        return f"<PartitionSize {self.size_bytes} of {self._most}>"

    def note_wait(self, waited_ms: int) -> None:
        """Note how long records have waited before they were taken: once for each response."""
        if waited_ms > _LONG_WAIT_MS:
            self.size_bytes = max(self.size_bytes // 2, self._least)
        else:
            self.size_bytes = min(self.size_bytes * 2, self._most)

    def ask(self, waiting_bytes: int, share: int) -> int:
        """Return how many bytes to ask for; 0 while the partition's room is used up.

        Args:
            waiting_bytes: The bytes of the partition that wait.
            share: Its room.
        """
        size = min(self.size_bytes, share)
        return size if not waiting_bytes or waiting_bytes + size <= share else 0
