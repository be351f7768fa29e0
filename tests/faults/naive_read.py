"""A control that loses records: the executors poll in `read()` and acknowledge at the generator's end.

It is what one writes first, and it passes every test without faults. Spark takes the scan for deterministic: what a
second action or a retry reads are other records than those which the first one read and acknowledged.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from kafka_groups.share.consumer import KafkaShareConsumer

COLUMNS = "topic string, partition int, offset long, value binary, delivery_count smallint"
_POLL_S = 10.0
_CONSUMERS: dict[str, KafkaShareConsumer[Any, Any]] = {}

Row = tuple[str, int, int, bytes | None, int]


class NaiveReadSource(DataSource):
    """`spark.readStream.format("naive-read")`."""

    @classmethod
    def name(cls) -> str:
        return "naive-read"

    def schema(self) -> str:
        return COLUMNS

    def streamReader(self, schema: object) -> "NaiveReadReader":  # noqa: N802 - Spark's names
        return NaiveReadReader(dict(self.options))


class NaiveReadReader(DataSourceStreamReader):
    """A number as offset, and whatever the polls of the tasks bring."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._number = 0

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        return {"n": 0}

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]  # noqa: N802 - without limits, as before 4.2
        self._number += 1
        return {"n": self._number}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        self._number = max(self._number, end["n"])
        return [InputPartition(number) for number in range(int(self._options["tasks"]))]

    def read(self, partition: InputPartition) -> Iterator[Row]:
        consumer = _consumer_of_this_process(self._options)
        records = consumer.poll(timeout=_POLL_S)
        for record in records:
            yield (record.topic, record.partition, record.offset, record.value, record.delivery_count)
        consumer.acknowledge_all(records)
        consumer.commit_sync()


def _consumer_of_this_process(options: Mapping[str, str]) -> KafkaShareConsumer[Any, Any]:
    """Joining takes a while, and Spark uses its Python workers again."""
    if options["group"] not in _CONSUMERS:
        _CONSUMERS[options["group"]] = open_consumer(options)
    return _CONSUMERS[options["group"]]


def open_consumer(options: Mapping[str, str]) -> KafkaShareConsumer[Any, Any]:
    """A member of the group that acknowledges by itself."""
    consumer: KafkaShareConsumer[Any, Any] = KafkaShareConsumer(
        bootstrap_servers=options["servers"],
        group_id=options["group"],
        acknowledgement_mode="explicit",
        max_poll_records=int(options["records"]),
        prefetch_batches=0,
        auto_renew=True,
    )
    consumer.subscribe([options["topic"]])
    return consumer
