"""One share-partition: a partition as one share group consumes it, on its leader (KIP-932).

An operation does not change hard state. It returns the new states of records, and `apply` lets them take effect when
they are written. Operations directly change only state that is not persisted: which member has acquired which records,
and until when.
"""

from collections.abc import Iterable, Sequence

import attrs
from attrs import frozen

from kafka_groups.broker.runs import OffsetRange, Run
from kafka_groups.broker.share_partitions.acknowledgement import (
    Acknowledgement,
    check_batches,
    merged,
    plan_acknowledgement,
    released,
)
from kafka_groups.broker.share_partitions.acquisition import Acquisition, AcquisitionLimits, plan_acquisition
from kafka_groups.broker.share_partitions.dead_letters import DeliveryEnds
from kafka_groups.broker.share_partitions.delivery_limits import DeliveryLimits
from kafka_groups.broker.share_partitions.in_flight import InFlight, InFlightState
from kafka_groups.broker.share_partitions.logs import LogBatch
from kafka_groups.broker.share_partitions.persisted_state import PersistedState
from kafka_groups.broker.share_partitions.record_state import (
    NOT_DELIVERED,
    TERMINAL,
    RecordEvent,
    RecordState,
    next_state,
)
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords
from kafka_groups.protocol.messages.share_state import StateBatch
from kafka_groups.protocol.messages.write_share_group_state import WriteShareStatePartition
from kafka_groups.types import TopicIdPartition

__all__ = ["SharePartition", "SharePartitionKey"]


@frozen(cache_hash=True)
class SharePartitionKey:
    """Key of a share-partition."""

    group_id: str
    partition: TopicIdPartition

    def __str__(self) -> str:
        return f"{self.group_id}:{self.partition}"


