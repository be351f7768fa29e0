"""The workers' results in SQLite: one row per record, keyed by topic, partition and offset.

Every worker has its own connection to the same file. If a record is delivered twice, the second write only increments
a counter, so at-least-once delivery does not change the result.
"""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from attrs import frozen

from kafka_groups.cli.demo.flights import Delays, Flight

__all__ = ["FlightStore", "StoredFlight"]

_BUSY_TIMEOUT_SECONDS = 60.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS flight (
    topic TEXT NOT NULL,
    partition INTEGER NOT NULL,
    record_offset INTEGER NOT NULL,
    carrier TEXT NOT NULL,
    route TEXT NOT NULL,
    departure_delay INTEGER,
    arrival_delay INTEGER,
    times_stored INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (topic, partition, record_offset)
) WITHOUT ROWID
"""

_UPSERT = """
INSERT INTO flight (topic, partition, record_offset, carrier, route, departure_delay, arrival_delay)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET times_stored = times_stored + 1
"""

_DELAYS = {
    column: f"""
SELECT {column}, count(*), count(departure_delay), coalesce(sum(departure_delay), 0),
       count(arrival_delay), coalesce(sum(arrival_delay), 0)
FROM flight GROUP BY {column}
"""  # noqa: S608 - the columns are the two named below
    for column in ("carrier", "route")
}


@frozen
class StoredFlight:
    """The flight of a record, and the record's topic, partition and offset."""

    topic: str
    partition: int
    offset: int
    flight: Flight


class FlightStore:
    """A store in one file. `save` returns when the rows are on disk.

    Args:
        path: The file. It is created if it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_SECONDS, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(_SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<FlightStore {self._path}>"

    def save(self, rows: Iterable[StoredFlight]) -> None:
        """Write the rows in one transaction. Existing rows stay as they are."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.executemany(_UPSERT, map(_values, rows))
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def count(self) -> int:
        """Return how many records are stored."""
        return int(self._connection.execute("SELECT count(*) FROM flight").fetchone()[0])

    def stored_again(self) -> int:
        """Return how many records were stored more than once."""
        return int(self._connection.execute("SELECT count(*) FROM flight WHERE times_stored > 1").fetchone()[0])

    def delays(self) -> tuple[dict[str, Delays], dict[str, Delays]]:
        """Return the delays by carrier and by route."""
        return self._delays("carrier"), self._delays("route")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _delays(self, column: str) -> dict[str, Delays]:
        return {name: Delays(*sums) for name, *sums in self._connection.execute(_DELAYS[column])}


def _values(row: StoredFlight) -> tuple[str, int, int, str, str, int | None, int | None]:
    flight = row.flight
    return (
        row.topic,
        row.partition,
        row.offset,
        flight.carrier,
        flight.route,
        flight.departure_delay,
        flight.arrival_delay,
    )
