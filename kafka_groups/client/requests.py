"""The contract between the engine and the concerns of a client: each concern is a request manager.

A manager never waits and never reads a clock. The engine asks it what to send, sends it, hands back the response,
and sleeps until the earliest time that a manager named.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

from attrs import frozen

from kafka_groups.protocol.apis import ApiKey

__all__ = ["NEVER_MS", "Answer", "OutgoingRequest", "PollResult", "RequestManager"]

NEVER_MS: Final = 1 << 40
"""A wait that only an event ends."""


@frozen(eq=False)
class OutgoingRequest:
    """A request that a manager wants to have sent.

    Attributes:
        api: Which API it is for.
        build: Makes the message for the version that the connection negotiated; what it raises goes to `on_failure`.
        node_id: The broker that must get it, or None for any.
        timeout_ms: How long its response is waited for.
        context: The manager's own note, to know what the answer is to.
    """

    api: ApiKey
    build: Callable[[int], object]
    node_id: int | None
    timeout_ms: int
    context: Any = None


@frozen
class Answer:
    """A response, the version it was spoken in, and how long it took."""

    message: Any
    version: int
    latency_ms: int


@frozen
class PollResult:
    """What a manager wants now: requests to send, and the longest time it may be left alone."""

    requests: tuple[OutgoingRequest, ...] = ()
    wait_ms: int = NEVER_MS


class RequestManager(Protocol):
    """One concern of a client."""

    def poll(self, now_ms: int) -> PollResult:
        """What to send now and when to ask again."""
        ...

    def on_response(self, request: OutgoingRequest, answer: Answer, now_ms: int) -> None:
        """The response to a request of this manager came."""
        ...

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """A request of this manager will never be answered."""
        ...
