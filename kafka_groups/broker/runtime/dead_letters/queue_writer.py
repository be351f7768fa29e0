"""Writes the dead letters of records that a broker archives (KIP-1191): creates queues, appends, retries, logs."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol

from attrs import define, evolve, field

from kafka_groups.broker.configs.effective import append_rules, creates_dead_letter_queues, dead_letter_queue_prefix
from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.broker.runtime.dead_letters.queue_appends import Appended
from kafka_groups.broker.runtime.dead_letters.record_copies import record_copies
from kafka_groups.broker.runtime.parts import BrokerParts
from kafka_groups.broker.share_partitions.dead_letter_refusals import GROUP_ENABLE, GroupQueue, refusal
from kafka_groups.broker.share_partitions.dead_letters import (
    DeadLetterRun,
    LetterBatch,
    LetterSource,
    RecordCopy,
    first_batch,
)
from kafka_groups.broker.share_partitions.partition import SharePartitionKey
from kafka_groups.config.cluster.broker import ShareGroupConfig
from kafka_groups.errors import (
    BrokerError,
    KafkaGroupsError,
    NetworkExceptionError,
    NotLeaderOrFollowerError,
    RequestTimedOutError,
)
from kafka_groups.protocol.messages.config_resources import TOPIC_RESOURCE
from kafka_groups.protocol.record_builder import build_batch

__all__ = ["DeadLetterCounters", "DeadLetterQueueWriter"]

_log = logging.getLogger(__name__)

_MOST_ATTEMPTS = 5
_FIRST_BACK_OFF_MS, _MOST_BACK_OFF_MS = 1_000, 30_000
_JITTER = 0.2
_MAY_PASS = (NetworkExceptionError, NotLeaderOrFollowerError, RequestTimedOutError)
"""Errors after which Kafka tries again, too."""
_CREATED_WITH = {GROUP_ENABLE: "true", "message.timestamp.type": "CreateTime"}


class Appends(Protocol):
    """Appends batches to queues. `QueueAppends` implements this."""

    def append(self, topic: TopicMetadata, partition: int, batch: bytes, done: Appended) -> None:
        """Append a batch to a partition. `done` takes None, or the error."""
        ...


@define
class DeadLetterCounters:
    """Counters of letters, and of the batches that held them.

    Attributes:
        letters: Letters that are in a queue.
        produce_requests: Batches that were sent to the leader of a queue.
        failed_produce_requests: Runs of letters that the leader of a queue did not take.
    """

    letters: int = 0
    produce_requests: int = 0
    failed_produce_requests: int = 0


@define(eq=False)
class _LetterTask:
    """Letters that are to be written.

    Attributes:
        key: The share-partition.
        run: The records whose letters are still missing.
        done: Takes whether all letters were written.
        attempts: Attempts since the last success.
    """

    key: SharePartitionKey
    run: DeadLetterRun
    done: Callable[[bool], None]
    attempts: int = field(default=0, init=False)


class DeadLetterQueueWriter:
    """Writes letters for the share-partitions that one broker leads.

    Args:
        broker: The broker.
        appends: Appends to queues, here or on other brokers.

    Attributes:
        counters: What was written so far.
    """

    def __init__(self, broker: BrokerParts, appends: Appends) -> None:
        self.counters = DeadLetterCounters()
        self._broker = broker
        self._appends = appends
        self._rng = broker.cluster.new_rng(f"{broker.node_id}/dead letters")

    def __repr__(self) -> str:
        return f"<DeadLetterQueueWriter of broker {self._broker.node_id}: {self.counters.letters} letters>"

    def write(self, key: SharePartitionKey, run: DeadLetterRun, done: Callable[[bool], None]) -> None:
        """Write the letters of a run, soon.

        Letters that cannot be written are logged as an error.

        Args:
            key: The share-partition.
            run: The records.
            done: Takes whether all letters were written. It is not called after the broker has stopped, and never
                before this returns.
        """
        self._broker.soon(partial(self._attempt, _LetterTask(key, run, done)))

    # ----------------------------------------------------------------------------------------- one attempt

    def _attempt(self, task: _LetterTask) -> None:
        config = self._broker.cluster.group_configs.share(task.key.group_id)
        refused = refusal(self._queue(task.key.group_id, config))
        # Checked before each batch, with the configs of this moment. What is wrong with a queue does not pass by
        # itself, so nothing is tried again.
        if refused is not None:
            self._fail(task, str(refused))
            return
        try:
            topic = self._existing_or_created(config.errors_deadletterqueue_topic_name)
        except KafkaGroupsError as error:
            self._fail(task, str(error))
            return
        self._append(task, config, topic)

    def _queue(self, group_id: str, config: ShareGroupConfig) -> GroupQueue:
        metadata, configs = self._broker.cluster.metadata, self._broker.configs
        name = config.errors_deadletterqueue_topic_name
        enabled = metadata.configs.config_value(TOPIC_RESOURCE, name, GROUP_ENABLE) or "false"
        return GroupQueue(
            group_id,
            name,
            prefix=dead_letter_queue_prefix(configs),
            exists=metadata.topic(name) is not None,
            is_enabled=enabled.lower() == "true",
            is_created=creates_dead_letter_queues(configs),
        )

    def _existing_or_created(self, name: str) -> TopicMetadata:
        metadata, settings = self._broker.cluster.metadata, self._broker.cluster.settings
        known = metadata.topic(name)
        if known is not None:
            return known
        return metadata.create_topic(name, settings.num_partitions, settings.default_replication_factor, _CREATED_WITH)

    def _append(self, task: _LetterTask, config: ShareGroupConfig, topic: TopicMetadata) -> None:
        max_bytes = append_rules(self._broker.configs, topic.name).max_message_bytes
        batch = self._next_batch(task, config, max_bytes)
        task.attempts += 1
        self.counters.produce_requests += 1
        # KIP-1191: the letters of a partition are in one partition of the queue.
        partition = task.key.partition.partition % topic.num_partitions
        self._appends.append(topic, partition, build_batch(batch.letters), partial(self._appended, task, batch))

    def _next_batch(self, task: _LetterTask, config: ShareGroupConfig, max_bytes: int) -> LetterBatch:
        partition = task.key.partition
        source = LetterSource(task.key.group_id, partition.topic or str(partition.topic_id), partition.partition)
        copies = self._copies(task, max_bytes) if config.errors_deadletterqueue_copy_record_enable else {}
        return first_batch(source, task.run, copies, max_bytes, self._broker.cluster.clock.wall_ms())

    def _copies(self, task: _LetterTask, max_bytes: int) -> dict[int, RecordCopy]:
        partition, cluster = task.key.partition, self._broker.cluster
        # The topic was deleted while its records were archived: there is nothing to copy.
        if cluster.metadata.partition(partition.topic_id, partition.partition) is None:
            return {}
        log = cluster.logs.get(partition.topic_id, partition.partition)
        return record_copies(log, task.run.first, task.run.last, max_bytes)

    # ------------------------------------------------------------------------------------------- outcomes

    def _appended(self, task: _LetterTask, batch: LetterBatch, error: BrokerError | None) -> None:
        if error is None:
            self.counters.letters += len(batch.letters)
            self._go_on(task, batch)
        elif isinstance(error, _MAY_PASS) and task.attempts < _MOST_ATTEMPTS:
            self._broker.later(self._back_off_ms(task.attempts), partial(self._attempt, task))
        else:
            self.counters.failed_produce_requests += 1
            exhausted = "Exhausted max retries to produce to DLQ topic without success. "
            self._fail(task, f"{exhausted if isinstance(error, _MAY_PASS) else ''}{error}")

    def _go_on(self, task: _LetterTask, batch: LetterBatch) -> None:
        if batch.last >= task.run.last:
            task.done(True)  # noqa: FBT003 - the only thing that it takes
            return
        task.run, task.attempts = evolve(task.run, first=batch.last + 1), 0
        self._attempt(task)

    def _fail(self, task: _LetterTask, reason: str) -> None:
        # KIP-1191: a queue that does not work never stops a share-partition (SharePartition.initiateDLQAndArchive in
        # Kafka, whose text this is).
        where = f"{task.key.partition} {task.run.first}-{task.run.last}"
        _log.error("Failed to write to DLQ, proceeding to ARCHIVED regardless. %s (%s)", reason, where)
        task.done(False)  # noqa: FBT003 - the only thing that it takes

    def _back_off_ms(self, attempts: int) -> int:
        # ExponentialBackoffManager in Kafka, with 5 attempts, a factor of 2 and a jitter of 20 %: 2, 4, 8 and 16 s.
        back_off_ms = (_FIRST_BACK_OFF_MS << attempts) * self._rng.uniform(1 - _JITTER, 1 + _JITTER)
        return min(round(back_off_ms), _MOST_BACK_OFF_MS)
