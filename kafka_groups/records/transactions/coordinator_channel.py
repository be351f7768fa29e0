"""One coordinator: finding it, asking it one thing at a time, and waiting after it has failed."""

import random
from collections.abc import Callable
from typing import Final

from attrs import evolve, frozen

from kafka_groups.client.background import BackgroundErrors
from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.coordinators import CoordinatorManager
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse, OutgoingRequest, PollResult
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.find_coordinator import CoordinatorType
from kafka_groups.records.transactions.answers import AnswerMeaning

__all__ = ["ChannelSettings", "CoordinatorChannel", "TransactionRequest"]

_MARKERS_MS: Final = 20
"""The first wait for the markers of the transaction before, as ADD_PARTITIONS_RETRY_BACKOFF_MS in Java."""
_MARKERS_MAX_MS: Final = 1_000
"""The longest wait. Markers may take long if a leader is away."""


@frozen
class ChannelSettings:
    """The settings of the requests to coordinators.

    Attributes:
        metadata: Stores the coordinators' addresses.
        timeout_ms: How long to wait for a response (`request.timeout.ms`).
        new_backoff: Returns a back-off for requests that have failed.
        rng: Source of jitter of other waits.
    """

    metadata: Metadata
    timeout_ms: int
    new_backoff: Callable[[], BackoffTimer]
    rng: random.Random


@frozen(eq=False)
class TransactionRequest:
    """A request to a coordinator.

    Attributes:
        api: The API.
        message: The request.
        on_answer: Called with the response, its version, and the time.
        newest_version: The newest version of the API to use, or None.
    """

    api: ApiKey
    message: object
    on_answer: Callable[[ClientResponse, int], None]
    newest_version: int | None = None


class CoordinatorChannel:
    """The way to the coordinator of a transactional id or of a group.

    Args:
        key: The id.
        key_type: What the id is.
        settings: The settings of requests.

    Attributes:
        key: The id.
    """

    def __init__(self, key: str, key_type: CoordinatorType, settings: ChannelSettings) -> None:
        self.key = key
        self._settings = settings
        self._errors = BackgroundErrors()
        self._finder = CoordinatorManager(
            key,
            settings.metadata,
            self._errors,
            backoff=settings.new_backoff(),
            timeout_ms=settings.timeout_ms,
            key_type=key_type,
        )
        self._backoff = settings.new_backoff()
        self._markers = BackoffTimer(_MARKERS_MS, _MARKERS_MAX_MS, settings.rng)
        self._in_flight: TransactionRequest | None = None

    @property
    def final(self) -> KafkaGroupsError | None:
        """The error that ended the search for the coordinator, such as denied access, or None."""
        return self._errors.fatal

    @property
    def node_id(self) -> int | None:
        """The coordinator, or None while it is not known."""
        return self._finder.node_id

    def poll(self, wanted: TransactionRequest | None, now_ms: int) -> PollResult:
        """Return what to send now: the request that is wanted, or a question for the coordinator."""
        self._finder.wanted = wanted is not None
        if wanted is None or self._in_flight is not None:
            return PollResult()
        found = self._finder.poll(now_ms)
        if self._finder.node_id is None:
            return PollResult(tuple(evolve(each, context=(self, None)) for each in found.requests), found.wait_ms)
        wait_ms = max(self._backoff.remaining_ms(now_ms), self._markers.remaining_ms(now_ms))
        return PollResult(wait_ms=wait_ms) if wait_ms > 0 else PollResult((self._send(wanted),))

    def _send(self, wanted: TransactionRequest) -> OutgoingRequest:
        self._in_flight = wanted
        return OutgoingRequest(
            wanted.api,
            lambda _version: wanted.message,
            self._finder.node_id,
            self._settings.timeout_ms,
            context=(self, wanted),
            newest_version=wanted.newest_version,
        )

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Handle a response. One to a request that was given up is ignored."""
        sent: TransactionRequest | None = request.context[1]
        if sent is None:
            self._finder.on_response(request, answer, now_ms)
        elif sent is self._in_flight:
            self._in_flight = None
            sent.on_answer(answer, now_ms)
            self._backoff.wait(answer.message.throttle_time_ms, now_ms)

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> bool:
        """Handle a request that will not be answered, and return whether it was given up before."""
        sent: TransactionRequest | None = request.context[1]
        if sent is None:
            self._finder.on_failure(request, error, now_ms)
        if sent is None or sent is not self._in_flight:
            return sent is not None
        self._in_flight = None
        self.note(AnswerMeaning.FIND, now_ms)
        return False

    def note(self, meaning: AnswerMeaning, now_ms: int) -> None:
        """Wait, or find the coordinator again, as an answer demands."""
        if meaning is AnswerMeaning.DONE:
            self._backoff.succeeded()
            self._markers.succeeded()
        elif meaning is AnswerMeaning.WAIT_FOR_MARKERS:
            self._markers.failed(now_ms)
        elif meaning in (AnswerMeaning.REPEAT, AnswerMeaning.FIND):
            self._backoff.failed(now_ms)
        if meaning is AnswerMeaning.FIND:
            self._finder.mark_unknown()

    def give_up(self) -> None:
        """Ignore the answer to the request that is under way."""
        self._in_flight = None
