"""Counts and times of a reader, for its metrics. They cost time per batch and per response, never per record."""

from collections.abc import Callable, Iterable

from kafka_groups.client.windows import EventCount, Windows
from kafka_groups.records.batches.reading import FetchedBatch

__all__ = ["ReaderSensors"]


class ReaderSensors:
    """Metrics of one reader. Its event loop notes them, and any thread may read them.

    Latencies are those of the client's own clock: the time in which user code blocks the event loop does not count.
    Rates are per second of the time as it passes.

    Args:
        steady_ms: Returns the time as it passes: also while user code blocks the event loop, in milliseconds.

    Attributes:
        sizes: The bytes of each response that has any records.
        records: The records of each of these that readers see.
        latencies: How long each fetch took, in ms.
        throttle_times: The time for which a quota delays the reader, by responses, in ms.
        fetches: Fetches that were answered.
        consumed: Records that were taken.
        consumed_bytes: The bytes of their batches.
        lags: How many records came after those that were taken, each time that some were taken from a partition.
    """

    def __init__(self, steady_ms: Callable[[], int]) -> None:
        self._steady_ms = steady_ms
        self.sizes, self.records, self.latencies, self.throttle_times, self.lags = (Windows() for _ in range(5))
        self.fetches, self.consumed, self.consumed_bytes = (EventCount() for _ in range(3))
        self._arrived_bytes = 0
        self._arrived_records = 0

    def __repr__(self) -> str:
        return f"<ReaderSensors: {self.consumed.total} records taken>"

    def arrived(self, batches: Iterable[FetchedBatch]) -> None:
        """Note the batches of a partition in the response that is being handled."""
        for batch, is_visible in batches:
            self._arrived_bytes += len(batch.data)
            if is_visible:
                self._arrived_records += batch.header.record_count

    def answered(self, latency_ms: int, throttle_ms: int) -> None:
        """Note that a response was handled."""
        at_ms = self._steady_ms()
        self.fetches.add(1, at_ms)
        self.latencies.record(latency_ms, at_ms)
        self.throttle_times.record(throttle_ms, at_ms)
        if self._arrived_bytes:
            self.sizes.record(self._arrived_bytes, at_ms)
            self.records.record(self._arrived_records, at_ms)
            self._arrived_bytes = self._arrived_records = 0

    def taken(self, records: int, size_bytes: int, lag: int | None) -> None:
        """Note that records of a partition were taken.

        Args:
            records: How many.
            size_bytes: The bytes of their batches.
            lag: How many come after them, as of the last response; None if it is not known.
        """
        at_ms = self._steady_ms()
        self.consumed.add(records, at_ms)
        self.consumed_bytes.add(size_bytes, at_ms)
        if lag is not None:
            self.lags.record(max(lag, 0), at_ms)
