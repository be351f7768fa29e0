"""Reads the records that a share-partition can deliver, acquires them, and selects their bytes."""

from collections.abc import Iterable, Sequence

from attrs import frozen

from kafka_groups.broker.runs import OffsetRange
from kafka_groups.broker.share_partitions.acquisition import AcquisitionLimits
from kafka_groups.broker.share_partitions.logs import AbortedRecords, LogBatch, LogRead, ShareLog
from kafka_groups.broker.share_partitions.partition import SharePartition
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.protocol.messages.share_fetch import AcquiredRecords

__all__ = ["NOTHING", "AcquireFor", "Acquired", "MostBytes", "acquire_from_log", "available_bytes", "is_behind"]


@frozen
class Acquired:
    """The records of one share-partition for a member.

    Attributes:
        records: Whole batches, from the one with the first acquired offset to the one with the last. They may contain
            offsets that were not acquired.
        ranges: The acquired ranges.
    """

    records: bytes = b""
    ranges: tuple[AcquiredRecords, ...] = ()

    @property
    def count(self) -> int:
        """Number of acquired offsets."""
        return sum(each.last_offset - each.first_offset + 1 for each in self.ranges)


@frozen
class MostBytes:
    """The limits of a read.

    Attributes:
        max_bytes: Maximum number of bytes.
        min_one: Whether to return the first batch even if it is larger.
    """

    max_bytes: int
    min_one: bool


@frozen
class AcquireFor:
    """A member's request for records of one share-partition."""

    member_id: str
    wanted: AcquisitionLimits
    config: ShareGroupConfig


NOTHING = Acquired()


def is_behind(share_partition: SharePartition, log: ShareLog) -> bool:
    """Return whether the log no longer has the record to read next, as after DeleteRecords.

    As in Kafka, a fetch that finds this out moves the start offset and is answered at once, without records.
    """
    return share_partition.fetch_offset < log.log_start_offset


def available_bytes(share_partition: SharePartition, log: ShareLog, config: ShareGroupConfig) -> int:
    """Return the size of the log from the first available record on, or 0 if nothing can be acquired.

    As in Kafka, this includes records that other members hold, so a fetch may get less than its min bytes.
    """
    if is_behind(share_partition, log):
        return 0
    # Zero if no record may be acquired, or if none can be read: uncommitted ones end a `read_committed` group's log
    # (KIP-932, "Reading transactional records").
    if not share_partition.can_acquire(config) or share_partition.fetch_offset >= _end_of_readable(log, config):
        return 0
    # DelayedShareFetch.isMinBytesSatisfied compares positions in the log in the same way: that of the first available
    # record and that of the end.
    return log.available_bytes(share_partition.fetch_offset, is_stable=_is_stable(config))


def acquire_from_log(
    share_partition: SharePartition, log: ShareLog, most: MostBytes, acquire: AcquireFor, now_ms: int
) -> Acquired:
    """Acquire records for a member and return their bytes.

    Args:
        share_partition: The share-partition, after releasing expired locks.
        log: Its partition's log.
        most: The limits of the read.
        acquire: The member, and the number of records.
        now_ms: Monotonic time.
    """
    if not available_bytes(share_partition, log, acquire.config):
        return NOTHING
    fetch_offset = share_partition.fetch_offset
    # Batches past the window cannot be acquired. Not reading them keeps a fetch's cost independent of the log's
    # length: MaxBytes alone allows 50 MB.
    limit = share_partition.start_offset + acquire.config.partition_max_record_locks
    limit = max(limit, share_partition.in_flight.end_offset + 1)
    is_stable = _is_stable(acquire.config)
    read = log.read(fetch_offset, most.max_bytes, min_one=most.min_one, before_offset=limit, is_stable=is_stable)
    batches = read.batches
    if not batches:
        return NOTHING
    # Compaction removed whole batches here. Gaps between later batches are acquired with them, and members report them
    # as GAP (KIP-932, "Fetching and acknowledging records").
    gone = [OffsetRange(fetch_offset, batches[0].base_offset - 1)] if batches[0].base_offset > fetch_offset else []
    if is_stable:
        # KIP-932, "Reading transactional records": the broker filters aborted transactions by the headers of their
        # batches, not the client (SharePartition.maybeFilterAbortedTransactionalAcquiredRecords).
        gone += _aborted(batches, log.aborted_between(fetch_offset, batches[-1].last_offset + 1))
    if gone:
        # They become terminal before anything is acquired, so that they take no part in MaxRecords. Kafka acquires
        # aborted batches first and archives them right afterwards.
        share_partition.discard(gone, acquire.config)
    ranges = share_partition.acquire(acquire.member_id, batches, acquire.wanted, acquire.config, now_ms)
    return Acquired(_bytes_of(read, ranges), ranges) if ranges else NOTHING


def _end_of_readable(log: ShareLog, config: ShareGroupConfig) -> int:
    """Return the offset after the last one that the group may read (SPEO ≤ LSO for read_committed)."""
    return log.last_stable_offset if _is_stable(config) else log.high_watermark


def _is_stable(config: ShareGroupConfig) -> bool:
    return config.isolation_level == "read_committed"


def _aborted(batches: Iterable[LogBatch], aborted: Iterable[AbortedRecords]) -> list[OffsetRange]:
    """Return the batches whose transactions were aborted. The markers stay: members acknowledge them as gaps."""
    by_producer: dict[int, list[AbortedRecords]] = {}
    for each in aborted:
        by_producer.setdefault(each.producer_id, []).append(each)
    return [
        OffsetRange(batch.base_offset, batch.last_offset)
        for batch in batches
        if batch.is_transactional
        and not batch.is_control
        and any(
            each.first_offset <= batch.base_offset < each.last_offset for each in by_producer.get(batch.producer_id, ())
        )
    ]


def _bytes_of(read: LogRead, ranges: Sequence[AcquiredRecords]) -> bytes:
    """Return the bytes of the batches from the first acquired offset to the last one."""
    first, last = ranges[0].first_offset, ranges[-1].last_offset
    # Whole batches: records of a batch cannot be cut out without recompressing it, so members skip what they did not
    # acquire (ShareFetchUtils.maybeSliceFetchRecords in Kafka).
    start = sum(batch.size_bytes for batch in read.batches if batch.last_offset < first)
    size = sum(batch.size_bytes for batch in read.batches if _overlaps(batch, first, last))
    return read.records if size == len(read.records) else read.records[start : start + size]


def _overlaps(batch: LogBatch, first: int, last: int) -> bool:
    return batch.last_offset >= first and batch.base_offset <= last
