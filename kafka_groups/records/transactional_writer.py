"""Writes the records of a worker in transactions, together with the offsets that they come from (KIP-447)."""

import logging
import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from uuid import UUID

from attrs import evolve, frozen
from typing_extensions import override

from kafka_groups.client.membership.group_metadata import GroupMetadata
from kafka_groups.errors import OperationTimeoutError
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.transactions.coordinator_channel import ChannelSettings
from kafka_groups.records.transactions.manager import BatchesOfTransaction, TransactionManager, TransactionOptions
from kafka_groups.records.writer import EngineWriter, EngineWriterSettings
from kafka_groups.types import OffsetAndMetadata, TopicPartition

__all__ = ["TransactionSettings", "TransactionalEngineWriter"]

_log = logging.getLogger(__name__)

_NO_IDS: Mapping[TopicPartition, UUID] = MappingProxyType({})
_ABORT_MS = 1_000
"""The longest wait for the end of a transaction that is dropped. The next producer, or its timeout, ends it, too."""


@frozen
class TransactionSettings:
    """The settings of a writer's transactions.

    Attributes:
        transactional_id: The id. A writer with the same one that is older is fenced.
        timeout_ms: When the coordinator aborts a transaction that does not end (`transaction.timeout.ms`).
        topic_id: Returns the id that a topic has now, or None while that is not known. By default, the client's
            metadata tell it.
    """

    transactional_id: str
    timeout_ms: int
    topic_id: Callable[[str], UUID | None] | None = None


