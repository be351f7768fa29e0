"""Sends dead letters again as a member of a share group, which remembers those that are done.

What is sent is accepted, and what is skipped is rejected: neither is delivered to the group again, and both stay in the
topic. What could not be written is released.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from attrs import fields, frozen

from kafka_groups.admin.rules.returned_values import ShareOffset
from kafka_groups.admin.rules.share_offsets import describe_offsets
from kafka_groups.client.assembly import Environment
from kafka_groups.config.clients.connection import ClientConfig
from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import KafkaGroupsError, OperationTimeoutError
from kafka_groups.errors.texts import counted, sentences
from kafka_groups.share.aio import AsyncKafkaShareConsumer
from kafka_groups.share.dead_letters.letter_planner import FailedLetter
from kafka_groups.share.dead_letters.letter_sender import LetterResult, LetterSender, SentLetter
from kafka_groups.share.dead_letters.rules.dead_letter_records import DeadLetterRecord, RecordPlace
from kafka_groups.share.dead_letters.rules.selections import EVERYTHING
from kafka_groups.share.dead_letters.rules.sending import SkippedLetter
from kafka_groups.share.dead_letters.topic import Bounds, DeadLetterTopic
from kafka_groups.share.delivery.commits import CommitResult
from kafka_groups.share.delivery.records import ShareRecord
from kafka_groups.share.delivery.returned import ArchivedRecords
from kafka_groups.share.workers.group_start import set_group_start
from kafka_groups.share.workers.start_option import EARLIEST, GroupStart
from kafka_groups.types import AcknowledgeType, FetchedRecord, TopicPartition

__all__ = ["GroupResending", "LettersLeft", "PartitionLeft"]

Consumer = AsyncKafkaShareConsumer[bytes, bytes]

_IN_HAND: Final = 500
"""The most dead letters in hand at a time. If the command is killed, so many may be sent twice."""
_POLL_S: Final = 1.0
_NO_TIMESTAMP: Final = -1
_ACKNOWLEDGE: Final[Mapping[type[LetterResult], AcknowledgeType]] = {
    SentLetter: AcknowledgeType.ACCEPT,
    SkippedLetter: AcknowledgeType.REJECT,
    FailedLetter: AcknowledgeType.RELEASE,
}


@frozen
class PartitionLeft:
    """The dead letters of a partition that a group has not handled.

    Attributes:
        start: The offset of the first one, or an earlier one: brokers write it later than what was acknowledged.
        end: The end of the partition.
        count: Their largest possible number.
        is_known: Whether the brokers count them. Otherwise, some of them may not exist.
    """

    start: int
    end: int
    count: int
    is_known: bool


@frozen
class LettersLeft:
    """The dead letters that a group has not handled, by partition."""

    partitions: Mapping[TopicPartition, PartitionLeft]

    @property
    def count(self) -> int:
        """Their largest possible number."""
        return sum(each.count for each in self.partitions.values())

    @property
    def is_known(self) -> bool:
        """True if the brokers count them. Otherwise, some of them may not exist."""
        return all(each.is_known for each in self.partitions.values())

    @property
    def bounds(self) -> Bounds:
        """The parts of the log that have them."""
        return {place: (each.start, each.end) for place, each in self.partitions.items() if each.count}


class GroupResending:
    """The group that remembers which dead letters were sent again, and a member of it.

    Args:
        topic: The dead-letter topic.
        config: How to reach the brokers.
        timeout_ms: The longest wait for dead letters that are there.
        environment: Network, clock and randomness.

    Attributes:
        group_id: The share group.
    """

    def __init__(
        self, topic: DeadLetterTopic, config: ClientConfig, timeout_ms: int, environment: Environment | None = None
    ) -> None:
        self.group_id = f"{topic.name}-resend"
        self._topic = topic
        self._config = config
        self._timeout_ms = timeout_ms
        self._environment = environment or Environment()

    def __repr__(self) -> str:
        return f"<GroupResending {self.group_id} of {self._topic!r}>"

    # ------------------------------------------------------------------------------------- what is left

    async def left(self) -> LettersLeft:
        """Return the dead letters that the group has not handled.

        Raises:
            KafkaGroupsError: The brokers do not tell.
        """
        offsets, bounds = await self._offsets(), await self._topic.bounds(EVERYTHING)
        return LettersLeft({place: _left(bounds[place], offsets.get(place)) for place in bounds})

    async def _offsets(self) -> Mapping[TopicPartition, ShareOffset]:
        # Without names of partitions, brokers answer for a group that does not exist, too.
        described = await describe_offsets(self._topic.ask(), {self.group_id: None})
        found = described[self.group_id]
        return {place: offset for place, offset in found.values.items() if place.topic == self._topic.name}

    # ------------------------------------------------------------------------------------------ sending

    async def begin_at_start(self) -> None:
        """Have the group begin with the oldest dead letters, before its first member joins.

        Raises:
            ConfigurationError: The group begins elsewhere, or you may not read or set that.
            KafkaGroupsError: The brokers cannot be used.
        """
        start = GroupStart(self.group_id, EARLIEST, f"Sending {self._topic.name} again")
        await set_group_start(start, self._config, self._environment)

    async def send(self, sender: LetterSender, most: int, report: Callable[[LetterResult], None]) -> None:
        """Send dead letters until there are no more, or one could not be written.

        Args:
            sender: Sends them.
            most: The largest number of them.
            report: Receives the result of each.

        Raises:
            OperationTimeoutError: The group has dead letters that it does not deliver.
            KafkaGroupsError: The group, the topic or the brokers cannot be used.
        """
        archived: list[ArchivedRecords] = []
        config = _member_config(self._config, self.group_id, most)
        async with AsyncKafkaShareConsumer(config, environment=self._environment) as consumer:
            consumer.set_archive_callback(archived.append)
            await consumer.subscribe([self._topic.name])
            await self._send_all(consumer, sender, most, report)
        for each in archived:
            for offset in each.offsets:
                report(self._lost(RecordPlace(each.partition, offset), each.delivery_limit))

    async def _send_all(
        self, consumer: Consumer, sender: LetterSender, most: int, report: Callable[[LetterResult], None]
    ) -> None:
        clock = self._environment.clock
        idle_since_ms = clock.now_ms()
        while most > 0:
            records = list(await consumer.poll(timeout=_POLL_S))
            if not records and await self._is_over(clock.now_ms() - idle_since_ms):
                return
            if records:
                results = await self._send(consumer, sender, records, most)
                for result in results:
                    report(result)
                if any(isinstance(result, FailedLetter) for result in results):
                    return
                most -= len(results)
                idle_since_ms = clock.now_ms()

    async def _is_over(self, idle_ms: int) -> bool:
        left = await self.left()
        if not left.count or (idle_ms >= self._timeout_ms and not left.is_known):
            return True
        if idle_ms < self._timeout_ms:
            return False
        raise OperationTimeoutError(
            f"The share group {self.group_id} has {counted(left.count, 'dead letter')} that it did not deliver"
            f" within {self._timeout_ms} ms. Another member may hold them: stop it, or wait until their locks expire,"
            " and try again."
        )

    async def _send(
        self, consumer: Consumer, sender: LetterSender, records: Sequence[ShareRecord[bytes, bytes]], most: int
    ) -> Sequence[LetterResult]:
        wanted = records[:most]
        results = await sender.send([_letter(record) for record in wanted])
        for record, result in zip(wanted, results, strict=True):
            consumer.acknowledge(record, _ACKNOWLEDGE[type(result)])
        for record in records[most:]:
            consumer.acknowledge(record, AcknowledgeType.RELEASE)
        refused = _errors_of(await consumer.commit_sync())
        return [self._acknowledged(each, refused.get(each.place.partition)) for each in results]

    def _acknowledged(self, result: LetterResult, error: KafkaGroupsError | None) -> LetterResult:
        if error is None or isinstance(result, FailedLetter):
            return result
        done = "sent" if isinstance(result, SentLetter) else "skipped"
        text = f"It was {done}, but the share group {self.group_id} did not accept that: {error}"
        return FailedLetter(result.place, KafkaGroupsError(sentences(text, "The group may deliver it again")))

    def _lost(self, place: RecordPlace, limit: int) -> FailedLetter:
        text = f"The share group {self.group_id} has delivered it {limit} times and does not deliver it again"
        remedy = f"To send it, name it: kafka-groups dead-letters send-again {self._topic.name} {place}"
        return FailedLetter(place, KafkaGroupsError(sentences(text, remedy)))


def _member_config(config: ClientConfig, group_id: str, most: int) -> ShareConsumerConfig:
    return ShareConsumerConfig(
        **{field.name: getattr(config, field.name) for field in fields(ClientConfig)},
        group_id=group_id,
        acknowledgement_mode="explicit",
        # Each delivery counts, so no more is acquired than what is handled at once.
        acquire_mode="record_limit",
        max_poll_records=min(most, _IN_HAND),
        prefetch_batches=0,
        auto_renew=True,  # a write may take longer than a lock lasts
    )


def _left(bounds: tuple[int, int], offset: ShareOffset | None) -> PartitionLeft:
    begin, end = bounds
    start = begin if offset is None or offset.start_offset is None else max(begin, offset.start_offset)
    if offset is not None and offset.lag is not None:
        return PartitionLeft(start, end, offset.lag, is_known=True)
    # Before the group's first acknowledgement, and with older brokers. An empty partition has nothing left for certain.
    return PartitionLeft(start, end, end - start, is_known=start == end)


def _letter(record: ShareRecord[Any, Any]) -> DeadLetterRecord:
    timestamp_ms = _NO_TIMESTAMP if record.timestamp is None else record.timestamp
    row = FetchedRecord(record.offset, record.raw_key, record.raw_value, timestamp_ms, tuple(record.headers))
    return DeadLetterRecord(TopicPartition(record.topic, record.partition), row)


def _errors_of(results: CommitResult) -> Mapping[int, KafkaGroupsError]:
    return {place.partition: error for place, error in results.items() if error is not None}
