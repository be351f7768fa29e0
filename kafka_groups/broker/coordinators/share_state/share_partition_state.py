"""The state of one share-partition, as the records of `__share_group_state` make it (KIP-932)."""

from uuid import UUID

from kafka_groups.broker.runs import Runs
from kafka_groups.protocol.coordinator_records.share_group_state import ShareSnapshotValue, ShareUpdateValue
from kafka_groups.protocol.messages.share_state import UNINITIALIZED_OFFSET, UNKNOWN_COUNT, StateBatch

__all__ = ["SharePartitionState", "StateKey"]

StateKey = tuple[str, UUID, int]
"""Group id, topic id and partition."""

_NO_EPOCH = -1


class SharePartitionState:
    """The hard state of one share-partition. Only `take_snapshot` and `take_update` change it.

    Attributes:
        snapshot_epoch: Counts the snapshots.
        state_epoch: Changes when an administrator resets the state.
        leader_epoch: Epoch of the last leader that read the state.
        fence_epoch: The highest leader epoch of all. Leaders with a lower one are refused.
        start_offset: Offset at which delivery starts, or `UNINITIALIZED_OFFSET`.
        delivery_complete_count: Offsets from `start_offset` on that are done (KIP-1226), or -1 if unknown.
        create_timestamp_ms: Time when the state was created.
        write_timestamp_ms: Time when its last snapshot was written.
    """

    def __init__(self) -> None:
        self.snapshot_epoch = _NO_EPOCH
        self.state_epoch = _NO_EPOCH
        self.leader_epoch = _NO_EPOCH
        self.fence_epoch = _NO_EPOCH
        self.start_offset = UNINITIALIZED_OFFSET
        self.delivery_complete_count = UNKNOWN_COUNT
        self.create_timestamp_ms = 0
        self.write_timestamp_ms = 0
        self._runs: Runs[tuple[int, int]] = Runs()  # delivery count and delivery state: the greater pair wins

    def __repr__(self) -> str:
        return f"<SharePartitionState from {self.start_offset}: {len(self._runs)} runs, epoch {self.state_epoch}>"

    @property
    def batches(self) -> tuple[StateBatch, ...]:
        """The states of offsets, merged and sorted. Offsets in none of them are available."""
        return tuple(
            StateBatch(
                first_offset=run.first, last_offset=run.last, delivery_state=run.value[1], delivery_count=run.value[0]
            )
            for run in self._runs
        )

    def take_snapshot(self, value: ShareSnapshotValue) -> None:
        """Replace the state."""
        self.snapshot_epoch = value.snapshot_epoch
        self.state_epoch = value.state_epoch
        # The last record decides which epoch is shown, and the highest of all which leaders are fenced. Kafka has a map
        # for the latter, too (ShareCoordinatorShard.maybeUpdateLeaderEpochMap).
        self.leader_epoch = value.leader_epoch
        self.fence_epoch = max(self.fence_epoch, value.leader_epoch)
        self.create_timestamp_ms = value.create_timestamp_ms
        self.write_timestamp_ms = value.write_timestamp_ms
        self.start_offset = value.start_offset
        self.delivery_complete_count = value.delivery_complete_count
        self._runs = Runs()
        self._merge(value.state_batches)

    def take_update(self, value: ShareUpdateValue) -> None:
        """Apply a change to the state."""
        self.leader_epoch = value.leader_epoch
        self.fence_epoch = max(self.fence_epoch, value.leader_epoch)
        # An update without a start offset leaves it as it is.
        if value.start_offset != UNINITIALIZED_OFFSET:
            self.start_offset = value.start_offset
        self.delivery_complete_count = value.delivery_complete_count
        self._merge(value.state_batches)

    def moved(self, start_offset: int, delivery_complete_count: int) -> tuple[int, int]:
        """Return start offset and count after a write that has these. Neither goes back."""
        # There are three cases (ShareCoordinatorShard.generateShareStateRecord in Kafka). The count belongs to a start
        # offset: with a new one it is new. With the same one it can only grow. With an older one, as of a write that
        # was delayed, both stay.
        if start_offset > self.start_offset:
            return start_offset, delivery_complete_count
        if start_offset == self.start_offset:
            return start_offset, max(delivery_complete_count, self.delivery_complete_count)
        return self.start_offset, self.delivery_complete_count

    def _merge(self, batches: tuple[StateBatch, ...]) -> None:
        """Merge as Kafka does: the higher delivery count wins, then the higher state."""
        for batch in batches:
            value = (batch.delivery_count, batch.delivery_state)
            # See PersisterStateBatchCombiner.combineStateBatches in Kafka. Without this order, a write that was
            # repeated late could undo the one after it.
            for run in list(self._runs.cover(batch.first_offset, batch.last_offset)):
                if run.value is None or run.value < value:
                    self._runs.assign(run.first, run.last, value)
        # Offsets before the start offset are done, whatever their state was (PersisterStateBatchCombiner.prune).
        self._runs.drop_below(self.start_offset)
