"""The identity of a producer without transactions: an id that any broker gives, and an epoch that it raises itself."""

from collections.abc import Callable

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.events import Area
from kafka_groups.client.requests import ClientResponse, OutgoingRequest, PollResult
from kafka_groups.errors import BrokerError, KafkaGroupsError, UnsupportedVersionError, error_for
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_groups.records.producing.outcomes import DENIED, ProducerOutcome, outcome_of
from kafka_groups.records.producing.producer_ids import NO_PRODUCER, ProducerIdAndEpoch
from kafka_groups.types import TopicPartition

__all__ = ["IdempotentIdentity"]

_NO_TIMEOUT_MS = 2**31 - 1
"""The transaction timeout of producers without transactions, as Java's send it."""
_LAST_EPOCH = 32_766
"""The last epoch that is used. The one after it is for brokers that fence a producer."""


class IdempotentIdentity:
    """Gets a producer id when the first batch wants to be sent, and raises its epoch (KIP-98, KIP-360).

    It is a request manager, too. Have the engine ask it after the `ProduceManager`, so that the question about an id is
    sent in the turn in which the batch wants one.

    Args:
        errors: Receives events, and errors that no retry will help.
        backoff: Delays attempts after failures.
        timeout_ms: How long to wait for a response.
        denial: Returns the error to report if a right is missing.
        holds_denied: Whether it asks again if a right is missing, and does not report that as the end.

    Attributes:
        producer: The id and the epoch, or `NO_PRODUCER`.
        denied: The error if a right is missing for which it waits, or None.
    """

    def __init__(
        self,
        errors: BackgroundErrors,
        backoff: BackoffTimer,
        timeout_ms: int,
        *,
        denial: Callable[[ErrorCode], BrokerError] = error_for,
        holds_denied: bool = False,
    ) -> None:
        self._denial = denial
        self._errors = errors
        self._backoff = backoff
        self._timeout_ms = timeout_ms
        self._holds_denied = holds_denied
        self._is_wanted = self._in_flight = False
        self.producer = NO_PRODUCER
        self.denied: BrokerError | None = None

    def __repr__(self) -> str:
        return f"<IdempotentIdentity {self.producer.producer_id} in epoch {self.producer.epoch}>"

    # ---------------------------------------------------------------------------------------- identity

    @property
    def is_transactional(self) -> bool:
        """False: batches belong to no transaction."""
        return False

    @property
    def transactional_id(self) -> str | None:
        """None: there is no transactional id."""
        return None

    @property
    def newest_produce_version(self) -> int | None:
        """None: all versions are fine."""
        return None

    def may_produce(self, _partition: TopicPartition) -> bool:
        """Return whether there is an id. Asking notes that one is wanted."""
        self._is_wanted = True
        return self.producer != NO_PRODUCER

    def note_produced(self, _partition: TopicPartition) -> None:
        """Do nothing: there is no transaction to open."""

    def lose(self, error: KafkaGroupsError) -> None:
        """Report an error after which nothing can be written."""
        self._errors.report_fatal(error)

    def raise_epoch(self) -> None:
        """Continue with the next epoch, or with a new id once its epochs are used up."""
        # KIP-360: brokers take the next epoch of a producer without transactions, although no coordinator gave it.
        known = self.producer
        if known.epoch < _LAST_EPOCH:
            self.producer = ProducerIdAndEpoch(known.producer_id, known.epoch + 1)
            return
        self.producer = NO_PRODUCER
        self._is_wanted = True

    def renew(self) -> None:
        """Forget the id. The next batch gets another one."""
        self.producer = NO_PRODUCER
        self._is_wanted = False

    # ---------------------------------------------------------------------------------------- requests

    def poll(self, now_ms: int) -> PollResult:
        """Return the question for an id, if one is wanted."""
        if not self._is_wanted or self._in_flight or self.producer != NO_PRODUCER:
            return PollResult()
        wait_ms = self._backoff.remaining_ms(now_ms)
        if wait_ms > 0:
            return PollResult(wait_ms=wait_ms)
        self._in_flight = True
        message = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_NO_TIMEOUT_MS)
        request = OutgoingRequest(
            ApiKey.INIT_PRODUCER_ID, lambda _version: message, node_id=None, timeout_ms=self._timeout_ms
        )
        return PollResult((request,))

    def on_response(self, _request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Take the id, or ask again if the error may pass."""
        self._in_flight = False
        response: InitProducerIdResponse = answer.message
        outcome = outcome_of(ApiKey.INIT_PRODUCER_ID, response.error_code, is_transactional=False)
        if outcome is ProducerOutcome.DONE:
            self.producer = ProducerIdAndEpoch(response.producer_id, response.producer_epoch)
            self._is_wanted, self.denied = False, None
            self._backoff.succeeded()
        elif self._holds_denied and response.error_code in DENIED:
            self.denied = self._denial(response.error_code)
            self._refused(self.denied, ProducerOutcome.RETRY, now_ms)
        else:
            told = self._denial if response.error_code in DENIED else error_for
            self._refused(told(response.error_code), outcome, now_ms)
        self._backoff.wait(response.throttle_time_ms, now_ms)

    def _refused(self, error: KafkaGroupsError, outcome: ProducerOutcome, now_ms: int) -> None:
        if outcome is not ProducerOutcome.RETRY:
            self._errors.report_fatal(error)
        # Brokers that have just been started need a moment before they have ids.
        if self._backoff.failures:
            self._errors.events.warn(Area.RECORDS, "producer id", f"No broker gives a producer id: {error} Retrying.")
        self._backoff.failed(now_ms)

    def on_failure(self, _request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Ask again after the back-off, unless no broker has the API."""
        self._in_flight = False
        if isinstance(error, UnsupportedVersionError):
            self._errors.report_fatal(error)
        self._backoff.failed(now_ms)
