"""The request manager of an admin client: it drives all calls that are under way."""

from typing import Any

from kafka_groups.client.calls.call import Call, SentKeys
from kafka_groups.client.requests import NEVER_MS, ClientResponse, OutgoingRequest, PollResult
from kafka_groups.errors import KafkaGroupsError

__all__ = ["CallManager"]


class CallManager:
    """Sends the requests of calls and gives them the responses."""

    def __init__(self) -> None:
        self._calls: dict[Call[Any, Any], None] = {}

    def __len__(self) -> int:
        """Number of calls that are under way."""
        return len(self._calls)

    def begin(self, call: Call[Any, Any]) -> None:
        """Take a call in; `drop` ends that."""
        self._calls[call] = None

    def drop(self, call: Call[Any, Any]) -> None:
        """Forget a call that is done, or that nobody waits for any more."""
        self._calls.pop(call, None)

    def fail(self, error: KafkaGroupsError) -> None:
        """End all calls with an error."""
        for call in tuple(self._calls):
            call.fail(error)
        self._calls.clear()

    def poll(self, now_ms: int) -> PollResult:
        """Return the requests of all calls, and when the first of them wants to be asked again."""
        requests: list[OutgoingRequest] = []
        wait_ms = NEVER_MS
        for call in self._calls:
            result = call.poll(now_ms)
            requests += result.requests
            wait_ms = min(wait_ms, result.wait_ms)
        return PollResult(tuple(requests), wait_ms)

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Give a call its response."""
        sent: SentKeys = request.context
        sent.call.on_response(sent, answer, now_ms)

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Tell a call that a request failed."""
        sent: SentKeys = request.context
        sent.call.on_failure(sent, error, now_ms)
