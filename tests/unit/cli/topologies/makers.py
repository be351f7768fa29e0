"""Makers of records for tests of input files."""

from typing import Any

from kafka_groups import serdes
from kafka_groups.cli.topologies.input_records import RecordMaker
from kafka_groups.serdes import Serde

__all__ = ["maker"]


def maker(key: Serde[Any] = serdes.string, value: Serde[Any] = serdes.int64) -> RecordMaker:
    """A maker of records of the topic "orders"."""
    return RecordMaker.of("orders", key, value)
