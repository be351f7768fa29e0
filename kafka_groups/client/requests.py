"""The interface between the engine and request managers. Each concern of a client is one request manager.

A manager never waits and never reads a clock. The engine asks it what to send, sends it, passes the response back, and
sleeps until the earliest time that a manager named.
"""

import enum
from collections.abc import Callable
from typing import Any, Final, Protocol

from attrs import frozen

from kafka_groups.protocol.apis import ApiKey

__all__ = ["NEVER_MS", "ClientResponse", "Lane", "OutgoingRequest", "PollResult", "RequestManager"]

NEVER_MS: Final = 1 << 40
"""A wait that only an event can end."""


class Lane(enum.Enum):
    """The connection to a broker that a request uses. Requests in one lane wait for each other's responses.

    Attributes:
        CONTROL: Heartbeats, look-ups, commits, and everything that no other lane is for.
        DATA: Fetches of an application's sources; ShareFetch and ShareAcknowledge, whose session belongs to it.
        RESTORATION: Fetches of changelogs.
        PRODUCE: Produce.
        GROUP: JoinGroup and SyncGroup of classic groups, which a broker may answer after minutes, and what their leader
            has to wait for in between.
    """

    CONTROL = "control"
    DATA = "data"
    RESTORATION = "restoration"
    PRODUCE = "produce"
    GROUP = "group"


@frozen(eq=False)
class OutgoingRequest:
    """A request that a manager wants to send.

    Attributes:
        api: The API.
        build: Builds the message for the version that the connection negotiated. If it raises an error, `on_failure`
            receives that error.
        node_id: The broker to send it to, or None for any broker.
        timeout_ms: How long to wait for the response.
        context: The manager's own data, to recognise the response.
        lane: The connection to use.
        channel: Which of several connections of the lane: requests in one channel do not wait for those in another.
        newest_version: The newest version to use, if that is not the newest that both sides support.
        on_new_connection: Whether it does not wait for responses to requests that were sent before: these fail, and
            their connection is closed. Not in the data lane, where a session would end with it.
    """

    api: ApiKey
    build: Callable[[int], object]
    node_id: int | None
    timeout_ms: int
    context: Any = None
    lane: Lane = Lane.CONTROL
    channel: int = 0
    newest_version: int | None = None
    on_new_connection: bool = False


@frozen
class ClientResponse:
    """A response, its version, and how long it took."""

    message: Any
    version: int
    latency_ms: int


@frozen
class PollResult:
    """The requests that a manager wants to send now, and how long it can wait until the next poll."""

    requests: tuple[OutgoingRequest, ...] = ()
    wait_ms: int = NEVER_MS


class RequestManager(Protocol):
    """One concern of a client."""

    def poll(self, now_ms: int) -> PollResult:
        """Return what to send now and when to ask again."""
        ...

    def on_response(self, request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Handle the response to a request of this manager."""
        ...

    def on_failure(self, request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Handle a request of this manager that failed and will not be answered."""
        ...
