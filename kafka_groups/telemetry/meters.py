"""OpenTelemetry's metrics of messaging clients: durations of operations, and messages received and sent."""

from collections.abc import Mapping

from kafka_groups.telemetry import conventions
from kafka_groups.telemetry.extras import tell_missing
from kafka_groups.version import __version__

try:
    from opentelemetry.metrics import MeterProvider, get_meter_provider
except ModuleNotFoundError as error:
    tell_missing(error, "opentelemetry", "opentelemetry-api", "opentelemetry")
    raise

__all__ = ["SCOPE", "MessagingMeters"]

SCOPE = "kafka_groups"
"""The name of the instrumentation scope."""

_DURATION_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""The buckets that the conventions advise for durations."""


class MessagingMeters:
    """The instruments of `messaging.*`. Any thread may use them.

    Args:
        provider: Makes the meter; None for OpenTelemetry's global one.
    """

    def __init__(self, provider: MeterProvider | None = None) -> None:
        meter = (provider or get_meter_provider()).get_meter(SCOPE, __version__)
        self._process_duration = meter.create_histogram(
            conventions.PROCESS_DURATION,
            unit="s",
            description="Duration of processing operation.",
            explicit_bucket_boundaries_advisory=_DURATION_BOUNDS_S,
        )
        self._operation_duration = meter.create_histogram(
            conventions.CLIENT_OPERATION_DURATION,
            unit="s",
            description="Duration of messaging operation initiated by a producer or consumer client.",
            explicit_bucket_boundaries_advisory=_DURATION_BOUNDS_S,
        )
        self._consumed = meter.create_counter(
            conventions.CLIENT_CONSUMED_MESSAGES,
            unit="{message}",
            description="Number of messages that were delivered to the application.",
        )
        self._sent = meter.create_counter(
            conventions.CLIENT_SENT_MESSAGES,
            unit="{message}",
            description="Number of messages producer attempted to send to the broker.",
        )

    def processed(self, seconds: float, attributes: Mapping[str, str]) -> None:
        """Note how long an attempt took.

        Args:
            seconds: Its duration.
            attributes: Those that `attempt_attributes` returned, and `error.type` if it failed.
        """
        self._process_duration.record(seconds, attributes)

    def consumed(self, count: int, attributes: Mapping[str, str]) -> None:
        """Count messages that a handler got for the first time.

        Args:
            count: How many.
            attributes: Those of `processed`.
        """
        self._consumed.add(count, attributes)

    def operation(
        self, kind: str, seconds: float, *, topic: str, group: str | None = None, error_type: str | None = None
    ) -> None:
        """Note how long an operation of a client took: a fetch, an acknowledgement, or the write of a dead letter.

        Args:
            kind: `receive`, `settle` or `send`.
            seconds: Its duration.
            topic: The topic.
            group: The share group; None for a producer.
            error_type: The class of the error; None if it succeeded.
        """
        self._operation_duration.record(seconds, _operation_attributes(kind, topic, group, error_type))

    def sent(self, count: int, *, topic: str, error_type: str | None = None) -> None:
        """Count messages that were sent, such as dead letters.

        Args:
            count: How many.
            topic: The topic.
            error_type: The class of the error; None if they were confirmed.
        """
        self._sent.add(count, _operation_attributes(conventions.SEND, topic, None, error_type))


def _operation_attributes(kind: str, topic: str, group: str | None, error_type: str | None) -> Mapping[str, str]:
    found = {
        conventions.SYSTEM: conventions.KAFKA,
        conventions.OPERATION_NAME: kind,
        conventions.OPERATION_TYPE: kind,
        conventions.DESTINATION_NAME: topic,
        conventions.CONSUMER_GROUP_NAME: group,
        conventions.ERROR_TYPE: error_type,
    }
    return {name: value for name, value in found.items() if value is not None}
