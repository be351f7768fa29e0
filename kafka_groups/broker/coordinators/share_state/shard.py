"""One shard of the share coordinator: the states that one partition of `__share_group_state` keeps, and their changes.

An operation validates first and then returns records. Only `replay` changes the states themselves. What an operation
changes directly is soft: how many updates have followed the last snapshot of a state.
"""

from collections.abc import Iterator
from typing import Protocol
from uuid import UUID

from kafka_groups.broker.coordinators.result import Result
from kafka_groups.broker.coordinators.shard import LogUpkeep, NoTransactions
from kafka_groups.broker.coordinators.share_state.share_partition_state import SharePartitionState, StateKey
from kafka_groups.broker.log.entries import Producer
from kafka_groups.errors import (
    FencedLeaderEpochError,
    FencedStateEpochError,
    InvalidRequestError,
    UnknownTopicOrPartitionError,
)
from kafka_groups.protocol.coordinator_records.share_group_state import (
    ShareSnapshot,
    ShareSnapshotValue,
    ShareStateRecord,
    ShareUpdate,
    ShareUpdateValue,
)
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET, UNKNOWN_COUNT
from kafka_groups.protocol.messages.write_share_group_state import WriteShareStatePartition

__all__ = ["ShareStateShard"]

_FIRST_LEADER_EPOCH = 0
_SPARE_RECORDS = 1_000
"""The number of records beyond two per state that the log may have before a state gets an early snapshot."""
_PRUNED_AT_ONCE = 600
"""Records that are not needed any more are deleted when there are so many of them: more than follow one snapshot."""


class ExistingTopics(Protocol):
    """The topics of the cluster. `ClusterMetadata` implements this."""

    def topic_by_id(self, topic_id: UUID) -> object | None:
        """Return the topic with that id."""
        ...


