"""The demo's application: each flight has one result, and doubled or missing ones are noticed."""

from kafka_groups import serdes
from kafka_groups.cli.demo.streams.results import CommittedResults
from kafka_groups.cli.demo.streams.topology import (
    Departure,
    Sums,
    build,
    departure_of_line,
    result_key,
    topics_of,
    weather_of_lines,
)
from kafka_groups.testing.topology_driver import TopologyTestDriver

LINE = "2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z"
DEPARTURE = Departure("UA", "EWR 2013-01-01T10:00:00Z", 2)
TIME_MS = 1_357_034_400_000
WEATHER = ["origin,wind_speed,time_hour", "EWR,21.5,2013-01-01T10:00:00Z", "JFK,NA,2013-01-01T10:00:00Z"]


def test_a_line_is_a_departure() -> None:
    assert departure_of_line(LINE) == DEPARTURE
    assert departure_of_line(LINE.replace("515,2,", "515,NA,")).minutes == 0
    assert departure_of_line(LINE.replace("515,2,", "515,-4,")).minutes == 0
    assert DEPARTURE.time_ms == TIME_MS


def test_strong_wind_is_known() -> None:
    assert dict(weather_of_lines(WEATHER)) == {DEPARTURE.place: "1", "JFK 2013-01-01T10:00:00Z": "0"}


def test_each_departure_has_a_result() -> None:
    topics = topics_of("demo")
    with TopologyTestDriver(build("demo"), application_id="demo") as driver:
        text = serdes.string
        driver.input_topic(topics.airlines, text, text).pipe("UA", "United", timestamp_ms=1)
        driver.input_topic(topics.weather, text, text).pipe(DEPARTURE.place, "1", timestamp_ms=1)
        flights = driver.input_topic(topics.flights, text, text)
        flights.pipe("UA", DEPARTURE.text, timestamp_ms=TIME_MS)
        flights.pipe("UA", Departure("UA", "JFK 2013-01-01T10:00:00Z", 5).text, timestamp_ms=TIME_MS)
        found = driver.output_topic(topics.results, text, text).read_all()
    key = result_key("United", TIME_MS)
    assert [(each.key, Sums.of_text(each.value)) for each in found] == [(key, Sums(1, 2, 1)), (key, Sums(2, 7, 1))]


def test_results_that_stand_twice_or_are_missing_are_counted() -> None:
    results = CommittedResults("localhost:1", "results", 1)
    for flights in (1, 2, 2, 4):
        results.take("UA|0", Sums(flights).text)
    assert (results.count, results.misplaced) == (4, 2)
    assert results.last == {"UA|0": Sums(4)}
