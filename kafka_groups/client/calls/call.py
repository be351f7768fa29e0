"""The state of one call of an admin client: which keys wait, which are asked for, and the answers so far.

It does no I/O. Every key gets a value or an error by the call's deadline. What fails for one key does not fail others.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from attrs import frozen

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.calls.questions import Answer, Question, Unfinished, may_pass
from kafka_groups.client.calls.results import Results
from kafka_groups.client.features import if_switched_off
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse, Lane, OutgoingRequest, PollResult
from kafka_groups.errors import (
    ClientFailureError,
    ConfigurationError,
    CoordinatorNotAvailableError,
    DisconnectedError,
    FencedLeaderEpochError,
    KafkaGroupsError,
    LeaderNotAvailableError,
    NetworkError,
    NotCoordinatorError,
    NotLeaderOrFollowerError,
    OperationTimeoutError,
    ProtocolError,
    UnsupportedVersionError,
)
from kafka_groups.errors.texts import named, sentences
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.messages.metadata import MetadataResponse

__all__ = ["Call", "CallSettings", "SentKeys"]

K = TypeVar("K")
V = TypeVar("V")

_ANOTHER_BROKER = (
    CoordinatorNotAvailableError,
    FencedLeaderEpochError,
    LeaderNotAvailableError,
    NetworkError,
    NotCoordinatorError,
    NotLeaderOrFollowerError,
    OperationTimeoutError,
)
"""After these errors, the broker is looked up again."""


@frozen
class CallSettings:
    """The times of a call, and its connections.

    Attributes:
        deadline_ms: When it ends, whether or not all keys have an answer.
        timeout_ms: How long that is from its start, for messages.
        request_timeout_ms: How long a request waits for its response.
        lane: The connection that its requests use.
    """

    deadline_ms: int
    timeout_ms: int
    request_timeout_ms: int
    lane: Lane = Lane.CONTROL


@frozen(eq=False)
class SentKeys:
    """A request that is under way."""

    call: "Call[Any, Any]"
    keys: tuple[Any, ...]
    is_lookup: bool


class Call(Generic[K, V]):
    """One question, until every key has a value or an error.

    Args:
        question: The question.
        metadata: Stores the addresses of brokers.
        backoff: Delays attempts after failures.
        settings: The times.
        on_done: Called when every key has a value or an error, or the call failed.

    Attributes:
        is_done: Whether the call has ended.
        has_timed_out: Whether it ended at its deadline, with a key that has no answer.
        failure: The error that ended the whole call, or None.
    """

    def __init__(
        self,
        question: Question[K, V],
        metadata: Metadata,
        backoff: BackoffTimer,
        settings: CallSettings,
        on_done: Callable[[], None] = lambda: None,
    ) -> None:
        self._question = question
        self._all = frozenset(question.keys)
        self._metadata = metadata
        self._backoff = backoff
        self._settings = settings
        self._on_done = on_done
        self._places: dict[K, int] = dict(question.places)
        self._waiting: dict[K, None] = dict.fromkeys(question.keys)
        self._values: dict[K, V] = {}
        self._errors: dict[K, KafkaGroupsError] = {}
        self._partial: dict[K, V] = {}
        self._last_error: dict[K, KafkaGroupsError] = {}
        self._one_by_one = False
        self.is_done = False
        self.has_timed_out = False
        self.failure: KafkaGroupsError | None = None

    def __repr__(self) -> str:
        done = len(self._values) + len(self._errors)
        return f"<Call {self._question.what}: {done} of {len(self._question.keys)}>"

    @property
    def question(self) -> Question[K, V]:
        """The question."""
        return self._question

    @property
    def results(self) -> Results[K, V]:
        """Values and errors, in the order of the question's keys."""
        keys = dict.fromkeys(self._question.keys)
        values = {key: self._values[key] for key in keys if key in self._values}
        return Results(values, {key: self._errors[key] for key in keys if key in self._errors})

    def fail(self, error: KafkaGroupsError) -> None:
        """End the call: nothing of it can succeed."""
        self.failure = self.failure or error
        self._done()

    # ---------------------------------------------------------------------------------------- asking

    def poll(self, now_ms: int) -> PollResult:
        """Return what to send now, and when to ask again."""
        if now_ms >= self._settings.deadline_ms:
            self._time_out()
        self._end_if_complete()
        if self.is_done:
            return PollResult()
        wait_ms = self._backoff.remaining_ms(now_ms) if self._waiting else 0
        until_end_ms = self._settings.deadline_ms - now_ms
        # Requests that are under way come back by themselves, so only the deadline and the back-off are worth waking up
        # for.
        if wait_ms > 0 or not self._waiting:
            return PollResult(wait_ms=min(wait_ms or until_end_ms, until_end_ms))
        return PollResult(tuple(self._requests()), until_end_ms)

    def _requests(self) -> Iterable[OutgoingRequest]:
        keys = tuple(self._waiting)
        self._waiting.clear()
        lookup = self._question.lookup
        # Keys are asked for where their broker is known, and looked up where it is not, in the same turn.
        lost = {} if lookup is None else {key: None for key in keys if key not in self._places}
        if lookup is not None and lost:
            for some in [(key,) for key in lost] if self._one_by_one else [tuple(lost)]:
                yield self._request(lookup.api, None, SentKeys(self, some, is_lookup=True), lookup.build, None)
        # One request for each broker. Kafka's APIs with several keys answer only for those that the broker is
        # responsible for.
        for place, there in self._by_place(key for key in keys if key not in lost).items():
            sent = SentKeys(self, tuple(there), is_lookup=False)
            yield self._request(self._question.api, place, sent, self._question.build, self._question.newest_version)

    def _by_place(self, keys: Iterable[K]) -> dict[int | None, list[K]]:
        by_place: dict[int | None, list[K]] = {}
        for key in keys:
            by_place.setdefault(self._places.get(key), []).append(key)
        return by_place

    def _request(
        self,
        api: ApiKey,
        place: int | None,
        sent: SentKeys,
        build: Callable[[Sequence[K], int], object],
        newest_version: int | None,
    ) -> OutgoingRequest:
        return OutgoingRequest(
            api,
            lambda version: self._built(build, sent.keys, version),
            node_id=place,
            timeout_ms=self._settings.request_timeout_ms,
            context=sent,
            lane=self._settings.lane,
            newest_version=newest_version,
        )

    def _built(self, build: Callable[[Sequence[K], int], object], keys: Sequence[K], version: int) -> object:
        """Return a request. A bug ends this call, and no other."""
        try:
            return build(keys, version)
        except KafkaGroupsError:
            raise
        except Exception as error:  # a bug: all other errors are KafkaGroupsErrors
            raise ClientFailureError(
                f"Could not {self._question.what}: a bug in kafka_groups: {named(error)}"
            ) from error

    # --------------------------------------------------------------------------------------- answers

    def on_response(self, sent: SentKeys, answer: ClientResponse, now_ms: int) -> None:
        """Store what a response says about its keys, and ask again for those whose error may pass."""
        if self.is_done:
            return
        throttled_ms: int = getattr(answer.message, "throttle_time_ms", 0)  # the APIs of brokers have no quota
        self._backoff.wait(throttled_ms, now_ms)
        take = self._found if sent.is_lookup else self._answered
        answers = self._read(sent, answer.message)
        # A list, so that every key takes its answer. One back-off holds for all that failed.
        if [key for key in sent.keys if take(key, answers[key] if key in answers else _left_out(key))]:
            self._backoff.failed(now_ms)
        self._end_if_complete()

    def on_failure(self, sent: SentKeys, error: Exception, now_ms: int) -> None:
        """Ask again if the request may succeed later, perhaps at another broker.

        Raises:
            Exception: The error itself, if it is a bug.
        """
        if self.is_done:
            return
        if not isinstance(error, KafkaGroupsError):
            raise error
        # A broker before Kafka 3.0 looks up one coordinator at a time (KIP-699), so each key gets a request of its own.
        if sent.is_lookup and len(sent.keys) > 1 and isinstance(error, UnsupportedVersionError):
            self._one_by_one = True
            self._waiting |= dict.fromkeys(sent.keys)
            return
        if [key for key in sent.keys if self._refused(key, error)]:
            self._backoff.failed(now_ms)
        self._end_if_complete()

    def _read(self, sent: SentKeys, message: Any) -> Mapping[K, Any]:
        # Any Metadata response is news about the cluster, whatever it was asked for.
        if isinstance(message, MetadataResponse):
            if self._metadata.must_rebootstrap(message):
                return dict.fromkeys(sent.keys, DisconnectedError("The broker has the client rebootstrap."))
            try:
                self._metadata.check_cluster(message)
            except ConfigurationError as error:
                return dict.fromkeys(sent.keys, error)
            self._metadata.apply(message)
        lookup = self._question.lookup
        if sent.is_lookup and lookup is not None:
            return lookup.read(sent.keys, message, self._metadata)
        return self._question.read(sent.keys, message)

    def _found(self, key: K, place: int | KafkaGroupsError) -> bool:
        if isinstance(place, KafkaGroupsError):
            return self._refused(key, place)
        self._places[key] = place
        self._waiting[key] = None
        return False

    def _answered(self, key: K, answer: Answer[V]) -> bool:
        answer = if_switched_off(self._question.api, answer)
        # A part of the answer failed with an error that may pass. The rest is kept, in case time runs out.
        if isinstance(answer, Unfinished):
            self._partial[key] = answer.value
            return self._refused(key, answer.error)
        if isinstance(answer, KafkaGroupsError):
            return self._refused(key, answer)
        self._values[key] = answer
        return False

    def _refused(self, key: K, error: KafkaGroupsError) -> bool:
        """Note an error, and return whether the key will be asked for again."""
        if not may_pass(error):
            self._errors[key] = error
            return False
        # Without a lookup there is no other broker to find: the question named this one, or any will do.
        if isinstance(error, _ANOTHER_BROKER) and self._question.lookup is not None:
            self._places.pop(key, None)
        self._last_error[key] = error
        self._waiting[key] = None
        return True

    # ------------------------------------------------------------------------------------------- end

    def _time_out(self) -> None:
        for key in self._question.keys:
            if key in self._values or key in self._errors:
                continue
            # Most of an answer is more useful than a timeout.
            if key in self._partial:
                self._values[key] = self._partial[key]
            else:
                self._errors[key] = self._timeout_of(key)
                self.has_timed_out = True

    def _timeout_of(self, key: K) -> KafkaGroupsError:
        cause = self._last_error.get(key)
        why = "no response" if cause is None else str(cause)
        text = f"Could not {self._question.what} ({key}) within {self._settings.timeout_ms} ms: {why}"
        error = OperationTimeoutError(sentences(text))
        error.__cause__ = cause
        return error

    def _end_if_complete(self) -> None:
        if len(self._values) + len(self._errors) >= len(self._all):
            self._done()

    def _done(self) -> None:
        if not self.is_done:
            self.is_done = True
            self._on_done()


def _left_out(key: object) -> KafkaGroupsError:
    return ProtocolError(f"The broker's response says nothing about {key}.")
