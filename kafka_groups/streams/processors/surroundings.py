"""The parts of a task that its nodes share: what takes records of sinks, and what decides about errors."""

from collections.abc import Mapping
from typing import Any, Protocol

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.streams.errors import StreamsError
from kafka_groups.streams.state.state_store import RecordContext
from kafka_groups.streams.topology.node_graph import NodeGraph
from kafka_groups.streams.topology.nodes import OperatorTime
from kafka_groups.types import Headers, RecordRow

__all__ = ["Collector", "Failures", "LaterRefusal", "Surroundings", "decided"]

LaterRefusal = tuple[Any, ...]
"""The function that decides about a record if brokers refuse it later, and its first arguments.

It also gets the error, the topic, and key, value, timestamp and headers. It raises, or returns an `ErrorResponse`:
RETRY to write the record again, or another one to skip it. A plain tuple, because there is one for each record."""


def decided(later: LaterRefusal, error: KafkaGroupsError, topic: str, record: tuple[Any, Any, int, Headers]) -> object:
    """Decide about a record that brokers have refused. Return what its function returns."""
    decide, *known = later
    return decide(*known, error, topic, record)


class Collector(Protocol):
    """Takes the records of sinks.

    Attributes:
        refuses_later: True if a record may be refused after `send` has returned.
    """

    refuses_later: bool

    def partitions(self, topic: str) -> int:
        """Return a topic's number of partitions."""

    def send(  # noqa: PLR0913, PLR0917 - the parts of a record
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers,
        partition: int | None,
        later: LaterRefusal | None = None,
    ) -> None:
        """Write a record. None as partition: the default partitioner's. `later` decides if brokers refuse it later."""


class Failures(Protocol):
    """Decides about exceptions of the user's code.

    Attributes:
        keeps_raw: Whether a decision about a refused record needs the raw record from which it follows.
    """

    keeps_raw: bool

    def processing(self, node: str, error: Exception, record: tuple[Any, Any, int, Headers]) -> None:
        """Raise, or return to skip the record."""

    def punctuating(self, node: str, error: Exception, now_ms: int) -> None:
        """Raise, or return to continue with the next punctuation."""

    def preparing(self, node: str, method: str, error: Exception) -> StreamsError:
        """Return the error for an exception of a processor's factory, `init` or `close`."""

    def production(self, node: str, error: Exception, topic: str, record: tuple[Any, Any, int, Headers]) -> object:
        """Raise, or return to skip a record that cannot be serialised."""

    def refused(  # noqa: PLR0913, PLR0917 - where the record comes from, and the refusal
        self,
        node: str,
        source_topic: str | None,
        partition: int,
        offset: int,
        raw: RecordRow | None,
        error: KafkaGroupsError,
        topic: str,
        record: tuple[Any, Any, int, Headers],
    ) -> object:
        """Decide about a record of a sink that brokers have refused after the task has gone on."""

    def unwritten(self, node: str, error: KafkaGroupsError, topic: str, record: tuple[Any, Any, int, Headers]) -> None:
        """Raise, or return to skip a record that the collector does not take."""

    def dropped(self, node: str, reason: str) -> None:
        """Count and log a record that an operator drops."""


@frozen(kw_only=True)
class Surroundings:
    """The parts of a task that its nodes share.

    Attributes:
        topology: The topology.
        application_id: Prefix of the internal topics.
        states: The states of the stores by name.
        record: The record that is processed.
        collector: Takes the records of sinks.
        failures: Decides about exceptions.
        times: The times that operators keep, by name. They are added to it.
    """

    topology: NodeGraph
    application_id: str
    states: Mapping[str, Any]
    record: RecordContext
    collector: Collector
    failures: Failures
    times: dict[str, OperatorTime]
