"""Asks the brokers for the limits of a share group when they first matter (DescribeConfigs, KIP-1240)."""

from kafka_groups.client.backoff import Backoff
from kafka_groups.client.events import Area, Events
from kafka_groups.client.requests import ClientResponse, OutgoingRequest, PollResult
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.config_resources import GROUP_RESOURCE
from kafka_groups.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)

__all__ = ["GroupLimitsManager"]

_DELIVERIES = "share.delivery.count.limit"
_RECORD_LOCKS = "share.partition.max.record.locks"
_LIMITS = (_DELIVERIES, _RECORD_LOCKS)
_MAX_TRIES = 3


class GroupLimitsManager:
    """A request manager that asks for the limits once, when `wanted` is set.

    The limits stay unknown if the client may not read the group's configuration, or if the broker is older than
    Kafka 4.3.

    Args:
        group_id: The group.
        events: Receives an event if a limit stays unknown.
        backoff: Delays attempts after failures.
        timeout_ms: How long to wait for a response.

    Attributes:
        wanted: Whether the limits matter now.
        delivery_limit: How many deliveries a record gets (`share.delivery.count.limit`); None while unknown.
        record_locks: How many records of a partition may be in flight (`share.partition.max.record.locks`); None while
            unknown.
    """

    def __init__(self, group_id: str, events: Events, *, backoff: Backoff, timeout_ms: int) -> None:
        self._group_id = group_id
        self._events = events
        self._backoff = backoff
        self._timeout_ms = timeout_ms
        self._tries = 0
        self._is_over = False
        self._in_flight = False
        self.wanted = False
        self.delivery_limit: int | None = None
        self.record_locks: int | None = None

    def poll(self, now_ms: int) -> PollResult:
        """Return a DescribeConfigs request if the limits are wanted and have not been requested yet."""
        if not self.wanted or self._is_over or self._in_flight:
            return PollResult()
        wait_ms = self._backoff.remaining_ms(now_ms)
        if wait_ms > 0:
            return PollResult(wait_ms=wait_ms)
        self._in_flight = True
        resource = DescribeConfigsResource(
            resource_type=GROUP_RESOURCE, resource_name=self._group_id, configuration_keys=_LIMITS
        )
        message = DescribeConfigsRequest(resources=(resource,))
        request = OutgoingRequest(
            ApiKey.DESCRIBE_CONFIGS, lambda _version: message, node_id=None, timeout_ms=self._timeout_ms
        )
        return PollResult((request,))

    def on_response(self, _request: OutgoingRequest, answer: ClientResponse, _now_ms: int) -> None:
        """Store the limits, or note why they are unknown."""
        response: DescribeConfigsResponse = answer.message
        self._in_flight, self._is_over = False, True
        refused = next((result for result in response.results if result.error_code is not ErrorCode.NONE), None)
        values = {config.name: config.value for result in response.results for config in result.configs}
        self.delivery_limit, self.record_locks = (_number(values.get(name)) for name in _LIMITS)
        if self.delivery_limit is None or self.record_locks is None:
            self._unknown(
                "they are older than Kafka 4.3" if refused is None else refused.error_message or refused.error_code.name
            )

    def on_failure(self, _request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Retry a few times, after the back-off."""
        self._in_flight = False
        self._tries += 1
        self._backoff.failed(now_ms)
        if self._tries >= _MAX_TRIES or isinstance(error, BrokerError):
            self._is_over = True
            self._unknown(str(error))

    def _unknown(self, why: str) -> None:
        names = " and ".join(_LIMITS)
        text = (
            f"Could not read {names} of the share group {self._group_id} from the brokers ({why.removesuffix('.')});"
            " assuming Kafka's defaults."
        )
        self._events.note(Area.GROUP, text)


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and value.isdecimal() else None
