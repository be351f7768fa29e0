"""The writer that all handlers of a process share, as their drivers see it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from kafka_groups.client.principals import principal_of
from kafka_groups.config.clients.share import ShareConsumerConfig
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.records.confirmed.writes import RecordToWrite, WriteOutcome

if TYPE_CHECKING:
    from kafka_groups.client.assembly import Environment

__all__ = ["HandlerRoom", "ProcessWriter", "TakesOutcomes", "TellsHeld", "confirmed_writer"]

TakesOutcomes = Callable[[Sequence[WriteOutcome]], None]
"""Receives the outcomes of writes."""
TellsHeld = Callable[[str, KafkaGroupsError | None], None]
"""Receives a topic that takes no records for now, and why; with None it takes records again."""


class HandlerRoom(Protocol):
    """Writes the records of one handler; see `WriterRoom`."""

    def write(self, records: Sequence[RecordToWrite], token: object) -> None:
        """Write records, and report their one outcome later. Never blocks."""
        ...

    def write_each(self, records: Sequence[RecordToWrite], token: object) -> None:
        """Write records of one topic, and report their one outcome when all are confirmed, or one is refused."""
        ...

    def divide(self, token: object, parts: Sequence[tuple[object, Sequence[RecordToWrite]]]) -> bool:
        """Report outcomes for parts of a write of `write_each`. Returns False if all of it is confirmed already."""
        ...

    def withdraw(self, token: object) -> bool:
        """Return True if nothing of these records was sent, and nothing will be. Otherwise their outcome comes."""
        ...


class ProcessWriter(Protocol):
    """Writes the records of all handlers of a process; see `ConfirmedWriter`."""

    @property
    def fatal(self) -> KafkaGroupsError | None:
        """The error after which nothing can be written any more, or None."""
        ...

    def room(self, owner: str, took: TakesOutcomes, held: TellsHeld) -> HandlerRoom:
        """Return the room of a handler.

        Args:
            owner: The name of the handler.
            took: Called with outcomes.
            held: Called with a topic that takes no records for now, and when it does again.
        """
        ...

    async def close(self) -> None:
        """Close the connections. Records without an outcome are dropped."""
        ...


def confirmed_writer(
    config: ShareConsumerConfig, producer: Mapping[str, object], environment: "Environment"
) -> ProcessWriter:
    """Return a writer to the cluster of the consumers, with their security and timeouts.

    Args:
        config: The configuration of the consumers.
        producer: The keys of the producer.
        environment: Network, clock and randomness.
    """
    # Imported here: a worker that writes nothing does not need it.
    from kafka_groups.config.records.worker_producer import worker_producer_config  # noqa: PLC0415
    from kafka_groups.records.confirmed_writer import ConfirmedWriter  # noqa: PLC0415

    chosen = worker_producer_config(producer, config)
    return ConfirmedWriter(config, environment, chosen, principal=principal_of(config))
