"""Selects the records that a member acquires. Changes neither the in-flight records nor the log's batches."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from attrs import frozen

from kafka_groups.broker.runs import OffsetRange, Run
from kafka_groups.broker.share_partitions.delivery_limits import DeliveryLimits
from kafka_groups.broker.share_partitions.in_flight import InFlight, InFlightState
from kafka_groups.broker.share_partitions.logs import LogBatch
from kafka_groups.broker.share_partitions.record_state import RecordState
from kafka_groups.protocol.messages.share_fetch import AcquireMode

__all__ = ["Acquisition", "AcquisitionLimits", "plan_acquisition"]


@frozen
class AcquisitionLimits:
    """The request of a fetch to one share-partition.

    Attributes:
        max_records: Maximum number of records, applied as `mode` says.
        batch_size: Minimum size of the parts into which newly acquired batches are grouped.
        mode: How strict `max_records` is.
    """

    max_records: int
    batch_size: int
    mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED


@frozen
class Acquisition:
    """Records to acquire with one lock.

    Attributes:
        first: First offset.
        last: Last offset.
        delivery_count: Their delivery count when they are acquired.
        batch: The offsets that come (or came) in flight together with them.
    """

    first: int
    last: int
    delivery_count: int
    batch: OffsetRange

    @property
    def size(self) -> int:
        """Number of offsets."""
        return self.last - self.first + 1


def plan_acquisition(
    in_flight: InFlight,
    batches: Sequence[LogBatch],
    wanted: AcquisitionLimits,
    limits: DeliveryLimits,
    max_in_flight: int,
) -> tuple[Acquisition, ...]:
    """Return the records of these log batches that a member acquires.

    Args:
        in_flight: The share-partition's records in flight.
        batches: Consecutive batches of the log, starting with the one that contains the first available offset.
        wanted: The request of the fetch.
        limits: The group's delivery limits.
        max_in_flight: The group's `share.partition.max.record.locks`. At the limit, only records inside the window
            can be acquired.
    """
    first, last = in_flight.next_available_offset(), batches[-1].last_offset
    room = max_in_flight - in_flight.window_size
    # There are two cases, as in SharePartition.lastOffsetAndMaxRecordsToAcquire. Below the in-flight limit, the room
    # that is left also bounds MaxRecords. At the limit nothing new comes in flight, but available records inside the
    # window may be acquired, because they take no more room.
    if room <= 0:
        last, room = min(last, in_flight.end_offset), wanted.max_records
    plan = _AcquisitionPlan(
        batches, AcquisitionLimits(min(wanted.max_records, room), wanted.batch_size, wanted.mode), limits
    )
    for group in _batches_of_available(in_flight, first, last):
        if plan.is_full:
            break
        plan.add(group)
    return tuple(plan.acquisitions)


def _batches_of_available(in_flight: InFlight, first: int, last: int) -> Iterator[list[Run[InFlightState | None]]]:
    """Return the available records in a range: by the batch they came in flight with, or as one run if new."""
    available = (
        run for run in in_flight.between(first, last) if run.value is None or run.value.state is RecordState.AVAILABLE
    )
    # Kafka keeps the batches of acquired records in its cache and looks at each as a whole: for MaxRecords, which is
    # checked between batches, and for suspect records.
    for _, runs in groupby(available, key=lambda run: run.first if run.value is None else run.value.batch):
        yield list(runs)


class _AcquisitionPlan:
    """Collects acquisitions."""

    def __init__(self, batches: Sequence[LogBatch], wanted: AcquisitionLimits, limits: DeliveryLimits) -> None:
        self.acquisitions: list[Acquisition] = []
        self._batches = batches
        self._wanted = wanted
        self._limits = limits
        self._room = wanted.max_records
        self._stopped = False

    @property
    def is_full(self) -> bool:
        return self._stopped or self._room <= 0

    @property
    def _is_strict(self) -> bool:
        return self._wanted.mode is AcquireMode.RECORD_LIMIT

    def add(self, group: list[Run[InFlightState | None]]) -> None:
        delivered = [Run(run.first, run.last, run.value) for run in group if run.value is not None]
        if delivered:
            self._add_delivered(delivered)
        else:
            self._add_new(group[0].first, group[0].last)

    def _acquire(self, acquisition: Acquisition) -> None:
        self.acquisitions.append(acquisition)
        self._room -= acquisition.size

    # ------------------------------------------------------------------------- records that were in flight before

    def _add_delivered(self, runs: list[Run[InFlightState]]) -> None:
        # Kafka looks at the highest delivery count of the batch (SharePartition.shouldThrottleRecordsDelivery). A
        # suspect batch is delivered in a response of its own: if records were acquired already, it waits for the next
        # fetch.
        if any(self._limits.is_suspect(run.value.delivery_count) for run in runs):
            self._stopped = True  # a batch with a suspect record is delivered separately
            if self.acquisitions:
                return
        # MaxRecords is a hint in batch_optimized mode, so the whole batch is acquired, and a limit with record_limit
        # (KIP-1206).
        self._take(runs, self._room if self._is_strict else sum(run.size for run in runs))

    def _take(self, runs: list[Run[InFlightState]], most: int) -> None:
        """Acquire up to `most` records, fewer from a suspect one on, and a record on its last attempt only alone."""
        left, cap = most, None
        for run in runs:
            count = run.value.delivery_count
            # A record on its last attempt goes alone, so that others lose no delivery if it crashes its consumer: it
            # ends what comes before it (SharePartition.acquireSubsetBatchRecords).
            if self.acquisitions and self._limits.is_last_attempt(count):
                self._stopped = True
                return
            # The first suspect record that is met sets the cap for the rest of the batch. Kafka computes it once, too.
            if cap is None and self._limits.is_suspect(count):
                cap = self._limits.most_at_once(_batch_of(run).size, count)
                # As in Kafka, the cap does not bind if as many records come before the first suspect one.
                left = min(left, cap - (most - left)) if cap > most - left else left
            size = min(run.size, left)
            self._acquire(Acquisition(run.first, run.first + size - 1, count + 1, _batch_of(run)))
            left -= size
            if left <= 0:
                return

    # -------------------------------------------------------------------------- records that were never in flight

    def _add_new(self, first: int, last: int) -> None:
        # The whole log batch comes in flight, even if only a part of it is acquired.
        wanted = first + self._room - 1
        # MaxRecords may fall into a log batch. Kafka delivers whole log batches (KIP-932, "Batching";
        # SharePartition.lastOffsetFromBatchWithRequestOffset), so the one with the last wanted offset counts in full.
        end = last if wanted >= last else min(last, self._end_of_batch_with(wanted))
        if self._is_strict:
            # KIP-1206: the range ends exactly at the limit. BatchSize does not split it, and the rest of the log batch
            # comes in flight as available.
            self._acquire(Acquisition(first, min(end, wanted), 1, OffsetRange(first, end)))
            return
        # Each part has a lock and an entry of its own, so that members acknowledge in units of BatchSize
        # (SharePartition.createBatches).
        for part in self._parts(first, end):
            self._acquire(Acquisition(part.first, part.last, 1, part))

    def _end_of_batch_with(self, offset: int) -> int:
        return next(batch.last_offset for batch in self._batches if batch.last_offset >= offset)

    def _parts(self, first: int, last: int) -> Iterator[OffsetRange]:
        """Group whole log batches until each part has BatchSize offsets."""
        for batch in self._batches:
            end = min(batch.last_offset, last)
            if end >= first and end - first + 1 >= self._wanted.batch_size:
                yield OffsetRange(first, end)
                first = end + 1
        if first <= last:
            yield OffsetRange(first, last)


def _batch_of(run: Run[InFlightState]) -> OffsetRange:
    # After a change of leader the original batch is unknown; the persisted run stands for it, as in Kafka's cache after
    # SharePartition.maybeInitialize.
    return run.value.batch or OffsetRange(run.first, run.last)