class TransactionalEngineWriter(EngineWriter):
    """A transactional producer of one worker, on the event loop of its client.

    A transaction begins with its first record or with its offsets. `prepare` comes before the first one. When all
    records of a transaction are given, `flush` them together with the offsets, look at `refused`, flush what follows
    from that, and `commit`. After `TransactionFailedError`, writes are ignored until `renew`; then `prepare` again.

    Args:
        client: The connections. It must not have been started.
        partition_count: Returns a topic's number of partitions, or None if there is no such topic.
        rng: Chooses partitions of records without a key.
        transaction: The settings of transactions.
        settings: The settings.
        made_again: Receives topics that were deleted and made again, with their numbers of partitions now.
    """

    def __init__(
        self,
        client: RecordsClient,
        partition_count: Callable[[str], int | None],
        rng: random.Random,
        transaction: TransactionSettings,
        settings: EngineWriterSettings | None = None,
        made_again: Callable[[Mapping[str, int]], None] | None = None,
    ) -> None:
        settings = settings or EngineWriterSettings()
        requests, batches = settings.requests, settings.batches
        batches = evolve(batches, form=evolve(batches.form, is_transactional=True))
        self._transactions = TransactionManager(
            TransactionOptions(
                transaction.transactional_id,
                transaction.timeout_ms,
                client.features_of,
                client.steady_clock.now_ms,
                transaction.topic_id or client.metadata.id_of,
                requests.principal,
            ),
            ChannelSettings(client.metadata, requests.request_timeout_ms, client.backoff, rng),
        )
        settings = evolve(settings, batches=batches)
        super().__init__(client, partition_count, rng, settings, self._transactions, made_again)
        produce = self._produce
        self._transactions.attach(
            BatchesOfTransaction(lambda: produce.is_flushed, lambda: produce.confirmed, produce.drop)
        )

    @override
    def __repr__(self) -> str:
        return f"<TransactionalEngineWriter {self._transactions!r}>"

    @property
    def has_failed(self) -> bool:
        """True if the open transaction is lost: what is written is ignored until `renew`."""
        return self._transactions.has_failed

    @property
    def expires_soon(self) -> bool:
        """True if the open transaction has lasted for four fifths of its timeout."""
        return self._transactions.expires_soon

    async def prepare(self, timeout_ms: int) -> None:
        """Fence writers with the same id, and abort what they have left open. Without effect the second time.

        Raises:
            OperationTimeoutError: The coordinator did not answer in time, or still ends the transaction of an earlier
                writer. Call it again.
            TransactionFailedError: Another writer was faster. Call `renew`.
            KafkaGroupsError: The brokers refuse the transactional id, or its timeout.
        """
        transactions = self._transactions
        transactions.prepare()
        with self.sensors.init:
            await self._wait_while(lambda: transactions.is_preparing, timeout_ms)
        transactions.check()
        if transactions.is_preparing:
            raise OperationTimeoutError(
                f"The coordinator of {transactions.transactional_id!r} has given no id for {timeout_ms / 1000:g} s. It"
                " may not be available, or still end the transaction of an earlier producer."
            )

    def send_offsets(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        who: GroupMetadata,
        topic_ids: Mapping[TopicPartition, UUID] = _NO_IDS,
    ) -> None:
        """Send offsets of a group with the transaction. Call it before `flush`, so that both are under way at once.

        It does not wait: `commit` does.

        Args:
            offsets: For each partition the offset of the next record to process.
            who: The group, and the member with its present epoch.
            topic_ids: The ids of the topics that the offsets are from, as far as they are known.
        """
        self._transactions.send_offsets(offsets, who, topic_ids)

    @override
    async def flush(self, timeout_ms: int) -> None:
        """Wait until the brokers have answered about all records.

        Raises:
            TransactionFailedError: The transaction is lost.
            DeliveryFailedError: Records without origin were refused, or records are not confirmed in time. The latter
                stay queued, and another flush waits for them again.
        """
        try:
            await super().flush(timeout_ms)
        finally:
            self._transactions.check()  # which says more than that records are not confirmed

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        who: GroupMetadata,
        timeout_ms: int,
        topic_ids: Mapping[TopicPartition, UUID] = _NO_IDS,
    ) -> None:
        """Commit the records together with offsets of a group: all of them or none.

        Args:
            offsets: For each partition the offset of the next record to process. Those that were sent are not sent
                again.
            who: The group, and the member with its present epoch.
            timeout_ms: The longest wait.
            topic_ids: The ids of the topics that the offsets are from, as far as they are known.

        Raises:
            OperationTimeoutError: The coordinators did not answer in time. Call it again with the same offsets.
            TransactionFailedError: The transaction is lost, for example because a topic of the offsets was deleted.
                Call `renew`.
            KafkaGroupsError: The brokers do not allow it.
        """
        transactions = self._transactions
        transactions.check()
        transactions.send_offsets(offsets, who, topic_ids)
        transactions.commit()
        with self.sensors.commit:
            await self._wait_while(lambda: transactions.is_committing, timeout_ms)
        transactions.check()
        if transactions.is_committing:
            missing = "" if transactions.are_offsets_stored else ", and neither has that of the group"
            raise OperationTimeoutError(
                f"The coordinator of {transactions.transactional_id!r} has not confirmed the commit for "
                f"{timeout_ms / 1000:g} s{missing}."
            )
        transactions.conclude()

    @override
    async def renew(self) -> None:
        """Drop what is queued, and the transaction. Call `prepare` before the next record."""
        self._produce.drop()
        self._transactions.abort()
        if self._client.errors.fatal is None:
            await self._wait_for_abort()
        await super().renew()

    @override
    async def close(self) -> None:
        """Abort an open transaction, if the coordinator answers soon, and drop what is queued. Also after an error."""
        self._produce.drop()
        self._transactions.close()
        await self._wait_for_abort()
        await super().close()

    async def _wait_for_abort(self) -> None:
        transactions = self._transactions
        # Readers of committed records need not wait for the timeout of the transaction then.
        if transactions.is_aborting:
            with self.sensors.abort:
                await self._client.wait(_ABORT_MS, lambda: not transactions.is_aborting, heeds_errors=False)
        if transactions.is_aborting:
            _log.info(
                "The transaction of %s is open until the next producer begins, or it times out: the coordinator has not"
                " answered.",
                transactions.transactional_id,
            )
