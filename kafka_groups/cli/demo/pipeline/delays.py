"""The final table: delays by airline and weather at departure, as computed by Spark.

All values are counts and whole minutes, so that the results of two computations can be compared exactly.
"""

from collections.abc import Iterable, Mapping
from operator import add
from typing import TYPE_CHECKING, Any

from attrs import astuple, fields

from kafka_groups.cli.demo.flights import Delays

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "FAIR",
    "FOGGY",
    "FOG_MILES",
    "UNKNOWN",
    "WET",
    "WINDY",
    "WIND_MILES_PER_HOUR",
    "DelayTable",
    "delay_table_of",
    "delays_by_spark",
    "rolled_up",
]

DelayTable = Mapping[tuple[str, str], Delays]
"""Delays by airline and weather."""

WET = "rain or snow"
FOGGY = "poor visibility"
WINDY = "strong wind"
FAIR = "fair"
UNKNOWN = "unknown"

FOG_MILES = 3
WIND_MILES_PER_HOUR = 20

_WEATHER = f"""
CASE WHEN visib IS NULL THEN '{UNKNOWN}'
     WHEN precip > 0 THEN '{WET}'
     WHEN visib < {FOG_MILES} THEN '{FOGGY}'
     WHEN wind_speed >= {WIND_MILES_PER_HOUR} THEN '{WINDY}'
     ELSE '{FAIR}' END AS weather
"""


_QUERY = """
SELECT airline, weather, count(1) AS flights,
       count(dep_delay) AS departed, coalesce(sum(dep_delay), 0) AS departure_delay,
       count(arr_delay) AS arrived, coalesce(sum(arr_delay), 0) AS arrival_delay
FROM {seen} GROUP BY airline, weather
"""


def delays_by_spark(flights: "DataFrame") -> "DataFrame":
    """Return a row for each airline and weather, with the columns of `Delays`."""
    seen = flights.selectExpr("airline", _WEATHER, "dep_delay", "arr_delay")
    return seen.sparkSession.sql(_QUERY, seen=seen)


def delay_table_of(rows: Iterable[Mapping[str, Any]]) -> DelayTable:
    """Return the table for rows with the columns of `delays_by_spark`."""
    columns = [field.name for field in fields(Delays)]
    return {(row["airline"], row["weather"]): Delays(*(int(row[name]) for name in columns)) for row in rows}


def rolled_up(table: DelayTable, position: int) -> dict[str, Delays]:
    """Return the sums by airline (0) or by weather (1)."""
    sums: dict[str, Delays] = {}
    for key, delays in table.items():
        before = sums.get(key[position], Delays())
        sums[key[position]] = Delays(*map(add, astuple(before), astuple(delays)))
    return sums
