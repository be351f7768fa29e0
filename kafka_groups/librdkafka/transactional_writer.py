"""Writes the records and changelogs of tasks in transactions, together with the offsets that they come from (KIP-447).

A transaction begins with its first record. After any error the producer is dropped, as librdkafka may fail the next
transaction of the same one, too. A new producer with the same transactional id fences the one before and aborts what it
has left open.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as Position

from kafka_groups.errors import (
    DeliveryFailedError,
    InvalidTransactionTimeoutError,
    KafkaGroupsError,
    OperationTimeoutError,
    TransactionExpiredError,
    TransactionFailedError,
)
from kafka_groups.librdkafka.bounded_calls import BoundedCalls
from kafka_groups.librdkafka.failures import error_in, failure_of
from kafka_groups.librdkafka.ordered_writer import DeliveryReport, OrderedWriter
from kafka_groups.net.clock import Clock
from kafka_groups.types import Headers, OffsetAndMetadata, TopicPartition

__all__ = ["TransactionalWriter"]

_log = logging.getLogger(__name__)

_LOST = (KafkaError._FATAL, KafkaError._FENCED, KafkaError._STATE)
"""Errors of a producer that cannot continue its transaction. After a fatal error, all calls fail with `_FATAL`."""
_RENEWED = frozenset({
    *_LOST, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, KafkaError._DESTROY,
    KafkaError._INCONSISTENT, KafkaError._GAPLESS_GUARANTEE,
})  # fmt: skip
"""Errors about the state of a producer. They are final for it, and pass with the next one, which `renew` makes."""
_LATEST_SECONDS = 2.0
"""The time after its timeout in which a call of librdkafka must have returned."""
_ABORT_SECONDS = 1.0
"""The time that closing waits for the abort of an open transaction. Other workers could not take its tasks before."""


class TransactionalWriter(OrderedWriter):
    """A transactional producer for one thread.

    Once a record has failed, the transaction is lost: writes are ignored until `renew`, and `check` raises an error.

    Args:
        config: Keys as for `DurableProducer`.
        transactional_id: The id. A writer with the same id that is older is fenced.
        timeout_ms: When the coordinator aborts a transaction that does not end (`transaction.timeout.ms`).
        clock: Tells the time.
    """

    def __init__(
        self,
        config: Mapping[str, object],
        transactional_id: str,
        timeout_ms: int,
        clock: Clock | None = None,
    ) -> None:
        transactional = {
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
            "message.timeout.ms": timeout_ms,
        }
        super().__init__({**config, **transactional}, clock)
        self._timeout_ms = timeout_ms
        self._begun_ms = 0
        self._calls = BoundedCalls()
        self._is_prepared = False
        self._is_open = False
        self._has_offsets = False
        self._failure: KafkaGroupsError | None = None

    @property
    def has_failed(self) -> bool:
        """True if the transaction cannot be committed any more."""
        return self._failure is not None

    def prepare(self, timeout_s: float) -> None:
        """Fence writers with the same id, and abort what they have left open. Blocks; without effect the second time.

        Raises:
            OperationTimeoutError: The coordinator did not answer in time. Call it again.
            KafkaGroupsError: The brokers refuse the transactional id, or its timeout.
        """
        if self._is_prepared:
            return
        try:
            self._transact(self._producer.init_transactions, timeout_s, "The producer cannot begin")
        except InvalidTransactionTimeoutError as error:
            raise InvalidTransactionTimeoutError(
                f"The brokers do not allow transactions of up to {self._timeout_ms} ms. Set transaction.timeout.ms of "
                "the producer to what their transaction.max.timeout.ms allows, or raise that."
            ) from error
        self._is_prepared = True

    def check(self) -> None:
        """Raise an error if the transaction is lost.

        Raises:
            TransactionFailedError: A record was not written, or the producer was fenced.
        """
        if self._failure is not None:
            raise TransactionFailedError(f"The transaction failed: {self._failure}") from self._failure

    def wait_for_room(self, timeout_s: float) -> bool:
        """Hand waiting records to the producer's queue. If the producer has failed, none of them waits any more."""
        try:
            return super().wait_for_room(timeout_s)
        except KafkaGroupsError as error:
            self._fail(error)
            return True

    def flush(self, timeout_s: float) -> None:
        """Wait until the brokers have answered about all records.

        Raises:
            TransactionFailedError: The transaction is lost.
            DeliveryFailedError: Records are not confirmed in time; another flush waits for them again.
        """
        try:
            if self._failure is None:
                super().flush(timeout_s)
        except DeliveryFailedError:
            raise
        except KafkaGroupsError as error:
            self._fail(error)
        finally:
            self.check()  # which says more than that records are not confirmed

    def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group_metadata: bytes, timeout_s: float
    ) -> None:
        """Commit the records together with offsets of a group: all of them or none. Blocks.

        Args:
            offsets: For each partition the offset of the next record to process.
            group_metadata: What `StreamsGroupMember.group_metadata` returned after the flush.
            timeout_s: Longest wait for the offsets, and for the end of the transaction, in seconds.

        Raises:
            OperationTimeoutError: The coordinators did not answer in time. Call it again with the same offsets.
            TransactionFailedError: The transaction was aborted. Call `renew`.
            KafkaGroupsError: The brokers do not allow it.
        """
        self._begin()
        self.check()
        if not self._has_offsets:
            positions = [_position(place, each) for place, each in offsets.items()]
            send = partial(self._producer.send_offsets_to_transaction, positions, group_metadata)
            self._transact(send, timeout_s, "The offsets were not stored")
            self._has_offsets = True
        self._transact(self._producer.commit_transaction, timeout_s, "The transaction was not committed")
        self._is_open = self._has_offsets = False

    def renew(self) -> None:
        """Drop the producer and what it has queued. Call `prepare` before the next record."""
        self._is_open = False  # the next producer aborts its transaction
        super().renew()
        self._failure = None
        self._is_prepared = self._is_open = self._has_offsets = False

    def close(self) -> None:
        """Abort an open transaction, if the coordinator answers soon, and drop what is queued."""
        if self._is_open:
            self._waiting.clear()
            self._producer.purge()
            abort = partial(self._producer.abort_transaction, _ABORT_SECONDS)
            try:
                self._calls.call(abort, _ABORT_SECONDS + _LATEST_SECONDS)
            except (KafkaException, TimeoutError) as error:
                _log.info("A transaction is left open until it times out: %s", error)
        super().close()
        self._calls.close()

    # ------------------------------------------------------------------------------------------ insides

    def _queue(  # noqa: PLR0913, PLR0917 - the parts of a record
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        timestamp_ms: int,
        headers: Headers,
        report: DeliveryReport,
    ) -> None:
        if self._failure is None:
            self._begin()
            super()._queue(topic, value, key, partition, timestamp_ms, headers, report)

    def _begin(self) -> None:
        if not self._is_open and self._failure is None:
            try:
                self._producer.begin_transaction()
            except KafkaException as error:
                self._lose(error_in(error), "A transaction cannot begin")
            else:
                self._is_open = True
                self._begun_ms = self._clock.now_ms()

    def _refusal(self, error: KafkaError, topic: str) -> KafkaGroupsError | None:
        """Return the error of a record that its producer refuses; None if the whole transaction is lost."""
        failure = super()._refusal(error, topic)
        if error.code() in _LOST or error.fatal() or error.txn_requires_abort():
            self._lose(error, f"A record for {topic} cannot be written")
            return None
        return failure

    def _reported(
        self, headers: Headers, timestamp_ms: int, origin: object, error: KafkaError | None, message: Message
    ) -> None:
        if error is not None:
            self._note(error, message)
        super()._reported(headers, timestamp_ms, origin, error, message)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._note(error, message)

    def _note(self, error: KafkaError, message: Message) -> None:
        self._lose(error, f"A record for {message.topic()}-{message.partition()} was not written")

    def _lose(self, error: KafkaError, what: str) -> None:
        failure = failure_of(error, what)
        explained = self._explained(failure)
        failure.retriable |= error.code() in _RENEWED
        self._fail(explained)

    def _fail(self, failure: KafkaGroupsError) -> None:
        if not self._calls.is_given_up():  # a producer of before may still say something
            self._failure = self._failure or failure
            self._waiting.clear()

    def _explained(self, failure: KafkaGroupsError) -> KafkaGroupsError:
        """Return the error itself, or that of a transaction that was open for too long."""
        open_ms = self._clock.now_ms() - self._begun_ms if self._is_open else 0
        if failure.retriable or open_ms <= self._timeout_ms:
            return failure
        expired = TransactionExpiredError(
            f"It was open for {open_ms} ms, and the coordinator aborts it after transaction.timeout.ms, which is "
            f"{self._timeout_ms}: {failure}"
        )
        expired.__cause__ = failure
        return expired

    def _transact(self, step: Callable[[float], None], timeout_s: float, what: str) -> None:
        try:
            self._calls.call(partial(step, timeout_s), timeout_s + _LATEST_SECONDS)
        except TimeoutError as late:
            self._fail(OperationTimeoutError(f"{what}: librdkafka has not returned in time"))
            raise TransactionFailedError(f"The transaction failed: {self._failure}") from late
        except KafkaException as raised:
            error = error_in(raised)
            if error.retriable() and not error.txn_requires_abort() and not error.fatal():
                raise OperationTimeoutError(f"{what} yet: {error.str()}") from raised
            failure = failure_of(error, what)
            if error.txn_requires_abort() or error.code() in _LOST or failure.retriable:
                # librdkafka does not say that the call may be repeated. Whether it has taken effect is not known, but
                # the offsets tell it to the next producer.
                self._lose(error, what)
                failure = self._failure or failure
                raise TransactionFailedError(f"The transaction failed: {failure}") from failure
            raise failure from raised


def _position(place: TopicPartition, offset: OffsetAndMetadata) -> Position:
    return Position(place.topic, place.partition, offset.offset, metadata=offset.metadata)
