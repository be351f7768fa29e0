"""The data source `kafka-share` that is registered with Spark."""

from typing import NoReturn

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from kafka_groups.errors import ConfigurationError
from kafka_groups.spark.records.schema import RECORD_SCHEMA, ddl_of
from kafka_groups.spark.source.reader import ShareStreamReader

__all__ = ["FORMAT", "KafkaShareDataSource"]

FORMAT = "kafka-share"
_NOT_WRITTEN = (
    f"{FORMAT} is a source of share groups, which are only read; write with KafkaSink of kafka_groups.spark, or with"
    " Spark's own format kafka"
)


class KafkaShareDataSource(DataSource):
    """`spark.readStream.format("kafka-share")`: a share group as a streaming source (KIP-932)."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> str:
        """Return the columns of a record; also checks the options before a query starts.

        Raises:
            ConfigurationError: An option is unknown or missing, or a value is invalid.
        """
        columns = RECORD_SCHEMA.names if self._include_headers() else [n for n in RECORD_SCHEMA.names if n != "headers"]
        return ddl_of(columns)

    def streamReader(self, schema: StructType) -> ShareStreamReader:  # noqa: N802 - Spark's name
        """Create a reader for one query; does no work and no checks yet."""
        return ShareStreamReader(dict(self.options), schema)

    def reader(self, schema: StructType) -> NoReturn:
        """Raise: this is not supported.

        Raises:
            ConfigurationError: Always; the message says what to use instead.
        """
        raise ConfigurationError(
            f"spark.read.format({FORMAT!r}) cannot acknowledge what it reads: Spark does not tell when its"
            " records are done with, and reads them again for every action; for a batch job use"
            " kafka_groups.spark.drain(spark, ...), or spark.readStream with trigger(availableNow=True), or"
            " ShareWorkers.run_until(spark, ...) for large amounts"
        )

    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: FBT001 - Spark's signature
        """Raise: this is not supported.

        Raises:
            ConfigurationError: Always; the message says what to use instead.
        """
        raise ConfigurationError(_NOT_WRITTEN)

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: FBT001, N802 - Spark's signature
        """Raise: this is not supported.

        Raises:
            ConfigurationError: Always; the message says what to use instead.
        """
        raise ConfigurationError(_NOT_WRITTEN)

    def _include_headers(self) -> bool:
        from kafka_groups.spark.source.options import source_options  # noqa: PLC0415 - tasks import this module too

        return source_options(dict(self.options)).include_headers
