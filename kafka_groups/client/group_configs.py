"""Asks the brokers for configurations of a group when they first matter (DescribeConfigs, KIP-1240)."""

from collections.abc import Mapping

from attrs import frozen

from kafka_groups.client.backoff import BackoffTimer
from kafka_groups.client.events import Area, Events
from kafka_groups.client.metadata import Metadata
from kafka_groups.client.requests import ClientResponse, OutgoingRequest, PollResult
from kafka_groups.errors import BrokerError
from kafka_groups.protocol.apis import ApiKey
from kafka_groups.protocol.error_codes import ErrorCode
from kafka_groups.protocol.messages.config_resources import BROKER_RESOURCE, GROUP_RESOURCE
from kafka_groups.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)

__all__ = ["GroupConfigsManager", "GroupNumbers"]

_MAX_TRIES = 3
_MAX_AGE_MS = 30_000
"""The greatest age of a number that must be fresh: operators change a group's configuration while it runs."""


@frozen
class GroupNumbers:
    """Numbers in the configuration of a group.

    Attributes:
        group_id: The group.
        names: The configurations.
        since: The first release of Kafka whose groups have all of them, for the log.
    """

    group_id: str
    names: tuple[str, ...]
    since: str


class GroupConfigsManager:
    """A request manager that asks for numbers in a group's configuration once, when `wanted` is set.

    Before a group has a configuration of its own for a number, a broker's holds for all groups: it is asked for what
    the group's lacks, under the same name with `group.` before it. Numbers stay unknown if the client may not read
    them, or if the broker is too old to have them.

    Args:
        numbers: The numbers to ask for.
        metadata: Knows the brokers.
        events: Receives an event if one stays unknown.
        backoff: Delays attempts after failures.
        timeout_ms: How long to wait for a response.

    Attributes:
        wanted: Whether the numbers matter now.
        must_be_fresh: Whether they are asked for again if they are old, and until a broker answers.
        values: Those that are known, by name.
    """

    def __init__(
        self,
        numbers: GroupNumbers,
        *,
        metadata: Metadata,
        events: Events,
        backoff: BackoffTimer,
        timeout_ms: int,
    ) -> None:
        self._group_id = numbers.group_id
        self._names = numbers.names
        self._since = numbers.since
        self._metadata = metadata
        self._events = events
        self._backoff = backoff
        self._timeout_ms = timeout_ms
        self._tries = 0
        self._broker_id: int | None = None
        self._told_ms: int | None = None
        self._is_over = False
        self._in_flight = False
        self.wanted = False
        self.must_be_fresh = False
        self.values: Mapping[str, int] = {}

    def is_fresh(self, now_ms: int) -> bool:
        """Return whether the brokers were asked not long ago and have told what they tell."""
        return self._told_ms is not None and now_ms - self._told_ms < _MAX_AGE_MS

    def poll(self, now_ms: int) -> PollResult:
        """Return a DescribeConfigs request if the numbers are wanted and not known, or not fresh."""
        # A caller that wants fresh numbers sets this each time that they are too old, and clears it when it has them.
        is_due = self.must_be_fresh or (self.wanted and not self._is_over)
        if not is_due or self._in_flight:
            return PollResult()
        wait_ms = self._backoff.remaining_ms(now_ms)
        if wait_ms > 0:
            return PollResult(wait_ms=wait_ms)
        self._in_flight = True
        message = DescribeConfigsRequest(resources=(self._resource(),))
        request = OutgoingRequest(
            ApiKey.DESCRIBE_CONFIGS, lambda _version: message, node_id=self._broker_id, timeout_ms=self._timeout_ms
        )
        return PollResult((request,))

    def _resource(self) -> DescribeConfigsResource:
        # A config of a broker is answered by that broker only, so its id names the resource and is where the request
        # goes.
        if self._broker_id is None:
            kind, name, keys = GROUP_RESOURCE, self._group_id, self._names
        else:
            kind, name, keys = BROKER_RESOURCE, str(self._broker_id), tuple(map(_of_broker, self._names))
        return DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)

    def on_response(self, _request: OutgoingRequest, answer: ClientResponse, now_ms: int) -> None:
        """Store the numbers, ask a broker for those that the group lacks, or note why some are unknown."""
        response: DescribeConfigsResponse = answer.message
        self._in_flight = False
        self._backoff.succeeded()
        refused = next((result for result in response.results if result.error_code is not ErrorCode.NONE), None)
        told = {config.name: config.value for result in response.results for config in result.configs}
        self._learn(told)
        # There are four cases. The group, or now a broker, has told everything.
        if self.values.keys() >= set(self._names):
            self._told(now_ms)
        # The client may not read the configuration. It never gives up its work for that, and Kafka's default is close.
        elif refused is not None:
            self._unknown(refused.error_message or refused.error_code.name, now_ms)
        # The group has no such configuration, so the brokers' own one holds. Any of them may be asked, as all should
        # have the same.
        elif self._broker_id is None and self._metadata.nodes:
            self._broker_id = min(self._metadata.nodes)
        # A broker does not know the name either, so it is too old to have it.
        else:
            self._unknown(f"they are older than Kafka {self._since}", now_ms)

    def _learn(self, told: Mapping[str, str | None]) -> None:
        found = {name: told.get(name, told.get(_of_broker(name))) for name in self._names}
        # A value that is not a number cannot come from Kafka. It is ignored, so that the default holds.
        numbers = {name: int(value) for name, value in found.items() if value is not None and value.isdecimal()}
        self.values = {**self.values, **numbers}

    def on_failure(self, _request: OutgoingRequest, error: Exception, now_ms: int) -> None:
        """Retry after the back-off: a few times, or until a broker answers if the numbers must be fresh."""
        self._in_flight = False
        self._broker_id = None  # it may be gone
        self._tries += 1
        self._backoff.failed(now_ms)
        # A refusal does not change, and numbers that only help are not worth asking for any longer.
        if isinstance(error, BrokerError) or (self._tries >= _MAX_TRIES and not self.must_be_fresh):
            self._unknown(str(error), now_ms)

    def _told(self, now_ms: int) -> None:
        self._is_over = True
        self._told_ms = now_ms

    def _unknown(self, why: str, now_ms: int) -> None:
        missing = [name for name in self._names if name not in self.values]
        if missing and not self._is_over:
            text = (
                f"Could not read {' and '.join(missing)} of the group {self._group_id} from the brokers"
                f" ({why.removesuffix('.')}); assuming Kafka's defaults."
            )
            self._events.note(Area.GROUP, text)
        self._told(now_ms)


def _of_broker(name: str) -> str:
    return f"group.{name}"
