"""The demo's application: delays of flights by airline and day, joined with the weather and the names of airlines."""

import csv
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kafka_groups.cli.demo.flights import MISSING
from kafka_groups.serdes import Windowed, string
from kafka_groups.streams import StreamsBuilder, TimeWindows, Topology

__all__ = ["DAY", "Departure", "Sums", "build", "departure_of_line", "result_key", "topics_of", "weather_of_lines"]

DAY: Final = timedelta(days=1)
_GRACE: Final = timedelta(days=36_500)
"""None may be too late, and changelogs keep for as long what is of 2013: brokers delete what is older."""
_WINDY_MPH: Final = 20.0


class DemoTopics(NamedTuple):
    """The topics of a run."""

    airlines: str
    weather: str
    flights: str
    results: str


def topics_of(application: str) -> DemoTopics:
    """Return the topics of an application."""
    return DemoTopics(*(f"{application}-{each}" for each in DemoTopics._fields))


class Departure(NamedTuple):
    """A departure: its airline's code, where and in which hour it was to leave, and its delay in minutes.

    The minutes are 0 if the flight was early or did not leave.
    """

    carrier: str
    place: str
    minutes: int

    @property
    def text(self) -> str:
        """The value of its record."""
        return "|".join((self.carrier, self.place, str(self.minutes)))

    @property
    def time_ms(self) -> int:
        """The hour, in ms since 1970."""
        return _ms(self.place.partition(" ")[2])


class Sums(NamedTuple):
    """A result: flights, the minutes of their delays, and the number of those in wind."""

    flights: int = 0
    minutes: int = 0
    windy: int = 0

    def plus(self, minutes: int, *, is_windy: bool) -> "Sums":
        """Add a flight."""
        return Sums(self.flights + 1, self.minutes + minutes, self.windy + is_windy)

    def and_also(self, other: "Sums") -> "Sums":
        """Add other flights."""
        return Sums(*(one + another for one, another in zip(self, other, strict=True)))

    @property
    def mean_minutes(self) -> float:
        """The mean delay."""
        return self.minutes / self.flights

    @property
    def text(self) -> str:
        """The value of its record."""
        return "|".join(map(str, self))

    @classmethod
    def of_text(cls, text: str) -> "Sums":
        """Return the result with this value."""
        return cls(*map(int, text.split("|")))


def departure_of_line(line: str) -> Departure:
    """Return the departure on a line of the table of flights."""
    fields = next(csv.reader([line]))
    delay = 0 if fields[5] == MISSING else int(fields[5])
    return Departure(fields[9], f"{fields[12]} {fields[18]}", max(delay, 0))


def weather_of_lines(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield place and hour, and whether it was windy, for the rows of the table of the weather."""
    for row in csv.DictReader(lines):
        wind = row["wind_speed"]
        yield f"{row['origin']} {row['time_hour']}", str(int(wind != MISSING and float(wind) >= _WINDY_MPH))


def result_key(airline: str, time_ms: int) -> str:
    """Return the key of the results of an airline on the day of a time."""
    day_ms = round(DAY.total_seconds() * 1_000)
    return f"{airline}|{time_ms - time_ms % day_ms}"


def build(application: str) -> Topology:
    """Return the topology. Each flight has one result: the sums of its airline and day so far."""
    topics = topics_of(application)
    builder = StreamsBuilder()
    airlines = builder.global_table(topics.airlines, key=string, value=string)
    weather = builder.table(topics.weather, key=string, value=string)
    flights = builder.stream(topics.flights, key=string, value=string)
    by_place = flights.select_key(lambda _, text: text.split("|")[1], key=string)
    in_weather = by_place.left_join(weather, lambda text, windy: f"{text}|{windy or 0}", value=string)
    named = in_weather.join(airlines, _named, on=lambda _, text: text.split("|")[0], value=string)
    by_airline = named.group_by(lambda _, text: text.split("|")[0], key=string, value=string)
    daily = by_airline.windowed_by(TimeWindows(DAY, grace=_GRACE))
    sums = daily.aggregate(lambda: Sums().text, _added, value=string, store="delays", caching=False)
    results = sums.to_stream().map(lambda window, text: (_key_of(window), text))
    results.to(topics.results, key=string, value=string)
    return builder.build()


def _named(text: str, airline: str) -> str:
    return "|".join((airline, *text.split("|")[1:]))


def _added(_airline: str, text: str, sums: str) -> str:
    _, _, minutes, windy = text.split("|")
    return Sums.of_text(sums).plus(int(minutes), is_windy=windy == "1").text


def _key_of(window: Windowed[str]) -> str:
    return result_key(window.key, window.window.start_ms)


def _ms(hour: str) -> int:
    return round(datetime.fromisoformat(hour).timestamp() * 1_000)
