"""The share-partitions that one broker leads: loaded from the state log on first use, dropped when it stops leading."""

from collections.abc import Callable, Sequence
from uuid import UUID

from kafka_groups.broker.deadlines import Deadlines
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.placement import leader_of
from kafka_groups.broker.share_partitions.logs import Logs, ShareLog
from kafka_groups.broker.share_partitions.partition import SharePartition, SharePartitionKey
from kafka_groups.broker.share_partitions.persisted_state import PersistedState, StateUpdate
from kafka_groups.broker.share_partitions.persister import Persister
from kafka_groups.config.broker import ShareGroupConfig
from kafka_groups.errors import (
    BrokerError,
    FencedLeaderEpochError,
    FencedStateEpochError,
    NotLeaderOrFollowerError,
    OffsetNotAvailableError,
    UnknownServerError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.messages.share_acknowledge import AcknowledgementBatch
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET
from kafka_groups.types import TopicIdPartition

__all__ = ["GroupConfigs", "LedSharePartitions"]

GroupConfigs = Callable[[str], ShareGroupConfig]
"""Returns the effective configuration of a group. Called for every operation, so changes take effect at once."""


class LedSharePartitions:
    """Share-partitions by group and partition, with their deadlines.

    Args:
        node_id: Node id of this broker.
        metadata: The metadata of the cluster, for the leaders of partitions.
        logs: The partitions' logs.
        state: Keeps their states.
        group_config: The groups' configurations.
    """

    def __init__(
        self, node_id: int, metadata: ClusterMetadata, logs: Logs, state: Persister, group_config: GroupConfigs
    ) -> None:
        self._node_id = node_id
        self._metadata = metadata
        self._logs = logs
        self._state = state
        self._group_config = group_config
        self._loaded: dict[SharePartitionKey, SharePartition] = {}
        self._deadlines: Deadlines[SharePartitionKey] = Deadlines()
        self._changed: dict[SharePartitionKey, None] = {}

    def __len__(self) -> int:
        """Number of loaded share-partitions."""
        return len(self._loaded)

    def log_of(self, partition: TopicIdPartition) -> ShareLog:
        """Return the log of an existing partition."""
        return self._logs.get(partition.topic_id, partition.partition)

    def led_epoch(self, partition: TopicIdPartition) -> int:
        """Return the epoch in which this broker leads a partition.

        Raises:
            UnknownTopicIdError: No topic has had that id.
            UnknownTopicOrPartitionError: The partition does not exist, or its topic was deleted.
            NotLeaderOrFollowerError: Another broker leads it.
        """
        topic = self._metadata.topic_by_id(partition.topic_id)
        if topic is None:
            if partition.topic is not None:  # the topic existed when the request or the session got the partition
                raise UnknownTopicOrPartitionError(f"Topic '{partition.topic}' was deleted.")
            raise UnknownTopicIdError(f"Topic with id {partition.topic_id} does not exist.")
        led = leader_of(topic, partition.partition)
        if led is None:
            raise UnknownTopicOrPartitionError(f"Topic '{topic.name}' has no partition {partition.partition}.")
        if led.leader_id != self._node_id:
            raise NotLeaderOrFollowerError(f"Broker {self._node_id} does not lead {topic.name}-{partition.partition}.")
        return led.leader_epoch

    # ----------------------------------------------------------------------------------------- getting

    def find(self, key: SharePartitionKey, now_ms: int) -> SharePartition | None:
        """Return the share-partition if it is loaded, after releasing records whose locks have expired.

        Raises:
            BrokerError: This broker does not lead the partition (see `led_epoch`), or only in an older epoch.
        """
        leader_epoch = self._led_epoch_or_drop(key)
        share_partition = self._loaded.get(key)
        if share_partition is None:
            return None
        if share_partition.leader_epoch != leader_epoch:
            self.drop(key)
            return None
        expired = share_partition.expire(self._group_config(key.group_id), now_ms)
        self.commit(share_partition, expired)
        if expired is not None:
            self._changed[key] = None
        return share_partition

    def load(self, key: SharePartitionKey, wall_ms: int, now_ms: int) -> SharePartition:
        """Return the share-partition. Load it from the state log if necessary.

        Args:
            key: Its key.
            wall_ms: Time since the epoch. `share.auto.offset.reset=by_duration` counts back from it.
            now_ms: Monotonic time.

        Raises:
            BrokerError: As for `find`. UnknownServerError if the coordinator has not initialised its state.
            OffsetNotAvailableError: It begins at a time (`by_duration`), and no record is young enough yet.
        """
        share_partition = self.find(key, now_ms)
        if share_partition is None:
            persisted = self._read(key, self.led_epoch(key.partition))
            if persisted.start_offset == UNINITIALIZED_OFFSET:
                persisted = self._resolved(key, persisted, wall_ms)
            share_partition = SharePartition(key, persisted, persisted.leader_epoch)
            self._loaded[key] = share_partition
        return share_partition

    def drop(self, key: SharePartitionKey) -> None:
        """Drop a share-partition. Members lose the records they acquired, and the next leader loads it again."""
        if self._loaded.pop(key, None) is not None:
            self._deadlines.set(key, None)
            self._changed[key] = None

    def drop_group(self, group_id: str) -> None:
        """Drop all share-partitions of a group."""
        for key in [key for key in self._loaded if key.group_id == group_id]:
            self.drop(key)

    def drop_partitions(self, partitions: Sequence[TopicIdPartition]) -> None:
        """Drop partitions in all groups: in the given order, and for each of them in the order of loading."""
        if not partitions:
            return
        loaded: dict[TopicIdPartition, list[SharePartitionKey]] = {partition: [] for partition in partitions}
        for key in self._loaded:
            if key.partition in loaded:
                loaded[key.partition].append(key)
        for keys in loaded.values():
            for key in keys:
                self.drop(key)

    # ---------------------------------------------------------------------------------------- changing

    def commit(
        self,
        share_partition: SharePartition,
        update: StateUpdate | None,
        acknowledged: Sequence[AcknowledgementBatch] = (),
    ) -> None:
        """Persist a change and then apply it.

        As in Kafka, waiting fetches check again if the start offset moves, but not if records were merely released.

        Args:
            share_partition: The share-partition that changes.
            update: The change, or None.
            acknowledged: The acknowledgements that caused the change.

        Raises:
            NotLeaderOrFollowerError: Another leader or another state has taken over. Nothing was changed.
            UnknownServerError: The state was deleted.
        """
        key = share_partition.key
        if update is not None:
            try:
                self._state.write(key.group_id, *_parts(key), update)
            except BrokerError as error:
                self.drop(key)
                raise _as_seen_by_clients(error) from error
            start_offset = share_partition.start_offset
            share_partition.replay(update)
            if share_partition.start_offset > start_offset:
                self._changed[key] = None
            self._state.history.add(key.group_id, key.partition, update.batches, acknowledged)
        self.reschedule(share_partition)

    def reschedule(self, share_partition: SharePartition) -> None:
        """Store a share-partition's next deadline. Call this after each operation on it."""
        self._deadlines.set(share_partition.key, share_partition.next_deadline_ms())

    def next_deadline_ms(self) -> int | None:
        """Return the time at which the next acquisition lock expires."""
        return self._deadlines.earliest_ms()

    def expire(self, now_ms: int) -> None:
        """Release the records whose locks have expired."""
        for key in self._deadlines.due(now_ms):
            try:
                self.find(key, now_ms)
            except BrokerError:
                # No longer led: `find` has dropped it, and the next leader will find these records available.
                continue

    def take_changed(self) -> tuple[SharePartitionKey, ...]:
        """Return the share-partitions that may be able to deliver, or were dropped, since the last call."""
        changed = tuple(self._changed)
        self._changed.clear()
        return changed

    # ----------------------------------------------------------------------------------------- insides

    def _led_epoch_or_drop(self, key: SharePartitionKey) -> int:
        try:
            return self.led_epoch(key.partition)
        except BrokerError:
            self.drop(key)
            raise

    def _read(self, key: SharePartitionKey, leader_epoch: int) -> PersistedState:
        try:
            return self._state.read(key.group_id, *_parts(key), leader_epoch)
        except BrokerError as error:
            raise _as_seen_by_clients(error) from error

    def _resolved(self, key: SharePartitionKey, persisted: PersistedState, wall_ms: int) -> PersistedState:
        """Return the state with the start offset of `share.auto.offset.reset`. The first change persists it."""
        config = self._group_config(key.group_id)
        start_offset = _reset_offset(self.log_of(key.partition), config, wall_ms)
        return PersistedState(persisted.state_epoch, persisted.leader_epoch, start_offset, 0, ())


def _parts(key: SharePartitionKey) -> tuple[UUID, int]:
    return key.partition.topic_id, key.partition.partition


def _reset_offset(log: ShareLog, config: ShareGroupConfig, wall_ms: int) -> int:
    if config.auto_offset_reset == "earliest":
        return log.log_start_offset
    duration_ms = config.auto_offset_reset_duration_ms
    if duration_ms is None:
        return log.high_watermark
    found = log.offset_for_timestamp(wall_ms - duration_ms)
    if found is None:
        raise OffsetNotAvailableError(f"No record is younger than the {duration_ms} ms of share.auto.offset.reset.")
    return found.offset


def _as_seen_by_clients(error: BrokerError) -> BrokerError:
    """Convert an error of the state log to the error that clients receive."""
    if isinstance(error, FencedLeaderEpochError | FencedStateEpochError):
        return NotLeaderOrFollowerError(str(error))
    return UnknownServerError(str(error))
