"""What is written about dead letters in a run, and what must hold of it in the end."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attrs import define, field

from kafka_groups.broker.metadata.topics import TopicMetadata
from kafka_groups.broker.runtime.dead_letters import queue_writer
from kafka_groups.broker.runtime.dead_letters.queue_appends import Appended, QueueAppends
from kafka_groups.broker.runtime.dead_letters.queue_writer import DeadLetterQueueWriter
from kafka_groups.broker.share_partitions.dead_letters import DeadLetterReason, DeadLetterRun
from kafka_groups.broker.share_partitions.led_partitions import LedSharePartitions
from kafka_groups.broker.share_partitions.partition import SharePartitionKey
from kafka_groups.broker.share_partitions.record_state import RecordState
from kafka_groups.errors import BrokerError, NetworkExceptionError
from kafka_groups.protocol.record_batch import iter_batches
from kafka_groups.testing.simulation import SimulatedWorld

__all__ = ["LetterJournal", "journal_of_letters"]

Place = tuple[int, int]
"""Partition and offset of a record."""

_LOGGED = re.compile(r"\((?P<topic>\S+)-(?P<partition>\d+) (?P<first>\d+)-(?P<last>\d+)\)$")


class _LogReader(logging.Handler):
    """Passes lines of a log on."""

    def __init__(self, take: Callable[[str], None]) -> None:
        super().__init__()
        self._take = take

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line."""
        self._take(record.getMessage())


@define
class LetterJournal:
    """What happened to the records of one topic.

    Attributes:
        world: The world.
        asked: How often the letter of a record was asked for.
        uncertain: How often a letter was sent whose answer did not come, so that it is sent again.
        logged: Records without a letter, of which the log says why.
        drops: How often a broker forgot the share-partitions of a group without a change of leader.
        early: Letters that were asked for before their record was stored as ARCHIVING.
    """

    world: SimulatedWorld
    asked: Counter[Place] = field(factory=Counter)
    uncertain: Counter[Place] = field(factory=Counter)
    logged: set[Place] = field(factory=set)
    drops: int = 0
    early: list[str] = field(factory=list)

    def log(self, line: str) -> None:
        """Take a line of the writer's log."""
        found = _LOGGED.search(line)
        assert found is not None, line
        for offset in range(int(found["first"]), int(found["last"]) + 1):
            self.logged.add((int(found["partition"]), offset))

    def ask(self, key: SharePartitionKey, run: DeadLetterRun) -> None:
        """Note that the letters of a run are to be written."""
        partition = key.partition.partition
        self.asked.update((partition, offset) for offset in range(run.first, run.last + 1))
        state = self.world.cluster._core.parts.directory.state_now((key.group_id, key.partition.topic_id, partition))
        # A lock that expired while the coordinator was away has its letters without the state, as in Kafka.
        if state is None or run.reason is not DeadLetterReason.REJECTED:
            return
        stored = {
            offset
            for batch in state.batches
            if batch.delivery_state in (RecordState.ARCHIVING, RecordState.ARCHIVED)
            for offset in range(batch.first_offset, batch.last_offset + 1)
        }
        for offset in range(max(run.first, state.start_offset), run.last + 1):
            if offset not in stored:
                self.early.append(f"{key.partition}@{offset}: a letter before the record is stored as ARCHIVING")

    def violations(self, group_id: str, topic: str, queue: str) -> list[str]:
        """Return what must not have happened."""
        group, metadata = self.world.cluster.group(group_id), self.world.cluster.metadata
        ended = {(each.partition, each.offset) for each in [*group.rejected, *group.archived]}
        letters = Counter((each.partition, each.offset) for each in group.dead_letters)
        self.world.struck["letters"] += letters.total()
        self.world.struck["letters again"] += letters.total() - len(letters)
        self.world.struck["logged reasons"] += len(self.logged)
        found = metadata.topic(topic)
        assert found is not None
        changes = {each.partition: each.leader_epoch for each in found.partitions}
        missing = sorted(ended - set(letters) - self.logged)
        return [
            *self.early,
            *([f"the group still has a lag of {group.lag}"] if group.lag else []),
            *(f"{topic}-{place[0]}@{place[1]}: neither a letter nor a logged reason" for place in missing),
            *(
                f"{topic}-{place[0]}@{place[1]}: {count} letters, {self.asked[place]} were asked for"
                for place, count in sorted(letters.items())
                if count > self.asked[place] + self.uncertain[place]
            ),
            *(
                f"{topic}-{place[0]}@{place[1]}: asked for {count} times with {changes[place[0]]} changes of leader"
                for place, count in sorted(self.asked.items())
                if count > 1 + changes[place[0]] + self.drops
            ),
        ]


@contextmanager
def journal_of_letters(world: SimulatedWorld) -> Iterator[LetterJournal]:
    """Keep a journal of what the brokers of a world write."""
    journal = LetterJournal(world)
    write, append, drop = DeadLetterQueueWriter.write, QueueAppends.append, LedSharePartitions.drop_group

    def noted_write(
        self: DeadLetterQueueWriter, key: SharePartitionKey, run: DeadLetterRun, done: Callable[[bool], None]
    ) -> None:
        journal.ask(key, run)
        write(self, key, run, done)

    def noted_append(self: QueueAppends, topic: TopicMetadata, partition: int, batch: bytes, done: Appended) -> None:
        def noted_done(error: BrokerError | None) -> None:
            if isinstance(error, NetworkExceptionError):
                journal.uncertain.update(_places(batch))
            done(error)

        append(self, topic, partition, batch, noted_done)

    def noted_drop(self: LedSharePartitions, group_id: str) -> None:
        journal.drops += bool(self.of_group(group_id))
        drop(self, group_id)

    logger = logging.getLogger(queue_writer.__name__)
    propagates, logger.propagate = logger.propagate, False
    reader = _LogReader(journal.log)
    logger.addHandler(reader)
    DeadLetterQueueWriter.write, QueueAppends.append = noted_write, noted_append  # type: ignore[method-assign]
    LedSharePartitions.drop_group = noted_drop  # type: ignore[method-assign]
    try:
        yield journal
    finally:
        DeadLetterQueueWriter.write, QueueAppends.append = write, append  # type: ignore[method-assign]
        LedSharePartitions.drop_group = drop  # type: ignore[method-assign]
        logger.removeHandler(reader)
        logger.propagate = propagates


def _places(batch: bytes) -> Iterator[Place]:
    for each in iter_batches(batch):
        for record in each.records():
            headers = dict(record.headers)
            yield int(headers["__dlq.errors.partition"] or b""), int(headers["__dlq.errors.offset"] or b"")
