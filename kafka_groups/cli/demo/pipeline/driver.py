"""The driver of the pipeline, a separate program, so that the demo can kill and restart it as a whole.

It is written like a user's job. First, it reads the reference tables from the share group until the group is drained.
Then a streaming query runs workers that enrich flights and write them as Parquet files, until the demo stops it.
Finally, the driver compacts the files to one row per flight and computes the final table.

It reads commands from its standard input, one per line, and exits immediately when the input closes.
"""

import os
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from attrs import frozen
from pyspark.sql import SparkSession

from kafka_groups.cli.demo.pipeline.channel import Channel, WithWord, channel_to
from kafka_groups.cli.demo.pipeline.delays import delays_by_spark
from kafka_groups.cli.demo.pipeline.enrichment import Enrich, Reference
from kafka_groups.cli.demo.pipeline.messages import Message, MessageKind
from kafka_groups.cli.demo.pipeline.options import DriverOptions, read_driver_options
from kafka_groups.cli.demo.pipeline.sources import FLIGHTS, REFERENCE
from kafka_groups.net.short_waits import taken
from kafka_groups.spark import ParquetSink, ShareWorkers, compact, read_deduplicated, worker_ticks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["COMMANDS", "Driver", "main"]

COMMANDS = ("reference", "stop", "finish")
"""The demo's commands, in this order: load the reference tables, stop the query, compute the final table."""

_BATCH_SECONDS = 3.0
_DRAINED_SECONDS = 1.0
_CHECK_SECONDS = 1
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""Java options for a short-lived program: start quickly, and leave no files in the system's temporary directory."""


@frozen
class Driver:
    """The job."""

    options: DriverOptions
    spark: SparkSession
    channel: Channel

    def load_reference(self) -> None:
        """Read the reference tables from the share group, and write them in the form that the workers load.

        A restarted driver uses the tables of its predecessor.
        """
        if self.options.reference.is_dir():
            return
        path = str(self.options.reference_records)
        workers = self._workers(list(REFERENCE), WithWord(ParquetSink(path), "reference", self.options.socket))
        workers.run_until(self.spark, workers=2, drained_for=_DRAINED_SECONDS)
        rows = read_deduplicated(self.spark, path).select("topic", "value").toArrow().to_pylist()
        tables = {topic: table for table, topic in self.options.topics.items()}
        lines: dict[str, list[bytes]] = {table: [] for table in REFERENCE}
        for row in rows:
            lines[tables[row["topic"]]].append(row["value"])
        Reference.of_lines(lines).save(self.options.reference)

    def start_query(self) -> "tuple[ShareWorkers, StreamingQuery]":
        """Start the workers. Each enriches its flights, writes them and only then accepts them."""
        sink = ParquetSink(str(self.options.flights), transform=Enrich(self.options.reference))
        workers = self._workers([FLIGHTS], WithWord(sink, FLIGHTS, self.options.socket))

        def on_batch(ticks: "DataFrame", batch_id: int) -> None:
            done = workers.run(ticks, batch_id).total
            self._tell(MessageKind.ACCEPTED, records=done.accepted)

        ticks = worker_ticks(self.spark, workers=self.options.workers)
        query = ticks.writeStream.foreachBatch(on_batch).option("checkpointLocation", str(self.options.checkpoint))
        return workers, query.start()

    def make_final_table(self) -> dict[str, int]:
        """Reduce the files to one row per flight, sum up the delays, and return what the compaction did."""
        done = compact(self.spark, str(self.options.flights), files=1)
        flights = self.spark.read.parquet(str(self.options.flights))
        delays_by_spark(flights).coalesce(1).write.mode("overwrite").parquet(str(self.options.delays))
        return {
            "files_before": done.files_before,
            "files_after": done.files_after,
            "rows_before": done.rows_before,
            "rows_after": done.rows_after,
        }

    def run(self, commands: "SimpleQueue[str]") -> None:
        """Run the whole job, step by step on the demo's commands."""
        self._tell(MessageKind.STARTED)
        taken(commands)
        self.load_reference()
        self._tell(MessageKind.REFERENCE_READY)
        workers, query = self.start_query()
        while commands.empty() and query.isActive:
            query.awaitTermination(_CHECK_SECONDS)
        if query.exception() is not None:
            raise SystemExit(f"The streaming query failed: {query.exception()}")
        taken(commands)
        workers.stop_gracefully(query)
        self._tell(MessageKind.STOPPED)
        taken(commands)
        self._tell(MessageKind.FINISHED, figures=self.make_final_table())

    def _workers(self, tables: list[str], process: WithWord) -> ShareWorkers:
        return ShareWorkers(
            bootstrap_servers=self.options.bootstrap_servers,
            group_id=self.options.group,
            client_id="kafka-groups-demo",
            topics=[self.options.topics[table] for table in tables],
            process=process,
            max_seconds=_BATCH_SECONDS,
        )

    def _tell(self, kind: MessageKind, *, records: int = 0, figures: dict[str, int] | None = None) -> None:
        self.channel.tell(Message(kind=kind, pid=os.getpid(), records=records, figures=figures))


def session_of(options: DriverOptions) -> SparkSession:
    """Return a session that has a slot for each worker, retries tasks, and keeps its files in the demo's directory."""
    directory = options.directory
    configs = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"{_SHORT_LIVED} -Djava.io.tmpdir={directory}",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.local.dir": str(directory),
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    # By default, a local master does not retry tasks. Clusters try a task four times.
    builder = SparkSession.builder.master(f"local[{options.workers},4]").appName(options.group)
    for name, value in configs.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def listen(commands: "SimpleQueue[str]") -> None:
    """Pass on commands as they arrive. Exit the process when the demo has ended."""
    for line in sys.stdin:
        commands.put(line.strip())
    os._exit(1)


def main() -> None:
    """Run the job with the options in the argument."""
    options = read_driver_options(sys.argv[1])
    commands: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=listen, args=(commands,), daemon=True).start()
    spark = session_of(options)
    Driver(options, spark, channel_to(str(Path(options.socket)))).run(commands)
    spark.stop()


if __name__ == "__main__":
    main()
