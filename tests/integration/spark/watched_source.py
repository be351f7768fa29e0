"""The source, watched: a data source whose reader notes Spark's calls where a test can read them.

Runs in Spark's processes; `watch.calls` is the file, `watch.checkpoint` the query's checkpoint.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from kafka_groups.spark.source.data_source import KafkaShareDataSource
from kafka_groups.spark.source.reader import PayloadPartition, ShareStreamReader

_PREFIX = "watch."


class WatchedDataSource(KafkaShareDataSource):
    """`kafka-share-watched`."""

    def __init__(self, options: Any) -> None:
        super().__init__({name: value for name, value in options.items() if not name.startswith(_PREFIX)})
        self._calls, self._checkpoint = options["watch.calls"], options["watch.checkpoint"]

    @classmethod
    def name(cls) -> str:
        return "kafka-share-watched"

    def streamReader(self, schema: StructType) -> "WatchedReader":  # noqa: N802
        return WatchedReader(dict(self.options), schema, Path(self._calls), Path(self._checkpoint))


class WatchedReader(ShareStreamReader):
    """Notes each call before it is made."""

    def __init__(self, options: dict[str, str], schema: StructType, calls: Path, checkpoint: Path) -> None:
        super().__init__(options, schema)
        self._calls, self._checkpoint = calls, checkpoint

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_calls": self._calls, "_checkpoint": self._checkpoint}

    def initialOffset(self) -> dict[str, object]:  # noqa: N802
        self._note("initialOffset")
        return super().initialOffset()

    def latestOffset(self, start: dict[str, object], limit: ReadLimit) -> dict[str, object]:  # noqa: N802
        self._note("latestOffset", start=start, committed=self._is_committed(start), limit=type(limit).__name__)
        return super().latestOffset(start, limit)

    def partitions(self, start: dict[str, object], end: dict[str, object]) -> list[PayloadPartition]:
        partitions = super().partitions(start, end)
        self._note("partitions", start=start, end=end, count=len(partitions))
        return partitions

    def commit(self, end: dict[str, object]) -> None:
        self._note("commit", end=end)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        self._note("read")
        return super().read(partition)

    def stop(self) -> None:
        self._note("stop")
        super().stop()

    def _note(self, call: str, **facts: object) -> None:
        with self._calls.open("a") as calls:
            calls.write(json.dumps({"call": call, **facts}) + "\n")

    def _is_committed(self, end: dict[str, object]) -> bool:
        """Whether the batch with this end is in Spark's commit log."""
        for log in (self._checkpoint / "offsets").glob("[0-9]*"):
            if json.loads(log.read_text().splitlines()[-1]) == end:
                return (self._checkpoint / "commits" / log.name).exists()
        return False
