"""A reader of partitions on a worker's event loop: what waits around the rules of fetching."""

from collections.abc import Iterable, Mapping
from functools import partial
from uuid import UUID

from kafka_groups.client.event_loop import loop_pass
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.fetching.fetch import FetchManager, FetchOptions
from kafka_groups.records.fetching.reader_sensors import ReaderSensors
from kafka_groups.records.fetching.validating import not_readable
from kafka_groups.records.interface import NO_EPOCHS, PolledRecords
from kafka_groups.records.metrics import ReaderSources
from kafka_groups.types import TopicPartition

__all__ = ["RecordReader"]


class RecordReader:
    """Polls partitions that the caller chooses, from offsets that the caller chooses. Create it before the client runs.

    Records are fetched while the event loop runs: during `poll` and `wait`, and whenever the program waits for
    something else.

    Args:
        client: The connections.
        options: The settings.
        name: A name that no other reader of the client has.

    Attributes:
        sensors: Counts and times, for metrics.
    """

    def __init__(self, client: RecordsClient, options: FetchOptions, name: str) -> None:
        self._client = client
        self._name = name
        self.sensors = ReaderSensors(client.steady_clock.now_ms)
        self._manager = FetchManager(
            client.metadata, client.refresh_metadata, client.backoff, client.errors.events, options, self.sensors
        )
        client.add(self._manager)
        client.explain_denied(name, partial(not_readable, principal=options.principal))

    def __repr__(self) -> str:
        return f"<RecordReader {self._name}: {self._manager!r}>"

    @property
    def assigned(self) -> frozenset[TopicPartition]:
        """The partitions that are read."""
        return self._manager.assigned

    def topic_id(self, topic: str) -> UUID | None:
        """Return the id that a topic has now, or None while that is not known."""
        return self._manager.topic_id(topic)

    def topic_ids(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, UUID]:
        """Return the ids of the topics that partitions are read from, as far as they are read and known."""
        return self._manager.topic_ids(partitions)

    def leader_epochs(self, positions: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the leader epochs of the records before these offsets, as far as they are known."""
        return self._manager.leader_epochs(positions)

    def changed(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        """Return those partitions whose log is another one now, although nobody has polled that yet."""
        return self._manager.changed(partitions)

    def missing(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        """Return those partitions whose topics did not exist when a broker was asked last."""
        return frozenset(place for place in partitions if self._client.metadata.is_missing(place.topic))

    @property
    def has_news(self) -> bool:
        """True if `poll` has something to return or to raise."""
        return self._manager.has_news

    @property
    def metric_sources(self) -> ReaderSources:
        """The sources of its metrics now. Any thread may ask."""
        return ReaderSources(self.sensors, self._client.steady_clock.now_ms())

    def assign(self, starts: Mapping[TopicPartition, int], epochs: Mapping[TopicPartition, int] = NO_EPOCHS) -> None:
        """Read more partitions, or assigned ones from another offset on. Others are not disturbed.

        Args:
            starts: The offsets.
            epochs: The leader epochs of the records before them, as far as they are known.
        """
        self._manager.assign(starts, epochs)
        self._follow()

    def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop reading partitions. `poll` returns no more of their records."""
        self._manager.unassign(partitions)
        self._follow()

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch and return nothing of some partitions for now. What was fetched waits."""
        self._manager.pause(partitions)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch again after `pause`, and return what waits."""
        self._manager.resume(partitions)

    async def poll(self, most: int) -> PolledRecords:
        """Return what has arrived: whole batches, until there are some `most` records. Gives the event loop one pass.

        Raises:
            KafkaGroupsError: A partition cannot be read, or no broker can be asked. Call it again if the error is
                retriable. Otherwise, the partition is not read until it is assigned again.
        """
        # Sockets are read while the loop runs, so a program that always has records must let it run, too.
        await loop_pass()
        self._client.errors.raise_first()
        self._manager.raise_failure()
        polled = self._manager.take(most, self._client.clock.now_ms())
        if polled.out_of_range:
            self._follow()
        self._client.turn()  # there is room again
        return polled

    async def wait(self, timeout_ms: int) -> None:
        """Wait until there is something to poll, or the time is up."""
        await self._client.wait(timeout_ms, lambda: self.has_news)

    def _follow(self) -> None:
        self._client.want_topics({place.topic for place in self._manager.assigned}, self._name)
