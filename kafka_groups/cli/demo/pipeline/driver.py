"""The driver of the pipeline: a program of its own, so that it can be killed as a whole and started again.

It is written as a user's job would be. First the reference tables come through the share group, until it is drained.
Then a streaming query has workers enrich flights and write them as Parquet files, until the demo says that it is
enough. Then the files are compacted to one row per flight, and the final table is made of them.

It reads commands from its standard input, one on a line, and ends at once when that closes.
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
from kafka_groups.spark import ParquetSink, ShareWorkers, compact, read_deduplicated, worker_ticks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["COMMANDS", "Driver", "main"]

COMMANDS = ("reference", "stop", "finish")
"""What the demo says, in this order: the reference tables are published; stop the query; make the final table."""

_BATCH_SECONDS = 3.0
_DRAINED_SECONDS = 1.0
_CHECK_SECONDS = 1
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""Options of Java for a program of seconds: start quickly, and leave nothing in the system's temporary directory."""


@frozen
class Driver:
    """The job."""

    options: DriverOptions
    spark: SparkSession
    channel: Channel

    def load_reference(self) -> None:
        """Bring the reference tables through the share group, and write them as the workers load them.

        A driver that was started again finds them there.
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
        """Start the workers: each enriches the flights that it gets, writes them and only then accepts them."""
        sink = ParquetSink(str(self.options.flights), transform=Enrich(self.options.reference))
        workers = self._workers([FLIGHTS], WithWord(sink, FLIGHTS, self.options.socket))

        def on_batch(ticks: "DataFrame", batch_id: int) -> None:
            done = workers.run(ticks, batch_id).total
            self._tell(MessageKind.ACCEPTED, records=done.accepted)

        ticks = worker_ticks(self.spark, workers=self.options.workers)
        query = ticks.writeStream.foreachBatch(on_batch).option("checkpointLocation", str(self.options.checkpoint))
        return workers, query.start()

    def make_final_table(self) -> dict[str, int]:
        """Leave one row of each flight, and sum up the delays; what the compaction did."""
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
        """The whole job, at the demo's word."""
        self._tell(MessageKind.STARTED)
        commands.get()
        self.load_reference()
        self._tell(MessageKind.REFERENCE_READY)
        workers, query = self.start_query()
        while commands.empty() and query.isActive:
            query.awaitTermination(_CHECK_SECONDS)
        if query.exception() is not None:
            raise SystemExit(f"the streaming query failed: {query.exception()}")
        commands.get()
        workers.stop_gracefully(query)
        self._tell(MessageKind.STOPPED)
        commands.get()
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
    """A session with a slot for each worker, which tries a task again, and keeps its files in the demo's directory."""
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
    # A local master tries no task a second time unless it is told to: four times is what clusters do.
    builder = SparkSession.builder.master(f"local[{options.workers},4]").appName(options.group)
    for name, value in configs.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def listen(commands: "SimpleQueue[str]") -> None:
    """Hand over commands as they come; without the demo there is nothing left to do."""
    for line in sys.stdin:
        commands.put(line.strip())
    os._exit(1)


def main() -> None:
    """Run the job that the argument says."""
    options = read_driver_options(sys.argv[1])
    commands: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=listen, args=(commands,), daemon=True).start()
    spark = session_of(options)
    Driver(options, spark, channel_to(str(Path(options.socket)))).run(commands)
    spark.stop()


if __name__ == "__main__":
    main()
