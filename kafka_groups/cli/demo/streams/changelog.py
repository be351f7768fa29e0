"""Writes changelogs of the demo, and reads their records."""

from collections.abc import Callable
from typing import Final

from kafka_groups.cli.demo.publish import client_keys
from kafka_groups.data_plane.reading import ReadRecord
from kafka_groups.data_plane.writing import RecordWriter
from kafka_groups.types import TopicPartition

__all__ = ["keyed", "writer"]

_INIT_SECONDS: Final = 30.0
_TRANSACTION_TIMEOUT_MS: Final = 10_000
"""For so long the next owner of a task waits for the transaction of a process that was killed."""


def writer(
    bootstrap_servers: str, transactional_id: str | None, on_written: Callable[[TopicPartition, int], None]
) -> RecordWriter:
    """Return a writer. With a transactional id, it aborts what the last one with this id has left.

    Raises:
        KafkaGroupsError: The brokers refused it, or do not answer.
    """
    config = client_keys(bootstrap_servers)
    if transactional_id is None:
        return RecordWriter(config, on_written)
    config |= {"transactional.id": transactional_id, "transaction.timeout.ms": _TRANSACTION_TIMEOUT_MS}
    transactional = RecordWriter(config, on_written)
    transactional.init_transactions(_INIT_SECONDS)
    return transactional


def keyed(record: ReadRecord) -> tuple[str, str, int]:
    """Return key, value and offset of a record."""
    return (record.key or b"").decode(), (record.value or b"").decode(), record.offset
