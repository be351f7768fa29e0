"""Faults on request: what a broker does with some requests instead of answering them as it should.

`faults.on(ApiKey.SHARE_FETCH, DROP_CONNECTION, times=1)` is one line in a test; every rule counts how often it struck.
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
    "Answer",
    "Delay",
    "Drop",
    "FaultRule",
    "Faults",
    "answer",
    "delay",
]


class Drop(enum.Enum):
    """Actions without a parameter; each has a constant of its own."""

    CONNECTION = "the connection breaks, the request is not handled"
    LOSE_RESPONSE = "the request is handled, then the connection breaks"
    RESPONSE = "the request is handled, neither it nor a later one on this connection is answered"
    REPEAT = "the request is handled twice, the second response is sent"


DROP_CONNECTION = Drop.CONNECTION
"""The connection breaks and the request is not handled."""
LOSE_RESPONSE = Drop.LOSE_RESPONSE
"""The request is handled, then the connection breaks before the response leaves."""
DROP_RESPONSE = Drop.RESPONSE
"""The request is handled and never answered, and neither is a later one on this connection: the client times out."""
REPEAT = Drop.REPEAT
"""The request is handled twice, as when a client tries again because the first response was lost."""


@frozen
class Delay:
    """The request is handled later; those behind it on the connection wait."""

    ms: int


@frozen
class Answer:
    """The request is not handled; the response is made from it by the function."""

    response_to: Callable[[Any], object]


Action = Drop | Delay | Answer
"""What a rule does."""


def delay(ms: int) -> Delay:
    """Handle the request `ms` milliseconds late."""
    return Delay(ms)


def answer(response: object) -> Answer:
    """Answer with this response without handling the request.

    Args:
        response: A response message, a function from the request to one, or a `BrokerError` or `ErrorCode` for APIs
            whose response has an error code at the top.
    """
    if isinstance(response, BrokerError):
        return _error_answer(ErrorCode(response.code), str(response))
    if isinstance(response, ErrorCode):
        return _error_answer(response, None)
    if callable(response):
        return Answer(response)
    return Answer(lambda _request: response)


class FaultRule:
    """One rule; made by `Faults.on`.

    Attributes:
        hits: How often it struck.
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
        """Whether it struck as often as it may."""
        return self.hits >= self._times

    def strikes(self, node_id: int, key: int, request: object) -> bool:
        """Whether it applies to this request; counted if so."""
        if self._key not in (None, key) or self._node_id not in (None, node_id):
            return False
        if self.is_spent or not self._when(request):
            return False
        self.hits += 1
        return True


class Faults:
    """The rules of a cluster, tried in the order in which they were made."""

    def __init__(self) -> None:
        self._rules: list[FaultRule] = []

    def __repr__(self) -> str:
        return f"<Faults: {self._rules}>"

    @property
    def active(self) -> bool:
        """Whether there is any rule."""
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
        """Let an action strike requests.

        Args:
            key: The API; None for all.
            action: One of this module's actions.
            times: How often at most.
            when: Called with the request message; False spares it.
            node_id: The broker; None for all.
        """
        rule = FaultRule(key, action, times, when, node_id)
        self._rules.append(rule)
        return rule

    def slow_down(self, node_id: int, ms: int) -> FaultRule:
        """Handle every request of a broker late; `remove` the rule to end that."""
        return self.on(None, Delay(ms), node_id=node_id)

    def remove(self, rule: FaultRule) -> None:
        """Take a rule back."""
        self._rules.remove(rule)

    def clear(self) -> None:
        """Take all rules back."""
        self._rules.clear()

    def action_for(self, node_id: int, key: int, request: object) -> Action | None:
        """The action of the first rule that applies to a request."""
        for rule in self._rules:
            if rule.strikes(node_id, key, request):
                return rule.action
        return None


def _error_answer(code: ErrorCode, message: str | None) -> Answer:
    return Answer(lambda request: _error_response(request, code, message))


def _error_response(request: object, code: ErrorCode, message: str | None) -> object:
    if isinstance(request, FindCoordinatorRequest):
        return _no_coordinator(request, code, message)
    response_class = api_of(type(request)).response_class
    fields = attrs.fields_dict(response_class)
    if "error_code" not in fields:
        raise TypeError(f"{response_class.__name__} has no error code at the top; give the whole response to answer()")
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