class SharePartition:
    """In-flight records of one share-partition and the rules of their delivery.

    Call `expire` with the same `now_ms` before `acquire` and `acknowledge`, so that locks expire at their deadline and
    not at the next sweep.

    Args:
        key: Its key.
        persisted: Its state from the state log, with a resolved start offset.
        leader_epoch: Epoch of this leader.
    """

    def __init__(self, key: SharePartitionKey, persisted: PersistedState, leader_epoch: int) -> None:
        self.key = key
        self.state_epoch = persisted.state_epoch
        self.leader_epoch = leader_epoch
        self.in_flight = InFlight(persisted.start_offset)
        # What is persisted is terminal, ARCHIVING or available (KIP-932, "Managing durable share-partition state"):
        # records that were acquired from the last leader are available here, with the delivery count of their last
        # failed delivery.
        self.apply(persisted.batches)
        self.advance_start()

    def __repr__(self) -> str:
        return f"<SharePartition {self.key}: {self.in_flight}>"

    # --------------------------------------------------------------------------------------- questions

    @property
    def start_offset(self) -> int:
        """The first offset that is not done (SPSO)."""
        return self.in_flight.start_offset

    @property
    def fetch_offset(self) -> int:
        """The first available offset, at which to read the log."""
        return self.in_flight.next_available_offset()

    def can_acquire(self, config: ShareGroupConfig) -> bool:
        """Return whether there may be records to acquire. Does not check the log."""
        # Two ways to get records: some inside the window are available, or the window may grow
        # (SharePartition.canAcquireRecords).
        return (
            self.fetch_offset <= self.in_flight.end_offset
            or self.in_flight.window_size < config.partition_max_record_locks
        )

    def holds(self, member_id: str, acquired: AcquiredRecords) -> bool:
        """Return whether a member still has all records of a range that it acquired."""
        # The start offset only moves past terminal records, or with the start of the log.
        if acquired.first_offset < self.in_flight.start_offset:
            return False  # others have finished them
        runs = self.in_flight.between(acquired.first_offset, acquired.last_offset)
        return all(run.value is not None and run.value.owner == member_id for run in runs)

    def next_deadline_ms(self) -> int | None:
        """Return the time at which the next acquisition lock expires."""
        return self.in_flight.next_lock_deadline_ms()

    # -------------------------------------------------------------------------------------- operations

    def acquire(
        self,
        member_id: str,
        batches: Sequence[LogBatch],
        wanted: AcquisitionLimits,
        config: ShareGroupConfig,
        now_ms: int,
    ) -> tuple[AcquiredRecords, ...]:
        """Acquire available records for a member, locked for the group's lock duration.

        Acquisitions are not persisted, so there are no records to replay.

        Args:
            member_id: The member.
            batches: Batches of the log that may be delivered, starting with the one that contains `fetch_offset`.
            wanted: The request of the member's fetch.
            config: The group's configuration.
            now_ms: Monotonic time.

        Returns:
            The acquired ranges, sorted by offset and without overlaps.
        """
        if not batches or wanted.max_records <= 0:
            return ()
        limits = DeliveryLimits(config.delivery_count_limit)
        # KIP-932, "In-flight records": each acquisition adds 1 to the delivery count. Acquired records are not
        # persisted, so the count in the log lags behind until the delivery ends.
        acquisitions = plan_acquisition(self.in_flight, batches, wanted, limits, config.partition_max_record_locks)
        for acquisition in acquisitions:
            self._lock(acquisition, member_id, now_ms + config.record_lock_duration_ms)
        return tuple(
            AcquiredRecords(
                first_offset=acquisition.first, last_offset=acquisition.last, delivery_count=acquisition.delivery_count
            )
            for acquisition in acquisitions
        )

    def begin_acknowledge(
        self, acknowledgement: Acknowledgement, config: ShareGroupConfig, now_ms: int
    ) -> tuple[StateBatch, ...]:
        """Validate a member's acknowledgements, all of them or none, renew locks, and return the changes to persist.

        Raises:
            InvalidRequestError: The batches are malformed or beyond the records in flight.
            InvalidRecordStateError: A record is not acquired by this member, or renewing is not enabled.
        """
        # The batches of a partition are atomic (KIP-932, "Client programming interface"): a single bad offset refuses
        # all of them. So the plan comes first, and renewals, which need no write, are applied only after it.
        check_batches(acknowledgement, renew_enabled=config.renew_acknowledge_enable)
        plan = plan_acknowledgement(self.in_flight, acknowledgement, DeliveryEnds.of(config), now_ms)
        for renewal in plan.renewals:
            self._renew(renewal, now_ms + config.record_lock_duration_ms)
        return plan.changes

    def release(self, member_id: str, config: ShareGroupConfig) -> tuple[StateBatch, ...]:
        """Release all records that a member has acquired. Their delivery counts stay (KAFKA-19972)."""
        # KIP-932, "Share sessions": closing a session releases its records. Since Kafka 4.2 they keep the count of the
        # delivery that ended, so that a record that crashes its consumers reaches the limit
        # (SharePartition.releaseAcquiredRecords).
        return self._given_back(self.in_flight.held_by(member_id), config)

    def expire(self, config: ShareGroupConfig, now_ms: int) -> tuple[StateBatch, ...]:
        """Release the records whose locks have expired."""
        # An expired lock is a release without an acknowledgement: available again, or archived at the limit (KIP-932,
        # "In-flight records").
        expired = self.in_flight.locked_until(now_ms)
        return self._given_back(expired, config) if expired else ()

    def discard(self, ranges: Iterable[OffsetRange], config: ShareGroupConfig) -> tuple[StateBatch, ...]:
        """Archive available offsets without records to deliver (compaction, aborted transactions), without a write.

        As in Kafka, the next write counts them and lets the start offset move past them. Another leader that loads the
        state before that archives them again.

        Returns:
            What was archived.
        """
        archived = merged([batch for gone in ranges for batch in self._discarded(gone)])
        self.apply(archived)
        # A window that has nothing else would wait without end: nothing in it can be acquired, so nothing is written.
        # Kafka leaves it so (SharePartition.filterAbortedTransactionalAcquiredRecords).
        if not self.can_acquire(config):
            self.advance_start()
        return archived

    def move_start(self, log_start_offset: int) -> bool:
        """Follow the start of the log, and return whether the start offset moved.

        Acquired records below it are dropped, and their acknowledgements will be ignored. As in Kafka, the new start
        offset is persisted with the next change, not on its own.
        """
        # KIP-932, "Log retention": a member that holds a record below the new start may still acknowledge it, without
        # effect and without an error (SharePartition.updateCacheAndOffsets in Kafka).
        moved = log_start_offset > self.in_flight.start_offset
        self.in_flight.move_start(log_start_offset)
        # Terminal records right behind the new start would otherwise block it until the next change.
        self.in_flight.advance_start()
        return moved

    def update(self, applied: Sequence[StateBatch], others: Sequence[StateBatch] = ()) -> WriteShareStatePartition:
        """Return changes as they are written: those that have taken effect, and others that have not.

        The written start offset is the one before all of them. Kafka does the same, so a described start offset may be
        one write behind.
        """
        # KIP-1226: the count includes the records that this write finishes, although they take effect only afterwards.
        completed = sum(
            batch.last_offset - batch.first_offset + 1 for batch in others if batch.delivery_state in TERMINAL
        )
        # SharePartition.writeShareGroupState takes the start offset of the moment, too, and Kafka moves it only once
        # the write has succeeded (SharePartition.rollbackOrProcessStateUpdates).
        return WriteShareStatePartition(
            partition=self.key.partition.partition,
            state_epoch=self.state_epoch,
            leader_epoch=self.leader_epoch,
            start_offset=self.in_flight.start_offset,
            delivery_complete_count=self.in_flight.terminal_count + completed,
            state_batches=(*applied, *others),
        )

    def apply(self, batches: Iterable[StateBatch]) -> None:
        """Let a change take effect. The start offset moves only with `advance_start`."""
        for batch in batches:
            for run in self._runs_of(batch.first_offset, batch.last_offset):
                self.in_flight.set(run.first, run.last, _delivery(run, batch))

    def advance_start(self) -> None:
        """Move the start offset past acknowledged and archived records (KIP-932, "In-flight records").

        Call this when a write has ended, as Kafka does (SharePartition.maybeUpdateCachedStateAndOffsets).
        """
        self.in_flight.advance_start()

    def hold(self, batches: Iterable[StateBatch]) -> tuple[Run[InFlightState], ...]:
        """Keep records from everyone while their change is being written, and return their runs."""
        held: list[Run[InFlightState]] = []
        for batch in batches:
            for run in self._runs_of(batch.first_offset, batch.last_offset):
                if run.value is not None:
                    # A run that is gone was passed by the start of the log meanwhile: there is nothing to hold or give
                    # back.
                    held.append(Run(run.first, run.last, run.value))
                    self.in_flight.set(
                        run.first, run.last, attrs.evolve(run.value, lock_deadline_ms=None, is_held=True)
                    )
        return tuple(held)

    def restore(self, held: Iterable[Run[InFlightState]]) -> None:
        """Give records back to their owners because their change was refused. Their locks may have expired by now."""
        for before in held:
            for run in self._runs_of(before.first, before.last):
                self.in_flight.set(run.first, run.last, before.value)

    # ----------------------------------------------------------------------------------------- insides

    def _runs_of(self, first: int, last: int) -> list[Run[InFlightState | None]]:
        """Return the runs of a range from the start offset on. They stay the same while their states change."""
        return list(self.in_flight.between(max(first, self.in_flight.start_offset), last))

    def _lock(self, acquisition: Acquisition, member_id: str, deadline_ms: int) -> None:
        # With record_limit only a part of a new log batch is acquired, but all of it comes in flight.
        if acquisition.batch.last > self.in_flight.end_offset:
            # The rest of a split batch is also in flight, and available.
            self.in_flight.set(
                acquisition.first,
                acquisition.batch.last,
                InFlightState(RecordState.AVAILABLE, delivery_count=0, batch=acquisition.batch),
            )
        state = next_state(RecordState.AVAILABLE, RecordEvent.ACQUIRE)
        self.in_flight.set(
            acquisition.first,
            acquisition.last,
            InFlightState(state, acquisition.delivery_count, acquisition.batch, member_id, deadline_ms),
        )

    def _renew(self, renewal: OffsetRange, deadline_ms: int) -> None:
        for run in self._runs_of(renewal.first, renewal.last):
            if run.value is not None:
                self.in_flight.set(run.first, run.last, attrs.evolve(run.value, lock_deadline_ms=deadline_ms))

    def _given_back(self, runs: Sequence[Run[InFlightState]], config: ShareGroupConfig) -> tuple[StateBatch, ...]:
        return released(runs, DeliveryEnds.of(config))

    def _discarded(self, gone: OffsetRange) -> Iterable[StateBatch]:
        for run in self._runs_of(gone.first, gone.last):
            # Only available offsets are archived. One that a member holds is left to it: it reports a gap, or
            # acknowledges the record that it read before compaction removed it (KIP-932, "Log compaction").
            delivery = run.value or InFlightState(RecordState.AVAILABLE)
            if delivery.state is RecordState.AVAILABLE:
                state = next_state(delivery.state, RecordEvent.DISCARD)
                yield StateBatch(
                    first_offset=run.first,
                    last_offset=run.last,
                    delivery_state=state,
                    delivery_count=delivery.delivery_count,
                )


def _delivery(run: Run[InFlightState | None], batch: StateBatch) -> InFlightState:
    if batch.delivery_state in NOT_DELIVERED:
        # Such a record has no owner, no lock and no batch any more. A released one keeps the batch that it came in
        # flight with, because a suspect batch is halved as it was first delivered.
        return InFlightState(RecordState(batch.delivery_state), batch.delivery_count)
    known = None if run.value is None else run.value.batch
    in_flight_with = known or OffsetRange(batch.first_offset, batch.last_offset)
    return InFlightState(RecordState(batch.delivery_state), batch.delivery_count, in_flight_with)