class ShareStateShard(NoTransactions):
    """The states of some share-partitions.

    Args:
        topics: The topics that exist. States of others are deleted.
        updates_per_snapshot: How many updates of a state follow a snapshot
            (`share.coordinator.snapshot.update.records.per.snapshot`).
    """

    def __init__(self, topics: ExistingTopics, updates_per_snapshot: int) -> None:
        self._topics = topics
        self._updates_per_snapshot = updates_per_snapshot
        self._states: dict[StateKey, SharePartitionState] = {}
        self._updates: dict[StateKey, int] = {}
        self._snapshots: dict[StateKey, int] = {}  # offsets of the last ones, the oldest first

    def __repr__(self) -> str:
        return f"<ShareStateShard of {len(self._states)} share-partitions>"

    def __len__(self) -> int:
        return len(self._states)

    def state(self, key: StateKey) -> SharePartitionState | None:
        """Return a state, or None if it is not initialised. Do not modify it."""
        return self._states.get(key)

    def first_needed_offset(self, end_offset: int) -> int:
        """Return the offset before which no record of the log is needed any more: that of the oldest last snapshot."""
        return next(iter(self._snapshots.values()), end_offset)

    # ----------------------------------------------------------------------------------------- hard state

    def replay(self, record: ShareStateRecord, offset: int, producer: Producer | None = None) -> None:
        """Apply a record of the log."""
        if producer is not None:
            raise self.refused(producer)
        key, value = (record.group_id, record.topic_id, record.partition), record.value
        # Three kinds of records (KIP-932, "Share-group state records"): a tombstone deletes the state, where the KIP
        # has a snapshot with the epoch -1; a snapshot replaces it; and an update changes it
        # (ShareCoordinatorShard.handleShareSnapshot and handleShareUpdate in Kafka).
        if value is None:
            for table in (self._states, self._updates, self._snapshots):
                table.pop(key, None)
        elif isinstance(value, ShareSnapshotValue):
            self._states.setdefault(key, SharePartitionState()).take_snapshot(value)
            self._snapshots.pop(key, None)  # so that it stands at the end
            self._snapshots[key] = offset
        elif key in self._states:
            # An update of a state without a snapshot can be left over from a log whose start was deleted, and means
            # nothing.
            self._states[key].take_update(value)
            self._updates[key] = self._updates.get(key, 0) + 1

    def loaded(self, now_ms: int, wall_ms: int) -> Iterator[Result[None, ShareStateRecord]]:
        """Delete the states of topics that were deleted in the meantime."""
        yield self.metadata_changed(now_ms, wall_ms)

    def next_deadline_ms(self) -> int | None:
        """Return None: nothing expires."""
        return None

    def expire(self, now_ms: int, wall_ms: int) -> Result[None, ShareStateRecord]:
        """Do nothing: nothing expires."""
        return Result(None)

    def tidy(self, log: LogUpkeep, wall_ms: int) -> tuple[ShareStateRecord, ...]:
        """Delete records that no state needs, and return a snapshot if one state needs too many of them.

        Kafka does both by timers. Here the number of records decides, so a log has a bound that no rate of changes
        exceeds, and an idle coordinator has nothing to do.
        """
        needed = self.first_needed_offset(log.end_offset)
        # Records before the oldest last snapshot are of no use: each state can be rebuilt from its snapshot on
        # (KIP-932, "Managing the space of the share-group state topic"; ShareCoordinatorShard.lastRedundantOffset in
        # Kafka).
        if needed >= log.log_start_offset + _PRUNED_AT_ONCE:
            log.delete_records(needed)
        return self._refreshed(log.end_offset - needed, wall_ms)

    # ----------------------------------------------------------------------------------------- operations

    def initialize(
        self, key: StateKey, state_epoch: int, start_offset: int, wall_ms: int
    ) -> Result[None, ShareStateRecord]:
        """Create a state, or begin it afresh. As in Kafka, an equal state epoch does that too.

        Raises:
            FencedStateEpochError: The state has a newer epoch.
        """
        known = self._states.get(key)
        # An older state epoch belongs to a request that was overtaken by a reset. An equal one is a repeated request
        # (ShareCoordinatorShard.maybeGetInitializeStateError in Kafka).
        if known is not None and state_epoch < known.state_epoch:
            raise _fenced_state(state_epoch, known)
        value = ShareSnapshotValue(
            snapshot_epoch=0 if known is None else known.snapshot_epoch + 1,
            state_epoch=state_epoch,
            leader_epoch=_FIRST_LEADER_EPOCH,
            start_offset=start_offset,
            # Without a start offset there is nothing to count from.
            delivery_complete_count=UNKNOWN_COUNT if start_offset == UNINITIALIZED_OFFSET else 0,
            create_timestamp_ms=wall_ms,
            write_timestamp_ms=wall_ms,
        )
        return Result(None, (ShareSnapshot(*key, value),))

    def read(self, key: StateKey, leader_epoch: int, wall_ms: int) -> Result[SharePartitionState, ShareStateRecord]:
        """Return a state for a leader with the given epoch; the record that a new one causes fences older leaders.

        Raises:
            InvalidRequestError: The state is not initialised.
            UnknownTopicOrPartitionError: The topic does not exist any more.
            FencedLeaderEpochError: A leader with a newer epoch has read the state.
        """
        state = self._known(key)
        _check_leader(state, leader_epoch)
        # Only a new leader epoch needs a record. It fences the leader before, which may not know yet that it was
        # replaced (ShareCoordinatorShard.readStateAndMaybeUpdateLeaderEpoch in Kafka).
        if leader_epoch <= state.leader_epoch:
            return Result(state)
        no_change = WriteShareStatePartition(
            partition=key[2],
            state_epoch=state.state_epoch,
            leader_epoch=leader_epoch,
            start_offset=state.start_offset,
            delivery_complete_count=state.delivery_complete_count,
        )
        return Result(state, (self._record_of(key, state, no_change, leader_epoch, wall_ms),))

    def write(self, key: StateKey, change: WriteShareStatePartition, wall_ms: int) -> Result[None, ShareStateRecord]:
        """Change a state. After some updates the record is a snapshot of all of it.

        As in Kafka, a leader epoch or state epoch that is newer than the known one changes neither.

        Raises:
            InvalidRequestError: The state is not initialised.
            UnknownTopicOrPartitionError: The topic does not exist any more.
            FencedLeaderEpochError: A leader with a newer epoch has read the state.
            FencedStateEpochError: The state has a newer epoch.
        """
        state = self._known(key)
        _check_leader(state, change.leader_epoch)
        # The group's offsets were reset since this leader has read the state, so its write is about an old version of
        # it (KIP-932, "Share-group state records"; ShareCoordinatorShard.maybeGetWriteStateError in Kafka).
        if change.state_epoch < state.state_epoch:
            raise _fenced_state(change.state_epoch, state)
        return Result(None, (self._record_of(key, state, change, state.leader_epoch, wall_ms),))

    def delete(self, key: StateKey) -> Result[None, ShareStateRecord]:
        """Delete a state, if there is one."""
        # As in Kafka, deleting twice is not an error (ShareCoordinatorShard.deleteState), so a request can be repeated.
        if key not in self._states:
            return Result(None)
        return Result(None, (ShareSnapshot(*key, None),))

    def metadata_changed(self, now_ms: int, wall_ms: int) -> Result[None, ShareStateRecord]:
        """Delete the states of topics that no longer exist."""
        topic_ids = {key[1] for key in self._states}
        # Kafka does the same (ShareCoordinatorShard.maybeCleanupShareState). A group coordinator need not ask for it.
        gone = {topic_id for topic_id in topic_ids if self._topics.topic_by_id(topic_id) is None}
        keys = (key for key in self._states if key[1] in gone)
        return Result(None, tuple(ShareSnapshot(*key, None) for key in keys))

    # ------------------------------------------------------------------------------------------- insides

    def _refreshed(self, needed_records: int, wall_ms: int) -> tuple[ShareStateRecord, ...]:
        # One state that is rarely written keeps all records after its snapshot (KIP-932, "Managing the space of the
        # share-group state topic"). Kafka takes a new snapshot of such
        # states after some time (ShareCoordinatorShard.snapshotColdPartitions).
        if needed_records <= _SPARE_RECORDS + 2 * len(self._states):
            return ()
        key = next(iter(self._snapshots))
        state = self._states[key]
        self._updates.pop(key, None)
        return (ShareSnapshot(*key, _snapshot(state, state.create_timestamp_ms, wall_ms)),)

    def _known(self, key: StateKey) -> SharePartitionState:
        state = self._states.get(key)
        # Nothing is created by reading or writing. KIP-932, "Using the share coordinator from the share-partition
        # leader", has UNKNOWN_TOPIC_OR_PARTITION here, and Kafka INVALID_REQUEST
        # (ShareCoordinatorShard.maybeGetWriteStateError and maybeGetReadStateError).
        if state is None:
            raise InvalidRequestError(f"The share-partition {key[0]}:{key[1]}-{key[2]} has no state.")
        if self._topics.topic_by_id(key[1]) is None:
            raise UnknownTopicOrPartitionError(f"The topic with id {key[1]} does not exist.")
        return state

    def _record_of(
        self,
        key: StateKey,
        state: SharePartitionState,
        change: WriteShareStatePartition,
        leader_epoch: int,
        wall_ms: int,
    ) -> ShareStateRecord:
        start_offset, count = state.moved(change.start_offset, change.delivery_complete_count)
        update = ShareUpdateValue(
            snapshot_epoch=state.snapshot_epoch,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=count,
            state_batches=change.state_batches,
        )
        # An update has only what has changed. From time to time a snapshot stands for all of them, so that loading
        # stays short (ShareCoordinatorShard.generateShareStateRecord in Kafka).
        if self._updates.get(key, 0) < self._updates_per_snapshot:
            return ShareUpdate(*key, update)
        self._updates.pop(key, None)
        after = SharePartitionState()
        after.take_snapshot(_snapshot(state, wall_ms, wall_ms))
        after.take_update(update)
        return ShareSnapshot(*key, _snapshot_of(after, after.snapshot_epoch, wall_ms, wall_ms))


def _snapshot(state: SharePartitionState, create_ms: int, write_ms: int) -> ShareSnapshotValue:
    return _snapshot_of(state, state.snapshot_epoch + 1, create_ms, write_ms)


def _snapshot_of(state: SharePartitionState, epoch: int, create_ms: int, write_ms: int) -> ShareSnapshotValue:
    return ShareSnapshotValue(
        snapshot_epoch=epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        create_timestamp_ms=create_ms,
        write_timestamp_ms=write_ms,
        state_batches=state.batches,
    )


def _check_leader(state: SharePartitionState, leader_epoch: int) -> None:
    # The leader was replaced and does not know it yet (KIP-932, "Share-group state records").
    if leader_epoch < state.fence_epoch:
        raise FencedLeaderEpochError(f"Leader epoch {leader_epoch} is older than {state.fence_epoch}.")


def _fenced_state(state_epoch: int, known: SharePartitionState) -> FencedStateEpochError:
    return FencedStateEpochError(f"State epoch {state_epoch} is older than {known.state_epoch}.")
