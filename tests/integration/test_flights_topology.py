"""Real flights through the topology of the example, by the test driver and by `kafka-groups streams try`."""

import json
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import flights_topology as example
import pytest
from attrs import frozen
from click.testing import CliRunner

from kafka_groups.cli.demo.flights import TOTAL_FLIGHTS, flights_path
from kafka_groups.cli.main import main
from kafka_groups.serdes import Window, Windowed

A_WEEK = 6_099
"""Flights of the first week of 2013."""


@frozen
class Inputs:
    """The inputs of the topology.

    Attributes:
        data: As values.
        folder: Has them as CSV, not in order of time.
    """

    data: example.Data
    folder: Path


def inputs(folder: Path, flights: int) -> Inputs:
    """So many flights, and the weather until the last of them."""
    data = example.read(flights)
    until = data.flights[-1].time_hour
    package = flights_path().parent
    with zipfile.ZipFile(package / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        (folder / "flights.csv").write_bytes(b"".join(islice(file, 1 + flights)))
    weather = (package / "weather.csv").read_text().splitlines(keepends=True)
    rows = (row for row in weather[1:] if row.rsplit(",", 1)[1].strip() <= until)
    (folder / "weather.csv").write_text("".join([weather[0], *rows]))
    (folder / "airlines.csv").write_bytes((package / "airlines.csv").read_bytes())
    known = [row for row in data.weather if row.time_hour <= until]
    return Inputs(example.Data(data.airlines, known, data.flights), folder)


def tried(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines that the command prints."""
    arguments = ["--null", "NA", "--time", "time_hour", "--time", "airlines=0"]
    arguments += ["--key", "airlines=carrier", "--value", "airlines=name"]
    for topic in ("airlines", "weather", "flights"):
        arguments += ["--input", f"{topic}={folder / topic}.csv"]
    done = CliRunner().invoke(main, ["streams", "try", "flights_topology:build", *arguments])
    assert (done.exit_code, done.stderr) == (0, "")
    return map(json.loads, done.stdout.splitlines())


def results_of(lines: Iterator[dict[str, Any]]) -> example.Results:
    results = example.Results()
    for line in lines:
        if line["topic"] == "departures":
            results.take("departures", None, example.Departure(**line["value"]))
        else:
            key = line["key"]
            results.take(line["topic"], Windowed(key["key"], Window(key["start_ms"], key["end_ms"])), line["value"])
    return results


def check(given: Inputs) -> None:
    plain, in_driver = example.plain(given.data), example.run(given.data)
    assert plain.departures.total() == sum(plain.hours.values()) == len(given.data.flights)
    assert in_driver == plain
    assert results_of(tried(given.folder)) == plain


@pytest.mark.slow
def test_a_week_of_flights(tmp_path: Path) -> None:
    given = inputs(tmp_path, A_WEEK)
    assert {flight.time_hour[:10] for flight in given.data.flights} >= {f"2013-01-0{day}" for day in range(1, 8)}
    check(given)


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_all_flights(tmp_path: Path) -> None:
    given = inputs(tmp_path, TOTAL_FLIGHTS)
    assert len(given.data.flights) == TOTAL_FLIGHTS
    check(given)
