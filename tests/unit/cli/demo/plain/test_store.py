import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.cli.demo.flights import Delays, Flight, delays_by
from kafka_groups.cli.demo.plain.store import FlightStore, KeyedFlight

FLIGHTS = [
    Flight("UA", "N1", "EWR", "IAH", 2, 11),
    Flight("UA", "N2", "LGA", "IAH", -4, None),
    Flight("MQ", "N3", "EWR", "IAH", None, None),
]
ROWS: list[KeyedFlight] = [("flights", 0, offset, flight) for offset, flight in enumerate(FLIGHTS)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FlightStore]:
    with FlightStore(tmp_path / "s.sqlite") as opened:
        yield opened


def test_delays_equal_the_plain_computation(store: FlightStore) -> None:
    store.save(ROWS)
    assert store.delays() == delays_by(FLIGHTS)
    assert store.delays()[0]["MQ"] == Delays(1, 0, 0, 0, 0)


def test_record_stored_again_changes_nothing(store: FlightStore) -> None:
    store.save(ROWS)
    store.save(ROWS[:2])
    assert store.count() == 3
    assert store.delays() == delays_by(FLIGHTS)


def test_same_offset_of_another_partition_is_another_record(store: FlightStore) -> None:
    store.save([("flights", partition, 7, FLIGHTS[0]) for partition in range(3)])
    assert store.count() == 3


def test_rows_are_there_for_another_connection_when_save_returns(store: FlightStore, tmp_path: Path) -> None:
    store.save(ROWS)
    with FlightStore(tmp_path / "s.sqlite") as other:
        assert other.count() == 3


def test_failed_save_leaves_no_row_and_a_usable_store(store: FlightStore) -> None:
    def rows() -> Iterator[KeyedFlight]:
        yield ROWS[0]
        raise RuntimeError("the second record is bad")

    with pytest.raises(RuntimeError):
        store.save(rows())
    assert store.count() == 0
    store.save(ROWS)
    assert store.count() == 3


def test_every_commit_is_written_through(store: FlightStore, tmp_path: Path) -> None:
    store.save(ROWS)
    with sqlite3.connect(tmp_path / "s.sqlite") as reader:
        assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    reader.close()
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)
