"""Write records to another topic, at least once, with headers that say where they came from."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from attrs import frozen

from kafka_groups.librdkafka.durable_producer import DurableProducer
from kafka_groups.spark.missing_rights import naming_rights_to_write
from kafka_groups.spark.sinks.batches import SinkBatch, Transform, check_conversion, with_record_key
from kafka_groups.types import Header

__all__ = ["SOURCE_OFFSET", "SOURCE_PARTITION", "SOURCE_TOPIC", "KafkaSink"]

SOURCE_TOPIC: Final = "kafka_groups.source.topic"
"""Name of the header with the topic that the record was read from, in UTF-8."""

SOURCE_PARTITION: Final = "kafka_groups.source.partition"
"""Name of the header with the number of the partition, in decimal digits."""

SOURCE_OFFSET: Final = "kafka_groups.source.offset"
"""Name of the header with the offset, in decimal digits."""

_SOURCE: Final = frozenset({SOURCE_TOPIC, SOURCE_PARTITION, SOURCE_OFFSET})


@frozen
class _Outgoing:
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    timestamp_ms: int | None


class KafkaSink:
    """Writes each record of a batch to a topic and waits until the brokers have confirmed all of them.

    At least once: records that were written before a failure are written again when they are redelivered. The headers
    `SOURCE_TOPIC`, `SOURCE_PARTITION` and `SOURCE_OFFSET` let a reader recognise duplicates.

    Args:
        config: Keys of a producer or of a share consumer, as for `DurableProducer`.
        topic: The topic to write to.
        transform: Converts the record table to the rows to write: `key` and `value` (binary, string or null), and
            optionally `headers` and `timestamp`. Without it, the records are copied.
        timeout_s: Longest wait for the brokers' confirmation of a batch, in seconds.

    Raises:
        ConfigurationError: A value is invalid, or would make writing less durable.
    """

    def __init__(
        self,
        config: Mapping[str, object],
        *,
        topic: str,
        transform: Transform | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        self._producer = DurableProducer(config)
        self._config = config
        self._topic = topic
        check_conversion("transform", transform)
        self._transform = transform
        self._timeout_s = timeout_s

    def __repr__(self) -> str:
        return f"<KafkaSink to {self._topic}>"

    def __call__(self, batch: SinkBatch) -> None:
        """Transform and write a batch; see `write`."""
        table = batch.to_arrow()
        self.write(table if self._transform is None else self._transform(table))

    def write(self, table: pa.Table) -> None:
        """Write records in their order; returns when all are confirmed.

        Args:
            table: The columns of `RECORD_KEY`, `key` and `value`, and optionally `headers` and `timestamp`.

        Raises:
            ConfigurationError: A column of the key is missing.
            DeliveryFailedError: Records were refused or not confirmed in time; some may have been written.
        """
        for record in _outgoing(with_record_key(table, repr(self))):
            self._producer.produce(
                self._topic,
                key=record.key,
                value=record.value,
                headers=record.headers,
                timestamp_ms=record.timestamp_ms,
            )
        with naming_rights_to_write(self._topic, self._config):
            self._producer.flush(self._timeout_s)


def _outgoing(table: pa.Table) -> Iterator[_Outgoing]:
    columns = {name: _values(table, name) for name in ("topic", "partition", "offset", "key", "value", "headers")}
    for topic, partition, offset, key, value, headers, timestamp_ms in zip(
        *columns.values(), _timestamps_ms(table), strict=True
    ):
        source = (
            (SOURCE_TOPIC, str(topic).encode()),
            (SOURCE_PARTITION, b"%d" % partition),
            (SOURCE_OFFSET, b"%d" % offset),
        )
        # A record that has passed through this sink before has headers of its earlier place, which would hide the
        # present one.
        kept = ((header["key"], header["value"]) for header in headers or () if header["key"] not in _SOURCE)
        yield _Outgoing(key=key, value=value, headers=(*kept, *source), timestamp_ms=timestamp_ms)


def _values(table: pa.Table, name: str) -> Sequence[Any]:
    return table[name].to_pylist() if name in table.column_names else [None] * table.num_rows


def _timestamps_ms(table: pa.Table) -> Sequence[int | None]:
    if "timestamp" not in table.column_names:
        return [None] * table.num_rows
    made: Sequence[int | None] = (
        table["timestamp"].cast(pa.timestamp("ms", tz="UTC"), safe=False).cast("int64").to_pylist()
    )
    return made
