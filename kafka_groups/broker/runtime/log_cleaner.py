"""Deletes and compacts the logs that a broker leads, a slice at a time.

Retention is looked at every `log.retention.check.interval.ms`, compaction every `log.cleaner.backoff.ms`. The logs of
internal topics are not among them: their coordinators compact those as they grow.
"""

import asyncio
import logging
from collections.abc import Callable, Generator

from attrs import frozen

from kafka_groups.broker.configs.effective import cleaner_backoff_ms, cleaning_rules
from kafka_groups.broker.log.cleaning import Cleanable, CleaningRules, ExpiredSegments, cleanable, delete_expired
from kafka_groups.broker.log.compaction import CompactionPass
from kafka_groups.broker.log.partition_log import PartitionLog
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.runtime.scheduling.full_collections import FULL_COLLECTIONS
from kafka_groups.errors import CorruptRecordError
from kafka_groups.types import TopicIdPartition, TopicPartition

__all__ = ["CleanedLog", "LogCleaner"]

_log = logging.getLogger(__name__)
_SLICE = 4_000
"""The cost of a slice, in records: some five milliseconds."""
_PAUSE_MS = 1
_COST_OF_A_LOG, _COST_OF_A_TOPIC, _COST_OF_NO_LOG = 100, 100, 3
"""The costs of looking at a log, reading the configs of a topic, and finding that there is no log."""


@frozen
class CleanedLog:
    """A log of which the cleaner deleted something.

    Attributes:
        partition: The partition.
        log_start_offset: The first offset now.
        bytes_before: The size of the log before.
        bytes_after: The size of the log now.
    """

    partition: TopicPartition
    log_start_offset: int
    bytes_before: int
    bytes_after: int


@frozen
class _Led:
    """A log that the broker leads."""

    partition: TopicPartition
    id_partition: TopicIdPartition
    log: PartitionLog
    rules: CleaningRules


@frozen(kw_only=True)
class _Task:
    """The work of a round."""

    deletes: bool
    compacts: bool
    rolls: bool = False
    report: Callable[[CleanedLog], object] = lambda _: None


