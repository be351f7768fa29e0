"""The workers' results in SQLite: one row per record, under the key of the record.

Every worker has its own connection to the same file. If a record is delivered twice, the second row replaces the first,
so at-least-once delivery does not change the result.
"""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from attrs import astuple

from kafka_groups.cli.demo.flights import Delays, Flight, delays_by

__all__ = ["FlightStore", "KeyedFlight"]

_BUSY_TIMEOUT_SECONDS = 60.0

_SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS flight (
    topic, partition, record_offset,
    carrier, tail_number, origin, destination, departure_delay, arrival_delay,
    PRIMARY KEY (topic, partition, record_offset)
) WITHOUT ROWID;
"""

_REPLACE = "INSERT OR REPLACE INTO flight VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"

_FLIGHTS = "SELECT carrier, tail_number, origin, destination, departure_delay, arrival_delay FROM flight"

KeyedFlight = tuple[str, int, int, Flight]
"""Topic, partition and offset of a record, and its flight."""


class FlightStore:
    """A store in one file. `save` returns when the rows are on disk.

    Args:
        path: The file. It is created if it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_SECONDS)
        self._connection.executescript(_SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._connection.close()

    def __repr__(self) -> str:
        return f"<FlightStore {self._path}>"

    def save(self, flights: Iterable[KeyedFlight]) -> None:
        """Write all flights, or none if that fails."""
        with self._connection:
            self._connection.executemany(_REPLACE, ((*key, *astuple(flight)) for *key, flight in flights))

    def count(self) -> int:
        """Return how many records are stored."""
        return int(self._connection.execute("SELECT count(*) FROM flight").fetchone()[0])

    def delays(self) -> tuple[dict[str, Delays], dict[str, Delays]]:
        """Return the delays by carrier and by route."""
        return delays_by(Flight(*row) for row in self._connection.execute(_FLIGHTS))
