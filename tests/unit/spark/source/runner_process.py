"""A process like Spark's source runner: it calls a reader as it is told on its standard input, and stops it at the end.

Run with the options of the source as JSON. It writes a line for each batch, and `stopped` when the reader was stopped.
"""

import json
import sys

from pyspark.sql.streaming.datasource import ReadMaxRows
from pyspark.sql.types import BinaryType, StructField, StructType

from kafka_groups.spark.source.data_source import KafkaShareDataSource


def main(options: dict[str, str]) -> None:
    """Seal a batch for each line; Spark's loop ends the same way, by an exception or the end of its input."""
    source = KafkaShareDataSource(options)
    reader = source.streamReader(schema=StructType([StructField("value", BinaryType())]))
    start = reader.initialOffset()
    try:
        for _ in sys.stdin:
            end = reader.latestOffset(start, ReadMaxRows(1_000))
            rows = sum(batch.num_rows for part in reader.partitions(start, end) for batch in reader.read(part))
            say(rows)
    finally:
        reader.stop()
        say("stopped")


def say(line: object) -> None:
    """A line for the test."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
