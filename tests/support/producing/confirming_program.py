"""A program that writes to brokers with a `ConfirmedWriter`, and notes what it is told."""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from kafka_groups.client.calls.partition_offsets import LATEST, offsets_at
from kafka_groups.config.clients.admin import admin_config
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.records.client import RecordsClient
from kafka_groups.records.confirmed_writer import ConfirmedWriter, RecordToWrite, WriteOutcome
from kafka_groups.records.fetching.fetch import FetchOptions
from kafka_groups.records.reader import RecordReader
from kafka_groups.types import TopicPartition
from tests.support.conditions import until

__all__ = ["ConfirmingProgram"]

_PATIENCE_S = 90.0


class ConfirmingProgram:
    """A writer with one owner. The value of a record is its token. Use it as a context manager.

    Args:
        keys: The configuration of the client, by dotted names.
    """

    def __init__(self, **keys: Any) -> None:
        self._config = admin_config(keys)
        self.writer = ConfirmedWriter(self._config)
        self.room = self.writer.room("program", self._took, self._held)
        self.confirmed: list[object] = []
        self.refused: dict[object, WriteOutcome] = {}
        self.holds: list[tuple[str, KafkaGroupsError | None]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.writer.close()

    def _took(self, outcomes: Sequence[WriteOutcome]) -> None:
        for outcome in outcomes:
            if outcome.error is None:
                self.confirmed += outcome.tokens
            else:
                self.refused |= dict.fromkeys(outcome.tokens, outcome)

    def _held(self, topic: str, error: KafkaGroupsError | None) -> None:
        self.holds.append((topic, error))

    def write(self, topic: str, *values: bytes, partition: int | None = None) -> None:
        """Write records with a key."""
        for value in values:
            self.room.write([RecordToWrite(topic, b"k", value, partition=partition)], value)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is true."""

        async def asked() -> bool:
            return condition()

        await until(asked, bool, _PATIENCE_S)

    async def settled(self) -> None:
        """Wait until all writes have their outcomes, and the owner knows them."""
        await self.until(lambda: not self.room.unconfirmed)

    async def found(self, topic: str, partitions: int = 1) -> Mapping[int, list[bytes]]:
        """The values of all records of a topic, by partition."""
        client = RecordsClient(self._config)
        reader = RecordReader(client, FetchOptions(), "reader")
        try:
            places = [TopicPartition(topic, each) for each in range(partitions)]
            ends = await offsets_at(client.within(60_000), places, LATEST)
            reader.assign(dict.fromkeys(places, 0))
            found: dict[int, list[bytes]] = {each: [] for each in range(partitions)}
            while any(len(found[place.partition]) < ends[place] for place in places):
                await reader.wait(1_000)
                for place, batch in (await reader.poll(10_000)).batches.items():
                    found[place.partition] += [row[2] or b"" for row in batch.rows()]
            return found
        finally:
            await client.close()
