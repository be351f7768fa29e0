"""A control that strands and loses records: the source's own process polls, and acknowledges in `commit()`.

It looks right, as `commit(end)` says that a batch is done. But Spark says so only while it plans the batch after it,
so that the last batch of an idle query, or of `availableNow`, is never acknowledged. And after a restart it says so to
a process that has read other records under the same number.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from kafka_groups.share.consumer import KafkaShareConsumer
from kafka_groups.share.delivery.share_records import ShareRecords
from tests.faults.naive_read import COLUMNS, Row, open_consumer

_POLL_S = 5.0
_POLL_AGAIN_S = 60.0
"""For a batch that there was before a restart: it had records, and on a busy machine they are free again late."""

Offset = dict[str, Any]


class NaiveCommitSource(DataSource):
    """`spark.readStream.format("naive-commit")`."""

    @classmethod
    def name(cls) -> str:
        return "naive-commit"

    def schema(self) -> str:
        return COLUMNS

    def streamReader(self, schema: object) -> "NaiveCommitReader":  # noqa: N802 - Spark's names
        return NaiveCommitReader(dict(self.options))


@frozen
class Rows(InputPartition):
    """The records of a task."""

    rows: tuple[Row, ...]


class NaiveCommitReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A number as offset, and the records that were polled for each number until it is committed."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._polled: dict[int, ShareRecords[Any, Any]] = {}
        self._consumer: KafkaShareConsumer[Any, Any] | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        return {"n": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        pass

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        number: int = start["n"] + 1
        return {"n": number} if self._poll(number, _POLL_S) else start

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        self._poll(end["n"], _POLL_AGAIN_S)
        tasks = int(self._options["tasks"])
        rows = [(r.topic, r.partition, r.offset, r.value, r.delivery_count) for r in self._polled.get(end["n"], ())]
        return [Rows(tuple(rows[number::tasks])) for number in range(tasks)]

    def read(self, partition: InputPartition) -> Iterator[Row]:
        assert isinstance(partition, Rows)
        yield from partition.rows

    def commit(self, end: Offset) -> None:
        for number in [number for number in self._polled if number <= end["n"]]:
            records = self._polled.pop(number)
            self._joined().acknowledge_all(records)
        self._joined().commit_sync()

    def stop(self) -> None:
        if self._consumer is not None:
            self._consumer.close()

    def _poll(self, number: int, timeout_s: float) -> bool:
        """Have records for a number, of the past or of now; whether there are any."""
        if number not in self._polled:
            records = self._joined().poll(timeout=timeout_s, hold=True)
            if not records:
                return False
            self._polled[number] = records
        return True

    def _joined(self) -> KafkaShareConsumer[Any, Any]:
        if self._consumer is None:
            self._consumer = open_consumer(self._options)
        return self._consumer
