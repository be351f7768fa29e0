"""The data plane of a worker of a streams application: two consumers and a producer of librdkafka."""

import threading
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from uuid import UUID

from kafka_groups.client.membership.group_metadata import GroupMetadata, group_metadata_bytes
from kafka_groups.librdkafka.ordered_writer import OrderedWriter
from kafka_groups.librdkafka.partition_poller import PartitionPoller
from kafka_groups.librdkafka.refused_batches import refused_together
from kafka_groups.librdkafka.topics import delete_records
from kafka_groups.librdkafka.transactional_writer import TransactionalWriter
from kafka_groups.records.interface import NO_EPOCHS, NOTHING, PolledRecords, UnwrittenRecord
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["LibrdkafkaPlane"]

_TOPICS_SECONDS = 5.0
_OFFSETS_SECONDS = 1.0
"""The time that a worker waits for offsets, in which it does nothing else. It repeats what fails."""
_SHARED_WAIT_SECONDS = 0.005
"""The time that the worker waits on one consumer while the other one may have something, too."""


class LibrdkafkaPlane:
    """Reads, writes and asks for a worker.

    Its methods are coroutines because simulations await those of their plane: there, all workers share one event loop
    in virtual time. Here a worker has a thread of its own, with nothing else to run while it waits for brokers, and its
    member of the group has another one. So these await nothing, and those that wait for something block the thread, as
    their docstrings say.

    Args:
        consumer: Keys of the consumer of source topics.
        restorer: Keys of the consumer of changelogs and global topics.
        producer: Keys of the producer.
        application_id: The application.
        transactions: Writes in transactions, and not the producer. None: there are none.

    Attributes:
        spoils_metadata: True: librdkafka ends the metadata of offsets in a transaction with a NUL, for which Java would
            forget the times of partitions.
    """

    spoils_metadata = True

    def __init__(
        self,
        consumer: Mapping[str, object],
        restorer: Mapping[str, object],
        producer: Mapping[str, object],
        application_id: str,
        transactions: TransactionalWriter | None = None,
    ) -> None:
        self._sources = PartitionPoller(consumer, application_id)
        self._restorer = PartitionPoller(restorer, application_id)
        self._ends = PartitionPoller({**restorer, "isolation.level": "read_uncommitted"}, application_id)
        self._transactions = transactions
        self._writer = transactions or OrderedWriter(producer)
        self._connection = producer
        self._counts: dict[str, int] = {}
        self._resting = threading.Event()  # never set
        self.write = self._writer.write
        self.write_tracked = self._writer.write_tracked

    def __repr__(self) -> str:
        return f"<LibrdkafkaPlane {self._sources!r}, {self._restorer!r}>"

    @property
    def written(self) -> Mapping[TopicPartition, int]:
        """For each partition of `write_tracked`, the offset after the last record that was confirmed."""
        return self._writer.written

    @property
    def replaced(self) -> AbstractSet[TopicPartition]:
        """No partitions: librdkafka does not tell."""
        return frozenset()

    def forget_written(self, partitions: Iterable[TopicPartition]) -> None:
        """Take partitions out of `written`."""
        for place in partitions:
            self._writer.written.pop(place, None)

    # ----------------------------------------------------------------------------------------- reading

    async def assign(
        self, starts: Mapping[TopicPartition, int], epochs: Mapping[TopicPartition, int] = NO_EPOCHS
    ) -> None:
        """Read source partitions from these offsets, whatever their epochs are."""
        del epochs
        self._sources.assign(starts)

    async def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read source partitions no more."""
        self._sources.unassign(partitions)

    async def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch nothing of source partitions for now."""
        self._sources.pause(partitions)

    async def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch from source partitions again."""
        self._sources.resume(partitions)

    async def poll(self, most: int) -> PolledRecords:
        """Return records of source partitions that have arrived."""
        return self._sources.poll(most) if self._sources.assigned else NOTHING

    def topic_ids(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, UUID]:
        """Return nothing: librdkafka does not tell ids."""
        del partitions
        return {}

    def leader_epochs(self, positions: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return nothing: confluent-kafka does not tell the epochs of records."""
        del positions
        return {}

    def changed(self, partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
        """Return nothing: librdkafka does not notice."""
        del partitions
        return frozenset()

    async def assign_restoring(self, starts: Mapping[TopicPartition, int]) -> None:
        """Read changelogs and global topics from these offsets."""
        self._restorer.assign(starts)

    async def unassign_restoring(self, partitions: Iterable[TopicPartition]) -> None:
        """Read changelogs or global topics no more."""
        self._restorer.unassign(partitions)

    async def poll_restoring(self, most: int) -> PolledRecords:
        """Return records of changelogs and global topics that have arrived."""
        return self._restorer.poll(most) if self._restorer.assigned else NOTHING

    async def wait(self, timeout_ms: int) -> None:
        """Wait until there may be something to poll or room to write, or the time is up.

        Blocks, in spite of `async def`.
        """
        timeout_s = timeout_ms / 1000
        if not self._writer.has_room:
            self._writer.wait_for_room(timeout_s)
        elif not self._restorer.assigned:
            self._sources.wait(timeout_s)
        elif not self._sources.assigned:
            self._restorer.wait(timeout_s)
        else:
            self._restorer.wait(min(timeout_s, _SHARED_WAIT_SECONDS))
            self._sources.wait(timeout_s)

    async def rest(self, timeout_ms: int) -> None:
        """Let time pass, whatever has arrived. Blocks, in spite of `async def`."""
        self._resting.wait(timeout_ms / 1_000)

    # ----------------------------------------------------------------------------------------- writing

    @property
    def has_room(self) -> bool:
        """False while records wait for room in the producer's queue: process nothing then, or more of them wait."""
        return self._writer.has_room

    async def flush(self, timeout_ms: int) -> None:
        """Wait until the brokers have answered about all records. Blocks, in spite of `async def`.

        Raises:
            DeliveryFailedError: Records without origin were refused, or records are not confirmed in time.
        """
        self._writer.flush(timeout_ms / 1000)

    @property
    def has_failed(self) -> bool:
        """True if the open transaction is lost."""
        return self._transactions is not None and self._transactions.has_failed

    async def prepare(self) -> None:
        """Fence earlier producers with the same transactional id.

        Blocks briefly, in spite of `async def`, until it has succeeded once.

        Raises:
            KafkaGroupsError: The brokers did not answer within a second, or refused.
        """
        if self._transactions is not None:
            self._transactions.prepare(_OFFSETS_SECONDS)

    def send_offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], who: GroupMetadata) -> None:
        """Do nothing: librdkafka waits for offsets, so `commit_transaction` sends them."""

    async def commit_transaction(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], who: GroupMetadata) -> None:
        """Commit the records since the last commit together with offsets. Blocks briefly, in spite of `async def`.

        Raises:
            OperationTimeoutError: The coordinators did not answer soon. Call it again with the same offsets.
            TransactionFailedError: The transaction is lost.
        """
        if self._transactions is None:
            raise TypeError("This plane has no transactions.")
        self._transactions.commit(offsets, group_metadata_bytes(who.group_id, who.member), _OFFSETS_SECONDS)

    async def renew(self) -> None:
        """Drop the producer, what it has queued, and its transaction, if there is one."""
        self._writer.renew()
        self._counts = {}  # a topic may have been deleted

    def refused(self) -> list[UnwrittenRecord]:
        """Return records with an origin that were refused, each of them once. Ask after a flush."""
        return refused_together(self._writer.refused())

    # ------------------------------------------------------------------------------------------ asking

    def partitions(self, topic: str) -> int | None:
        """Return a topic's number of partitions, or None if there is no such topic. Blocks the first time."""
        if topic not in self._counts:
            self._counts = self._ends.partition_counts(_TOPICS_SECONDS)
        return self._counts.get(topic)

    async def partition_counts(self) -> Mapping[str, int]:
        """Return the number of partitions of all topics that there are now. Blocks briefly, in spite of `async def`."""
        self._counts = self._ends.partition_counts(_TOPICS_SECONDS)
        return self._counts

    async def bounds(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """Return where logs begin, and where they end with the records of open transactions.

        Blocks briefly, in spite of `async def`.

        Raises:
            KafkaGroupsError: A broker did not answer within a second, or refused.
        """
        return {each: self._ends.bounds(each, _OFFSETS_SECONDS) for each in partitions}

    async def stable_bounds(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        """Return where logs begin, and where they end for the consumer of changelogs and global topics.

        Blocks briefly, in spite of `async def`.

        Raises:
            KafkaGroupsError: A broker did not answer within a second, or refused.
        """
        return {each: self._restorer.bounds(each, _OFFSETS_SECONDS) for each in partitions}

    async def offsets_for_times(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Return the first offset at or after a time (ms since the epoch); partitions without one are left out.

        Blocks briefly, in spite of `async def`.

        Raises:
            KafkaGroupsError: A broker did not answer within a second, or refused.
        """
        return self._ends.offsets_for_times(times, _OFFSETS_SECONDS)

    async def delete_records(self, before: Mapping[TopicPartition, int]) -> None:
        """Delete records before these offsets. Blocks briefly, in spite of `async def`."""
        delete_records(self._connection, before)

    async def close(self) -> None:
        """Close all connections. What is not flushed is dropped. Blocks briefly, in spite of `async def`."""
        self._writer.close()
        for each in (self._sources, self._restorer, self._ends):
            each.close()
