"""The records that brokers refuse, until the caller asks about them."""

from collections.abc import Collection
from typing import Protocol

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.records.batches.building import ProducerBatch
from kafka_groups.records.interface import UnwrittenRecord

__all__ = ["BatchOutcomes", "Refusals"]

_NO_TIMESTAMP = -1


class BatchOutcomes(Protocol):
    """Hears of the batches of a producer that have a final answer."""

    def confirmed(self, batch: ProducerBatch) -> None:
        """Note a batch that all in-sync replicas have."""

    def refused(self, batch: ProducerBatch, error: KafkaGroupsError, indexes: Collection[int] | None = None) -> None:
        """Note records of a batch that were refused; None as indexes: all of them."""


class Refusals:
    """Records that were refused: those with an origin one by one, and the others as errors.

    Attributes:
        records: The records with an origin.
        errors: An error for each batch with records that have no error of their own.
        unnamed: The number of records without an origin.
    """

    def __init__(self) -> None:
        self.records: list[UnwrittenRecord] = []
        self.errors: list[KafkaGroupsError] = []
        self.unnamed = 0

    def confirmed(self, batch: ProducerBatch) -> None:
        """Do nothing: only records that were refused are kept."""

    def refused(self, batch: ProducerBatch, error: KafkaGroupsError, indexes: Collection[int] | None = None) -> None:
        """Note records of a batch that were refused; None as indexes: all of them."""
        unnamed = 0
        for record, origin in batch.refused(indexes):
            if origin is None:
                unnamed += 1
                continue
            timestamp_ms = _NO_TIMESTAMP if record.timestamp is None else record.timestamp
            parts = (record.key, record.value, timestamp_ms, tuple(record.headers), batch.partition.partition)
            self.records.append(UnwrittenRecord(batch.partition.topic, *parts, error, origin))
        if unnamed:
            self.errors.append(error)
            self.unnamed += unnamed

    def take_records(self) -> list[UnwrittenRecord]:
        """Remove and return the records with an origin."""
        taken, self.records = self.records, []
        return taken

    def take_errors(self) -> tuple[list[KafkaGroupsError], int]:
        """Remove and return the errors, and the number of records that they are about."""
        taken = self.errors, self.unnamed
        self.errors, self.unnamed = [], 0
        return taken

    def clear(self) -> None:
        """Forget all."""
        self.take_records()
        self.take_errors()
