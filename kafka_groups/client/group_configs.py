"""Asks the brokers for configurations of a group when they first matter (DescribeConfigs, KIP-1240)."""

from collections.abc import Mapping

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

__all__ = ["GroupConfigsManager"]

_MAX_TRIES = 3


class GroupConfigsManager:
    """A request manager that asks for numbers in a group's configuration once, when `wanted` is set.

    They stay unknown if the client may not read the group's configuration, or if the broker is too old to have them.

    Args:
        group_id: The group.
        names: The configurations.
        since: The first release of Kafka that has all of them, for the log.
        events: Receives an event if one stays unknown.
        backoff: Delays attempts after failures.
        timeout_ms: How long to wait for a response.

    Attributes:
        wanted: Whether the numbers matter now.
        values: Those that are known, by name.
    """

    def __init__(
        self,
        group_id: str,
        names: tuple[str, ...],
        *,
        since: str,
        events: Events,
        backoff: Backoff,
        timeout_ms: int,
    ) -> None:
        self._group_id = group_id
        self._names = names
        self._since = since
        self._events = events
        self._backoff = backoff
        self._timeout_ms = timeout_ms
        self._tries = 0
        self._is_over = False
        self._in_flight = False
        self.wanted = False
        self.values: Mapping[str, int] = {}

    def poll(self, now_ms: int) -> PollResult:
        """Return a DescribeConfigs request if the numbers are wanted and have not been requested yet."""
        if not self.wanted or self._is_over or self._in_flight:
            return PollResult()
        wait_ms = self._backoff.remaining_ms(now_ms)
        if wait_ms > 0:
            return PollResult(wait_ms=wait_ms)
        self._in_flight = True
        resource = DescribeConfigsResource(
            resource_type=GROUP_RESOURCE, resource_name=self._group_id, configuration_keys=self._names
        )
        message = DescribeConfigsRequest(resources=(resource,))
        request = OutgoingRequest(
            ApiKey.DESCRIBE_CONFIGS, lambda _version: message, node_id=None, timeout_ms=self._timeout_ms
        )
        return PollResult((request,))

    def on_response(self, _request: OutgoingRequest, answer: ClientResponse, _now_ms: int) -> None:
        """Store the numbers, or note why some are unknown."""
        response: DescribeConfigsResponse = answer.message
        self._in_flight, self._is_over = False, True
        refused = next((result for result in response.results if result.error_code is not ErrorCode.NONE), None)
        told = {config.name: config.value for result in response.results for config in result.configs}
        self.values = {name: int(value) for name, value in told.items() if value is not None and value.isdecimal()}
        if not self.values.keys() >= set(self._names):
            too_old = f"they are older than Kafka {self._since}"
            self._unknown(too_old if refused is None else refused.error_message or refused.error_code.name)

    def on_failure(self, _request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Retry a few times, after the back-off."""
        self._in_flight = False
        self._tries += 1
        self._backoff.failed(now_ms)
        if self._tries >= _MAX_TRIES or isinstance(error, BrokerError):
            self._is_over = True
            self._unknown(str(error))

    def _unknown(self, why: str) -> None:
        text = (
            f"Could not read {' and '.join(self._names)} of the group {self._group_id} from the brokers"
            f" ({why.removesuffix('.')}); assuming Kafka's defaults."
        )
        self._events.note(Area.GROUP, text)
