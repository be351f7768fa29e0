"""Follows the committed results of the application, and notices any that stands twice or is missing."""

import logging
from types import TracebackType
from typing import Final, Self

from kafka_groups.cli.demo.publish import client_keys
from kafka_groups.cli.demo.streams.topology import Sums
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.librdkafka.partition_reader import BEGINNING, PartitionReader
from kafka_groups.types import TopicPartition

__all__ = ["CommittedResults"]

_log = logging.getLogger(__name__)

_MOST_RECORDS: Final = 10_000
_WAIT_SECONDS: Final = 0.2


class CommittedResults:
    """The last result of each airline and day. Use it as a context manager.

    Args:
        bootstrap_servers: Addresses of the brokers.
        topic: The topic with the results.
        partitions: Its number of partitions.

    Attributes:
        count: The number of results.
        last: The last one by key.
        misplaced: The number of results that do not follow the one before with the same key.
    """

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int) -> None:
        self._client = client_keys(bootstrap_servers)
        self._group_id = f"{topic}-reader"
        self._partitions = [TopicPartition(topic, each) for each in range(partitions)]
        self.count = self.misplaced = 0
        self.last: dict[str, Sums] = {}

    def __repr__(self) -> str:
        return f"<CommittedResults: {self.count}>"

    def __enter__(self) -> Self:
        self._reader = PartitionReader(self._client, self._group_id)
        self._reader.assign(dict.fromkeys(self._partitions, BEGINNING))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.close()

    def read(self) -> None:
        """Read what is new. Blocks for a fraction of a second.

        Raises:
            KafkaGroupsError: A partition cannot be read.
        """
        try:
            records = self._reader.read(_MOST_RECORDS, _WAIT_SECONDS)
        except KafkaGroupsError as error:
            if not error.retriable:
                raise
            _log.warning("Results are read again: %s", error)
            return
        for record in records:
            self.take((record.key or b"").decode(), (record.value or b"").decode())

    def take(self, key: str, text: str) -> None:
        """Take in a result."""
        result = Sums.of_text(text)
        self.misplaced += result.flights != self.last.get(key, Sums()).flights + 1
        self.last[key] = result
        self.count += 1
