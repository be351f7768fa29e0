"""Finds the records that a share fetch can have, and acquires them for its member.

Each method is a generator that yields after each partition, because a session may have many thousands of them. In
between, anything may happen: a session that is closed gets no more records, and a share-partition that was dropped
gives none.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from kafka_groups.broker.share_partitions.acquisition import AcquisitionLimits
from kafka_groups.broker.share_partitions.fetching import NOTHING_FETCHED, FetchedPartition, ShareFetching
from kafka_groups.broker.share_partitions.led_partitions import LedSharePartitions, ShareConfigLookup
from kafka_groups.broker.share_partitions.partition import SharePartition, SharePartitionKey
from kafka_groups.broker.share_partitions.reading import (
    AcquireFor,
    MostBytes,
    acquire_from_log,
    available_bytes,
    is_behind,
)
from kafka_groups.broker.share_partitions.sessions import ShareSessionKey, ShareSessions
from kafka_groups.errors import BrokerError, NotLeaderOrFollowerError
from kafka_groups.types import TopicIdPartition

__all__ = ["ShareCollector", "Work", "kept"]

T = TypeVar("T")

Work: TypeAlias = Generator[None, None, T]
"""Yields after each partition, and returns the result in the end."""


def kept(error: BrokerError) -> BrokerError:
    """Return an error that becomes a value. With its traceback, the variables of all callers would be kept, too."""
    error.__context__ = None
    return error.with_traceback(None)


class ShareCollector:
    """Collects the records of share fetches.

    Args:
        led: The share-partitions.
        sessions: The sessions.
        group_config: The groups' configurations.
    """

    def __init__(self, led: LedSharePartitions, sessions: ShareSessions, group_config: ShareConfigLookup) -> None:
        self._led = led
        self._sessions = sessions
        self._group_config = group_config

    def has_enough(self, fetching: ShareFetching, now_ms: int) -> Work[bool]:
        """Return whether a fetch can stop waiting, as for `SharePartitionLeader.has_enough`."""
        if not self._is_current(fetching):
            # The session was closed or replaced while the fetch waited. It ends at once and acquires nothing. Kafka
            # still acquires for the member that is gone, and the records wait for their locks to expire.
            return True
        try:
            share_partitions = yield from self._readable(fetching, now_ms)
        except NotLeaderOrFollowerError:
            # A partition moved: the response tells the new leader now instead of after MaxWaitMs.
            return True
        # Nothing to wait for: none of the partitions exists, or the request does not want to wait.
        if share_partitions is None or fetching.requested.limits.min_bytes <= 0:
            return True
        # The log has lost the next record (DeleteRecords, retention). `collect` moves the start offset, and the member
        # fetches again; Kafka answers such a read without records (ShareFetchUtils.processFetchResponse,
        # OFFSET_OUT_OF_RANGE).
        if (yield from self._behind(share_partitions)):
            return True
        return (yield from self._available_bytes(fetching, share_partitions)) >= fetching.requested.limits.min_bytes

    def collect(self, fetching: ShareFetching, now_ms: int) -> Work[dict[TopicIdPartition, FetchedPartition]]:
        """Acquire the records that are available now, as for `SharePartitionLeader.collect`."""
        found = yield from self._loaded(fetching, now_ms)
        readable = [each for each in found.values() if isinstance(each, SharePartition)]
        behind = yield from self._behind(readable)
        able = yield from self._able(fetching, readable)
        acquired = yield from self._acquire_all(fetching, able, now_ms)
        if not self._is_current(fetching):
            return {}
        # The opening fetch does not change the order: Kafka's session context does it only for those that follow.
        if fetching.session is not None and not fetching.is_full:
            fetching.session.served([partition for partition, each in acquired.items() if each.acquired.ranges])
        # After acquiring, so that this response is empty and the next one begins at the new start, as in Kafka.
        for each in self._still_led(behind):
            each.move_start(self._led.log_of(each.key.partition).log_start_offset)
        return (yield from self._results(found, acquired))

    def confirm(
        self, fetching: ShareFetching, fetched: Mapping[TopicIdPartition, FetchedPartition]
    ) -> Work[dict[TopicIdPartition, FetchedPartition]]:
        """Return what was collected as it is now, as for `SharePartitionLeader.confirm`."""
        confirmed = {}
        for partition, each in fetched.items():
            confirmed[partition] = each.confirmed(fetching.key.member_id, self._led.has)
            yield
        return confirmed

    # ----------------------------------------------------------------------------------------- loading

    def _is_current(self, fetching: ShareFetching) -> bool:
        """Return whether the fetch's session still exists. A late fetch must not acquire for a member that has left."""
        return fetching.session is not None and self._sessions.get(fetching.key) is fetching.session

    def _readable(self, fetching: ShareFetching, now_ms: int) -> Work[list[SharePartition] | None]:
        """Return the share-partitions that can be read, or None if none of the partitions exists."""
        share_partitions = []
        exists = False
        for partition in fetching.order:
            try:
                self._led.led_epoch(partition)
                exists = True
                share_partition = self._load(fetching, partition, now_ms)
            except NotLeaderOrFollowerError:
                raise
            except BrokerError:
                # Another partition may have records, so an error alone does not end the wait.
                share_partition = None  # `collect` returns the error
            if share_partition is not None:
                share_partitions.append(share_partition)
            yield
        return share_partitions if exists else None

    def _loaded(
        self, fetching: ShareFetching, now_ms: int
    ) -> Work[dict[TopicIdPartition, SharePartition | BrokerError | None]]:
        """Return the share-partition of each partition, None while it is being loaded, or why there is none."""
        found: dict[TopicIdPartition, SharePartition | BrokerError | None] = {}
        for partition in fetching.order:
            if not self._is_current(fetching):
                return {}
            try:
                found[partition] = self._load(fetching, partition, now_ms)
            except BrokerError as error:
                found[partition] = kept(error)
                # The member has been told. The next fetch reads the state again.
                self._led.forget_failure(SharePartitionKey(fetching.key.group_id, partition))
            yield
        return found

    def _results(
        self,
        found: Mapping[TopicIdPartition, SharePartition | BrokerError | None],
        acquired: Mapping[TopicIdPartition, FetchedPartition],
    ) -> Work[dict[TopicIdPartition, FetchedPartition]]:
        results = {}
        for partition, each in found.items():
            if isinstance(each, BrokerError):
                results[partition] = FetchedPartition(error=each)
            else:
                results[partition] = acquired.get(partition, NOTHING_FETCHED)
            yield
        return results

    def _load(self, fetching: ShareFetching, partition: TopicIdPartition, now_ms: int) -> SharePartition | None:
        return self._led.load(SharePartitionKey(fetching.key.group_id, partition), fetching.wall_ms, now_ms)

    # --------------------------------------------------------------------------------------- measuring

    def _behind(self, share_partitions: Sequence[SharePartition]) -> Work[list[SharePartition]]:
        behind = []
        for each in self._still_led(share_partitions):
            if is_behind(each, self._led.log_of(each.key.partition)):
                behind.append(each)
            yield
        return behind

    def _able(self, fetching: ShareFetching, share_partitions: Sequence[SharePartition]) -> Work[list[SharePartition]]:
        """Return the share-partitions below their in-flight limit, between which MaxBytes is divided."""
        config = self._group_config(fetching.key.group_id)
        able = []
        for each in share_partitions:
            if each.can_acquire(config):
                able.append(each)
            yield
        return able

    def _available_bytes(self, fetching: ShareFetching, share_partitions: Sequence[SharePartition]) -> Work[int]:
        able = yield from self._able(fetching, share_partitions)
        most_of_each = fetching.requested.limits.share_of_bytes(len(able))
        config = self._group_config(fetching.key.group_id)
        available = 0
        for each in self._still_led(able):
            available += min(available_bytes(each, self._led.log_of(each.key.partition), config), most_of_each)
            yield
        return available

    def _still_led(self, share_partitions: Iterable[SharePartition]) -> Iterable[SharePartition]:
        """Leave out those that were dropped while others had their turn. Their logs may be gone, too."""
        return (each for each in share_partitions if self._led.has(each))

    # --------------------------------------------------------------------------------------- acquiring

    def _acquire_all(
        self, fetching: ShareFetching, able: Sequence[SharePartition], now_ms: int
    ) -> Work[dict[TopicIdPartition, FetchedPartition]]:
        limits = fetching.requested.limits
        bytes_left, records_left = limits.max_bytes, limits.max_records
        most_of_each = limits.share_of_bytes(len(able))
        answers: dict[TopicIdPartition, FetchedPartition] = {}
        for share_partition in self._still_led(able):
            # MaxRecords counts over all partitions of the request. It came with Kafka 4.1; the ShareFetch of KIP-932
            # has only a PartitionMaxBytes, which is gone.
            if records_left <= 0 or not self._is_current(fetching):
                break
            # MaxBytes is divided evenly (PartitionMaxBytesStrategy.uniformPartitionMaxBytes). While nothing was read
            # yet, the first batch is returned even if it is larger, so that a large record cannot block its partition.
            most = MostBytes(min(most_of_each, max(bytes_left, 0)), min_one=bytes_left == limits.max_bytes)
            wanted = AcquisitionLimits(records_left, limits.batch_size, limits.mode)
            fetched = self._acquire(fetching.key, share_partition, wanted, most, now_ms)
            bytes_left -= len(fetched.acquired.records)
            records_left -= fetched.acquired.count
            answers[share_partition.key.partition] = fetched
            yield
        return answers

    def _acquire(
        self,
        member: ShareSessionKey,
        share_partition: SharePartition,
        wanted: AcquisitionLimits,
        most: MostBytes,
        now_ms: int,
    ) -> FetchedPartition:
        acquire = AcquireFor(member.member_id, wanted, self._group_config(member.group_id))
        log = self._led.log_of(share_partition.key.partition)
        try:
            acquired = acquire_from_log(share_partition, log, most, acquire, now_ms)
        except BrokerError as error:
            return FetchedPartition(error=kept(error))
        self._led.reschedule(share_partition)
        return FetchedPartition(acquired, share_partition=share_partition)
