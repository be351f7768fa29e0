"""A driver process whose JVM is killed: it stores records as workers or with a drain, and notes them in a file.

Run with what it is, the configuration of a consumer as JSON, and the file.
"""

import json
import logging
import os
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError
from kafka_groups.spark import ShareBatch, ShareWorkers, drain
from tests.support.spark.sessions import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)

TOPIC = "doomed"
_FEW = 10


@frozen
class Notes:
    """Records that were stored and by which process, a line each; whole lines even if the process is killed.

    Attributes:
        path: The file.
    """

    path: Path

    def store(self, keys: Iterable[tuple[int, int]]) -> None:
        """Note the partitions and offsets of some records."""
        lines = "".join(f"{os.getpid()} {partition} {offset}\n" for partition, offset in keys)
        with self.path.open("ab", buffering=0) as file:
            file.write(lines.encode())

    def pids(self) -> set[int]:
        """The processes that have stored something."""
        return {int(line.split()[0]) for line in self._lines()}

    def keys(self) -> list[tuple[int, int]]:
        """Partition and offset of all that was stored, again and again if it was."""
        return [(int(partition), int(offset)) for _, partition, offset in map(str.split, self._lines())]

    def _lines(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []


@frozen
class SlowStore:
    """What a worker does: it would take minutes to come to the topic's end.

    Attributes:
        notes: Where the records are noted.
        pause_s: How long each call takes.
    """

    notes: Notes
    pause_s: float

    def __call__(self, batch: ShareBatch) -> None:
        """Store."""
        threading.Event().wait(self.pause_s)
        self.notes.store((record.partition, record.offset) for record in batch)


def work(spark: "SparkSession", config: dict[str, Any], notes: Notes) -> None:
    """Workers, until nothing is left."""
    workers = ShareWorkers(config, topics=[TOPIC], process=SlowStore(notes, 0.2), max_poll_records=_FEW)
    workers.run_until(spark, workers=2, drained_for=1.0)


def drain_all(spark: "SparkSession", config: dict[str, Any], notes: Notes) -> None:
    """The loop of the how-to, until nothing is left. The third block does not end while Spark runs."""
    records = drain(spark, config, topics=[TOPIC], max_records=_FEW, max_poll_records=_FEW, idle_seconds=1.0)
    blocks = 0
    is_empty = False
    while not is_empty:
        try:
            with records as batch:
                blocks += 1
                is_empty = not batch
                rows = batch.df.select("partition", "offset").collect()
                while blocks == 3:
                    notes.path.with_suffix(".held").touch()
                    batch.df.count()
                notes.store((row.partition, row.offset) for row in rows)
        except KafkaGroupsError:
            raise
        except Exception:
            _LOG.exception("The batch was not stored and will be redelivered")


if __name__ == "__main__":
    what, given, path = sys.argv[1:]
    with spark_session("local[2]") as session:
        {"workers": work, "drain": drain_all}[what](session, json.loads(given), Notes(Path(path)))
