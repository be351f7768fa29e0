"""What the workers compute with Arrow equals what pandas computes from the source files."""

from pathlib import Path

import pyarrow as pa

from kafka_groups.cli.demo.pipeline.delays import rolled_up
from kafka_groups.cli.demo.pipeline.enrichment import ENRICHED, Enrich, Reference, enriched, parsed
from kafka_groups.cli.demo.pipeline.plainly import computed_plainly, in_order
from kafka_groups.cli.demo.pipeline.sources import FLIGHT_COLUMNS, FLIGHTS, REFERENCE, records_of
from tests.support.spark.sink_batches import record_table

LIMIT = 5_000


def reference() -> Reference:
    return Reference.of_lines({name: [r.value or b"" for r in records_of(name, name)] for name in REFERENCE})


def lines() -> list[bytes]:
    return [record.value or b"" for record in records_of(FLIGHTS, "t", LIMIT)]


def test_workers_and_pandas_agree(tmp_path: Path) -> None:
    reference().save(tmp_path / "reference")
    enrich, values = Enrich(tmp_path / "reference"), lines()
    batches = [
        enrich(record_table(range(start, min(start + 700, LIMIT)), values=values[start : start + 700]))
        for start in range(0, LIMIT, 700)
    ]
    table = pa.concat_tables(batches)
    assert table.column_names == ["topic", "partition", "offset", "delivery_count", *ENRICHED.names]
    assert table["offset"].to_pylist() == list(range(LIMIT))
    plainly = computed_plainly(LIMIT)
    assert plainly.flights.num_rows == LIMIT
    assert in_order(table).equals(plainly.flights)
    by_airline, by_weather = rolled_up(plainly.delays, 0), rolled_up(plainly.delays, 1)
    assert sum(delays.flights for delays in by_airline.values()) == LIMIT
    assert {"fair", "strong wind", "unknown"} <= set(by_weather)


def test_a_difference_is_seen() -> None:
    flights = parsed(lines(), FLIGHT_COLUMNS)
    table = enriched(flights.slice(1), reference())
    assert not in_order(table).equals(computed_plainly(LIMIT).flights)


def test_a_flight_is_enriched_by_hand() -> None:
    (flight,) = enriched(parsed(lines()[:1], FLIGHT_COLUMNS), reference()).to_pylist()
    assert flight["airline"] == "United Air Lines Inc."
    assert (flight["origin_airport"], flight["dest_airport"]) == (
        "Newark Liberty Intl",
        "George Bush Intercontinental",
    )
    assert (flight["temp"], flight["wind_speed"], flight["precip"], flight["visib"]) == (
        39.02,
        12.658579999999999,
        0.0,
        10.0,
    )


def test_what_is_not_known_stays_empty() -> None:
    line = lines()[0].replace(b"IAH", b"XXX").replace(b",UA,", b",NA,").replace(b"T10:00", b"T03:00")
    (flight,) = enriched(parsed([line], FLIGHT_COLUMNS), reference()).to_pylist()
    assert (flight["carrier"], flight["airline"], flight["dest_airport"], flight["temp"]) == (None, None, None, None)


def test_every_table_has_its_records() -> None:
    counts = {name: sum(1 for _ in records_of(name, name)) for name in REFERENCE}
    assert counts == {"airlines": 16, "airports": 1_458, "weather": 26_115}
    first = next(records_of("weather", "topic"))
    assert (first.topic, first.key) == ("topic", b"EWR2013-01-01T06:00:00Z")