class LogCleaner:
    """The cleaner of one broker.

    Args:
        broker: The parts of the broker.
        on_deleted: Takes a partition of which records were deleted.
    """

    def __init__(self, broker: BrokerParts, on_deleted: Callable[[TopicIdPartition], object]) -> None:
        self._broker = broker
        self._on_deleted = on_deleted
        now_ms = broker.cluster.clock.now_ms()
        self._retention_ms = now_ms + broker.cluster.settings.log_initial_task_delay_ms
        self._compaction_ms = self._after_backoff(now_ms)
        self._round: Generator[int, None, None] | None = None
        self._slice_ms = 0
        self._uncleanable: set[TopicIdPartition] = set()
        self._told: set[str] = set()

    def __repr__(self) -> str:
        return f"<LogCleaner of broker {self._broker.node_id}: {'idle' if self._round is None else 'at work'}>"

    def next_deadline_ms(self) -> int:
        """Return when there is something to do."""
        return min(self._retention_ms, self._compaction_ms) if self._round is None else self._slice_ms

    def expire(self, now_ms: int) -> None:
        """Do a slice of the work that is due."""
        if self._round is None:
            self._round = self._work(self._due(now_ms))
        self._do_slice()
        self._slice_ms = now_ms + _PAUSE_MS

    async def run(self, *, rolls: bool) -> list[CleanedLog]:
        """Do at once what would be due later. Others have their turn between the slices.

        Args:
            rolls: Whether active segments end first, so that all records can be compacted.
        """
        while self._round is not None:
            self._do_slice()
            await asyncio.sleep(0)
        cleaned: list[CleanedLog] = []
        mine = self._work(_Task(deletes=True, compacts=True, rolls=rolls, report=cleaned.append))
        self._round = mine
        while self._round is mine:
            self._do_slice()
            await asyncio.sleep(0)
        return cleaned

    # ------------------------------------------------------------------------------------------- rounds

    def _due(self, now_ms: int) -> _Task:
        task = _Task(deletes=now_ms >= self._retention_ms, compacts=now_ms >= self._compaction_ms)
        if task.deletes:
            self._retention_ms = now_ms + self._broker.cluster.settings.log_retention_check_interval_ms
        if task.compacts:
            self._compaction_ms = self._after_backoff(now_ms)
        return task

    def _after_backoff(self, now_ms: int) -> int:
        return now_ms + max(cleaner_backoff_ms(self._broker.configs), _PAUSE_MS)

    def _do_slice(self) -> None:
        cost = 0
        while self._round is not None and cost < _SLICE:
            step = next(self._round, None)
            if step is None:
                self._round = None
            else:
                cost += step

    def _work(self, task: _Task) -> Generator[int, None, None]:
        for topic in self._broker.cluster.metadata.topics():
            # The configs are read when it is the topic's turn.
            # Coordinators compact their own logs, see `InternalLog.compact_some`.
            rules = None if topic.is_internal else cleaning_rules(self._broker.configs, topic.name)
            yield _COST_OF_A_TOPIC
            if rules is not None and (task.deletes or (task.compacts and rules.compacts)):
                yield from self._work_on_topic(topic, rules, task)

    def _work_on_topic(self, topic: TopicMetadata, rules: CleaningRules, task: _Task) -> Generator[int, None, None]:
        for index in (each.partition for each in topic.partitions if each.leader_id == self._broker.node_id):
            log = self._broker.cluster.logs.find(topic.topic_id, index)
            if log is None:
                yield _COST_OF_NO_LOG
            else:
                led = _Led(TopicPartition(topic.name, index), topic.topic_id_partition(index), log, rules)
                yield from self._work_on(led, task)

    def _work_on(self, led: _Led, task: _Task) -> Generator[int, None, None]:
        before = led.log.size_bytes
        if task.rolls:
            led.log.roll()
        # Retention is looked at whenever a log is, because it costs almost nothing. Kafka has a timer for each.
        self._delete_expired(led)
        yield _COST_OF_A_LOG
        if task.compacts and led.rules.compacts and led.id_partition not in self._uncleanable:
            yield from self._compact(led)
        self._report(led, before, task)

    def _report(self, led: _Led, bytes_before: int, task: _Task) -> None:
        log = led.log
        if log.size_bytes < bytes_before:
            task.report(CleanedLog(led.partition, log.log_start_offset, bytes_before, log.size_bytes))

    # ---------------------------------------------------------------------------------------- retention

    def _delete_expired(self, led: _Led) -> None:
        wall_ms = self._broker.cluster.clock.wall_ms()
        expired = delete_expired(led.log, led.rules, wall_ms)
        if expired:
            self._log_deletion(led, expired, wall_ms)
            self._on_deleted(led.id_partition)

    def _log_deletion(self, led: _Led, expired: ExpiredSegments, wall_ms: int) -> None:
        _log.info(
            "deleted %d bytes of %s for retention.bytes=%d and %d bytes for retention.ms=%d; it begins at offset %d",
            sum(segment.size_bytes for segment in expired.by_size),
            led.partition,
            led.rules.retention_bytes,
            sum(segment.size_bytes for segment in expired.by_age),
            led.rules.retention_ms,
            led.log.log_start_offset,
        )
        topic = led.partition.topic
        # These records were written a short time ago. Their producer probably does not know that timestamps decide how
        # long they stay.
        was_old = any(wall_ms - segment.modified_ms <= led.rules.retention_ms for segment in expired.by_age)
        if was_old and topic not in self._told:
            self._told.add(topic)
            _log.warning(
                "deleted records of topic '%s' that were written with timestamps older than its retention.ms of %d: "
                "to keep records with old timestamps, set retention.ms=-1 on the topic",
                topic,
                led.rules.retention_ms,
            )

    # --------------------------------------------------------------------------------------- compaction

    def _compact(self, led: _Led) -> Generator[int, None, None]:
        """Compact a log until it is not due any more."""
        while (part := self._due_part(led)) is not None:
            FULL_COLLECTIONS.postpone(self)  # a pass makes objects for all records, which are gone after it
            try:
                yield from CompactionPass(led.log, part, led.rules, self._broker.cluster.clock.wall_ms()).work()
            except CorruptRecordError as error:
                # Kafka marks such a partition as uncleanable, too, and goes on with the others
                # (LogCleanerManager.markPartitionUncleanable).
                self._give_up(led, error)
                return
            finally:
                FULL_COLLECTIONS.resume(self)
            if led.log.clean_offset <= part.dirty_offset:
                return  # its segments were deleted during the pass

    def _give_up(self, led: _Led, error: CorruptRecordError) -> None:
        self._uncleanable.add(led.id_partition)
        _log.warning("%s is no longer compacted, because a batch cannot be decoded: %s", led.partition, error)

    def _due_part(self, led: _Led) -> Cleanable | None:
        part = cleanable(led.log, led.rules, self._broker.cluster.clock.wall_ms())
        return part if part.is_due(led.rules) else None
