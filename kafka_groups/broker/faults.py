"""Fault injection: makes a broker mishandle some requests.

In a test, call `faults.on(ApiKey.SHARE_FETCH, DROP_CONNECTION, times=1)`. Every rule counts how often it was applied.
"""

import enum
from collections.abc import Callable
from typing import Any

import attrs
from attrs import frozen

from kafka_groups.errors import BrokerError
from kafka_groups.protocol.apis import ApiKey, api_of
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

__all__ = [
    "DROP_CONNECTION",
    "DROP_RESPONSE",
    "LOSE_RESPONSE",
    "REPEAT",
    "Action",
    "Delay",
    "Drop",
    "FaultRule",
    "Faults",
    "Respond",
    "answer",
    "delay",
]


class Drop(enum.Enum):
    """Actions without a parameter. Each has its own constant."""

    CONNECTION = "break the connection without handling the request"
    LOSE_RESPONSE = "handle the request, then break the connection"
    RESPONSE = "handle the request, but send no more responses on this connection"
    REPEAT = "handle the request twice and send the second response"


DROP_CONNECTION = Drop.CONNECTION
"""Break the connection without handling the request."""
LOSE_RESPONSE = Drop.LOSE_RESPONSE
"""Handle the request, then break the connection before sending the response."""
DROP_RESPONSE = Drop.RESPONSE
"""Handle the request, but send no response to it or to later ones on this connection, so that the client times out."""
REPEAT = Drop.REPEAT
"""Handle the request twice, as if the client had retried because the first response was lost."""


@frozen
class Delay:
    """Handle the request late. Later requests on the connection wait."""

    ms: int


@frozen
class Respond:
    """Do not handle the request. The function creates the response from it."""

    response_to: Callable[[Any], object]


Action = Drop | Delay | Respond
"""The action of a rule."""


def delay(ms: int) -> Delay:
    """Return an action that handles the request `ms` milliseconds late."""
    return Delay(ms)


def answer(response: object) -> Respond:
    """Return an action that sends this response without handling the request.

    Args:
        response: A response message, a function that creates one from the request, or, for APIs whose response has a
            top-level error code, a `BrokerError` or `ErrorCode`.
    """
    if isinstance(response, BrokerError):
        return _error_answer(ErrorCode(response.code), str(response))
    if isinstance(response, ErrorCode):
        return _error_answer(response, None)
    if callable(response):
        return Respond(response)
    return Respond(lambda _request: response)


class FaultRule:
    """A rule that `Faults.on` created.

    Attributes:
        hits: The number of times that the rule was applied.
    """

    def __init__(
        self, key: ApiKey | None, action: Action, times: float, when: Callable[[Any], bool], node_id: int | None
    ) -> None:
        self._key = key
        self.action = action
        self._times = times
        self._when = when
        self._node_id = node_id
        self.hits = 0

    def __repr__(self) -> str:
        api = "any request" if self._key is None else self._key.name
        where = "" if self._node_id is None else f" of broker {self._node_id}"
        return f"<FaultRule {self.action} on {api}{where}: {self.hits} of {self._times:g} times>"

    @property
    def is_spent(self) -> bool:
        """True if the rule has been applied as often as it may be."""
        return self.hits >= self._times

    def strikes(self, node_id: int, key: int, request: object) -> bool:
        """Return whether the rule applies to this request, and count it if so."""
        if self._key not in (None, key) or self._node_id not in (None, node_id):
            return False
        if self.is_spent or not self._when(request):
            return False
        self.hits += 1
        return True


class Faults:
    """The fault rules of a cluster, tried in the order in which they were created.

    Attributes:
        assignor_ms: How long task assignors of applications take in virtual time, by name. With a clock that is not
            the system's, the others take up to 100 ms.
    """

    def __init__(self) -> None:
        self._rules: list[FaultRule] = []
        self.assignor_ms: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"<Faults: {self._rules}>"

    @property
    def active(self) -> bool:
        """Return whether there are any rules."""
        return bool(self._rules)

    def on(
        self,
        key: ApiKey | None,
        action: Action,
        *,
        times: float = float("inf"),
        when: Callable[[Any], bool] = lambda _request: True,
        node_id: int | None = None,
    ) -> FaultRule:
        """Add a rule that applies an action to requests.

        Args:
            key: The API. None means all APIs.
            action: One of this module's actions.
            times: Maximum number of requests to apply it to.
            when: Called with the request message. If it returns False, the rule does not apply.
            node_id: The broker. None means all brokers.
        """
        rule = FaultRule(key, action, times, when, node_id)
        self._rules.append(rule)
        return rule

    def slow_down(self, node_id: int, ms: int) -> FaultRule:
        """Add a rule that handles every request of a broker late. To stop, `remove` the rule."""
        return self.on(None, Delay(ms), node_id=node_id)

    def remove(self, rule: FaultRule) -> None:
        """Remove a rule."""
        self._rules.remove(rule)

    def clear(self) -> None:
        """Remove all rules."""
        self._rules.clear()

    def action_for(self, node_id: int, key: int, request: object) -> Action | None:
        """Return the action of the first rule that applies to a request."""
        for rule in self._rules:
            if rule.strikes(node_id, key, request):
                return rule.action
        return None


def _error_answer(code: ErrorCode, message: str | None) -> Respond:
    return Respond(lambda request: _error_response(request, code, message))


def _error_response(request: object, code: ErrorCode, message: str | None) -> object:
    if isinstance(request, FindCoordinatorRequest):
        return _no_coordinator(request, code, message)
    response_class = api_of(type(request)).response_class
    fields = attrs.fields_dict(response_class)
    if "error_code" not in fields:
        raise TypeError(f"{response_class.__name__} has no top-level error code. Pass a whole response to answer().")
    values: dict[str, object] = {"error_code": code}
    if "error_message" in fields:
        values["error_message"] = message
    missing = [f.name for f in fields.values() if f.default is attrs.NOTHING and f.name not in values]
    return response_class(**values, **dict.fromkeys(missing, 0))


def _no_coordinator(request: FindCoordinatorRequest, code: ErrorCode, message: str | None) -> FindCoordinatorResponse:
    nowhere = tuple(
        Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=message)
        for key in request.coordinator_keys
    )
    return FindCoordinatorResponse(
        coordinators=nowhere, error_code=code, error_message=message, node_id=-1, host="", port=-1
    )
