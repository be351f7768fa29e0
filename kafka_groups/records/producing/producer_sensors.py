"""Counts and times of a producer, for its metrics. They cost time per batch and per request, never per record."""

from collections.abc import Callable
from types import TracebackType

from attrs import define, field

from kafka_groups.client.windows import EventCount, Windows
from kafka_groups.protocol.record_batch import HEADER_BYTES
from kafka_groups.records.batches.building import ProducerBatch

__all__ = ["ProducerSensors", "TimeSpent", "TopicSensors"]


class TimeSpent:
    """The time that calls have taken together. Use it in a `with` statement for each call, one at a time.

    Args:
        steady_ms: Returns the time as it passes.

    Attributes:
        total_ms: The time of the calls that have ended, in milliseconds.
    """

    def __init__(self, steady_ms: Callable[[], int]) -> None:
        self._steady_ms = steady_ms
        self._begun_ms = 0
        self.total_ms = 0

    def __repr__(self) -> str:
        return f"<TimeSpent {self.total_ms} ms>"

    def __enter__(self) -> None:
        self._begun_ms = self._steady_ms()

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.total_ms += self._steady_ms() - self._begun_ms


@define
class TopicSensors:
    """Counts of what a producer has sent to one topic.

    Attributes:
        sent: Records, those that were sent again included.
        sent_bytes: Bytes of batches as they are sent.
        compression: The size of each batch in proportion to that without compression.
        retried: Records that had to be sent again.
        errors: Records that were refused.
    """

    sent: EventCount = field(factory=EventCount)
    sent_bytes: EventCount = field(factory=EventCount)
    compression: Windows = field(factory=Windows)
    retried: EventCount = field(factory=EventCount)
    errors: EventCount = field(factory=EventCount)


class ProducerSensors:
    """Metrics of one producer. Its event loop notes them, and any thread may read them.

    Latencies and queue times are those of the client's own clock: the time in which user code blocks the event loop
    does not count. Rates are per second of the time as it passes.

    Args:
        steady_ms: Returns the time as it passes: also while user code blocks the event loop, in milliseconds.

    Attributes:
        sent: The records of each request, those that were sent again included.
        batch_bytes: The size of each batch as it is sent.
        compression: The size of each batch in proportion to that without compression.
        queue_times: How old each batch was when it was sent, in ms.
        latencies: How long each request took, in ms.
        throttle_times: The time for which a quota delays the producer, by responses, in ms.
        retried: Records that had to be sent again.
        errors: Records that were refused, those that were never queued included.
        splits: Batches that were divided because a topic does not take batches of their size.
        requests_in_flight: Requests without an answer.
        topics: What was sent to each topic.
        flush: Calls of `flush`.
        init: Calls that asked for a transactional producer's id.
        commit: Calls that committed a transaction.
        abort: Calls that aborted a transaction.
    """

    def __init__(self, steady_ms: Callable[[], int]) -> None:
        self._steady_ms = steady_ms
        self.sent, self.retried, self.errors, self.splits = (EventCount() for _ in range(4))
        self.batch_bytes, self.compression, self.queue_times = Windows(), Windows(), Windows()
        self.latencies, self.throttle_times = Windows(), Windows()
        self.requests_in_flight = 0
        self.topics: dict[str, TopicSensors] = {}
        self.flush, self.init, self.commit, self.abort = (TimeSpent(steady_ms) for _ in range(4))

    def __repr__(self) -> str:
        return f"<ProducerSensors: {self.sent.total} records sent>"

    def requested(self, batches: list[ProducerBatch], now_ms: int) -> None:
        """Note a request that is sent.

        Args:
            batches: Its batches, with their numbers.
            now_ms: The time of the client's own clock.
        """
        at_ms = self._steady_ms()
        self.requests_in_flight += 1
        self.sent.add(sum(batch.count for batch in batches), at_ms)
        for batch in batches:
            self._sent(batch, now_ms, at_ms)

    def _sent(self, batch: ProducerBatch, now_ms: int, at_ms: int) -> None:
        topic = self._topic_of(batch)
        rate = (batch.size_bytes - HEADER_BYTES) / (batch.plain_bytes - HEADER_BYTES)
        self.batch_bytes.record(batch.size_bytes, at_ms)
        self.compression.record(rate, at_ms)
        self.queue_times.record(0 if batch.opened_ms is None else now_ms - batch.opened_ms, at_ms)
        topic.sent.add(batch.count, at_ms)
        topic.sent_bytes.add(batch.size_bytes, at_ms)
        topic.compression.record(rate, at_ms)

    def answered(self, latency_ms: int, throttle_ms: int) -> None:
        """Note the answer of a request."""
        at_ms = self._steady_ms()
        self.requests_in_flight -= 1
        self.latencies.record(latency_ms, at_ms)
        self.throttle_times.record(throttle_ms, at_ms)

    def unanswered(self) -> None:
        """Note that a request gets no answer."""
        self.requests_in_flight -= 1

    def retrying(self, batch: ProducerBatch) -> None:
        """Note that a batch is sent again."""
        at_ms = self._steady_ms()
        self.retried.add(batch.count, at_ms)
        self._topic_of(batch).retried.add(batch.count, at_ms)

    def refused(self, batch: ProducerBatch, count: int) -> None:
        """Note that so many records of a batch were refused."""
        at_ms = self._steady_ms()
        self.errors.add(count, at_ms)
        self._topic_of(batch).errors.add(count, at_ms)

    def not_queued(self) -> None:
        """Note a record that was never queued, because it is too large or its topic does not exist."""
        self.errors.add(1, self._steady_ms())

    def divided(self) -> None:
        """Note that a batch was divided."""
        self.splits.add(1, self._steady_ms())

    def _topic_of(self, batch: ProducerBatch) -> TopicSensors:
        topic = batch.partition.topic
        found = self.topics.get(topic)
        if found is None:
            # Another thread may go through the topics.
            found = TopicSensors()
            self.topics = {**self.topics, topic: found}
        return found
