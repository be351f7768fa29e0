"""Figures of what the application does, for the metrics: how often it polls, how long it waits, what it gets."""

from attrs import define, field

from kafka_groups.client.windows import Windows

__all__ = ["PollFigures"]


@define
class PollFigures:
    """Written by the application's thread, a few numbers for each poll.

    Attributes:
        between: Milliseconds from one poll to the next.
        idle: Which part of that time the poll waited, from 0 to 1.
        records: Records that the application got.
        size_bytes: Bytes of the batches that they came in.
    """

    between: Windows = field(factory=Windows)
    idle: Windows = field(factory=Windows)
    records: Windows = field(factory=Windows)
    size_bytes: Windows = field(factory=Windows)
    _begun_ms: int | None = None
    _waited_ms: int = 0
    _records_before: int = 0
    _bytes_before: int = 0

    def begun(self, now_ms: int, records_total: int, bytes_total: int) -> None:
        """A poll begins; what the one before brought is known by now."""
        if self._begun_ms is not None:
            between_ms = now_ms - self._begun_ms
            self.between.record(between_ms, now_ms)
            self.idle.record(self._waited_ms / between_ms if between_ms > 0 else 0.0, now_ms)
        if records_total != self._records_before:
            self.records.record(records_total - self._records_before, now_ms)
            self.size_bytes.record(bytes_total - self._bytes_before, now_ms)
            self._records_before, self._bytes_before = records_total, bytes_total
        self._begun_ms, self._waited_ms = now_ms, 0

    def waited(self, now_ms: int) -> None:
        """A poll that had to wait ends."""
        if self._begun_ms is not None:
            self._waited_ms = now_ms - self._begun_ms
