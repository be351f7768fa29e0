"""The share-partitions that one broker leads: loaded from their state on first use, dropped when it stops leading."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from uuid import UUID

from attrs import define

from kafka_groups.broker.deadlines import Deadlines
from kafka_groups.broker.metadata.cluster_metadata import ClusterMetadata
from kafka_groups.broker.metadata.placement import leader_of
from kafka_groups.broker.share_partitions.dead_letters import DeadLetterRun, runs_left_over, runs_of_change
from kafka_groups.broker.share_partitions.delivery_limits import DeliveryLimits
from kafka_groups.broker.share_partitions.logs import Logs, ShareLog
from kafka_groups.broker.share_partitions.partition import SharePartition, SharePartitionKey
from kafka_groups.broker.share_partitions.persisted_state import PersistedState
from kafka_groups.broker.share_partitions.record_state import RecordEvent, RecordState, next_state
from kafka_groups.broker.share_partitions.share_writers import ShareWriters
from kafka_groups.broker.share_partitions.writing import StateChange, StateWriter
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.errors import (
    BrokerError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    FencedLeaderEpochError,
    FencedStateEpochError,
    GroupIdNotFoundError,
    NotCoordinatorError,
    NotLeaderOrFollowerError,
    OffsetNotAvailableError,
    UnknownServerError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET, StateBatch
from kafka_groups.types import TopicIdPartition

__all__ = ["LedSharePartitions", "ShareConfigLookup"]

ShareConfigLookup = Callable[[str], ShareGroupConfig]
"""Returns the effective configuration of a group. Called for every operation, so changes take effect at once."""

_READ_AGAIN_MS = 100
"""After a failure, fetches that wait cause no more reads than this allows."""
_COORDINATOR_IS_AWAY = (CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NotCoordinatorError)


@define(eq=False)
class _Loading:
    """A share-partition whose state is being read.

    Attributes:
        leader_epoch: The epoch in which this broker leads the partition.
        wall_ms: Start of loading, as time since the epoch.
        began_ms: Start of loading, as monotonic time.
        is_late: Whether the request that began it has gone on without it.
        error: The error with which it failed.
    """

    leader_epoch: int
    wall_ms: int
    began_ms: int
    is_late: bool = False
    error: BrokerError | None = None


class LedSharePartitions:
    """Share-partitions by group and partition, with their deadlines.

    Args:
        node_id: Node id of this broker.
        metadata: The metadata of the cluster, for the leaders of partitions.
        logs: The partitions' logs.
        writers: Keep their states and write dead letters.
        group_config: The groups' configurations.

    Attributes:
        on_late_change: Called when `take_changed` has something that no call of these methods caused, because a read or
            a write ended late.
    """

    def __init__(
        self,
        node_id: int,
        metadata: ClusterMetadata,
        logs: Logs,
        writers: ShareWriters,
        group_config: ShareConfigLookup,
    ) -> None:
        self.on_late_change: Callable[[], None] = lambda: None
        self._node_id = node_id
        self._metadata = metadata
        self._logs = logs
        self._state = writers.state
        self._letters = writers.letters
        self._group_config = group_config
        self._loaded: dict[SharePartitionKey, SharePartition] = {}
        self._loading: dict[SharePartitionKey, _Loading] = {}
        self._writers: dict[SharePartitionKey, StateWriter] = {}
        self._deadlines: Deadlines[SharePartitionKey] = Deadlines()
        self._changed: dict[SharePartitionKey, None] = {}

    def __len__(self) -> int:
        """Number of loaded share-partitions."""
        return len(self._loaded)

    def of_group(self, group_id: str) -> list[SharePartition]:
        """Return the loaded share-partitions of a group."""
        return [each for key, each in self._loaded.items() if key.group_id == group_id]

    def has(self, share_partition: SharePartition) -> bool:
        """Return whether this broker still leads a share-partition, and has not loaded it again."""
        return self._loaded.get(share_partition.key) is share_partition

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
            # There are two cases. The topic was deleted: its name was resolved when the request came or the session got
            # the partition, and Kafka keeps it there, so the partition is what is unknown. Or the id never existed.
            if partition.topic is not None:  # the topic existed when the request or the session got the partition
                raise UnknownTopicOrPartitionError(f"Topic '{partition.topic}' was deleted.")
            raise UnknownTopicIdError(f"Topic with id {partition.topic_id} does not exist.")
        led = leader_of(topic, partition.partition)
        if led is None:
            raise UnknownTopicOrPartitionError(f"Topic '{topic.name}' has no partition {partition.partition}.")
        # The client learns the new leader from the response's CurrentLeader (KIP-951).
        if led.leader_id != self._node_id:
            raise NotLeaderOrFollowerError(f"Broker {self._node_id} does not lead {topic.name}-{partition.partition}.")
        return led.leader_epoch

    # ----------------------------------------------------------------------------------------- getting

    def loaded_among(self, group_id: str, partitions: Collection[TopicIdPartition]) -> list[SharePartitionKey]:
        """Return the keys of the group's loaded share-partitions among these partitions.

        A session may list many more partitions than there are.
        """
        # Both ways give the same result. The session's list comes from a request and may be long, so the loop is over
        # the shorter of the two.
        if len(partitions) <= len(self._loaded):
            keys = (SharePartitionKey(group_id, partition) for partition in partitions)
            return [key for key in keys if key in self._loaded]
        return [key for key in self._loaded if key.group_id == group_id and key.partition in partitions]

    def find(self, key: SharePartitionKey, now_ms: int) -> SharePartition | None:
        """Return the share-partition if it is loaded, after releasing records whose locks have expired.

        Raises:
            BrokerError: This broker does not lead the partition (see `led_epoch`), or only in an older epoch (`write`).
        """
        leader_epoch = self._led_epoch_or_drop(key)
        share_partition = self._loaded.get(key)
        if share_partition is None:
            return None
        # This broker lost the leadership and won it again. Another leader may have written in between, so the state is
        # read again; Kafka removes the share-partition with SharePartitionManager.SharePartitionListener when it stops
        # leading.
        if share_partition.leader_epoch != leader_epoch:
            self.drop(key)
            return None
        expired = share_partition.expire(self._group_config(key.group_id), now_ms)
        # Kafka has a timer for each lock (AcquisitionLockTimerTask). Here every use looks first, so that a lock ends
        # exactly at its deadline, and the sweep in `expire` is only for share-partitions that nobody uses.
        if expired:
            self.apply(share_partition, expired)
            self._changed[key] = None
        return share_partition

    def load(self, key: SharePartitionKey, wall_ms: int, now_ms: int) -> SharePartition | None:
        """Return the share-partition. Read its state if necessary.

        Args:
            key: Its key.
            wall_ms: Time since the epoch. `share.auto.offset.reset=by_duration` counts back from it.
            now_ms: Monotonic time.

        Returns:
            The share-partition, or None if its state is still being read. When that has ended, it counts as changed. An
            error is raised by the calls after that, until `forget_failure`, or until it is time to read again.

        Raises:
            BrokerError: This broker does not lead the partition (see `led_epoch`), or only in an older epoch (`write`).
            UnknownServerError: The coordinator has not initialised the share-partition's state.
            CoordinatorNotAvailableError: The coordinator could not be reached.
            OffsetNotAvailableError: It begins at a time (`by_duration`), and no record is young enough yet.
        """
        share_partition = self.find(key, now_ms)
        if share_partition is not None:
            return share_partition
        loading = self._loading.get(key)
        # An error is kept for a moment, so that many waiting fetches cause one read and not one read each.
        if loading is not None and loading.error is not None and now_ms >= loading.began_ms + _READ_AGAIN_MS:
            loading = None
        # While a write of the dropped share-partition is under way, a read could return the state before it.
        if loading is None and key not in self._writers:
            loading = self._begin_loading(key, wall_ms, now_ms)
        if loading is not None and loading.error is not None:
            raise loading.error
        return self._loaded.get(key)

    def forget_failure(self, key: SharePartitionKey) -> None:
        """Forget that a state could not be read, once a client has received the error. The next use reads it again."""
        loading = self._loading.get(key)
        if loading is not None and loading.error is not None:
            del self._loading[key]

    def drop(self, key: SharePartitionKey) -> None:
        """Drop a share-partition. Members lose the records they acquired, and the next leader loads it again.

        A write that is under way still ends, and is answered.
        """
        was_loading = self._loading.pop(key, None) is not None
        was_loaded = self._loaded.pop(key, None) is not None
        if not was_loading and not was_loaded:
            return
        self._deadlines.set(key, None)
        self._changed[key] = None
        writer = self._writers.get(key)
        # A busy writer stays until its write has ended. The acknowledgements in it are answered by the outcome of the
        # write, even if another broker leads the partition by then.
        if writer is not None and not writer.is_busy:
            del self._writers[key]

    def drop_group(self, group_id: str) -> None:
        """Drop all share-partitions of a group."""
        for key in [key for key in (*self._loaded, *self._loading) if key.group_id == group_id]:
            self.drop(key)

    def drop_all(self) -> None:
        """Drop everything."""
        for key in (*self._loaded, *self._loading):
            self.drop(key)

    def drop_partitions(self, partitions: Sequence[TopicIdPartition]) -> None:
        """Drop partitions in all groups: in the given order, and for each of them in the order of loading."""
        if not partitions:
            return
        loaded: dict[TopicIdPartition, list[SharePartitionKey]] = {partition: [] for partition in partitions}
        for key in (*self._loaded, *self._loading):
            if key.partition in loaded:
                loaded[key.partition].append(key)
        for keys in loaded.values():
            for key in keys:
                self.drop(key)

    # ---------------------------------------------------------------------------------------- changing

    def write(self, change: StateChange) -> None:
        """Write a change. It takes effect when it is written, which may be before this returns.

        As in Kafka, waiting fetches check again if the start offset moves, but not if records were merely released.
        `change.error` is NotLeaderOrFollowerError if another leader or another state has taken over,
        UnknownServerError if the state was deleted, and CoordinatorNotAvailableError if the coordinator could not be
        reached. Only in the last case the share-partition stays loaded.
        """
        # Renewals change no state that is persisted (KIP-1222), and acknowledgements below the start offset change
        # nothing.
        if not change.batches:
            change.end(None)
            self.reschedule(change.share_partition)
            return
        writer = self._writer_of(change.share_partition)
        writer.add(change)
        writer.is_calling = True
        self._send_next(writer)
        writer.is_calling = False
        # The coordinator answers later. Until then nobody else may acquire the records or acknowledge them again, as
        # with a state transition in Kafka (InFlightState.startStateTransition).
        if not change.has_ended:
            writer.hold(change)
            self.reschedule(change.share_partition)

    def apply(self, share_partition: SharePartition, batches: tuple[StateBatch, ...]) -> None:
        """Let a change take effect, and write it.

        Raises:
            BrokerError: It was refused at once, and the share-partition was dropped. The errors are those of `write`.
        """
        change = StateChange(share_partition, batches, is_applied=True)
        self.write(change)
        # An expiry that could not be written stays in effect here, and Kafka only logs the failure, too. A change of
        # leader then loses the count of that delivery: KIP-932, "Managing durable share-partition state", keeps counts
        # only approximately. If this leader was fenced, the records are another leader's: the caller gets the error.
        if change.error is not None and not self.has(share_partition):
            raise change.error

    def reschedule(self, share_partition: SharePartition) -> None:
        """Store a share-partition's next deadline. Call this after each operation on it."""
        if self.has(share_partition):  # one that was dropped has no deadline that anything could meet
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

    def _begin_loading(self, key: SharePartitionKey, wall_ms: int, now_ms: int) -> _Loading | None:
        loading = self._loading[key] = _Loading(self.led_epoch(key.partition), wall_ms, now_ms)
        # KIP-932, "Using the share coordinator from the share-partition leader": the state is read when the first fetch
        # comes (SharePartition.maybeInitialize in Kafka). The leader epoch fences earlier leaders.
        self._state.read(_state_key(key), loading.leader_epoch, partial(self._read, key, loading))
        if loading.error is not None:
            # The outcome came during the call, so the caller gets the error itself, and nothing has to be remembered.
            del self._loading[key]
            raise loading.error
        loading.is_late = True
        return self._loading.get(key)

    def _read(self, key: SharePartitionKey, loading: _Loading, outcome: PersistedState | BrokerError) -> None:
        if self._loading.get(key) is not loading:
            return  # dropped in the meantime
        try:
            self._begin(key, loading, outcome)
        except BrokerError as error:
            loading.error = error
        # The request that began the read waits for it. Kafka answers such a fetch as if there were no records
        # (SharePartitionManager.handleInitializationException for LeaderNotAvailableException).
        if loading.is_late:
            self._changed[key] = None
            self.on_late_change()

    def _begin(self, key: SharePartitionKey, loading: _Loading, outcome: PersistedState | BrokerError) -> None:
        if isinstance(outcome, BrokerError):
            raise _as_seen_by_clients(outcome) from outcome
        # The group coordinator initialised the state without an offset, so the first leader decides it by
        # `share.auto.offset.reset` (SharePartition.startOffsetDuringInitialization in Kafka).
        if outcome.start_offset == UNINITIALIZED_OFFSET:
            outcome = self._resolved(key, outcome, loading.wall_ms)
        share_partition = self._loaded[key] = SharePartition(key, outcome, loading.leader_epoch)
        del self._loading[key]
        # KIP-1191: the last leader has not noted that these records have their letters, so they are written again.
        limits = DeliveryLimits(self._group_config(key.group_id).delivery_count_limit)
        self._archive(share_partition, runs_left_over(outcome.batches, limits))

    def _send_next(self, writer: StateWriter) -> None:
        if writer.can_begin:
            key = writer.share_partition.key
            self._state.write(_state_key(key), writer.begin(), partial(self._written, writer))

    def _writer_of(self, share_partition: SharePartition) -> StateWriter:
        writer = self._writers.get(share_partition.key)
        # A writer belongs to one loaded state. Changes of a state that was read again do not join those of the old one.
        if writer is None or writer.share_partition is not share_partition:
            writer = self._writers[share_partition.key] = StateWriter(share_partition)
        return writer

    def _written(self, writer: StateWriter, error: BrokerError | None) -> None:
        start_offset = writer.share_partition.start_offset
        changes = writer.end(None if error is None else _as_seen_by_clients(error))
        if error is None:
            # Only what was persisted has ended: a refused acknowledgement leaves its records acquired.
            for change in changes:
                self._note(change)
        self._after_write(writer, error, moved_start=writer.share_partition.start_offset > start_offset)
        for change in changes:
            # What took effect before stays so, and gets its letters, also if the coordinator was away
            # (SharePartition.releaseAcquisitionLockOnTimeout in Kafka). If another leader has taken over, the records
            # are its own.
            if error is None or (change.is_applied and self.has(change.share_partition)):
                self._archive(change.share_partition, runs_of_change(change.batches, change.acknowledged))
        if self._changed and not writer.is_calling:
            self.on_late_change()
        self._send_next(writer)

    def _note(self, change: StateChange) -> None:
        """Add a change that was written to the history of the deliveries."""
        key = change.share_partition.key
        if change.has_letters is None:
            self._state.history.add(key.group_id, key.partition, change.batches, change.acknowledged)
        elif change.has_letters:
            self._state.history.add_dead_lettered(key.group_id, key.partition, change.batches)

    def _archive(self, share_partition: SharePartition, runs: Iterable[DeadLetterRun]) -> None:
        """Have the letters of records written that are ARCHIVING."""
        for run in runs:
            self._letters.write(share_partition.key, run, partial(self._letters_ended, share_partition, run))

    def _letters_ended(self, share_partition: SharePartition, run: DeadLetterRun, has_letters: bool) -> None:  # noqa: FBT001
        """Archive records whose letters were written, or can't be."""
        key = share_partition.key
        # If the share-partition was loaded again, these records were found ARCHIVING, and their letters are written
        # again. If it was only dropped, because the group's last session here has ended, the write saves the next
        # leader from that; one that has read the state already fences it.
        if not self.has(share_partition) and (key in self._loaded or key in self._loading):
            return
        archived = StateBatch(
            first_offset=run.first,
            last_offset=run.last,
            delivery_state=next_state(RecordState.ARCHIVING, RecordEvent.ARCHIVE),
            delivery_count=run.delivery_count,
        )
        self.write(StateChange(share_partition, (archived,), is_applied=True, has_letters=has_letters))
        self.reschedule(share_partition)
        if self._changed:
            self.on_late_change()

    def _after_write(self, writer: StateWriter, error: BrokerError | None, *, moved_start: bool) -> None:
        """Keep or drop a share-partition after a write."""
        key = writer.share_partition.key
        is_loaded = self.has(writer.share_partition)
        # There are three cases. The coordinator refused: another leader or a new state has taken over, and the state
        # here is out of date. Kafka forgets the share-partition as well, but keeps it after UNKNOWN_SERVER_ERROR
        # (SharePartitionManager.fencedSharePartitionHandler). If the change was written, or the coordinator is away,
        # the share-partition stays. If it was dropped meanwhile, it may be loaded again now.
        if is_loaded and error is not None and not isinstance(error, _COORDINATOR_IS_AWAY):
            self.drop(key)
        elif is_loaded:
            self.reschedule(writer.share_partition)
            # Only a start offset that moved makes room for waiting fetches. Kafka notifies them of its own changes in
            # SharePartition.maybeCompleteDelayedShareFetchRequest.
            if moved_start:
                self._changed[key] = None
        elif not writer.is_busy and self._writers.get(key) is writer:
            del self._writers[key]
            self._changed[key] = None  # a fetch may wait to load it again

    def _resolved(self, key: SharePartitionKey, persisted: PersistedState, wall_ms: int) -> PersistedState:
        """Return the state with the start offset of `share.auto.offset.reset`. The first change persists it."""
        config = self._group_config(key.group_id)
        start_offset = _reset_offset(self.log_of(key.partition), config, wall_ms)
        return PersistedState(persisted.state_epoch, persisted.leader_epoch, start_offset, 0, ())


def _state_key(key: SharePartitionKey) -> tuple[str, UUID, int]:
    return key.group_id, key.partition.topic_id, key.partition.partition


def _reset_offset(log: ShareLog, config: ShareGroupConfig, wall_ms: int) -> int:
    # The three values of `share.auto.offset.reset`: `earliest` is the start of the log, `latest` (no duration) its high
    # watermark, and `by_duration` the first record that is not older than that.
    if config.auto_offset_reset == "earliest":
        return log.log_start_offset
    duration_ms = config.auto_offset_reset_duration_ms
    if duration_ms is None:
        return log.high_watermark
    found = log.offset_for_timestamp(wall_ms - duration_ms)
    # Kafka does not fall back to the end of the log: the partition answers OFFSET_NOT_AVAILABLE until a record comes.
    if found is None:
        raise OffsetNotAvailableError(f"No record is younger than the {duration_ms} ms of share.auto.offset.reset.")
    return found.offset


def _as_seen_by_clients(error: BrokerError) -> BrokerError:
    """Convert an error of the share coordinator to the error that clients receive."""
    # As in SharePartition.fetchPersisterError, clients retry if the coordinator is away, and look for the new leader if
    # this one was fenced. UNKNOWN_TOPIC_OR_PARTITION and GROUP_ID_NOT_FOUND pass as they are: the topic or the state
    # of the group was deleted. Any other error is a fault of the brokers.
    if isinstance(error, _COORDINATOR_IS_AWAY):
        return CoordinatorNotAvailableError()
    if isinstance(error, FencedLeaderEpochError | FencedStateEpochError):
        return NotLeaderOrFollowerError(str(error))
    if isinstance(error, UnknownTopicOrPartitionError | GroupIdNotFoundError):
        return type(error)(str(error))
    return UnknownServerError(str(error))
